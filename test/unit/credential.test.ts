import { refusal } from './refusal';
import { cleanToken, readCredential } from '../../nodes/shared/http/credential';

const TOKEN = 'tok_0123456789abcdef';
const read = (fields: Record<string, unknown>) =>
	readCredential({ apiToken: TOKEN, baseUrl: 'https://media.example.com', ...fields });

describe('API token', () => {
	it.each([
		['as it is', TOKEN],
		['with white space around it', ` \t${TOKEN} \n`],
		['with a final CRLF', `${TOKEN}\r\n`],
		['with a pasted "Bearer "', `Bearer ${TOKEN}`],
		['with the whole header', `Authorization: Bearer ${TOKEN}`],
		['with a byte order mark', `\uFEFF${TOKEN}`],
	])('is taken %s', (_, raw) => {
		expect(cleanToken(raw)).toBe(TOKEN);
	});

	it('may begin with the letters of "Bearer" without being cut', () => {
		expect(cleanToken('bearer123')).toBe('bearer123');
	});

	it('is never quoted in the refusal', () => {
		expect(JSON.stringify(refusal(() => cleanToken(`${TOKEN} ${TOKEN}`)))).not.toContain(TOKEN);
	});
});

describe('Base URL', () => {
	it.each([
		['https://media.example.com', 'https://media.example.com'],
		['https://media.example.com/v1', 'https://media.example.com'],
		['https://media.example.com//v1//', 'https://media.example.com'],
		['  https://media.example.com/v1 \n', 'https://media.example.com'],
		['HTTPS://Media.Example.com/V1', 'https://media.example.com'],
		['https://media.example.com:8443/v1', 'https://media.example.com:8443'],
		['https://example.com/media/v1/', 'https://example.com/media'],
		['https://example.com/v1/media', 'https://example.com/v1/media'],
		['https://example.com/api-v1', 'https://example.com/api-v1'],
		['https://example.com/?', 'https://example.com'],
	])('%s is read as %s', (baseUrl, expected) => {
		expect(read({ baseUrl }).baseUrl).toBe(expected);
	});

	it('gives the one origin that may see the token', () => {
		const { origin } = read({ baseUrl: 'https://example.com:8443/media/v1' });
		expect(origin).toBe('https://example.com:8443');
	});

	it.each([
		...['http://localhost:8787', 'http://LOCALHOST', 'http://api.localhost'],
		...['http://127.0.0.1:8787/v1', 'http://127.1.2.3', 'http://[::1]:8787'],
	])('may be unencrypted on this machine: %s', (baseUrl) => {
		expect(read({ baseUrl }).origin).toBe(new URL(baseUrl).origin);
	});

	it('may be unencrypted elsewhere when the credential says so', () => {
		const addresses = { baseUrl: 'http://media.lan', webSocketUrl: 'ws://media.lan' };
		expect(read({ baseUrl: 'http://media.lan', allowHttp: true })).toMatchObject(addresses);
	});

	it('needs the switch itself, not a text that looks like one', () => {
		refusal(() => read({ baseUrl: 'http://media.lan', allowHttp: 'false' }));
	});

	it('never quotes a password in the refusal', () => {
		const facts = refusal(() => read({ baseUrl: 'https://me:secret@example.com' }));
		expect(JSON.stringify(facts)).not.toContain('secret');
	});
});

describe('WebSocket URL', () => {
	it.each([
		['https://media.example.com/v1', 'wss://media.example.com'],
		['https://example.com:8443/media/v1', 'wss://example.com:8443'],
		['http://127.0.0.1:8787', 'ws://127.0.0.1:8787'],
	])("is the origin of %s when it isn't given", (baseUrl, expected) => {
		expect(read({ baseUrl }).webSocketUrl).toBe(expected);
		expect(read({ baseUrl, webSocketUrl: '  ' }).webSocketUrl).toBe(expected);
		expect(read({ baseUrl, webSocketUrl: null }).webSocketUrl).toBe(expected);
	});

	it.each([
		['wss://push.example.com', 'wss://push.example.com'],
		['wss://push.example.com/', 'wss://push.example.com'],
		['wss://push.example.com/ws', 'wss://push.example.com'],
		['wss://push.example.com/live/ws/', 'wss://push.example.com/live'],
		['https://push.example.com/ws', 'wss://push.example.com'],
		['ws://localhost:9000', 'ws://localhost:9000'],
		['http://localhost:9000/ws', 'ws://localhost:9000'],
	])('%s is read as %s', (webSocketUrl, expected) => {
		expect(read({ webSocketUrl }).webSocketUrl).toBe(expected);
	});
});

const NAMES = { apiToken: 'API Token', baseUrl: 'Base URL', webSocketUrl: 'WebSocket URL' };
const UNENCRYPTED = /https:\/\/.*Allow Unencrypted Connection/;

it.each<[field: keyof typeof NAMES, title: string, value: unknown, text: RegExp]>([
	['apiToken', 'nothing', undefined, /empty/],
	['apiToken', 'null', null, /empty/],
	['apiToken', 'an empty text', '', /empty/],
	['apiToken', 'white space', ' \n ', /empty/],
	['apiToken', 'only the word "Bearer"', 'Bearer ', /empty/],
	['apiToken', 'a line break in the middle', 'tok_0123\n456789', /line break/],
	['apiToken', 'a space in the middle', 'tok_0123 456789', /space/],
	['apiToken', 'an invisible character', 'tok_0123\u200b456', /characters/],
	['apiToken', 'an umlaut', 'tökén-123456', /characters/],
	['baseUrl', 'nothing', undefined, /empty/],
	['baseUrl', 'blank', '   ', /empty/],
	['baseUrl', 'no URL', 'media.example.com', /not a URL/],
	['baseUrl', 'a sentence', 'ask the provider', /not a URL/],
	['baseUrl', 'a host and port', 'media:8080', /begin with https:\/\//],
	['baseUrl', 'another scheme', 'ftp://media.example.com', /begin with https:\/\//],
	['baseUrl', 'a WebSocket address', 'wss://media.example.com', /begin with https:\/\//],
	['baseUrl', 'an address with a password', 'https://me:secret@example.com', /password/],
	['baseUrl', 'an address with a query', 'https://example.com/?key=1', /\?/],
	['baseUrl', 'an address with a fragment', 'https://example.com/#api', /#/],
	['baseUrl', 'unencrypted to another host', 'http://media.example.com', UNENCRYPTED],
	['baseUrl', 'unencrypted in the own network', 'http://192.168.0.7:8787', UNENCRYPTED],
	['baseUrl', 'a host like 127.0.0.1', 'http://127.0.0.1.example.com', UNENCRYPTED],
	['baseUrl', 'a host that begins like localhost', 'http://localhost.example.com', UNENCRYPTED],
	['baseUrl', 'a host that ends like localhost', 'http://notlocalhost', UNENCRYPTED],
	['webSocketUrl', 'unencrypted to another host', 'ws://push.example.com', /wss:\/\//],
	['webSocketUrl', 'unencrypted as http', 'http://push.example.com', /wss:\/\//],
	['webSocketUrl', 'no URL', 'push.example.com', /not a URL/],
	['webSocketUrl', 'with a token of its own', 'wss://push.example.com/ws?token=abc', /\?/],
])('a field is refused, by its name, when %s is %s', (field, _, value, text) => {
	const refused = { field: NAMES[field], text: expect.stringMatching(text) as string };
	expect(refusal(() => read({ [field]: value }))).toEqual(refused);
});
