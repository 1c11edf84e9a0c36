import type { WorkflowResult } from '../../demo/engine.mts';
import { allClosed, bad, expectServed, good, only } from './seen';
import { ALWAYS, answer, onCreate, onFile, onRead, posts, tasks } from './service';
import { run, sim, speech, start } from './setup';

const files = () => sim.requests.filter(({ path }) => path.startsWith('/files/'));
const task = () => tasks()[0]!;

async function expectWhole(result: WorkflowResult) {
	const fileName = `speech-${task().id}.wav`;
	expect(only(result).binary!.data).toMatchObject({ mimeType: 'audio/wav', fileName });
	await expectServed(result);
	expect([posts(), sim.leaks.length]).toEqual([1, 0]);
	await allClosed();
}

test.each([
	['a part that nobody asked for', answer(206, 'RIFF, and no more')],
	['a JSON answer behind a byte order mark', answer(200, '\ufeff{"error":"expired"}')],
])('a file that is %s once is fetched again', async (_, action) => {
	onFile(action);
	await expectWhole(await run(speech('Hi.')));
	expect(files()).toHaveLength(2);
});

test.each(['text/plain', 'video/mp4'])('the wrong type %s', async (type) => {
	await expectWhole(await run(speech(`Hi [sim:wrong-type=${type}]`)));
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
		expect(only(await run(speech('Hi.'))).binary?.data?.bytes).toBe(body.length);
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
		const { message, description } = bad(await run(speech('Hi.')));
		expect(message).toMatch(/401 \(expired for you\)/);
		expect(message).toContain(task().id);
		expect(description).toContain(`Speech → Wait with task ID ${task().id}`);
		expect(tokens().at(-1)).toBe(false);
		await allClosed();
	});
});

test('a task id of odd characters makes a harmless file name', async () => {
	good(await run(speech('Hi.', {}, { waitForCompletion: false })));
	await sim.waitFor(() => task().audioUrl !== undefined);
	onCreate(answer(200, { task_id: 'a:b"c%é' }));
	const read = answer(200, { id: 1, status: 'completed', audio_url: task().audioUrl });
	onRead(read, { path: '/v1/labs/task/a%3Ab', times: 9 });
	const { json, binary } = only(await run(speech('Hi.')));
	expect(json.task_id).toBe('a:b"c%é');
	expect(binary?.data?.fileName).toMatch(/^speech-[\w.-]+\.wav$/);
});
