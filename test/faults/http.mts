import type { FaultRule } from '../../simulator/simulator.mts';
import { accepted } from './network.mts';
import { PAGE } from '../service/bodies.mts';
import {
	always,
	answer,
	CREATING,
	IMAGE,
	on,
	READING,
	row,
	SPEAK,
	VIDEO,
	type Row,
} from './row.mts';

type Answer = Parameters<typeof answer>;

/** Every create call is answered so, or everything is: nothing is paid. */
const create = (...said: Answer) => unpaid({ ...on.create, ...answer(...said) });
const anything = (...said: Answer) => unpaid({ ...on.any, ...answer(...said) });
const unpaid = (rule: FaultRule) => ({ faults: [{ ...always, ...rule }], paid: 0 });

/** The first reading is answered so. */
const reading = (...said: Answer) => [{ ...on.read, ...answer(...said) }];

const READS = [SPEAK, ...READING] as const;
const BOTH = [SPEAK, VIDEO] as const;
const UNSURE = 'may have accepted the request and charged for it';

const TOO_LONG: Array<[string, string | object]> = [
	['`{ error }`', { error: 'Text is too long' }],
	['`{ message }`', { message: 'Text is too long' }],
	['`{ detail }`', { detail: 'Text is too long' }],
	['nested objects', { error: { error: { message: 'Text is too long' } } }],
];

const bodies: Row[] = [
	...TOO_LONG.map(([shape, body]) =>
		row(`Error body: ${shape}`, BOTH, {
			...create(400, body),
			fails: 'rejected the request: Text is too long',
		}),
	),
	row('Error body: empty', CREATING, {
		...create(500, ''),
		fails: `not available (HTTP 500)…${UNSURE}`,
	}),
	row("Error body: an edge's HTML page", CREATING, {
		...create(502, PAGE),
		fails: `not available (HTTP 502)…${UNSURE}`,
	}),
	{
		fault: '`{ error: "…" }` with status 200',
		operations: ['account:get', 'voice:getAll', 'history:getAll', SPEAK],
		...anything(200, { error: 'Something is wrong' }),
		fails: 'rejected the request: Something is wrong',
	},
	row('`error: ""` or `null` with status 200', ['account:get'], {
		faults: reading(200, { error: '', message: null, balance: 3 }),
	}),
	row('`error: ""` or `null` in a task under way', [SPEAK, 'speech:wait'], {
		faults: reading(200, { id: 1, status: 'processing', error: '', message: null }),
	}),
];

const refusals: Row[] = [
	row('401 with JSON', [...CREATING, 'account:get', 'voice:getAll', 'history:getAll'], {
		...anything(401, { error: 'invalid_token' }),
		fails: "refused the API token…Enter a new 'API Token'",
	}),
	row('403 with JSON', [...BOTH, 'account:get'], {
		...anything(403, { message: 'forbidden' }),
		fails: 'refused the API token',
	}),
	row("401 or 403 with an edge's page, to a reading", READS, {
		faults: [...reading(403, PAGE), ...reading(401, PAGE)],
		note: 'the edge passes: it is read again',
	}),
	row("403 with an edge's page, to a create call", BOTH, {
		...create(403, PAGE),
		fails: 'not available (HTTP 403)',
	}),
	row('A machine word: `invalid_voice_id`', [SPEAK], {
		...create(400, { error: 'invalid_voice_id' }),
		fails: "does not accept this voice…'Voice'",
	}),
	row('The key is refused after the task was created', [SPEAK], {
		faults: [{ ...on.read, ...always, ...answer(401, { error: 'token_expired' }) }],
		fails: 'refused the API token…task…Speech → Collect with task ID',
	}),
	row('Out of credit: 402', CREATING, {
		setting: { text: 'A [sim:no-credits]' },
		paid: 0,
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
	row('A page instead of the API (wrong Base URL)', [...BOTH, 'account:get', 'voice:getAll'], {
		...anything(200, PAGE),
		fails: "does not come from a media generation service…'Base URL'",
	}),
];

const limits: Row[] = [
	row('429 with `Retry-After` in seconds', CREATING, {
		faults: [{ ...on.create, ...answer(429, '', { 'Retry-After': '1' }) }],
		note: 'it was certainly not accepted, and is sent again when the account may send',
		sent: 2,
	}),
	row('429 with `Retry-After` as a date', BOTH, {
		make: ({ sim }) => {
			const date = new Date(Date.now() + 1500).toUTCString();
			sim.fault({ ...on.create, ...answer(429, '', { 'Retry-After': date }) });
		},
		sent: 2,
	}),
	row('429 without `Retry-After`, or with nonsense in it', BOTH, {
		faults: [
			{ ...on.create, ...answer(429, '', { 'Retry-After': 'soon' }) },
			{ ...on.create, ...answer(429) },
		],
		sent: 3,
	}),
	row('429 with an absurd `Retry-After`', BOTH, {
		setting: { options: { timeout: 8 } },
		...create(429, {}, { 'Retry-After': '99999999999' }),
		fails: "too many requests from this account…'Concurrency'",
		note: 'the node rests for at most a minute at a time',
	}),
	row('429 to a reading', READS, { faults: reading(429, {}, { 'Retry-After': '1' }) }),
	...[500, 502, 503, 504].map((status) =>
		row(`${status} to a reading`, READS, {
			faults: reading(status, PAGE),
		}),
	),
	row('500 or 503 to the create call', CREATING, {
		...create(503, { error: 'overloaded' }),
		fails: `not available (HTTP 503): overloaded…${UNSURE}`,
	}),
	...[504, 520].map((status) =>
		row(`${status} to a create call that was accepted`, [VIDEO, IMAGE], {
			make: accepted((_, response) => response.writeHead(status).end(PAGE)),
			hints: 'looked up in the history',
		}),
	),
	row('Truncated JSON, to a reading', READS, { faults: reading(200, '{"id": 12, "stat') }),
];

export const HTTP = [
	{ title: 'Error bodies', rows: bodies },
	{ title: 'Refusals', rows: refusals },
	{ title: 'Rate limits and overload', rows: limits },
];
