import fc from 'fast-check';
import { anyBody, anyText } from './arbitraries';

/** What a service that answers by chance may answer: right, nearly right, or no HTTP at all. */

/** One answer; `{origin}`, `{token}` and `{id}` in its texts stand for what they say. */
export interface Answer {
	status: number;
	headers: Array<[name: string, value: string]>;
	/** A text, or the one of the right answers with this number. */
	body: string | { right: number };
	/** How the end of the body is told. */
	framing: 'length' | 'chunked' | 'close' | 'too long' | 'too short' | 'bad chunks' | 'no http';
	/** Bytes after which the connection is cut; undefined when it ends in good order. */
	cut?: number;
	reset: boolean;
	/** Milliseconds before it comes. */
	delayMs?: number;
}

export interface Behaviour {
	/** In the order of the requests; the last one again and again. */
	answers: Answer[];
	/** What comes over the socket; undefined when there is none. */
	messages?: Array<{ text: string; binary: boolean }>;
	/** True when the token is the `{id}` of everything. */
	tokenAsId?: boolean;
}

const record = (id: string) =>
	`{"id":"${id}","prompt":"A boat","status":"completed","file_url":"{origin}/file-${id}","created_at":"2099-01-01T00:00:00Z"}`;
const event = (name: string, data: string) => `event: ${name}\ndata: ${data}\n\n`;
const started = event('video_generation_status', '"{token}"');

/** Answers that are right in their place, so that what follows is reached as well. */
const RIGHT: Array<[place: RegExp, bodies: string[]]> = [
	[/^POST \/v1\/labs/, ['{"task_id":"7"}', '{"id":"{id}"}']],
	[
		/^GET \/v1\/labs\/task/,
		[
			'{"id":7,"status":"completed","audio_url":"{origin}/a.mp3"}',
			'{"id":"{id}","status":"completed","result":"{token}/{token}.mp3","{token}":["{token}"]}',
			'{"id":7,"status":"processing","process_percentage":43}',
			'{"id":7,"status":"completed"}',
			'{"id":7,"status":"error","error":"voice {token} not found"}',
		],
	],
	[/^DELETE/, ['', '{}', '{"error":"{token}"}']],
	[
		/^GET \/v1\/labs\/voices/,
		[
			'[{"voice_id":"a","name":"{token}"}]',
			'{"voices":[{"voice_id":"{token}"}],"total":"9","page_size":1}',
		],
	],
	[
		/^POST \/v1\/video/,
		[
			started + event('video_generation_complete', `[${record('{id}')},${record('3')}]`),
			event('video_generation_status', '{"id":"1"}') + event('video_generation_complete', '[]'),
			event('error', '{"error":"UNSAFE_GENERATION {token}"}'),
			started,
			`[${record('1')}]`,
		],
	],
	[
		/^GET \/v1\/video\/histories/,
		[`[${record('1')},${record('{id}')}]`, `{"data":[${record('2')}]}`],
	],
	[
		/^GET \/v1\/video\/me/,
		['{"total_quota":1,"{token}":{"x":["{token}"]}}', '[]', '{"error":"{token}"}'],
	],
	[/./, ['ID3\u0004\u0000 {token}', `\u0000\u0000\u0000 ftypisom${'x'.repeat(70_000)}`, '']],
];

/** The text of an answer to a request such as `GET /v1/video/me`. */
export function bodyFor(request: string, body: Answer['body']): string {
	if (typeof body === 'string') return body;
	const [, bodies] = RIGHT.find(([place]) => place.test(request))!;
	return bodies[body.right % bodies.length]!;
}

const headerValue = anyText.map((text) => text.replace(/[^\t\x20-\x7e]/g, '').slice(0, 2000));
const header = fc.oneof(
	fc.tuple(
		fc.constant('Content-Type'),
		fc.oneof(
			fc.constantFrom('application/json', 'text/event-stream', 'text/html', 'audio/mpeg'),
			fc.constant('constructor'),
			headerValue,
		),
	),
	fc.tuple(
		fc.constant('Location'),
		fc.oneof(
			fc.constantFrom('/', '//', '{origin}/again', 'http://127.0.0.1:9/{token}', 'ftp://x', '%'),
			headerValue,
		),
	),
	fc.tuple(fc.constantFrom('Date', 'Content-Encoding', 'Set-Cookie', 'X-Token'), headerValue),
	fc.constantFrom<[string, string]>(['Content-Encoding', 'gzip'], ['X-Token', '{token}']),
);

const status = fc.oneof(
	{ weight: 6, arbitrary: fc.constant(200) },
	{
		weight: 3,
		arbitrary: fc.constantFrom(
			...[201, 204, 301, 302, 307, 400, 401, 402, 403, 404, 422, 429, 500, 503],
		),
	},
	{ weight: 1, arbitrary: fc.integer({ min: 200, max: 999 }) },
);

const body = fc.oneof(
	{ weight: 5, arbitrary: fc.record({ right: fc.nat(4) }) },
	{ weight: 2, arbitrary: anyBody },
	{ weight: 1, arbitrary: anyText.map((text) => `event: x\ndata: ${text}{token}\n\n`) },
);

const answer: fc.Arbitrary<Answer> = fc.record(
	{
		status,
		headers: fc.array(header, { maxLength: 3 }),
		body,
		framing: fc.oneof(
			{ weight: 5, arbitrary: fc.constantFrom('length' as const, 'chunked' as const) },
			fc.constantFrom('close' as const, 'too long' as const, 'too short' as const),
			fc.constantFrom('bad chunks' as const, 'no http' as const),
		),
		cut: fc.nat(300),
		reset: fc.boolean(),
		delayMs: fc.constantFrom(0, 0, 100, 500),
	},
	{ requiredKeys: ['status', 'headers', 'body', 'framing', 'reset'] },
);

const message = fc.record({
	text: fc.oneof(
		anyBody,
		fc
			.tuple(
				fc.constantFrom('"7"', '7', '"{token}"', '{}'),
				fc.constantFrom(1, 99, 100, '"x"', 1e99),
			)
			.map(
				([id, percentage]) =>
					`{"type":"labs_status_updated","payload":{"task_id":${id},"process_percentage":${percentage}}}`,
			),
	),
	binary: fc.boolean(),
});

export const behaviour: fc.Arbitrary<Behaviour> = fc.record(
	{
		answers: fc.array(answer, { minLength: 1, maxLength: 6 }),
		messages: fc.array(message, { maxLength: 5 }),
		tokenAsId: fc.boolean(),
	},
	{ requiredKeys: ['answers'] },
);
