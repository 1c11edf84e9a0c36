import { bad, good, saved } from './seen';
import { run, sim, speech } from './setup';

test.each([
	['a Bearer prefix', (token: string) => ({ apiToken: ` bearer  ${token} \n` })],
	['a trailing /v1/', () => ({ baseUrl: ` ${sim.baseUrl}/v1/ ` })],
	['a trailing slash', () => ({ baseUrl: `${sim.baseUrl}///` })],
	['a WebSocket URL with its path', () => ({ webSocketUrl: `${sim.webSocketUrl}/ws/` })],
	['a WebSocket URL with http', () => ({ webSocketUrl: sim.baseUrl })],
])('%s is put right', async (_, changes) => {
	const result = await run(speech('Hi.'), { credential: changes(sim.token) });
	good(result);
	expect(sim.requests.map(({ status }) => status)).toEqual([101, 200, 200, 200]);
	expect(saved(result.run)).not.toContain(sim.token);
});

test.each([
	['API Token', { apiToken: '' }, /is empty/],
	['API Token', { apiToken: 'abcdefgh\r\nX-Evil: 1' }, /line break/],
	['Base URL', { baseUrl: 'media example' }, /is not a URL/],
	['Base URL', { baseUrl: 'http://media.example.com' }, /Allow Unencrypted Connection/],
	['WebSocket URL', { webSocketUrl: 'ws://media.example.com' }, /Allow Unencrypted Connection/],
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
