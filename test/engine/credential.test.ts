import { bad, good, saved } from './seen';
import { run, sim, speech } from './setup';

test.each([
	['a Bearer prefix', (token: string) => ({ apiToken: ` bearer  ${token} \n` })],
	['a trailing /v1/', () => ({ baseUrl: ` ${sim.baseUrl}/v1/ ` })],
	['a trailing slash', () => ({ baseUrl: `${sim.baseUrl}///` })],
	['a WebSocket URL with its path', () => ({ webSocketUrl: `${sim.webSocketUrl}/ws/` })],
	['a WebSocket URL with http', () => ({ webSocketUrl: sim.baseUrl })],
])('%s is put right', async (_, changes) => {
	const credential = changes(sim.token);
	const result = await run(speech('Hi.'), { credential });
	good(result);
	expect(sim.requests.map(({ status }) => status)).toEqual([101, 200, 200, 200]);
	expect(saved(result.run)).not.toContain(sim.token);
});

test.each([
	['API Token', { apiToken: '' }, /is empty/],
	['API Token', { apiToken: 'Bearer  ' }, /is empty/],
	['API Token', { apiToken: 'abcdefgh\nijklmnop' }, /line break/],
	['API Token', { apiToken: 'abcdefgh\r\nX-Evil: 1' }, /line break/],
	['API Token', { apiToken: 'töken-of-nobody' }, /characters/],
	['Base URL', { baseUrl: '' }, /is empty/],
	['Base URL', { baseUrl: 'media example' }, /is not a URL/],
	['Base URL', { baseUrl: 'media.example.com' }, /is not a URL/],
	['Base URL', { baseUrl: 'localhost:8787' }, /must begin with https/],
	['Base URL', { baseUrl: 'ftp://media.example.com' }, /must begin with https/],
	['Base URL', { baseUrl: 'http://media.example.com' }, /Allow Unencrypted Connection/],
	['Base URL', { baseUrl: 'http://127.0.0.1.example.com' }, /Allow Unencrypted Connection/],
	['Base URL', { baseUrl: 'https://user:pw@media.example.com' }, /password/],
	['WebSocket URL', { webSocketUrl: 'ws://media.example.com' }, /Allow Unencrypted Connection/],
	['WebSocket URL', { webSocketUrl: 'nowhere' }, /is not a URL/],
])('%s %j is refused before anything is sent', async (field, credential, words) => {
	const result = await run(speech('Hi.'), { credential });
	const { message, name, itemIndex } = bad(result);
	expect(message).toContain(`'${field}'`);
	expect(message).toMatch(words);
	expect([name, itemIndex]).toEqual(['NodeOperationError', 0]);
	expect(sim.requests).toEqual([]);
	if ('apiToken' in credential && credential.apiToken.length > 10) {
		expect(saved(result.run)).not.toContain(credential.apiToken.slice(0, 8));
	}
});
