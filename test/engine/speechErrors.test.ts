import { bad, good, posts, saved } from './seen';
import { ALWAYS, answer, onCreate, onFile, onRead } from './service';
import { CONTINUE, node, run, sim, speech, start, task } from './setup';

const failing = async (status: number, body: string | object) => {
	onCreate(answer(status, body), ALWAYS);
	return bad(await run(speech('Hi.')));
};

test.each([
	['402', 402, { error: 'insufficient_credits' }],
	['402, empty', 402, ''],
	['400 with a sentence', 400, { message: 'You do not have enough credits to do this.' }],
	['403 with a word', 403, { error: 'insufficient_credits' }],
	['429 for a quota', 429, { error: 'Your credit quota is exceeded' }],
	['200 with an error', 200, { error: 'insufficient_credits' }],
	['200 with a failed status', 200, { status: 'error', message: 'insufficient_credits' }],
])('out of credit: %s', async (_, status, body) => {
	const { message, description, name } = await failing(status, body);
	expect(message).toMatch(/^The account is out of credit/);
	expect(description).toMatch(/Add credit/);
	expect(name).toBe('NodeApiError');
	expect(posts()).toBe(1);
});

test.each([
	['401', 401, { error: 'invalid_token' }],
	['401, empty', 401, ''],
	['403', 403, { detail: 'Forbidden' }],
	['400', 400, { error: { code: 'invalid_api_key', message: 'Invalid API key' } }],
	['200', 200, { error: 'invalid_token' }],
])('token refused: %s', async (_, status, body) => {
	const { message, description } = await failing(status, body);
	expect(message).toMatch(/^Authorization failed: the service refused the API token/);
	expect(description).toContain("'API Token'");
	expect(posts()).toBe(1);
});

test.each([
	['a machine word', { error: 'invalid_voice_id' }],
	['a sentence', { detail: 'The voice xyz was not found.' }],
	['nested', { error: { code: 'voice_not_found', message: 'Voice does not exist' } }],
])('bad voice: %s', async (_, body) => {
	const { message, description } = await failing(400, body);
	expect(message).toMatch(/^The service does not accept this voice/);
	expect(description).toContain('Voice → Get Many');
});

test('a voice that the service does not know, a token of somebody else', async () => {
	const voice = { voiceId: { __rl: true, mode: 'id', value: 'nobody' } };
	const { message } = bad(await run(speech('Hi.', {}, voice)));
	expect(message).toMatch(/does not accept this voice/);
	const credential = { apiToken: 'another-token-entirely' };
	const other = await run(speech('Hi.'), { credential });
	expect(bad(other).message).toMatch(/refused the API token/);
	expect(saved(other.run)).not.toContain('another-token-entirely');
	expect(sim.creates).toBe(0);
});

test.each([
	['nested JSON', { error: { error: { message: 'Text is too long' } } }],
	['a list', { errors: [{ field: 'input', message: 'Text is too long' }] }],
	['plain text', 'Text is too long'],
])('a readable text from a body with %s', async (_, body) => {
	const { message } = await failing(400, body);
	expect(message).toBe('The service rejected the request: Text is too long [item 0]');
});

test.each([
	['empty', ''],
	['a page', '<!DOCTYPE html><html><head><title>X</title></head><body><b>Bad</b></body></html>'],
	['null', 'null'],
])('no mark-up and no blanks from a body that is %s', async (_, body) => {
	const { all } = await failing(500, body);
	expect(all).toMatch(/^The service is not available \(HTTP 500\)/);
	expect(all).not.toMatch(/[<>]|undefined|null|\[object/);
});

test.each([
	['error', 'error', 'error'],
	['FAILED', 'failed', 'message'],
	['CANCELLED', 'cancelled', 'error'],
	['canceled', 'canceled', 'none'],
] as const)('a failed task: %s', async (_, failureWord, failureField) => {
	const statusCase = _ === _.toUpperCase() ? 'UPPER' : 'lower';
	await start({ dialect: { failureWord, failureField, statusCase } });
	const { message, name, itemIndex } = bad(await run(speech('Hi [sim:task-fails]')));
	const [id] = sim.tasks.keys();
	const reason = failureField === 'none' ? '' : ': Speech synthesis failed';
	expect(message).toBe(`The service could not generate the speech${reason} – task ${id} [item 0]`);
	expect([name, itemIndex]).toEqual(['NodeOperationError', 0]);
	expect(posts()).toBe(1);
});

test('a task that fails late, with messages, is found out by polling', async () => {
	const { message } = bad(await run(speech('Hi [sim:task-fails-late]')));
	expect(message).toContain('could not generate the speech');
});

test('{ error: "" } and { error: null } are no failure', async () => {
	onRead(answer(200, { id: 1, status: 'processing', error: '', message: null }));
	good(await run(speech('Hi.')));
});

test('401 while reading: the token, and the task that is paid for', async () => {
	onRead(answer(401, { error: 'token_expired' }), ALWAYS);
	const { message, description } = bad(await run(speech('Hi.')));
	const [id] = sim.tasks.keys();
	expect(message).toMatch(/refused the API token/);
	expect(message).toContain(id);
	expect(description).toContain(`Speech → Wait with task ID ${id}`);
});

test('a redirect of the API to another origin is not followed', async () => {
	const redirect = `${sim.fileOrigin}/v1/labs/task/1`;
	onRead({ redirect }, ALWAYS);
	onCreate({ redirect, status: 307 }, { after: 1 });
	for (const _ of ['the reading', 'the create call']) {
		expect(bad(await run(speech('Hi.'))).message).toContain(new URL(sim.fileOrigin).host);
	}
	expect(sim.leaks).toEqual([]);
	expect(sim.requests.filter(({ on }) => on === 'file')).toEqual([]);
});

test('a redirect within the API is followed for a reading', async () => {
	good(await run(speech('Hi.', {}, { waitForCompletion: false })));
	const [id] = sim.tasks.keys();
	onRead({ redirect: `/v1/labs/task/${id}` }, { path: '/v1/labs/task/alias' });
	expect(good(await run(task('get', 'alias')))[0]?.json.id).toBe(Number(id));
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
	expect(good(passed)[0]?.json.error).toMatch(/could not be downloaded/);
	for (const result of [stopped, passed]) expect(saved(result.run)).not.toContain(sim.token);
});
