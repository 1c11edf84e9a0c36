import { readFile } from 'node:fs/promises';
import { allClosed, bad, expectServed, good, hints, only, saved } from './seen';
import {
	ALWAYS,
	answer,
	message,
	onCreate,
	onFile,
	onHistory,
	onRead,
	posts,
	readings,
	requests,
	tasks,
} from './service';
import { wavHeader } from '../../simulator/media/wav.mts';
import { begin, fakeTime, NODE, node, RETRY, run, sim, speech, start, task } from './setup';
import { hasten, hastenFinely, passUntil, passWhile } from './time';

test('a text becomes a file, byte for byte, with one POST and one reading after the 100 % message', async () => {
	const result = await run(speech('Hello.', { pollInterval: 60 }), { items: [{ a: 1 }] });
	const item = only(result);
	const [made] = tasks();
	expect(item.json).toMatchObject({
		task_id: made?.id,
		status: 'completed',
		audio_url: made?.audioUrl,
		input: 'Hello.',
		process_percentage: 100,
	});
	expect(item.pairedItem).toEqual({ item: 0 });
	expect(item.binary?.data).toMatchObject({
		fileName: `speech-${made?.id}.wav`,
		mimeType: 'audio/wav',
		fileExtension: 'wav',
	});
	await expectServed(result);
	expect(posts()).toBe(1);
	// Polls come after a minute: what read the task was the message that said 100.
	expect(readings()).toHaveLength(1);
	expect(sim.leaks).toEqual([]);
	expect(saved(result.run)).not.toContain(sim.token);
	expect(hints(result)).toEqual([]);
	await allClosed();
	expect(sim.openedSocketCount).toBe(1);
});

test('on a Node.js without WebSocket, the hint says so, and blames no URL', async () => {
	const { WebSocket } = globalThis;
	Reflect.deleteProperty(globalThis, 'WebSocket');
	const result = await run(speech('[sim:slow=1] Hello.'));
	globalThis.WebSocket = WebSocket;
	expect(hints(result)).toEqual([
		'The node polled every 1 s, because WebSockets need n8n on Node.js 22 or later',
	]);
});

test.each<['default' | 'filesystem', string, number]>([
	['default', 'Hello.', 1],
	['filesystem', 'Hello.', 1],
	['default', '[sim:mp3] Hello, hello, hello, hello, hello.', 3.024],
	['filesystem', '[sim:mp3] Hello, hello, hello, hello, hello.', 3.024],
	['filesystem', '[sim:big-file=20] Hello.', (20 * 1024 * 1024 - 44) / 32_000],
])('the length of the sound is told, in the %s mode: %s', async (binaryMode, text, seconds) => {
	// The first attempt breaks off.
	sim.fault({ on: 'file', action: { truncateAfterBytes: 5000 } });
	const { json } = only(await run(speech(text), { binaryMode }));
	expect(json.duration_seconds).toBeCloseTo(seconds, 2);
	const [id] = tasks().map((made) => made.id);
	for (const operation of ['get', 'wait']) {
		const again = only(await run(task(operation, id, { download: true }), { binaryMode }));
		expect(again.json.duration_seconds).toBeCloseTo(seconds, 2);
		const without = only(await run(task(operation, id, { download: false })));
		expect(without.json).not.toHaveProperty('duration_seconds');
	}
});

test('the length of a sound that comes at once with its headers is told', async () => {
	onFile(answer(200, wavHeader(3200), { 'Content-Type': 'audio/wav' }));
	onFile(answer(200, Buffer.concat([wavHeader(3200), Buffer.alloc(3200)])));
	for (const binaryMode of ['default', 'filesystem'] as const) {
		const { json } = only(await run(speech('Hi.'), { binaryMode }));
		expect(json.duration_seconds).toBe(binaryMode === 'default' ? undefined : 0.1);
	}
});

test('sends every setting, in shape A, after the socket is open', async () => {
	const callbackUrl = 'http://127.0.0.1:9/x';
	const options = { speed: 1.1, style: 0.3, useSpeakerBoost: false, callbackUrl };
	good(await run(speech('Hello.', options, { modelId: 'labs_v3' })));
	const [post] = requests('POST', '/v1/labs/task');
	expect(post?.body).toEqual({
		input: 'Hello.',
		voice_id: sim.voiceIds()[0],
		model_id: 'labs_v3',
		stability: 0.75,
		similarity: 0.5,
		style: 0.3,
		speed: 1.1,
		use_speaker_boost: false,
		call_back_url: callbackUrl,
	});
	expect(post?.headers.authorization).toBe(`Bearer ${sim.token}`);
	expect(sim.requests.map(({ receivedBy }) => receivedBy).slice(0, 2)).toEqual(['socket', 'api']);
});

test('a voice picked from the list, a field name of the user, no download', async () => {
	const voiceId = { __rl: true, mode: 'list', value: sim.voiceIds()[3], cachedResultName: 'X' };
	const fields = speech('=Hi {{ $json.who }}', { outputField: 'audio' }, { voiceId });
	const item = only(await run(fields, { items: [{ who: 'you' }] }));
	expect(Object.keys(item.binary!)).toEqual(['audio']);
	expect(item.json).toMatchObject({ input: 'Hi you', voice_id: sim.voiceIds()[3] });
	const bare = only(await run(speech('Hi.', {}, { download: false })));
	expect(bare.binary).toBeUndefined();
	expect(bare.json.audio_url).toMatch(/^http/);
});

test('two executions at once share one socket', async () => {
	const texts = ['First, and a little longer than the second.', 'Second.'];
	const results = await Promise.all(texts.map(async (text) => await run(speech(text))));
	expect(results.map((result) => only(result).json.input)).toEqual(texts);
	expect(sim.openedSocketCount).toBe(1);
	await allClosed();
});

test('without waiting: the task id at once; Collect fetches it, Get reads it, Delete deletes it', async () => {
	const created = only(await run(speech('Later.', {}, { waitForCompletion: false })));
	const [id] = sim.tasks.keys();
	expect(created.json).toEqual({ task_id: id, status: 'pending' });
	expect([sim.openedSocketCount, sim.countRequests('GET', '/v1')]).toEqual([0, 0]);

	// The id as a number, as the reading of a task gives it (§2.1).
	const waited = await run(task('wait', '={{ $json.id }}'), { items: [{ id: Number(id) }] });
	expect(only(waited).json).toMatchObject({ task_id: id, status: 'completed' });
	await expectServed(waited);

	const received = only(await run(task('get', id)));
	const audio_url = sim.tasks.get(id!)!.audioUrl!;
	expect(received.json).toMatchObject({ task_id: id, status: 'completed', audio_url });
	expect(received.binary).toBeUndefined();
	const withFile = only(await run(task('get', ` ${id} `, { download: true })));
	expect(withFile.binary?.data?.fileName).toBe(`speech-${id}.wav`);

	sim.fault({ method: 'DELETE', action: answer(200, { success: false, error: 'It is in use' }) });
	expect(bad(await run(task('delete', 5))).message).toContain('It is in use');
	expect(only(await run(task('delete', id))).json).toEqual({ task_id: id, deleted: true });
	// Some services answer with the record of the task, which may have failed.
	sim.fault({ method: 'DELETE', action: answer(200, { id: 5, status: 'failed' }) });
	expect(only(await run(task('delete', 5))).json).toMatchObject({ deleted: true });
	expect(sim.tasks.size).toBe(0);
	expect([posts(), sim.countRequests('DELETE', `/v1/labs/task/${id}`)]).toEqual([1, 1]);
	await allClosed();
});

test('Get puts out a task in any state, also a failed one', async () => {
	await start({ dialect: { failureWord: 'cancelled', statusCase: 'UPPER' } });
	good(await run(speech('[sim:task-fails]', {}, { waitForCompletion: false })));
	const [id] = sim.tasks.keys();
	await sim.waitFor(() => sim.tasks.get(id!)?.status === 'failed');
	const item = only(await run(task('get', id, { download: true })));
	const error = 'Speech synthesis failed';
	expect(item.json).toMatchObject({ task_id: id, status: 'error', error });
});

test('a message that says 100 too early is no outcome: the task is read until it is', async () => {
	await start({ pace: 0.3 });
	const execution = await begin(speech('Hello.'));
	await sim.waitFor(() => sim.tasks.size === 1 && sim.countOpenSockets() === 1);
	sim.broadcast(message(tasks()[0]!.id, 140));
	expect(only(await execution.finished).json.status).toBe('completed');
	expect(readings().length).toBeGreaterThan(1);
});

test('a refused socket: polls, and one hint for all items says so', async () => {
	sim.setWebSocketMode('refuse');
	const result = await run(speech('Hello.'), { items: [{}, {}, {}] });
	expect(good(result)).toHaveLength(3);
	expect(hints(result)).toEqual([expect.stringMatching(/^Rows 1, 2 and 3: .*WebSocket/)]);
	expect(JSON.stringify(result.hints(NODE))).not.toContain(sim.token);
	expect(posts()).toBe(3);
	await allClosed();
});

test('nothing is paid for once the deadline has passed while the socket was waited for', async () => {
	sim.setWebSocketMode('hang');
	const { message } = bad(await run(speech('Hi.', { timeout: 1 })));
	expect(message).toContain('No result after 1 second');
	expect(sim.chargedCalls).toBe(0);
});

test('what was paid for is collected without a wait for a socket that hangs', async () => {
	sim.setWebSocketMode('hang');
	fakeTime();
	const fields = speech('Hi. [sim:slow=40]', { timeout: 4 });
	const { result: failed } = await hasten(fields);
	expect([bad(failed).message, posts()]).toEqual([expect.stringContaining('No result'), 1]);
	const { result, seconds } = await hasten(fields, { retryOf: failed.run });
	good(result);
	expect(seconds).toBeLessThan(2.5);
	expect(posts()).toBe(1);
});

/** It was made, and paid for, once. */
async function expectOnce(maxTries: number) {
	// The first attempt ends before it reads the task: a new one may be unknown for some seconds.
	const fields = speech('Hello, this takes a moment. [sim:slow=40]', { timeout: 1 });
	fakeTime();
	const { result } = await hastenFinely(node(fields, { ...RETRY, maxTries }));
	expect(only(result).binary?.data?.mimeType).toBe('audio/wav');
	expect([posts(), sim.chargedCalls]).toEqual([1, 1]);
	return result;
}

test('Retry On Fail collects what was paid for instead of paying again', async () => {
	expect(hints(await expectOnce(3)).join()).toMatch(/at no extra charge/);
});

test.each([
	['has failed', answer(200, { id: 1, status: 'error', message: 'busy' })],
	['is unknown', answer(404, { error: 'task_not_found' })],
	['is unknown to an ingress', answer(404, '<html><body>404</body></html>')],
])(
	'Retry On Fail: when one answer says that a task %s, it is asked for again, not paid for',
	async (_, action) => {
		onRead(action);
		await expectOnce(4);
	},
);

test('Retry On Fail: a task that is unknown more than ten minutes after its creation is not replaced', async () => {
	await start({ pace: 1 });
	fakeTime();
	const execution = await begin(node(speech('Long [sim:slow=600]'), RETRY));
	await passUntil(() => sim.tasks.size === 1 && sim.countOpenSockets() === 1);
	jest.setSystemTime(Date.now() + 660_000);
	onRead(answer(404, { error: 'Task not found' }), ALWAYS);
	sim.dropSockets();
	expect(bad(await passWhile(execution.finished)).message).toContain('has no task with this ID');
	expect(posts()).toBe(1);
});

test('a new execution of the same text is paid for, as it has to be', async () => {
	for (let round = 0; round < 2; round++) good(await run(speech('Hello.')));
	expect(sim.chargedCalls).toBe(2);
});

test('a task id of odd characters makes a harmless file name', async () => {
	good(await run(speech('Hi.', {}, { waitForCompletion: false })));
	await sim.waitFor(() => tasks()[0]!.audioUrl !== undefined);
	onCreate(answer(200, { task_id: 'a:b"c%é' }));
	const read = answer(200, { id: 1, status: 'completed', audio_url: tasks()[0]!.audioUrl });
	onRead(read, { path: '/v1/labs/task/a%3Ab', times: 9 });
	const { json, binary } = only(await run(speech('Hi.')));
	expect(json.task_id).toBe('a:b"c%é');
	expect(binary?.data?.fileName).toMatch(/^speech-[\w.-]+\.wav$/);
});

test.each([
	['audio_url', 'audio/mpeg'],
	['result', 'audio/mpeg'],
	['file_url', ''],
])('a file that comes in the answer itself, under %s, is stored', async (field, type) => {
	const bytes = await readFile('simulator/media/second.mp3');
	const inline = `data:${type};base64,${bytes.toString('base64')}`;
	onRead(answer(200, { id: 1, status: 'completed', [field]: inline }));
	const began = Date.now();
	const result = await run(speech('Hi.'));
	const { data } = only(result).binary!;
	expect(data!.mimeType).toBe('audio/mpeg');
	expect((await result.bytes(data!)).equals(bytes)).toBe(true);
	expect(Date.now() - began).toBeLessThan(5000);
	expect(JSON.stringify(only(result).json)).not.toContain('base64');
});

test('of several tasks that are collected without files, one that comes in the answer is stored', async () => {
	const bytes = await readFile('simulator/media/second.mp3');
	const inline = `data:audio/mpeg;base64,${bytes.toString('base64')}`;
	const url = 'https://media.example.com/2.mp3';
	for (const [id, result] of Object.entries({ 1: inline, 2: url })) {
		onRead(answer(200, { id, status: 'completed', result }), { path: `/v1/labs/task/${id}` });
	}
	const result = await run(task('wait', '1, 2', { download: false }));
	const [one, two] = good(result);
	expect((await result.bytes(one!.binary!.data!)).equals(bytes)).toBe(true);
	expect([two!.json.audio_url, two!.binary]).toEqual([url, undefined]);
	expect(JSON.stringify(good(result).map(({ json }) => json))).not.toContain('base64');
	expect(hints(result).join()).toContain('They come out as separate items');
});

test.each([
	['Text to Speech', () => speech('Hi.', {}, { download: false })],
	['Get', () => ({ resource: 'speech', operation: 'get', taskId: '1', download: false })],
	['History → Get Many', () => ({ resource: 'history', operation: 'getAll' })],
])(
	'a file in the answer itself comes out as the file also if none is asked for: %s',
	async (_, fieldsOf) => {
		const bytes = await readFile('simulator/media/second.mp3');
		const inline = `data:audio/mpeg;base64,${bytes.toString('base64')}`;
		onRead(answer(200, { id: 1, status: 'completed', result: { url: inline }, inputs: [inline] }));
		onHistory(answer(200, [{ id: 'h', type: 'video', file_url: inline }]));
		const { json, binary } = only(await run(fieldsOf()));
		expect(JSON.stringify(json)).not.toContain('base64');
		expect(binary!.data!.mimeType).toBe('audio/mpeg');
	},
);

test('a picture in the answer is left where it is, if it is not the file', async () => {
	const thumbnail = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==';
	const file_url = `${sim.fileOrigin}/files/other.png`;
	onHistory(answer(200, [{ id: 'h', type: 'image', file_url, thumbnail }]));
	const { json } = only(await run({ resource: 'history', operation: 'getAll' }));
	expect(json.thumbnail).toBe(thumbnail);
});

test('only a file in the answer itself comes out if none is asked for, not one beside it', async () => {
	const inline = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==';
	const other = `${sim.fileOrigin}/files/other.png`;
	onHistory(answer(200, [{ id: 'h', type: 'image', file_urls: [inline, other] }]));
	const { json, binary } = only(await run({ resource: 'history', operation: 'getAll' }));
	expect(json.file_urls).toEqual([other]);
	expect(Object.keys(binary!)).toEqual(['data']);
	expect(sim.requests.filter(({ receivedBy }) => receivedBy === 'file')).toEqual([]);
});

test('a task at "100%" is read at once', async () => {
	const fields = speech('Hi. [sim:slow=60000]', { pollInterval: 300 });
	const execution = await begin(fields);
	await sim.waitFor(() => tasks().length === 1 && sim.countOpenSockets() === 1);
	sim.broadcast(message(tasks()[0]!.id, '100%'));
	await sim.waitFor(() => readings().length > 0, 3000);
	execution.cancel();
	await execution.finished;
});
