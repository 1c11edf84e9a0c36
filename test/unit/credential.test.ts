import { refusal } from './refusal';
import { MediaGenerationApi } from '../../credentials/MediaGenerationApi.credentials';
import { cleanToken, readCredential } from '../../nodes/shared/http/credential';
import { readNodeCredential } from '../../nodes/shared/n8n/nodeCredential';
import { toNodeError } from '../../nodes/shared/n8n/nodeErrors';

const TOKEN = 'tok_0123456789abcdef';
const read = (fields: Record<string, unknown>) =>
	readCredential({ apiToken: TOKEN, baseUrl: 'https://media.example.com', ...fields });

it.each([
	[` \t\uFEFF${TOKEN} \r\n`, TOKEN],
	[`Authorization: Bearer ${TOKEN}`, TOKEN],
	['bearer123', 'bearer123'],
])('the token is taken out of %j', (raw, token) => {
	expect(cleanToken(raw)).toBe(token);
});

it.each<[baseUrl: string, expected: string, socket: string]>([
	['  https://media.example.com//v1// \n', 'https://media.example.com', 'wss://media.example.com'],
	['HTTPS://Media.Example.com/V1', 'https://media.example.com', 'wss://media.example.com'],
	['https://a.example:8443/media/v1/', 'https://a.example:8443/media', 'wss://a.example:8443'],
	['https://example.com/v1/media', 'https://example.com/v1/media', 'wss://example.com'],
	['http://localhost:8787', 'http://localhost:8787', 'ws://localhost:8787'],
	['http://127.1.2.3/v1', 'http://127.1.2.3', 'ws://127.1.2.3'],
	['http://[::1]:8787', 'http://[::1]:8787', 'ws://[::1]:8787'],
])('the base URL %s is read as %s, with the socket at %s', (baseUrl, expected, webSocketUrl) => {
	for (const field of [undefined, null, '  ']) {
		const { origin, ...addresses } = read({ baseUrl, webSocketUrl: field });
		expect(addresses).toMatchObject({ baseUrl: expected, webSocketUrl });
		expect(origin).toBe(new URL(expected).origin);
	}
});

it.each([
	['wss://push.example.com/', 'wss://push.example.com'],
	['wss://push.example.com/live/ws/', 'wss://push.example.com/live'],
	['https://push.example.com/ws', 'wss://push.example.com'],
	['http://localhost:9000/ws', 'ws://localhost:9000'],
])('the WebSocket URL %s is read as %s', (webSocketUrl, expected) => {
	expect(read({ webSocketUrl }).webSocketUrl).toBe(expected);
});

it('may be unencrypted elsewhere when the switch itself says so, not a text like it', () => {
	const addresses = { baseUrl: 'http://media.lan', webSocketUrl: 'ws://media.lan' };
	expect(read({ baseUrl: 'http://media.lan', allowHttp: true })).toMatchObject(addresses);
	refusal(() => read({ baseUrl: 'http://media.lan', allowHttp: 'false' }));
});

it.each(new MediaGenerationApi().properties.map(({ name }) => name))(
	'another %s is another account, unless it only says how to connect',
	(name) => {
		const value = name === 'allowHttp' ? true : 'https://other.example.com';
		const isOther = read({ [name]: value }).accountKey !== read({}).accountKey;
		expect(isOther).toBe(!['webSocketUrl', 'allowHttp'].includes(name));
	},
);

it('the same value in two fields makes two accounts', () => {
	const value = 'https://other.example.com';
	const keys = new MediaGenerationApi().properties.map(
		({ name }) => read({ [name]: value }).accountKey,
	);
	const others = keys.filter((key) => key !== read({}).accountKey);
	expect(new Set(others).size).toBe(others.length);
});

it.each(
	new MediaGenerationApi().properties
		.filter(({ typeOptions }) => typeOptions?.password)
		.map(({ name }) => name),
)('%s is secret, so it is in no text that is shown', (name) => {
	const secret = 'another-secret-0123';
	expect(read({ [name]: secret }).redact.text(`bad ${secret}`)).not.toContain(secret);
});

it('has the account key that executions and triggers have saved', () => {
	expect(read({}).accountKey).toBe(
		'8ea7bb86cfe299bed02b17272a093111cb2493576a415be1118bd98d440801ee',
	);
});

it('never quotes a token or a password in the refusal', () => {
	expect(JSON.stringify(refusal(() => cleanToken(`${TOKEN} ${TOKEN}`)))).not.toContain(TOKEN);
	const facts = refusal(() => read({ baseUrl: 'https://me:secret@example.com' }));
	expect(JSON.stringify(facts)).not.toContain('secret');
});

const NAMES = { apiToken: 'API Token', baseUrl: 'Base URL', webSocketUrl: 'WebSocket URL' };
const UNENCRYPTED = /https:\/\/.*Allow Unencrypted Connection/;

it.each<[field: keyof typeof NAMES, text: RegExp, values: unknown[]]>([
	['apiToken', /empty/, [undefined, null, '', ' \n ', 'Bearer ']],
	['apiToken', /line break, a space/, ['tok_0123\n456', 'tok 456', 'tok\u200b456', 'tökén-123456']],
	['baseUrl', /empty/, [undefined, '   ']],
	[
		'baseUrl',
		/complete URL, such as https:/,
		['media.example.com', 'media:8080', 'ask the provider'],
	],
	['baseUrl', /complete URL, such as https:/, ['ftp://example.com', 'wss://example.com']],
	['baseUrl', /password/, ['https://me:secret@example.com']],
	['baseUrl', /"\?" or "#"/, ['https://example.com/?key=1', 'https://example.com/#api']],
	['baseUrl', UNENCRYPTED, ['http://media.example.com', 'http://192.168.0.7:8787']],
	['baseUrl', UNENCRYPTED, ['http://127.0.0.1.example.com', 'http://localhost.example.com']],
	['baseUrl', UNENCRYPTED, ['http://notlocalhost']],
	['webSocketUrl', /wss:\/\//, ['ws://push.example.com', 'http://push.example.com']],
	['webSocketUrl', /complete URL, such as wss:/, ['push.example.com']],
	['webSocketUrl', /\?/, ['wss://push.example.com/ws?token=abc']],
])('%s is refused by its name: %s', (field, text, values) => {
	for (const value of values) {
		const refused = { field: NAMES[field], reason: expect.stringMatching(text) as string };
		expect(refusal(() => read({ [field]: value }))).toMatchObject(refused);
	}
});

it.each([
	['Found credential with no ID.', /'Credential' is empty/],
	[
		'Credential with ID "7" does not exist for type "mediaGenerationApi".',
		/'Credential' was deleted: select another/,
	],
	['Credentials could not be decrypted.', /could not be decrypted/],
	['No credentials set [Error resolving credentials]', /resolving/],
])('n8n’s error "%s" for the credential of a node becomes %s', async (message, words) => {
	const context = { getCredentials: async () => await Promise.reject(new Error(message)) };
	const error: unknown = await readNodeCredential(context as never).catch(
		(error: unknown) => error,
	);
	expect(toNodeError(error, { node: { name: 'N' } as never }).message).toMatch(words);
});
