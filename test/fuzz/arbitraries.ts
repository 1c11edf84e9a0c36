import fc from 'fast-check';

/** What a service may send, from nearly right to hostile. */

/** Names that mean something to the readers, and names that mean something to JavaScript. */
const KEYS = [
	...['id', 'task_id', 'status', 'error', 'message', 'detail', 'details', 'errors', 'code', 'msg'],
	...['reason', 'title', 'stage', 'type', 'kind', 'media_type', 'payload', 'process_percentage'],
	...['file_url', 'file_urls', 'audio_url', 'result', 'url', 'download_url', 'href', 'address'],
	...['data', 'items', 'videos', 'images', 'files', 'results', 'voices', 'histories', 'task'],
	...['total', 'page', 'page_size', 'prompt', 'created_at', 'aspect_ratio', 'voice_id', 'name'],
	...['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'toJSON', 'then', 'length'],
	...['hasOwnProperty', '', '0', '-1'],
];

/** Pieces of texts that some expression looks for, or that some parser trips over. */
const PIECES = [
	...['credit', 'credits', 'quota', 'balance', 'insufficient', 'not enough', 'out of', 'no more'],
	...['exceeded', 'exhausted', 'payment_required', 'voice', 'invalid', 'not found', 'unknown'],
	...['token', 'api key', 'api_key', 'bearer', 'expired', 'revoked', 'unauthorized', 'missing'],
	...['completed', 'processing', 'pending', 'failed', 'error', 'canceled', 'starting', 'N/A'],
	...['<', '>', '<!doctype html>', '<html>', '<a', '</p>', '<!--', '<?xml', '&amp;', '{', '[', '"'],
	...['http://', 'https://', 'HTTP://x', '//', '/', '\\', '..', '.', '.mp4', '.mp3?x=#', '@', ':'],
	...['https://files.example.com/a.mp4', 'javascript:', 'data:audio/mp3;base64,', 'file:///'],
	...['1', '0', '-0', '100', '1e999', '-1', '0x10', 'NaN', 'Infinity', '9007199254740993', '2026'],
	...['2026-01-01T10:00:00+02:00', 'Fri, 31 Dec 1999 23:59:59 GMT', 'true', 'null', 'undefined'],
	...['__proto__', 'constructor', '[object Object]', '%', '%00', '%zz', '%2e%2e', '+', '=', '&'],
	...[' ', '  ', '\t', '\n', '\r', '\r\n', '\u0000', '\u001b[31m', '\u007f', '\u0085', '\u00a0'],
	...['\ufeff', '\u2028', '\u202e', '\ud800', '\udc00', '🪲', 'é', '_', '-', '*', '*****'],
];

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

function join(pieces: string[]): string {
	return pieces.join('');
}

const aNumber: fc.Arbitrary<number> = fc.oneof(
	fc.constantFrom(0, -0, 1, 100, 101, -1, 0.5, 2 ** 53 + 2, 1e21, 1e308, 5e-324),
	fc.double({ noNaN: true, noDefaultInfinity: true }),
	fc.integer(),
);

/** A number or a text that may be read as one. */
export const anyFigure = fc.oneof(aNumber, aNumber.map(String), anyText);

/** Part of a path or query: characters that may stand there, and others percent-encoded. */
const urlPart = fc
	.array(
		fc.oneof(
			fc.constantFrom(..."abcXYZ0189-._~:@!$&'()*+,;="),
			fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }).map(encodeURIComponent),
		),
		{ maxLength: 8 },
	)
	.map(join);

/** Addresses of the web. To make fc.webUrl() takes a second, which each file of tests would spend. */
const webUrl = fc
	.tuple(
		fc.constantFrom('http', 'https'),
		fc.domain(),
		fc.array(urlPart, { maxLength: 4 }),
		fc.option(urlPart),
	)
	.map(([scheme, host, path, query]) => {
		return `${[`${scheme}://${host}`, ...path].join('/')}${query === null ? '' : `?${query}`}`;
	});

/** Addresses, nearly always such as can be fetched. */
export const anAddress: fc.Arbitrary<string> = fc.oneof(
	webUrl,
	anyText.map((tail) => `https://files.example.com/${tail}`),
	anyText.map((tail) => `/files/${tail}`),
	anyText.map((tail) => `files/${tail}.mp4`),
);

/** Whatever JSON can hold, as JSON.parse gives it: `__proto__` is an ordinary field there. */
export const anyJson: fc.Arbitrary<unknown> = fc
	.letrec<{ value: unknown; leaf: unknown; list: unknown; record: unknown }>((tie) => ({
		value: fc.oneof(
			{ maxDepth: 5, depthSize: 'small', withCrossShrink: true },
			{ weight: 4, arbitrary: tie('leaf') },
			{ weight: 2, arbitrary: tie('list') },
			{ weight: 4, arbitrary: tie('record') },
		),
		leaf: fc.oneof(
			{ weight: 4, arbitrary: anyText },
			{ weight: 3, arbitrary: anAddress },
			{ weight: 2, arbitrary: aNumber },
			fc.constantFrom(null, true, false, '', [], {}),
		),
		list: fc.array(tie('value'), { maxLength: 5 }),
		record: recordOf(tie('value')),
	}))
	.value.map(asParsed);

/** Records of which fields are as likely as not what a reader looks for. */
export function recordOf(value: fc.Arbitrary<unknown>): fc.Arbitrary<Record<string, unknown>> {
	const key = fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...KEYS) }, anyText);
	return fc
		.array(fc.tuple(key, value), { maxLength: 6 })
		.map((entries) => Object.fromEntries(entries));
}

/** JSON.parse makes its values; a `toJSON` in them is data and no function. */
function asParsed(value: unknown): unknown {
	return JSON.parse(JSON.stringify(value)) as unknown;
}

/** Text that is JSON, nearly JSON, or something else. */
export const anyBody: fc.Arbitrary<string> = fc.oneof(
	{ weight: 4, arbitrary: anyJson.map((value) => JSON.stringify(value)) },
	fc.tuple(anyJson, fc.nat(200)).map(([value, length]) => JSON.stringify(value).slice(0, length)),
	{ weight: 2, arbitrary: anyText },
	anyText.map((text) => `<html><body>${text}</body></html>`),
);

/** Some bytes in parts, cut anywhere, now and then into empty ones. */
export interface Parts {
	bytes: Uint8Array;
	cuts: number[];
}

export const inParts = (bytes: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Parts> =>
	fc.record({ bytes, cuts: fc.array(fc.nat(4000), { maxLength: 12 }) });

/** The parts themselves. */
export function partsOf({ bytes, cuts }: Parts): Uint8Array[] {
	const places = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
	return [0, ...places].map((start, index) => bytes.subarray(start, places[index]));
}
