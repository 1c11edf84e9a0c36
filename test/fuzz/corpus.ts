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
	// Each end of a line could show that each line is an event.
	{ start: `{"a":"${'}'.repeat(100_000)}"}`, unit: '\n', end: '' },
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

export const tokensAndValues: Array<{ apiToken: string; value: unknown }> = [
	// Encoded by another rule, or in small letters.
	{ apiToken: '+*2%aa', value: [{ '': '%2B%2A2%25aa' }] },
	{ apiToken: 'a/b"c\\d', value: { text: 'a\\/b\\"c\\\\d' } },
	// What was put in its place made a token again.
	{ apiToken: '******', value: '***********' },
	{ apiToken: '*****x', value: '*****xx' },
];
