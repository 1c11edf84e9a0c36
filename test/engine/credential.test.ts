import { bad, good, saved } from './seen';
import { run, sim, speech } from './setup';

/* What is put right, and what is refused: test/unit/credential.test.ts. */

test('what is put right reaches the service', async () => {
	const apiToken = ` bearer  ${sim.token} \n`;
	const [baseUrl, webSocketUrl] = [` ${sim.baseUrl}/v1/ `, `${sim.baseUrl}/ws/`];
	const result = await run(speech('Hi.'), { credential: { apiToken, baseUrl, webSocketUrl } });
	good(result);
	expect(sim.requests.map(({ status }) => status)).toEqual([101, 200, 200, 200]);
	expect(saved(result.run)).not.toContain(sim.token);
});

test.each([
	['API Token', { apiToken: 'abcdefgh\r\nX-Evil: 1' }, /line break/],
	['Base URL', { baseUrl: 'http://media.example.com' }, /Allow Unencrypted Connection/],
	['WebSocket URL', { webSocketUrl: 'ws://media.example.com' }, /Allow Unencrypted Connection/],
])('%s %j is refused before anything is sent', async (field, credential, words) => {
	const result = await run(speech('Hi.'), { credential });
	const { message, name, itemIndex } = bad(result);
	expect(message).toContain(`'${field}'`);
	expect(message).toMatch(words);
	expect([name, itemIndex]).toEqual(['NodeOperationError', 0]);
	expect(sim.requests).toEqual([]);
	expect(saved(result.run)).not.toContain('abcdefgh');
});
