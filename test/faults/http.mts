import { accepted } from './network.mts';
import {
	always,
	CREATING,
	onCreate,
	onRead,
	PAGE,
	READING,
	SPEAK,
	VIDEO,
	type Group,
	type Row,
} from './row.mts';

/** The create call is answered so, every time. */
const create = (status: number, body: string | object, headers: Record<string, string> = {}) =>
	(({ sim }) => {
		sim.fault({ ...onCreate, ...always, action: { respond: { status, body, headers } } });
	}) satisfies Row['make'];

/** The first reading is answered so. */
const reading = (status: number, body: string | object, headers: Record<string, string> = {}) =>
	(({ sim }) => {
		sim.fault({ ...onRead, action: { respond: { status, body, headers } } });
	}) satisfies Row['make'];

const READS = [SPEAK, ...READING] as const;
const BOTH = [SPEAK, VIDEO] as const;
const refusal = { outcome: 'fails', paid: 0 } as const;
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
	...TOO_LONG.map(([shape, body]): Row => ({
		fault: `Error body: ${shape}`,
		operations: BOTH,
		make: create(400, body),
		...refusal,
		says: 'rejected the request: Text is too long',
	})),
	{
		fault: 'Error body: empty',
		operations: CREATING,
		make: create(500, ''),
		...refusal,
		says: `not available (HTTP 500)…${UNSURE}`,
	},
	{
		fault: "Error body: an edge's HTML page",
		operations: CREATING,
		make: create(502, PAGE),
		...refusal,
		says: `not available (HTTP 502)…${UNSURE}`,
	},
	{
		fault: '`{ error: "…" }` with status 200',
		operations: ['account:get', 'voice:getAll', 'history:getAll', SPEAK],
		make: ({ sim }) => {
			const respond = { status: 200, body: { error: 'Something is wrong' } };
			sim.fault({ path: '/v1/', ...always, action: { respond } });
		},
		...refusal,
		says: 'rejected the request: Something is wrong',
	},
	{
		fault: '`error: ""` or `null` with status 200',
		operations: ['account:get'],
		make: reading(200, { error: '', message: null, balance: 3 }),
		outcome: 'result',
	},
	{
		fault: '`error: ""` or `null` in a task under way',
		operations: [SPEAK, 'speech:wait'],
		make: reading(200, { id: 1, status: 'processing', error: '', message: null }),
		outcome: 'result',
	},
];

const refusals: Row[] = [
	{
		fault: '401 with JSON',
		operations: [...CREATING, 'account:get', 'voice:getAll', 'history:getAll'],
		make: ({ sim }) => {
			const respond = { status: 401, body: { error: 'invalid_token' } };
			sim.fault({ path: '/v1/', ...always, action: { respond } });
		},
		...refusal,
		says: "refused the API token…check 'API Token'",
	},
	{
		fault: '403 with JSON',
		operations: [...BOTH, 'account:get'],
		make: ({ sim }) => {
			const respond = { status: 403, body: { message: 'forbidden' } };
			sim.fault({ path: '/v1/', ...always, action: { respond } });
		},
		...refusal,
		says: 'refused the API token',
	},
	{
		fault: "401 or 403 with an edge's page, to a reading",
		operations: READS,
		make: ({ sim }) => {
			sim.fault({ ...onRead, action: { respond: { status: 403, body: PAGE } } });
			sim.fault({ ...onRead, action: { respond: { status: 401, body: PAGE } } });
		},
		outcome: 'result',
		note: 'the edge passes: it is read again',
	},
	{
		fault: "403 with an edge's page, to a create call",
		operations: BOTH,
		make: create(403, PAGE),
		...refusal,
		says: 'not available (HTTP 403)',
	},
	{
		fault: 'A machine word: `invalid_voice_id`',
		operations: [SPEAK],
		make: create(400, { error: 'invalid_voice_id' }),
		...refusal,
		says: "does not accept this voice…'Voice'",
	},
	{
		fault: 'The key is refused after the task was created',
		operations: [SPEAK],
		make: ({ sim }) => {
			const respond = { status: 401, body: { error: 'token_expired' } };
			sim.fault({ ...onRead, ...always, action: { respond } });
		},
		outcome: 'fails',
		says: 'refused the API token…task…Speech → Wait with task ID',
	},
	{
		fault: 'Out of credit: 402',
		operations: CREATING,
		setting: { text: 'A [sim:no-credits]' },
		...refusal,
		says: 'out of credit: …Add credit',
	},
	{
		fault: 'Out of credit: 400 with a sentence',
		operations: CREATING,
		setting: { text: 'A [sim:no-credits=sentence]' },
		...refusal,
		says: 'out of credit: …Add credit',
	},
	{
		fault: 'Out of credit: an error event',
		operations: [VIDEO, 'image:create'],
		setting: { text: 'A [sim:no-credits=event]' },
		outcome: 'fails',
		says: 'out of credit: …Add credit',
	},
	{
		fault: 'A page instead of the API (wrong Base URL)',
		operations: [...BOTH, 'account:get', 'voice:getAll'],
		make: ({ sim }) => {
			sim.fault({ path: '/v1/', ...always, action: { respond: { status: 200, body: PAGE } } });
		},
		...refusal,
		says: "does not come from a media generation service…'Base URL'",
	},
];

const date = (inMs: number) => new Date(Date.now() + inMs).toUTCString();

const limits: Row[] = [
	{
		fault: '429 with `Retry-After` in seconds',
		operations: CREATING,
		make: ({ sim }) => {
			const respond = { status: 429, headers: { 'Retry-After': '1' } };
			sim.fault({ ...onCreate, action: { respond } });
		},
		outcome: 'result',
		note: 'it was surely not accepted, and is sent again when the account may',
		sent: 2,
	},
	{
		fault: '429 with `Retry-After` as a date',
		operations: BOTH,
		make: ({ sim }) => {
			const respond = { status: 429, headers: { 'Retry-After': date(1500) } };
			sim.fault({ ...onCreate, action: { respond } });
		},
		outcome: 'result',
		sent: 2,
	},
	{
		fault: '429 without `Retry-After`, or with nonsense in it',
		operations: BOTH,
		make: ({ sim }) => {
			const headers = { 'Retry-After': 'soon' };
			sim.fault({ ...onCreate, action: { respond: { status: 429, headers } } });
			sim.fault({ ...onCreate, action: { respond: { status: 429 } } });
		},
		outcome: 'result',
		sent: 3,
	},
	{
		fault: '429 with an absurd `Retry-After`',
		operations: BOTH,
		setting: { options: { timeout: 8 } },
		make: create(429, {}, { 'Retry-After': '99999999999' }),
		...refusal,
		says: "too many requests from this account…'Concurrency'",
		note: 'rests at most a minute at a time',
	},
	{
		fault: '429 to a reading',
		operations: READS,
		make: reading(429, {}, { 'Retry-After': '1' }),
		outcome: 'result',
	},
	...[500, 502, 503, 504, 520, 524].map((status): Row => ({
		fault: `${status} to a reading`,
		operations: READS,
		make: reading(status, PAGE),
		outcome: 'result',
	})),
	{
		fault: '500 or 503 to the create call',
		operations: CREATING,
		make: create(503, { error: 'overloaded' }),
		...refusal,
		says: `not available (HTTP 503): overloaded…${UNSURE}`,
	},
	...[504, 520, 524].map((status): Row => ({
		fault: `${status} to a create call that was accepted`,
		operations: [VIDEO, 'image:create'],
		make: accepted((_, response) => response.writeHead(status).end(PAGE)),
		outcome: 'result',
		says: 'looked up in the history',
	})),
	{
		fault: '504 to a create call of speech that was accepted',
		operations: [SPEAK],
		make: ({ sim }) => {
			const respond = { status: 504, body: PAGE };
			sim.fault({ ...onCreate, action: { accepted: true, respond } });
		},
		outcome: 'fails',
		says: `not available (HTTP 504)…${UNSURE}`,
	},
	{
		fault: 'JSON that breaks off, to a reading',
		operations: READS,
		make: reading(200, '{"id": 12, "stat'),
		outcome: 'result',
	},
];

export const HTTP: Group[] = [
	{ title: 'Error bodies', rows: bodies },
	{ title: 'Refusals', rows: refusals },
	{ title: 'Rate limits and overload', rows: limits },
];
