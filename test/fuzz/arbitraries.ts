import fc from 'fast-check';

/** What a service may send, from nearly right to hostile. */

/** Names that mean something to the readers, and names that mean something to JavaScript. */
const KEYS = [
	...['id', 'task_id', 'status', 'error', 'message', 'detail', 'errors', 'code', 'msg', 'type'],
	...['file_url', 'file_urls', 'audio_url', 'result', 'url', 'path', 'payload', 'prompt', 'name'],
	...['data', 'items', 'videos', 'images', 'files', 'voices', 'task', 'process_percentage'],
	...['total', 'page', 'page_size', 'created_at', 'voice_id', 'labels', 'subtitle', 'kind'],
	...['__proto__', 'constructor', 'toString', 'valueOf', 'toJSON', 'then', 'length', '', '0'],
];

/** Pieces of texts that some expression looks for, or that some parser trips over. */
export const PIECES = [
	...['credit', 'credits', 'quota', 'insufficient', 'not enough', 'out of', 'exceeded', 'voice'],
	...['invalid', 'not found', 'unknown', 'token', 'api_key', 'expired', 'unauthorized', 'too many'],
	...['completed', 'processing', 'failed', 'error', 'canceled', 'starting', 'N/A', 'true', 'null'],
	...['<', '>', '<!doctype html>', '<html>', '<a', '</p>', '<!--', '<?xml', '{', '[', '"', '&'],
	...['http://', 'HTTP://x', '//', '/', '\\', '..', '.mp4', '.mp3?x=#', '@', ':', 'file:///'],
	...['https://files.example.com/a.mp4', 'javascript:', '%', '%00', '%zz', '%2e%2e', '+', '='],
	...['1', '-0', '100', '1e999', '0x10', 'NaN', '9007199254740993', '2026-01-01T10:00:00+02:00'],
	...['__proto__', 'constructor', '[object Object]', 'undefined', '_', '-', '*****', '\u0000'],
	...[' ', '\t', '\n', '\r', '\r\n', '\u001b[31m', '\u00a0', '\ufeff', '\u202e', '\ud800', '🪲'],
];

const join = (pieces: string[]) => pieces.join('');
const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

/** Texts: of pieces, of ordinary characters, of any code units (lone surrogates, too). */
export const anyText: fc.Arbitrary<string> = fc.oneof(
	{ weight: 4, arbitrary: fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map(join) },
	{ weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 30 }) },
	fc.string({ unit: codeUnit, maxLength: 20 }),
	fc
		.tuple(fc.constantFrom(...PIECES), fc.integer({ min: 100, max: 1500 }))
		.map(([piece, times]) => piece.repeat(times)),
);

const aNumber: fc.Arbitrary<number> = fc.oneof(
	fc.constantFrom(0, -0, 1, 100, 101, -1, 0.5, 2 ** 53 + 2, 1e21, 1e308, 5e-324),
	fc.integer(),
);

/** A number or a text that may be read as one. */
export const anyFigure = fc.oneof(aNumber, aNumber.map(String), anyText);

/** Addresses, nearly always such as can be fetched. */
export const anAddress: fc.Arbitrary<string> = fc.oneof(
	fc.domain().map((host) => `https://${host}/a.mp4?signature=1`),
	anyText.map((tail) => `https://files.example.com/${tail}`),
	anyText.map((tail) => `/files/${tail}`),
	anyText.map((tail) => `files/${tail}.mp4`),
);

/** Records of which fields are as likely as not what a reader looks for. */
export function recordOf(value: fc.Arbitrary<unknown>): fc.Arbitrary<Record<string, unknown>> {
	const key = fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...KEYS) }, anyText);
	return fc
		.array(fc.tuple(key, value), { maxLength: 6 })
		.map((entries) => Object.fromEntries(entries));
}

/** Whatever JSON can hold, as JSON.parse gives it: `__proto__` is an ordinary field there. */
export const anyJson: fc.Arbitrary<unknown> = fc
	.letrec<{ value: unknown; leaf: unknown; list: unknown; record: unknown }>((tie) => ({
		value: fc.oneof(
			{ maxDepth: 5, depthSize: 'small', withCrossShrink: true },
			{ weight: 4, arbitrary: tie('leaf') },
			{ weight: 2, arbitrary: tie('list') },
			{ weight: 4, arbitrary: tie('record') },
		),
		leaf: fc.oneof(anyText, anAddress, aNumber, fc.constantFrom(null, true, false, [], {})),
		list: fc.array(tie('value'), { maxLength: 5 }),
		record: recordOf(tie('value')),
	}))
	.value.map((value) => JSON.parse(JSON.stringify(value)) as unknown);

/** Text that is JSON, nearly JSON, or something else. */
export const anyBody: fc.Arbitrary<string> = fc.oneof(
	{ weight: 4, arbitrary: anyJson.map((value) => JSON.stringify(value)) },
	fc.tuple(anyJson, fc.nat(200)).map(([value, length]) => JSON.stringify(value).slice(0, length)),
	{ weight: 2, arbitrary: anyText },
	anyText.map((text) => `<html><body>${text}</body></html>`),
);
