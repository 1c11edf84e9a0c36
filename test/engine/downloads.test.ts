import { allClosed, bad, good, posts, run, saved, sim, speech, start } from './setup';

const files = () => sim.requests.filter(({ path }) => path.startsWith('/files/'));
const made = () => [...sim.tasks.values()][0]!;
const fault = (action: object, times = 1) => sim.fault({ on: 'file', times, action });

const AUDIO = { 'Content-Type': 'audio/mpeg' };
const BOM_AND_JSON = '\ufeff{"error":"expired"}';

async function expectWhole(result: Awaited<ReturnType<typeof run>>) {
	const file = good(result)[0]!.binary!.data!;
	expect(file).toMatchObject({ mimeType: 'audio/wav', fileName: `speech-${made().id}.wav` });
	// Jest compares large buffers byte by byte in seconds.
	expect((await result.bytes(file)).equals(sim.fileBytes(made().audioUrl!)!)).toBe(true);
	expect([posts(), sim.leaks.length]).toEqual([1, 0]);
	await allClosed();
}

test.each([
	['truncated', { truncate: 1000 }],
	['cut after its head', { truncate: 0 }],
	['empty', { empty: true }],
	['a JSON answer', { respond: { status: 200, body: { error: 'not yet' } } }],
	['a page', { respond: { status: 200, body: '<!DOCTYPE html><html></html>' } }],
	['a part nobody asked for', { respond: { status: 206, body: 'RIFF, and no more' } }],
	['a JSON answer behind a byte order mark', { respond: { status: 200, body: BOM_AND_JSON } }],
	['a word of JSON', { respond: { status: 200, body: '"expired"', headers: AUDIO } }],
	['404 at first', { respond: { status: 404 } }],
	['503', { respond: { status: 503 } }],
	['reset', { reset: true }],
])('a file that is %s once is fetched again', async (_, action) => {
	fault(action);
	await expectWhole(await run(speech('Hi.')));
	expect(files()).toHaveLength(2);
});

test('a file that comes whole as its only part is one', async () => {
	const body = 'RIFF\x20\x00\x00\x00WAVEfmt and so on';
	const headers = { ...AUDIO, 'Content-Range': `bytes 0-${body.length - 1}/${body.length}` };
	fault({ respond: { status: 206, body, headers } });
	const result = await run(speech('Hi.'));
	expect((await result.bytes(good(result)[0]!.binary!.data!)).toString()).toBe(body);
	expect(files()).toHaveLength(1);
});

test('a file that its host refuses until the time is up is named as such', async () => {
	await start({ pace: 0.01 });
	fault({ respond: { status: 404 } }, Infinity);
	const { message } = bad(await run(speech('Hi.', { timeout: 3 })));
	expect(message).toMatch(/^The file was generated but could not be downloaded.*404/);
});

test('truncated in the middle, with n8n storing on disk', async () => {
	fault({ truncate: 3 * 1024 * 1024 });
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
		sim.fault({ on: 'file', path: '/files/audio', action: { redirect } });
		const body = Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVEfmt '), Buffer.alloc(500)]);
		const headers = { 'Content-Type': 'audio/wav' };
		const refusal = { respond: { status: 400, body: 'only one auth mechanism' } };
		sim.fault({ on: 'file', path: '/files/signed', action: refusal });
		const whole = { respond: { status: 200, headers, body } };
		sim.fault({ on: 'file', path: '/files/signed', after: 1, action: whole });
		const [item] = good(await run(speech('Hi.')));
		expect(item?.binary?.data?.bytes).toBe(body.length);
		expect(tokens()).toEqual([true, true, false]);
	});

	test('that is signed, and whose host is away for a moment', async () => {
		await start({ dialect: { apiFiles: 'signed', signedStatus: 401 } });
		sim.fault({ on: 'file', after: 1, action: { respond: { status: 503 } } });
		await expectWhole(await run(speech('Hi.')));
		expect(tokens()).toEqual([true, false, true, false]);
	});

	test('that is refused with and without the token: the first answer is told', async () => {
		await start({ dialect: { relativeAudioUrl: true } });
		const refused = (text: string) => ({ respond: { status: 401, body: { error: text } } });
		sim.fault({ on: 'file', times: Infinity, action: refused('expired for you') });
		const { message } = bad(await run(speech('Hi.')));
		expect(message).toMatch(/401 \(expired for you\)/);
		expect(tokens().at(-1)).toBe(false);
		await allClosed();
	});
});

test.each([
	['a page', { respond: { status: 200, body: '<html></html>' } }, /a web page was returned/],
	['gone', { respond: { status: 410, body: { error: 'expired' } } }, /410 \(expired\)/],
])('a file that stays %s: the message names the task', async (_, action, words) => {
	fault(action, Infinity);
	const { message, description } = bad(await run(speech('Hi.')));
	expect(message).toMatch(words);
	expect(message).toContain(made().id);
	expect(description).toContain(`Speech → Wait with task ID ${made().id}`);
	await allClosed();
});

test('a redirect without end', async () => {
	fault({ redirect: '/files/around' }, Infinity);
	const { message } = bad(await run(speech('Hi.', { timeout: 5 })));
	expect(message).toContain(made().id);
});

test('a big file goes to disk in a stream', async () => {
	const before = process.memoryUsage().arrayBuffers;
	let most = 0;
	const watching = setInterval(
		() => (most = Math.max(most, process.memoryUsage().arrayBuffers)),
		5,
	);
	const text = 'Hi [sim:big-file=300]';
	const result = await run(speech(text), { binaryMode: 'filesystem' });
	clearInterval(watching);
	const file = good(result)[0]!.binary!.data!;
	expect(file.id).toMatch(/^filesystem/);
	expect(file.bytes).toBeGreaterThanOrEqual(300 * 1024 * 1024);
	expect(most - before).toBeLessThan(200 * 1024 * 1024);
	await allClosed();
});

test('a task id of odd characters makes a harmless file name', async () => {
	const respond = { status: 200, body: { task_id: 'a:b"c%é' } };
	good(await run(speech('Hi.', {}, { waitForCompletion: false })));
	await sim.waitFor(() => made().audioUrl !== undefined);
	const task = { status: 200, body: { id: 1, status: 'completed', audio_url: made().audioUrl } };
	sim.fault({ method: 'POST', action: { respond } });
	sim.fault({ method: 'GET', path: '/v1/labs/task/a%3Ab', times: 9, action: { respond: task } });
	const [item] = good(await run(speech('Hi.')));
	expect(item?.json.task_id).toBe('a:b"c%é');
	expect(item?.binary?.data?.fileName).toMatch(/^speech-[\w.-]+\.wav$/);
});
