import type { WorkflowResult } from '../../demo/engine.mts';
import { allClosed, bad, good, posts, saved, tasks } from './seen';
import { ALWAYS, answer, onCreate, onFile, onRead } from './service';
import { run, sim, speech, start, video } from './setup';
import { growth, MIB } from './growth';

const files = () => sim.requests.filter(({ path }) => path.startsWith('/files/'));
const task = () => tasks()[0]!;

const AUDIO = { 'Content-Type': 'audio/mpeg' };
const BOM_AND_JSON = '\ufeff{"error":"expired"}';

async function expectWhole(result: WorkflowResult) {
	const file = good(result)[0]!.binary!.data!;
	expect(file).toMatchObject({ mimeType: 'audio/wav', fileName: `speech-${task().id}.wav` });
	// Jest compares large buffers byte by byte in seconds.
	expect((await result.bytes(file)).equals(sim.fileBytes(task().audioUrl!)!)).toBe(true);
	expect([posts(), sim.leaks.length]).toEqual([1, 0]);
	await allClosed();
}

test.each([
	['truncated', { truncate: 1000 }],
	['cut after its head', { truncate: 0 }],
	['empty', { empty: true }],
	['a JSON answer', answer(200, { error: 'not yet' })],
	['a page', answer(200, '<!DOCTYPE html><html></html>')],
	['a part that nobody asked for', answer(206, 'RIFF, and no more')],
	['a JSON answer behind a byte order mark', answer(200, BOM_AND_JSON)],
	['a word of JSON', answer(200, '"expired"', AUDIO)],
	['404 at first', answer(404)],
	['503', answer(503)],
	['reset', { reset: true }],
])('a file that is %s once is fetched again', async (_, action) => {
	onFile(action);
	await expectWhole(await run(speech('Hi.')));
	expect(files()).toHaveLength(2);
});

test('a 206 that holds the whole file is the file', async () => {
	const body = 'RIFF\x20\x00\x00\x00WAVEfmt and so on';
	const headers = { ...AUDIO, 'Content-Range': `bytes 0-${body.length - 1}/${body.length}` };
	onFile(answer(206, body, headers));
	const result = await run(speech('Hi.'));
	expect((await result.bytes(good(result)[0]!.binary!.data!)).toString()).toBe(body);
	expect(files()).toHaveLength(1);
});

test('a file that its host refuses until the time is up is named as such', async () => {
	await start({ pace: 0.01 });
	onFile(answer(404), ALWAYS);
	const { message } = bad(await run(speech('Hi.', { timeout: 3 })));
	expect(message).toMatch(/^The file was generated but could not be downloaded.*404/);
});

test('truncated in the middle, with n8n storing on disk', async () => {
	onFile({ truncate: 3 * MIB });
	const result = await run(speech('Hi [sim:big-file=6]'), { binaryMode: 'filesystem' });
	await expectWhole(result);
	expect(saved(result.run)).not.toContain(sim.token);
});

test.each(['text/plain', 'application/json', 'video/mp4', 'text/html'])(
	'the wrong type %s',
	async (type) => {
		await expectWhole(await run(speech(`Hi [sim:wrong-type=${type}]`)));
	},
);

test('redirects: the token goes to the API alone', async () => {
	await start({ dialect: { relativeAudioUrl: true, redirectFiles: true } });
	await expectWhole(await run(speech('Hi.')));
	const [first, second] = files();
	expect([first?.on, first?.headers.authorization]).toEqual(['api', `Bearer ${sim.token}`]);
	expect([second?.on, second?.headers.authorization]).toEqual(['file', undefined]);
});

test.each(['as the address itself', 'behind a redirect'])(
	'an address elsewhere with the token in it is not followed: %s',
	async (where) => {
		await start({ dialect: { relativeAudioUrl: true } });
		const elsewhere = `${sim.fileOrigin}/files/audio.wav?token=${encodeURIComponent(sim.token)}`;
		if (where === 'behind a redirect') onFile({ redirect: elsewhere });
		else onRead(answer(200, { id: 1, status: 'completed', audio_url: elsewhere }), ALWAYS);
		const { message } = bad(await run(speech('Hi.')));
		expect(message).toMatch(/could not be downloaded: its address, on another host, contains/);
		expect(files().filter(({ on }) => on === 'file')).toEqual([]);
	},
);

describe('a file on the origin of the API', () => {
	const tokens = () => files().map(({ headers }) => headers.authorization !== undefined);

	test.each([400, 401, 403])(
		'that is signed, and answers %d to the token',
		async (signedStatus) => {
			await start({ dialect: { apiFiles: 'signed', signedStatus } });
			await expectWhole(await run(speech('Hi.')));
			expect([...new Set(tokens())]).toEqual([true, false]);
			expect(tokens().filter((bears) => !bears)).toHaveLength(1);
		},
	);

	test('that needs the token gets it', async () => {
		await start({ dialect: { apiFiles: 'private' } });
		await expectWhole(await run(speech('Hi.')));
		expect(tokens()).toEqual([true]);
	});

	test('that is signed and sent on to another host', async () => {
		await start({ dialect: { apiFiles: 'signed', redirectFiles: true } });
		await expectWhole(await run(speech('Hi.')));
		expect(files().map(({ on }) => on)).toEqual(['api', 'api', 'file']);
		expect(tokens()).toEqual([true, false, false]);
	});

	test('that is signed, behind one that needs the token', async () => {
		await start({ dialect: { apiFiles: 'signed' } });
		// The first address is answered by this, whatever it bears.
		const redirect = '/files/signed-copy.wav?signature=1';
		onFile({ redirect }, { path: '/files/audio' });
		const body = Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVEfmt '), Buffer.alloc(500)]);
		const headers = { 'Content-Type': 'audio/wav' };
		onFile(answer(400, 'only one auth mechanism'), { path: '/files/signed' });
		onFile(answer(200, body, headers), { path: '/files/signed', after: 1 });
		const [item] = good(await run(speech('Hi.')));
		expect(item?.binary?.data?.bytes).toBe(body.length);
		expect(tokens()).toEqual([true, true, false]);
	});

	test('that is signed, and whose host is away for a moment', async () => {
		await start({ dialect: { apiFiles: 'signed', signedStatus: 401 } });
		onFile(answer(503), { after: 1 });
		await expectWhole(await run(speech('Hi.')));
		expect(tokens()).toEqual([true, false, true, false]);
	});

	test('that is refused with and without the token: the first answer is told', async () => {
		await start({ dialect: { relativeAudioUrl: true } });
		onFile(answer(401, { error: 'expired for you' }), ALWAYS);
		const { message } = bad(await run(speech('Hi.')));
		expect(message).toMatch(/401 \(expired for you\)/);
		expect(tokens().at(-1)).toBe(false);
		await allClosed();
	});
});

test.each([
	['a page', answer(200, '<html></html>'), /a web page was returned/],
	['gone', answer(410, { error: 'expired' }), /410 \(expired\)/],
])('a file that stays %s: the message names the task', async (_, action, words) => {
	onFile(action, ALWAYS);
	const { message, description } = bad(await run(speech('Hi.')));
	expect(message).toMatch(words);
	expect(message).toContain(task().id);
	expect(description).toContain(`Speech → Wait with task ID ${task().id}`);
	await allClosed();
});

test('a redirect without end', async () => {
	onFile({ redirect: '/files/around' }, ALWAYS);
	const { message } = bad(await run(speech('Hi.', { timeout: 5 })));
	expect(message).toContain(task().id);
});

test('a big file goes to disk in a stream, in bounded memory', async () => {
	await start({ pace: 0.01 });
	const disk = { binaryMode: 'filesystem' } as const;
	good(await run(video('Small'), disk));
	const subject = video('Big [sim:big-file=200]');
	const { result, grown } = await growth(async () => await run(subject, disk));
	const file = good(result)[0]!.binary!.data!;
	expect(file).toMatchObject({ bytes: 200 * MIB, mimeType: 'video/mp4' });
	expect(file.id).toMatch(/^filesystem/);
	// Used pieces are collected only after some 64 MiB of them, on a busy machine later.
	expect(grown).toBeLessThan(140 * MIB);
	const served = sim.fileBytes(sim.history[0]!.file_url)!;
	expect((await result.bytes(file)).equals(served)).toBe(true);
	expect(sim.leaks).toEqual([]);
	await allClosed();
}, 180_000);

test('a task id of odd characters makes a harmless file name', async () => {
	good(await run(speech('Hi.', {}, { waitForCompletion: false })));
	await sim.waitFor(() => task().audioUrl !== undefined);
	onCreate(answer(200, { task_id: 'a:b"c%é' }));
	const read = answer(200, { id: 1, status: 'completed', audio_url: task().audioUrl });
	onRead(read, { path: '/v1/labs/task/a%3Ab', times: 9 });
	const [item] = good(await run(speech('Hi.')));
	expect(item?.json.task_id).toBe('a:b"c%é');
	expect(item?.binary?.data?.fileName).toMatch(/^speech-[\w.-]+\.wav$/);
});
