import { bad, good, only, saved } from './seen';
import { ALWAYS, answer, onCreate, onFile, onRead, posts } from './service';
import { CONTINUE, node, run, sim, speech, task } from './setup';

const CREDIT = [/^The account is out of credit/, /Add credit/] as const;
const TOKEN = [/^Authorization failed: the service refused the API token/, /'API Token'/] as const;
const VOICE = [/^The service does not accept this voice/, /Voice → Get Many/] as const;

test.each([
	[403, { error: 'insufficient_credits' }, CREDIT],
	[429, { error: 'Your credit quota is exceeded' }, CREDIT],
	[200, { error: 'insufficient_credits' }, CREDIT],
	[200, { status: 'error', message: 'insufficient_credits' }, CREDIT],
	[400, { error: { code: 'invalid_api_key', message: 'Invalid API key' } }, TOKEN],
	[200, { error: 'invalid_token' }, TOKEN],
	[400, { detail: 'The voice xyz was not found.' }, VOICE],
	[400, { error: { code: 'voice_not_found', message: 'Voice does not exist' } }, VOICE],
])('%d %j to a create call is explained, with what to do', async (status, body, [what, advice]) => {
	onCreate(answer(status, body), ALWAYS);
	const { message, description, name } = bad(await run(speech('Hi.')));
	expect(message).toMatch(what);
	expect(description).toMatch(advice);
	expect(name).toBe('NodeApiError');
	expect(posts()).toBe(1);
});

test('a voice that the service does not know, a token of somebody else', async () => {
	const voice = { voiceId: { __rl: true, mode: 'id', value: 'nobody' } };
	expect(bad(await run(speech('Hi.', {}, voice))).message).toMatch(VOICE[0]);
	const credential = { apiToken: 'another-token-entirely' };
	const other = await run(speech('Hi.'), { credential });
	expect(bad(other).message).toMatch(TOKEN[0]);
	expect(saved(other.run)).not.toContain('another-token-entirely');
	expect(sim.creates).toBe(0);
});

test('a redirect within the API is followed for a reading', async () => {
	good(await run(speech('Hi.', {}, { waitForCompletion: false })));
	const [id] = sim.tasks.keys();
	onRead({ redirect: `/v1/labs/task/${id}` }, { path: '/v1/labs/task/alias' });
	expect(only(await run(task('get', 'alias'))).json.id).toBe(Number(id));
});

test.each(['get', 'wait', 'delete'])('%s of an unknown task', async (operation) => {
	const { message } = bad(await run(task(operation, '4711')));
	expect(message).toMatch(/has no task with this ID.*4711.*\[item 0\]/);
	expect(sim.requests.filter(({ on }) => on === 'api')).toHaveLength(1);
});

test('an address with the token in it stays out of the saved run', async () => {
	const audio_url = `${sim.baseUrl}/files/gone.wav?token=${sim.token}`;
	onRead(answer(200, { id: 1, status: 'completed', audio_url }), ALWAYS);
	onFile(answer(410), ALWAYS);
	const stopped = await run(speech('Hi.'));
	expect(bad(stopped).message).toMatch(/could not be downloaded/);
	const passed = await run(node(speech('Hi.'), CONTINUE));
	expect(only(passed).json.error).toMatch(/could not be downloaded/);
	for (const result of [stopped, passed]) expect(saved(result.run)).not.toContain(sim.token);
});
