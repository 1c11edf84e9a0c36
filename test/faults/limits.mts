import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import type { FaultRule } from '../../simulator/simulator.mts';
import { hugeJson, lazy } from '../service/bodies.mts';
import {
	always,
	answer,
	CREATING,
	inFront,
	isNotFollowed,
	on,
	READING,
	RETRY,
	row,
	SPEAK,
	VIDEO,
	type Row,
} from './row.mts';
import { NODE } from './stage.mts';

const huge = hugeJson(100);
const zipped = lazy(() => gzipSync(huge()));
const GZIP = { 'Content-Encoding': 'gzip', 'Content-Type': 'application/json' };

/** Answers all requests that `rule` matches with a body that `make` makes. */
const body =
	(rule: Partial<FaultRule>, status: number, make: () => Buffer, headers = {}): Row['make'] =>
	({ sim }) =>
		sim.fault({ ...rule, ...always, ...answer(status, make(), headers) });

const TOO_LARGE = 'response is too large: more than 16 MB';

/** The node closes the connection before it has read the whole body. */
const isClosedEarly: Row['check'] = ({ sim }) =>
	assert.ok(sim.requests.some(({ closedByClient }) => closedByClient));

const limits: Row[] = [
	row('A JSON response of 100 MB', READING, {
		make: body(on.read, 200, huge),
		fails: TOO_LARGE,
		check: isClosedEarly,
	}),
	row('A JSON response of 100 MB to the create call', [SPEAK], {
		make: ({ sim }) => {
			const { respond } = answer(200, huge()).action;
			sim.fault({ ...on.create, action: { respond, accepted: true } });
		},
		fails: `${TOO_LARGE}…may have been charged`,
		check: isClosedEarly,
	}),
	row('A JSON response of 100 MB, compressed to 100 KB (gzip)', ['account:get', 'history:getAll'], {
		make: body(on.read, 200, zipped, GZIP),
		fails: TOO_LARGE,
	}),
	row('An error response whose body never ends, or breaks off', [SPEAK, VIDEO, 'account:get'], {
		isLong: true,
		make: async (stage) => {
			(await stage.proxy()).on(/v1/, (_, response) => {
				response.writeHead(402, { 'content-length': 100 });
				response.write('{"error": "insufficient_credits"');
				if (stage.operation === VIDEO) setTimeout(() => response.destroy(), 20);
			});
		},
		fails: 'The account is out of credit',
		note: 'the status says enough, so the node waits only 5 seconds for the body',
		paid: 0,
	}),
	{
		fault: 'A read request is redirected to itself',
		operations: ['account:get', 'voice:getAll', 'history:getAll', 'speech:get'],
		make: inFront(/^GET /, (request, response) => {
			// The body never ends, so the node must close the connection when it follows the redirect.
			response.writeHead(302, { location: request.url, 'content-length': 100 });
			response.flushHeaders();
		}),
		fails: 'redirects to',
	},
	{
		fault: 'A read request is redirected to another origin',
		operations: ['account:get', 'voice:getAll', 'history:getAll', 'speech:get', SPEAK],
		make: ({ sim }) => {
			const redirect = `${sim.fileOrigin}/v1/elsewhere`;
			sim.fault({ ...on.read, ...always, action: { redirect } });
		},
		fails: 'redirects to…never sent to another host',
		check: isNotFollowed,
	},
	row('The create call is redirected to another origin', CREATING, {
		make: ({ sim }) => {
			const redirect = `${sim.fileOrigin}/v1/elsewhere?token=${encodeURIComponent(sim.token)}`;
			sim.fault({ ...on.create, ...always, action: { redirect, redirectStatus: 307 } });
		},
		fails: 'redirects to…never sent to another host',
		paid: 0,
		check: isNotFollowed,
	}),
	row('A file could not be downloaded, and Retry On Fail is on', [SPEAK, VIDEO], {
		setting: { node: RETRY },
		faults: [{ ...on.file, ...answer(410) }],
		hints: 'of an earlier attempt, at no extra charge',
	}),
	row('n8n crashes after a request was paid, and the execution is retried', CREATING, {
		faults: [{ ...on.file, ...answer(410) }],
		async make(stage) {
			const { run } = await stage.run();
			// This is what n8n saves of an execution that crashed in the node: the node has begun, but its context is lost.
			const retryOf = JSON.parse(JSON.stringify(run)) as typeof run;
			retryOf.data.executionData!.contextData = {};
			retryOf.data.resultData.runData[NODE]![0]!.executionStatus = 'crashed';
			return { retryOf };
		},
		fails:
			'n8n crashed in an earlier attempt…Nothing was sent.…Collect…History…To pay for all rows again, retry',
		note: 'the next retry is charged again',
	}),
];

export const LIMITS = [{ title: 'Size, redirects, retries', rows: limits }];
