import fc from 'fast-check';
import { cleanToken, readCredential } from '../../nodes/shared/http/credential';
import { redactor } from '../../nodes/shared/parsing/redaction';
import { Failure } from '../../nodes/shared/failure';
import { anyJson, anyText } from './arbitraries';
import { always, valueOrFailure } from './check';
import { credentials, tokensAndValues } from './corpus';

const scheme = fc.constantFrom(
	'https://',
	'http://',
	'wss://',
	'ws://',
	'HTTPS:\\\\',
	'ftp://',
	'',
);
const host = fc.oneof(
	fc.constantFrom('media.example.com', 'localhost', '127.0.0.1:8787', '[::1]:1', 'a@b', '%41', ''),
	fc.domain(),
	anyText,
);
const path = fc.oneof(fc.constantFrom('', '/', '/v1', '/v1/', '//v1//', '/ws', '/a/ws?'), anyText);
const address = fc.tuple(scheme, host, path).map((parts) => parts.join(''));
const tokenText = fc.oneof(
	fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map(character), maxLength: 60 }),
	anyText,
	anyText.map((text) => `Bearer ${text}`),
);

function character(code: number) {
	return String.fromCharCode(code);
}

const credential = fc.record(
	{
		apiToken: fc.oneof(tokenText, anyJson),
		baseUrl: fc.oneof({ weight: 5, arbitrary: address }, anyJson),
		webSocketUrl: fc.oneof({ weight: 5, arbitrary: address }, anyJson),
		allowHttp: fc.oneof(fc.boolean(), anyJson),
	},
	{ requiredKeys: [] },
);

describe('whatever a credential holds', () => {
	it('is an address that requests can be sent to, or a failure that names the field', () => {
		always(credential, { examples: credentials, normal: 250 }, (fields) => {
			const read = valueOrFailure(() => readCredential(fields));
			if (read instanceof Failure) {
				expect(read.kind).toBe('invalidInput');
				expect(['API Token', 'Base URL', 'WebSocket URL']).toContain(read.facts.field);
				expect(read.facts.text).toMatch(/^(?:is|must|contains) .{2,300}$/);
				return;
			}
			const request = new URL(`${read.baseUrl}/v1/labs/task`);
			expect(request.origin).toBe(read.origin);
			expect(request.pathname).toMatch(/\/v1\/labs\/task$/);
			expect(request.search + request.hash + request.username + request.password).toBe('');
			const socket = new URL(`${read.webSocketUrl}/ws?token=x`);
			expect(['ws:', 'wss:']).toContain(socket.protocol);
			expect(socket.search).toBe('?token=x');
			expect(socket.pathname).toMatch(/\/ws$/);
			expect(() => new Headers({ Authorization: `Bearer ${read.apiToken}` })).not.toThrow();
			expect(read.apiToken).toBe(cleanToken(read.apiToken));
			if (fields.allowHttp !== true) {
				const isLocal = /^(?:localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
				expect(request.protocol === 'https:' || isLocal.test(request.hostname)).toBe(true);
				expect(socket.protocol === 'wss:' || isLocal.test(socket.hostname)).toBe(true);
			}
		});
	});

	it('can be read again: what came of it comes of itself', () => {
		always(credential, {}, (fields) => {
			const read = valueOrFailure(() => readCredential(fields));
			if (read instanceof Failure) return;
			// A path that is `/v1/v1` may be meant so; each reading takes one away.
			if (/\/(?:v1|ws)$/i.test(read.baseUrl) || /\/ws$/i.test(read.webSocketUrl)) return;
			const again = readCredential({ ...read, allowHttp: fields.allowHttp });
			expect({ ...again, redact: read.redact }).toEqual(read);
		});
	});
});

/** The same text as it stands in addresses: percent-encoded in one way or another. */
const encodings = (text: string) => {
	return [
		text,
		encodeURIComponent(text),
		encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase()),
		new URLSearchParams({ t: text }).toString().slice(2),
		encodeURI(text),
		JSON.stringify(text).slice(1, -1),
		JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
	];
};

const token = fc.oneof(
	fc.string({ unit: fc.integer({ min: 0x21, max: 0x5b }).map(character), minLength: 6 }),
	fc.string({ unit: fc.constantFrom('a', '*', '%', '2', '5', '+'), minLength: 6, maxLength: 9 }),
);

/** JSON that holds the token here and there, in keys and texts, encoded in some way. */
const holding = token.chain((apiToken) => {
	const text = fc
		.array(fc.oneof(fc.constantFrom(...encodings(apiToken), apiToken.slice(0, 3)), anyText), {
			maxLength: 4,
		})
		.map((parts) => parts.join(''));
	const value = fc.letrec((tie) => ({
		any: fc.oneof(
			{ maxDepth: 4, depthSize: 'small' },
			text,
			anyJson,
			fc.array(tie('any'), { maxLength: 3 }),
			fc.dictionary(text, tie('any'), { maxKeys: 3 }),
		),
	})).any;
	return fc.record({ apiToken: fc.constant(apiToken), value });
});

/** All texts in a value, keys included. */
const textsOf = (value: unknown): string[] =>
	typeof value === 'string'
		? [value]
		: typeof value === 'object' && value !== null
			? Object.entries(value).flat().flatMap(textsOf)
			: [];

describe('whatever is put out', () => {
	it('never holds the token, however encoded', () => {
		always(holding, { examples: tokensAndValues, normal: 250 }, ({ apiToken, value }) => {
			const before = JSON.stringify(value);
			const redact = redactor(apiToken);
			const clean = redact.value(value);
			expect(JSON.stringify(value)).toBe(before);
			const forms = encodings(apiToken);
			for (const text of textsOf(clean)) {
				expect(forms.filter((form) => text.includes(form))).toEqual([]);
			}
			expect(redact.value(clean)).toEqual(clean);
		});
	});

	it('is left alone when the token is not in it', () => {
		always(holding, {}, ({ apiToken, value }) => {
			const without = JSON.parse(JSON.stringify(value).replaceAll(/q/gi, '')) as unknown;
			expect(redactor(`Q${apiToken}`).value(without)).toBe(without);
		});
	});

	it('comes through with any token, and whatever it is', () => {
		always(fc.tuple(anyJson, anyText), {}, ([value, apiToken]) => {
			expect(() => redactor(apiToken).value(value)).not.toThrow();
		});
	});
});
