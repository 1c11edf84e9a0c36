import type { FaultRule } from '../../simulator/simulator.mts';
import { accepted } from './network.mts';
import { PAGE } from '../service/bodies.mts';
import {
	always,
	answer,
	CREATING,
	event,
	IMAGE,
	on,
	READING,
	RETRY,
	row,
	SPEAK,
	VIDEO,
	type Row,
} from './row.mts';

type Answer = Parameters<typeof answer>;

/** Every create call, or every request, gets this answer, so nothing is charged. */
const create = (...response: Answer) => unpaid({ ...on.create, ...answer(...response) });
const anything = (...response: Answer) => unpaid({ ...on.any, ...answer(...response) });
const unpaid = (rule: FaultRule) => ({ faults: [{ ...always, ...rule }], paid: 0 });

/** The first read gets this answer. */
const firstRead = (...response: Answer) => [{ ...on.read, ...answer(...response) }];

const READS = [SPEAK, ...READING] as const;
const SPEAK_AND_VIDEO = [SPEAK, VIDEO] as const;
const MAY_BE_CHARGED = 'may have been charged';

const TOO_LONG: Array<[string, string | object]> = [
	['`{ detail }`', { detail: 'Text is too long' }],
	['nested objects', { error: { error: { message: 'Text is too long' } } }],
];

/** With Retry On Fail, n8n runs a node again if its first item has a field `error`. */
const withRetry = {
	setting: { options: { download: false }, parameters: { download: false }, node: RETRY },
};
const NO_ERROR = { error: { code: 0, message: '' } };
const FILE = { file_url: 'https://files.example/a.bin', audio_url: 'https://files.example/a.bin' };
const inEvent = (data: object) => event('status', { ...data, ...NO_ERROR });
/** The create call is accepted, and answered with status 200 and this body. */
const acceptedWith = (body: string | object) => ({
	action: { accepted: true, ...answer(200, body).action },
});

const bodies: Row[] = [
	...TOO_LONG.map(([shape, body]) =>
		row(`Error body: ${shape}`, SPEAK_AND_VIDEO, {
			...create(400, body),
			fails: 'rejected the request (HTTP 400): Text is too long',
		}),
	),
	row('Error body: empty', CREATING, {
		...create(500, ''),
		fails: `not available (HTTP 500)…${MAY_BE_CHARGED}`,
	}),
	row("Error body: a proxy's HTML page", CREATING, {
		...create(502, PAGE),
		fails: `not available (HTTP 502)…${MAY_BE_CHARGED}`,
	}),
	{
		fault: '`{ error: "…" }` with status 200',
		operations: ['account:get', 'voice:getAll', 'history:getAll', SPEAK],
		...anything(200, { error: 'Something is wrong' }),
		fails: 'rejected the request: Something is wrong',
	},
	row('`error: ""` or `null` with status 200', ['account:get'], {
		faults: firstRead(200, { error: '', message: null, balance: 3 }),
	}),
	row('`error: ""` or `null` in an unfinished task', [SPEAK, 'speech:wait'], {
		faults: firstRead(200, { id: 1, status: 'processing', error: '', message: null }),
	}),
	row('A result with an `error` of code 0 without a message', [SPEAK], {
		...withRetry,
		faults: [
			{ ...on.create, ...acceptedWith({ task_id: '1', ...NO_ERROR }) },
			{ ...on.read, ...answer(200, { id: 1, status: 'completed', ...FILE, ...NO_ERROR }) },
		],
	}),
	row('Progress and a result with an `error` of code 0 without a message', [IMAGE], {
		...withRetry,
		faults: [{ ...on.create, action: { sse: [{ status: 'generating' }, FILE].map(inEvent) } }],
	}),
];

const refusals: Row[] = [
	row('401 with JSON', [...CREATING, 'account:get', 'voice:getAll', 'history:getAll'], {
		...anything(401, { error: 'invalid_token' }),
		fails: "refused the API token…Enter a new 'API Token'",
	}),
	row('404 to the create call', SPEAK_AND_VIDEO, {
		...create(404, {}),
		fails: "does not know this URL…'Base URL'",
	}),
	row('403 with JSON', [...SPEAK_AND_VIDEO, 'account:get'], {
		...anything(403, { message: 'forbidden' }),
		fails: 'refused the API token',
	}),
	row('403 with JSON, and the account can be read', SPEAK_AND_VIDEO, {
		...create(403, { message: 'forbidden' }),
		fails: 'rejected the request (HTTP 403): forbidden…your provider',
	}),
	row('The create call is refused because of a content filter', SPEAK_AND_VIDEO, {
		...create(400, { error: { code: 'moderation_blocked', message: 'Rejected' } }),
		fails: 'rejected the request (HTTP 400): Rejected…Change the',
	}),
	row("401, 403 or 404 with a proxy's web page, to a read request", READS, {
		faults: [...firstRead(403, PAGE), ...firstRead(401, PAGE), ...firstRead(404, PAGE)],
		note: 'such a response is temporary, so the node reads again',
	}),
	row("403 with a proxy's web page, to a create call", SPEAK_AND_VIDEO, {
		...create(403, PAGE),
		fails: 'not available (HTTP 403)',
	}),
	row("404 with a proxy's web page, to a create call", SPEAK_AND_VIDEO, {
		...create(404, PAGE),
		fails: "does not come from a media generation service (HTTP 404)…'Base URL'",
	}),
	row('An error code: `invalid_voice_id`', [SPEAK], {
		...create(400, { error: 'invalid_voice_id' }),
		fails: "no voice with this ID…'Voice'",
	}),
	row('The token is refused after the task was created', [SPEAK], {
		faults: [{ ...on.read, ...always, ...answer(401, { error: 'token_expired' }) }],
		fails: 'refused the API token…task…Speech → Collect with task ID',
	}),
	row('Out of credit: 402', CREATING, {
		...create(402, { error: 'no credit for' }),
		fails: 'out of credit: …Add credit',
	}),
	row('Out of credit: 400 with a sentence', CREATING, {
		setting: { text: 'A [sim:no-credits=sentence]' },
		paid: 0,
		fails: 'out of credit: …Add credit',
	}),
	row('Out of credit: an error event', [VIDEO, IMAGE], {
		setting: { text: 'A [sim:no-credits=event]' },
		fails: 'out of credit: …Add credit',
	}),
	row('A web page instead of the API (wrong Base URL)', ['account:get', 'voice:getAll'], {
		...anything(200, PAGE),
		fails: "does not come from a media generation service…'Base URL'",
	}),
	row("A proxy's web page with status 200, to a create call", CREATING, {
		...create(200, PAGE),
		fails: `does not come from a media generation service…${MAY_BE_CHARGED}`,
	}),
	row('A task is created, but the response has no ID', [SPEAK], {
		faults: [{ ...on.create, ...always, ...acceptedWith({}) }],
		fails: MAY_BE_CHARGED,
	}),
];

const TOO_MUCH = [
	{ error: 'rate_limit_exceeded' },
	{ success: false, message: 'Too many requests' },
	{ error: { code: 429, message: 'Too many concurrent generations' }, id: null },
];

const limits: Row[] = [
	row('429 with `Retry-After` in seconds', CREATING, {
		faults: [{ ...on.create, ...answer(429, '', { 'Retry-After': '1' }) }],
		note: 'the request was certainly not accepted, so the node sends it again as soon as the limits allow',
		sent: 2,
	}),
	row('429 with `Retry-After` as a date', SPEAK_AND_VIDEO, {
		make: ({ sim }) => {
			const date = new Date(Date.now() + 1500).toUTCString();
			sim.fault({ ...on.create, ...answer(429, '', { 'Retry-After': date }) });
		},
		sent: 2,
	}),
	row('429 without `Retry-After`, or with an invalid one', SPEAK_AND_VIDEO, {
		faults: [
			{ ...on.create, ...answer(429, '', { 'Retry-After': 'soon' }) },
			{ ...on.create, ...answer(429) },
		],
		sent: 3,
	}),
	row('200 with a message that there are too many requests', SPEAK_AND_VIDEO, {
		faults: TOO_MUCH.map((body) => ({ ...on.create, ...answer(200, body) })),
		note: 'this counts as 429',
		sent: 4,
	}),
	row('A stream that begins with an error about too many requests', [VIDEO, IMAGE], {
		faults: [{ code: 429, error: 'Try later' }, 'Too many concurrent tasks'].map((data) => ({
			...on.create,
			...answer(200, event('error', data), { 'Content-Type': 'text/event-stream' }),
		})),
		note: 'this counts as 429',
		sent: 3,
	}),
	row('429 with an absurdly long `Retry-After`', SPEAK_AND_VIDEO, {
		setting: { options: { timeout: 8 } },
		...create(429, { error: 'slow down' }, { 'Retry-After': '99999999999' }),
		fails: "too many requests from this account…'Concurrency'",
		note: 'the node never pauses for more than a minute at a time',
	}),
	row('429 to a read request', READS, { faults: firstRead(429, {}, { 'Retry-After': '1' }) }),
	...[500, 502, 503, 504].map((status) =>
		row(`${status} to a read request`, READS, {
			faults: firstRead(status, PAGE),
		}),
	),
	row('500 to all read requests until the **Timeout** is over', [SPEAK], {
		setting: { options: { timeout: 10 } },
		faults: [{ ...on.read, ...always, ...answer(500, { error: 'boom' }) }],
		fails: 'No result after 10 seconds (last known status: pending, 100 %, then HTTP 500)…task ID',
	}),
	row('408 to the create call', [SPEAK], {
		...create(408),
		fails: MAY_BE_CHARGED,
	}),
	row('502 to the create call, and Retry On Fail is on', SPEAK_AND_VIDEO, {
		setting: { options: { timeout: 3 }, node: RETRY },
		...create(502, PAGE),
		fails: `An earlier attempt…unclear whether the service accepted it: The service is not available (HTTP 502)…second charge`,
		note: 'the request is not sent again',
	}),
	row('500 or 503 to the create call', CREATING, {
		...create(503, { error: 'boom' }),
		fails: `not available (HTTP 503): boom…${MAY_BE_CHARGED}`,
	}),
	row('503 or 529 with JSON that says the service is overloaded', SPEAK_AND_VIDEO, {
		faults: [503, 529].map((status) => ({
			...on.create,
			...answer(status, { error: 'The model is overloaded' }),
		})),
		note: 'this counts as 429',
		sent: 3,
	}),
	...[504, 520].map((status) =>
		row(`${status} to a create call that was accepted`, [VIDEO, IMAGE], {
			make: accepted((_, response) => response.writeHead(status).end(PAGE)),
			hints: 'searched the history',
		}),
	),
	row('Truncated JSON in response to a read request', READS, {
		faults: firstRead(200, '{"id": 12, "stat'),
	}),
];

export const HTTP = [
	{ title: 'Error bodies', rows: bodies },
	{ title: 'Refusals', rows: refusals },
	{ title: 'Rate limits and overload', rows: limits },
];
