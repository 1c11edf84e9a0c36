import { accepted } from './network.mts';
import { PAGE } from '../service/bodies.mts';
import {
	always,
	answer,
	CREATING,
	IMAGE,
	onAny,
	onCreate,
	onRead,
	READING,
	row,
	SPEAK,
	VIDEO,
	type Group,
	type Row,
} from './row.mts';

type Answer = Parameters<typeof answer>;

/** Every create call, the first reading, or everything is answered so. */
const create = (...said: Answer) => [{ ...onCreate, ...always, ...answer(...said) }];
const reading = (...said: Answer) => [{ ...onRead, ...answer(...said) }];
const anything = (...said: Answer) => [{ ...onAny, ...always, ...answer(...said) }];

const READS = [SPEAK, ...READING] as const;
const BOTH = [SPEAK, VIDEO] as const;
const UNSURE = 'may have accepted the request and charged for it';

const TOO_LONG: Array<[string, string | object]> = [
	['`{ error }`', { error: 'Text is too long' }],
	['`{ message }`', { message: 'Text is too long' }],
	['`{ detail }`', { detail: 'Text is too long' }],
	['nested objects', { error: { error: { message: 'Text is too long' } } }],
	['a list', { errors: [{ field: 'input', message: 'Text is too long' }] }],
	['plain text', 'Text is too long'],
];

const bodies: Row[] = [
	...TOO_LONG.map(([shape, body]) =>
		row(`Error body: ${shape}`, BOTH, {
			faults: create(400, body),
			paid: 0,
			fails: 'rejected the request: Text is too long',
		}),
	),
	row('Error body: empty', CREATING, {
		faults: create(500, ''),
		paid: 0,
		fails: `not available (HTTP 500)…${UNSURE}`,
	}),
	row("Error body: an edge's HTML page", CREATING, {
		faults: create(502, PAGE),
		paid: 0,
		fails: `not available (HTTP 502)…${UNSURE}`,
	}),
	{
		fault: '`{ error: "…" }` with status 200',
		operations: ['account:get', 'voice:getAll', 'history:getAll', SPEAK],
		faults: anything(200, { error: 'Something is wrong' }),
		paid: 0,
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
		faults: anything(401, { error: 'invalid_token' }),
		paid: 0,
		fails: "refused the API token…check 'API Token'",
	}),
	row('403 with JSON', [...BOTH, 'account:get'], {
		faults: anything(403, { message: 'forbidden' }),
		paid: 0,
		fails: 'refused the API token',
	}),
	row("401 or 403 with an edge's page, to a reading", READS, {
		faults: [...reading(403, PAGE), ...reading(401, PAGE)],
		note: 'the edge passes: it is read again',
	}),
	row("403 with an edge's page, to a create call", BOTH, {
		faults: create(403, PAGE),
		paid: 0,
		fails: 'not available (HTTP 403)',
	}),
	row('A machine word: `invalid_voice_id`', [SPEAK], {
		faults: create(400, { error: 'invalid_voice_id' }),
		paid: 0,
		fails: "does not accept this voice…'Voice'",
	}),
	row('The key is refused after the task was created', [SPEAK], {
		faults: [{ ...onRead, ...always, ...answer(401, { error: 'token_expired' }) }],
		fails: 'refused the API token…task…Speech → Wait with task ID',
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
		faults: anything(200, PAGE),
		paid: 0,
		fails: "does not come from a media generation service…'Base URL'",
	}),
];

const limits: Row[] = [
	row('429 with `Retry-After` in seconds', CREATING, {
		faults: [{ ...onCreate, ...answer(429, '', { 'Retry-After': '1' }) }],
		note: 'it was certainly not accepted, and is sent again when the account may send',
		sent: 2,
	}),
	row('429 with `Retry-After` as a date', BOTH, {
		make: ({ sim }) => {
			const date = new Date(Date.now() + 1500).toUTCString();
			sim.fault({ ...onCreate, ...answer(429, '', { 'Retry-After': date }) });
		},
		sent: 2,
	}),
	row('429 without `Retry-After`, or with nonsense in it', BOTH, {
		faults: [
			{ ...onCreate, ...answer(429, '', { 'Retry-After': 'soon' }) },
			{ ...onCreate, ...answer(429) },
		],
		sent: 3,
	}),
	row('429 with an absurd `Retry-After`', BOTH, {
		setting: { options: { timeout: 8 } },
		faults: create(429, {}, { 'Retry-After': '99999999999' }),
		paid: 0,
		fails: "too many requests from this account…'Concurrency'",
		note: 'the node rests for at most a minute at a time',
	}),
	row('429 to a reading', READS, { faults: reading(429, {}, { 'Retry-After': '1' }) }),
	...[500, 502, 503, 504, 520, 524].map((status) =>
		row(`${status} to a reading`, READS, {
			faults: reading(status, PAGE),
		}),
	),
	row('500 or 503 to the create call', CREATING, {
		faults: create(503, { error: 'overloaded' }),
		paid: 0,
		fails: `not available (HTTP 503): overloaded…${UNSURE}`,
	}),
	...[504, 520, 524].map((status): Row => ({
		fault: `${status} to a create call that was accepted`,
		operations: [VIDEO, IMAGE],
		make: accepted((_, response) => response.writeHead(status).end(PAGE)),
		hints: 'looked up in the history',
	})),
	row('504 to a create call of speech that was accepted', [SPEAK], {
		faults: [{ ...onCreate, action: { accepted: true, ...answer(504, PAGE).action } }],
		fails: `not available (HTTP 504)…${UNSURE}`,
	}),
	row('Truncated JSON, to a reading', READS, { faults: reading(200, '{"id": 12, "stat') }),
];

export const HTTP: Group[] = [
	{ title: 'Error bodies', rows: bodies },
	{ title: 'Refusals', rows: refusals },
	{ title: 'Rate limits and overload', rows: limits },
];
