import type { FailureFacts, FailureKind } from '../../nodes/shared/failure';
import type { SentRequest } from '../../nodes/shared/contract';
import type { Operation } from '../faults/stage.mts';

/*
 * What once broke something, each tried again in every run. Found by these tests or while they were
 * written; the comments say what happened.
 */

/** A text that is `start`, then `unit` again and again, then `end`. */
export interface Repeated {
	start: string;
	unit: string;
	end: string;
}

/** Took the square of their length, or more. */
export const slowTexts: Repeated[] = [
	// "_" is a letter and a space to the expression that looks for credit.
	{ start: 'insufficient', unit: '_', end: '' },
	{ start: '', unit: 'invalid_insufficient_', end: '' },
	// Where the first word of an address ends.
	{ start: 'a', unit: '/', end: ' b' },
	{ start: '', unit: '//', end: 'bearer ' },
	// White space in small parts of a stream.
	{ start: '', unit: ' ', end: '' },
];

export const streams: Uint8Array[] = [
	// A status as long as the service likes went to the browser as it was.
	`data: ${'credit'.repeat(100)}\n\n`,
	`data: {"id":"${'7'.repeat(600)}","status":"${'x'.repeat(600)}"}\n\n`,
	// No address can be made of half a character.
	'data: {"id":"\\ud800","status":"processing"}\n\n',
].map((text) => Buffer.from(text));

export const values: unknown[] = [
	// encodeURIComponent threw for the path of the next request, after the task was paid.
	{ task_id: '\ud800', status: 'pending' },
	{ id: 'credit'.repeat(100), status: 'x'.repeat(1000) },
	['a/'.repeat(20_000)],
	{ error: Array.from({ length: 9 }, () => Array.from({ length: 9 }, () => 'x'.repeat(900))) },
	{ data: { data: { data: { data: [] } } }, error: { toString: 1, error: { valueOf: [] } } },
];

export const bodies: string[] = [
	// Control characters came through into messages.
	'"\u0000"',
	'\u001b[31m',
	`{"error":"${'x'.repeat(499)}🪲"}`,
	'{"type":"labs_status_updated","payload":{"task_id":"\\udc00","process_percentage":1e999}}',
	'1e999',
];

/** Names that every object knows were found in the table of types; the download failed. */
export const contentTypes: string[] = ['constructor', '__proto__', 'Constructor; charset=utf-8'];

export const entries: Array<Record<string, unknown>> = [
	// Joining them calls what stands in their place of toString.
	{ type: { toString: 1 } },
	{ kind: { toString: '', valueOf: '' }, created_at: '2026-01-01T10:00:00Z' },
	{ media_type: [{ toString: null }], prompt: 'A boat', created_at: '2026-01-01T10:00:05Z' },
];

type Order = Omit<SentRequest, 'key'> & { isLost: boolean };

/** Generations of one account, numbered from 0: those of number 1 may know the ids "a1" and "b1". */
export interface History {
	orders: Order[];
	entries: Array<Record<string, unknown>>;
	/** The service's clock minus ours, in ms. */
	offset: number;
}

const ORDER: Order = {
	prompt: 'A bird',
	sentAt: Date.parse('2026-01-01T10:00:00Z'),
	expected: 2,
	kind: 'video',
	withImages: false,
	told: ['b'],
	isLost: true,
};

export const histories: History[] = [
	// Both took the entry in the middle: each thought that the other one had all of its own.
	{
		orders: [ORDER, { ...ORDER, isLost: false }],
		entries: [
			{ id: 'b0' },
			{ prompt: 'A bird', created_at: '2026-01-01T10:00:00.000Z' },
			{ id: 'b1' },
		],
		offset: 0,
	},
	...entries.map((broken) => ({
		orders: [{ ...ORDER, prompt: String(broken.prompt ?? ''), told: [], expected: 1 }],
		entries: [broken],
		offset: 0,
	})),
];

export const credentials: Array<Record<string, unknown>> = [
	{ baseUrl: { toString: '' } },
	{ baseUrl: 'https://media.example.com', apiToken: { toString: 'x' } },
	{ baseUrl: `https://a/${'/'.repeat(20_000)}x`, apiToken: 'token' },
	{ baseUrl: 'https://a', apiToken: 'x'.repeat(100_000) },
];

export const tokensAndValues: Array<{ apiToken: string; value: unknown }> = [
	// Encoded by another rule, or in small letters.
	{ apiToken: '+*2%aa', value: [{ '': '%2B%2A2%25aa' }] },
	{ apiToken: 'a/b"c\\d', value: { text: 'a\\/b\\"c\\\\d' } },
	// What was put in its place made a token again.
	{ apiToken: '******', value: '***********' },
	{ apiToken: '*****x', value: '*****xx' },
];

export const failures: Array<{ kind: FailureKind; facts: FailureFacts }> = [
	{ kind: 'invalidInput', facts: {} },
	{ kind: 'unreachable', facts: { text: 'constructor' } },
	{ kind: 'rateLimited', facts: { retryAfterMs: Infinity } },
	{ kind: 'timedOut', facts: { limitMs: NaN } },
	{ kind: 'unavailable', facts: { status: NaN } },
	{ kind: 'streamLost', facts: { candidates: [{ id: 'x'.repeat(100_000) }] } },
];

/** Came out as no words at all, as "[object Object]", or as another error on the way. */
export const thrown: unknown[] = [
	Object.assign(new Error(), { message: 0 }),
	Object.assign(new Error(), { message: { toString: 1 } }),
	new Error(''),
	new Error('\ud800'),
	new Error('x'.repeat(100_000)),
	Object.create(null),
	{},
	{ message: 'of a kind of its own' },
	undefined,
	null,
	'',
	Symbol('thrown'),
];

/** Bodies of answers and the type of the last, by operation: in turn, the last again and again. */
export const answers: Array<{ operation: Operation; bodies: string[]; type?: string }> = [
	{
		// "mimeType.startsWith is not a function", and the file, paid for, was lost.
		operation: 'speech:wait',
		bodies: ['{"id":7,"status":"completed","audio_url":"/a.mp3"}', 'a file of no known type'],
		type: 'constructor',
	},
	// A task with an id that no address can hold: "URI malformed", and not a word of the payment.
	{ operation: 'speech:speak', bodies: ['{"task_id":"\\ud800"}'] },
	{ operation: 'account:get', bodies: ['{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000)] },
	{
		operation: 'video:textToVideo',
		bodies: [
			'event: x_complete\ndata: []\n\n',
			'[{"prompt":"A lighthouse in the rain","created_at":"2099-01-01","type":{"toString":1}}]',
		],
	},
];
