import { gzipSync } from 'node:zlib';
import { drip, endless } from '../service/fakeService.mts';
import { accepted } from './network.mts';
import {
	always,
	CREATING,
	IMAGE,
	onCreate,
	onRead,
	SPEAK,
	status,
	VIDEO,
	type Group,
	type Row,
} from './row.mts';

const MIB = 1024 * 1024;
/** Valid JSON, 100 MB of it. */
const HUGE = (() => {
	let made: Buffer | undefined;
	return () =>
		(made ??= Buffer.concat([
			Buffer.from('{"a":1'),
			Buffer.alloc(100 * MIB, ' '),
			Buffer.from('}'),
		]));
})();
const PACKED = (() => {
	let made: Buffer | undefined;
	return () => (made ??= gzipSync(HUGE()));
})();
const TOO_LARGE = 'sent more data than it should: a response of more than 16 MB';

const read = (status: number, body: () => Buffer, headers: Record<string, string> = {}) =>
	(({ sim }) => {
		const respond = { status, headers, body: body() };
		sim.fault({ ...onRead, ...always, action: { respond } });
	}) satisfies Row['make'];

const create = (body: () => Buffer, headers: Record<string, string> = {}) =>
	(({ sim }) => {
		const respond = { status: 200, headers, body: body() };
		sim.fault({ ...onCreate, ...always, action: { respond, accepted: true } });
	}) satisfies Row['make'];

/** The same, once the result is in the history. */
const createStream = (body: () => Buffer, headers: Record<string, string> = {}) =>
	accepted((_, response) => response.writeHead(200, headers).end(body()));

const GZIP = { 'Content-Encoding': 'gzip', 'Content-Type': 'application/json' };
const READS = [
	'account:get',
	'voice:getAll',
	'history:getAll',
	'speech:get',
	'speech:wait',
] as const;

/** What is larger than can be right is given up, and not first taken as a whole. */
const isGivenUp: Row['check'] = ({ sim }) => {
	if (!sim.requests.some(({ closedByClient }) => closedByClient)) throw new Error('all was taken');
};

const limits: Row[] = [
	{
		fault: 'A JSON answer of 100 MB',
		operations: READS,
		make: read(200, HUGE),
		outcome: 'fails',
		says: TOO_LARGE,
		check: isGivenUp,
	},
	{
		fault: 'A JSON answer of 100 MB to the create call',
		operations: [SPEAK],
		make: create(HUGE),
		outcome: 'fails',
		says: `${TOO_LARGE}…may have accepted the request and charged for it`,
		check: isGivenUp,
	},
	{
		fault: 'A JSON answer of 100 MB instead of a stream',
		operations: [VIDEO, IMAGE],
		make: createStream(HUGE),
		outcome: 'result',
		says: 'looked up in the history',
	},
	{
		fault: 'A JSON answer of 100 MB packed in 100 KB (gzip)',
		operations: ['account:get', 'history:getAll'],
		make: read(200, PACKED, GZIP),
		outcome: 'fails',
		says: TOO_LARGE,
	},
	{
		fault: 'The same, to the create call',
		operations: [VIDEO],
		make: createStream(PACKED, GZIP),
		outcome: 'result',
		says: 'looked up in the history',
	},
	{
		fault: 'An error answer of 100 MB',
		operations: ['account:get', SPEAK],
		make: ({ sim }) => {
			const respond = { status: 500, body: HUGE() };
			sim.fault({ path: '/v1/', ...always, action: { respond } });
		},
		outcome: 'fails',
		says: 'not available (HTTP 500)',
		paid: 0,
		check: isGivenUp,
	},
	{
		fault: 'An event without end',
		operations: [VIDEO, IMAGE],
		make: accepted((_, response) => {
			response.writeHead(200, { 'content-type': 'text/event-stream' });
			response.write('data: ');
			drip(response, endless(Buffer.alloc(MIB, 'x')), 5);
		}),
		outcome: 'result',
		says: '(an event was larger than any result), so the result was looked up in the history',
	},
	{
		fault: 'Events without end, and no result',
		operations: [VIDEO],
		setting: { options: { timeout: 8 } },
		make: async (stage) => {
			(await stage.front()).on('POST', /video/, (_, response) => {
				response.writeHead(200, { 'content-type': 'text/event-stream' });
				drip(response, endless(status('processing').repeat(100)), 5);
			});
		},
		outcome: 'fails',
		says: 'No result after 8 seconds',
		paid: 0,
	},
	{
		fault: 'An error answer whose body never ends, or breaks off',
		operations: [SPEAK, VIDEO, 'account:get'],
		isLong: true,
		make: async (stage) => {
			(await stage.front()).on(
				stage.operation === 'account:get' ? 'GET' : 'POST',
				/v1/,
				(_, response) => {
					response.writeHead(402, { 'content-length': 100 });
					response.write('{"error": "insufficient_credits"');
					if (stage.operation === VIDEO) setTimeout(() => response.destroy(), 20);
				},
			);
		},
		outcome: 'fails',
		says: 'The account is out of credit',
		note: 'its status says enough; the body is waited for 5 seconds',
		paid: 0,
	},
	{
		fault: 'A redirect of a reading to itself',
		operations: ['account:get', 'voice:getAll', 'history:getAll', 'speech:get'],
		make: async (stage) => {
			(await stage.front()).on('GET', /./, (request, response) => {
				// The body never ends: following must not leave the connection open.
				response.writeHead(302, { location: request.url, 'content-length': 100 });
				response.flushHeaders();
			});
		},
		outcome: 'fails',
		says: 'does not come from a media generation service (HTTP 302)',
	},
	{
		fault: 'A redirect of a reading to another origin',
		operations: ['account:get', 'voice:getAll', 'history:getAll', 'speech:get', SPEAK],
		make: ({ sim }) => {
			const redirect = `${sim.fileOrigin}/v1/elsewhere`;
			sim.fault({ ...onRead, ...always, action: { redirect } });
		},
		outcome: 'fails',
		says: 'redirects to…never sent to another address',
		check: ({ sim }) => {
			if (sim.requests.some(({ on }) => on === 'file')) throw new Error('it was followed');
		},
	},
	{
		fault: 'A redirect of the create call',
		operations: CREATING,
		make: ({ sim }) => {
			const redirect = `${sim.fileOrigin}/v1/elsewhere`;
			sim.fault({ ...onCreate, ...always, action: { redirect, status: 307 } });
		},
		outcome: 'fails',
		says: 'redirects to',
		paid: 0,
		check: ({ sim }) => {
			if (sim.requests.some(({ on }) => on === 'file')) throw new Error('it was followed');
		},
	},
	{
		fault: 'A file could not be downloaded, and Retry On Fail is on',
		operations: [SPEAK, VIDEO],
		setting: { node: { retryOnFail: true, maxTries: 2, waitBetweenTries: 100 } },
		make: ({ sim }) => {
			sim.fault({ on: 'file', action: { respond: { status: 410 } } });
		},
		outcome: 'result',
		says: 'of an earlier attempt, at no extra charge',
	},
];

export const LIMITS: Group[] = [{ title: 'Size, redirects, retries', rows: limits }];
