import type { ICredentialsDecrypted, IWorkflowExecuteAdditionalData } from 'n8n-workflow';
import { core, removeEngineFolder } from '../../demo/n8n.mts';
import { testMediaGenerationApi } from '../../nodes/shared/n8n/credentialTest';
import { readCredential } from '../../nodes/shared/http/credential';
import { acquireSocket } from '../../nodes/shared/speech/accountSocket';
import { startSimulator } from '../../simulator/simulator.mts';
import { FakeService, type Handler } from '../service/fakeService.mts';

/* The credential's test button, with n8n's own request helper. */

afterAll(() => removeEngineFolder());

const TOKEN = 'tok_0123456789abcdef';

async function press(data: object) {
	const context = new core.CredentialTestContext({} as IWorkflowExecuteAdditionalData);
	const credential = { id: '1', name: 'c', type: 'mediaGenerationApi', data };
	return await testMediaGenerationApi.call(context, credential as unknown as ICredentialsDecrypted);
}

const answer =
	(status: number, body: string, headers = {}): Handler =>
	(_, response) =>
		void response.writeHead(status, headers).end(body);

it.each<[string, Handler, RegExp]>([
	[
		'an account without a WebSocket',
		answer(200, '{"balance":3}'),
		/^The service accepts the token, but the WebSocket can't be opened: results come by polling/,
	],
	[
		'a refused token, which it says',
		answer(401, JSON.stringify({ error: `bad ${TOKEN}` })),
		/^Authorization failed: the service refused the API token: bad \*{5}\. Enter a new 'API Token' in the credential/,
	],
	['an error with status 200', answer(200, '{"error":"invalid_token"}'), /refused the API token/],
	[
		'a refusal with status 200, as of MiniMax',
		answer(200, '{"base_resp":{"status_code":1004,"status_msg":"login fail"}}'),
		/refused the API token/,
	],
	['a page', answer(200, '<html><p>Welcome</p></html>'), /not come from a media.*'Base URL'/],
	['a list', answer(200, '[]'), /not come from a media/],
	['another server', answer(404, '{"error":"no such path"}'), /not come from a media/],
	['an outage', answer(503, 'maintenance'), /not available \(HTTP 503\): maintenance/],
	[
		'a redirect to another host',
		answer(302, '', { location: 'https://x.example/v1/video/me?token=1' }),
		/redirects to https:\/\/x\.example\. .* If you trust the new host, enter it as 'Base URL'/,
	],
	[
		'a redirect on the same host',
		answer(307, '', { location: '/login' }),
		/redirects to another URL\. .*Ask your provider for the current 'Base URL'/,
	],
	['a reset', ({ socket }) => void socket.resetAndDestroy(), /did not respond/],
])('says what %s means', async (_, handle, said) => {
	const service = await FakeService.start(handle);
	const baseUrl = `${service.url}/v1/`;
	const { status, message } = await press({ apiToken: `Bearer ${TOKEN}`, baseUrl });
	expect(message).toMatch(said);
	expect(message).not.toContain(TOKEN);
	expect(status).toBe(/accepts/.test(message) ? 'OK' : 'Error');
	await service.stop();
});

it('says only that all is well where the WebSocket opens, too', async () => {
	const simulator = await startSimulator();
	const { token: apiToken, baseUrl, webSocketUrl } = simulator;
	const message = 'The service accepts the token';
	expect(await press({ apiToken, baseUrl, webSocketUrl })).toEqual({ status: 'OK', message });
	await simulator.close();
});

it('says what is wrong, in the only words that n8n shows, where the WebSocket URL entered fails', async () => {
	const simulator = await startSimulator();
	simulator.setWebSocketMode('refuse');
	const { token: apiToken, baseUrl, webSocketUrl } = simulator;
	const message = expect.stringMatching(/WebSocket can't be opened: .*Check 'WebSocket URL'$/);
	const shown = await press({ apiToken, baseUrl, webSocketUrl });
	await simulator.close();
	expect(shown).toEqual({ status: 'Error', message });
});

it('leaves no socket behind that n8n’s rules for outgoing requests were not asked about', async () => {
	const simulator = await startSimulator();
	const { token: apiToken, baseUrl, webSocketUrl } = simulator;
	const data = { apiToken, baseUrl, webSocketUrl };
	await press(data);
	const validateUrl = jest.fn().mockResolvedValue({ ok: false });
	const context = { helpers: { getSecureEgressFilter: () => ({ validateUrl }) } };
	const socket = acquireSocket(readCredential(data), context as never);
	await socket.ready();
	expect({ isOpen: socket.isOpen, isAsked: validateUrl.mock.calls.length > 0 }).toEqual({
		isOpen: false,
		isAsked: true,
	});
	await socket.release();
	await simulator.close();
});

it.each([
	[{ apiToken: '', baseUrl: 'https://media.example.com' }, "'API Token' is empty"],
	[{ apiToken: TOKEN }, "'Base URL' is empty"],
])('names the field that is wrong: %j', async (data, message) => {
	expect(await press(data)).toEqual({ status: 'Error', message });
});
