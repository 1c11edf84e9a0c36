import type { IDataObject } from 'n8n-workflow';
import { readMp3 } from '../../nodes/shared/audio/mp3';
import { readWav } from '../../nodes/shared/audio/wav';
import { ids, SENTENCES, split, wait } from './longText';
import { allClosed, bad, good, node, NODE, posts, run, saved, sim, speech, start } from './setup';

type Result = Awaited<ReturnType<typeof run>>;

const subtitles = true;
const made = () => [...sim.tasks.values()];
const served = (id: string) => sim.fileBytes(sim.tasks.get(id)!.subtitleUrl!)!.toString();
const hints = (result: Result) => result.hints(NODE).map(({ message }) => message);
const fault = (action: object, more: object = {}) =>
	sim.fault({ on: 'file', path: '/files/subtitle', times: Infinity, action, ...more });
/** A text of so many parts, some of them with a word for the simulator. */
const text = (count: number, word = '', isWith = (_part: number) => true) =>
	SENTENCES.slice(0, count)
		.map((sentence, index) => sentence.replace(/\.$/, isWith(index) ? ` ${word}.` : '.'))
		.map((sentence) => sentence.replace(' .', '.'))
		.join(' ');
const long = (words: string, more: IDataObject = {}, extra: IDataObject = {}) =>
	node(split(words, { subtitles, splitLongerThan: 75, ...more }, extra));

/** The text in the field of subtitles. */
async function textOf(result: Result, index = 0): Promise<string> {
	const file = good(result)[index]!.binary!.subtitles!;
	return (await result.bytes(file)).toString();
}

/** Start and end of each cue, in ms. */
const timesOf = (text: string) =>
	[...text.matchAll(/^(\S+) --> (\S+)$/gm)].map((line) =>
		line.slice(1).map((time) => Date.parse(`1970-01-01T${time.replace(',', '.')}Z`)),
	);

function durationOf(id: string): number {
	const file = sim.fileBytes(sim.tasks.get(id)!.audioUrl!)!;
	return (readWav(file) ?? readMp3(file))!.sound.durationMs;
}

/** The cues of all tasks, each later by the sound of those before it. */
function expectShifted(text: string, tasks: string[]) {
	let startMs = 0;
	const expected = tasks.flatMap((id) => {
		const times = timesOf(served(id)).map((cue) => cue.map((ms) => Math.round(ms + startMs)));
		startMs += durationOf(id);
		return times;
	});
	expect(expected.length).toBeGreaterThanOrEqual(tasks.length);
	expect(timesOf(text)).toEqual(expected);
}

test.each([
	['srt', '', 'application/x-subrip'],
	['vtt', '[sim:subtitles=vtt]', 'text/vtt'],
])('%s comes out beside the sound, as the service made it', async (extension, word, mimeType) => {
	const result = await run(speech(`Hello there. ${word}`, { subtitles }));
	const [item] = good(result);
	const [{ id, subtitleUrl }] = made() as [ReturnType<typeof made>[number]];
	expect(item!.json.subtitle).toBe(subtitleUrl);
	expect(item!.binary!.data).toMatchObject({ mimeType: 'audio/wav' });
	expect(item!.binary!.subtitles).toMatchObject({
		fileName: `speech-${id}.${extension}`,
		fileExtension: extension,
		mimeType,
	});
	expect(await textOf(result)).toBe(served(id));
	// The file lies on another host than the API.
	expect(sim.requests.filter(({ path }) => path.startsWith('/files/subtitle'))).toHaveLength(1);
	expect(sim.leaks).toEqual([]);
	expect(hints(result)).toEqual([]);
	expect(saved(result.run)).not.toContain(sim.token);
	await allClosed();
});

test.each<[string, IDataObject, string, IDataObject]>([
	['the option is off', {}, 'Hello.', {}],
	['the service makes none', { subtitles }, 'Hello. [sim:subtitles=none]', {}],
	['nothing is waited for', { subtitles }, 'Hello.', { waitForCompletion: false }],
])('no field and no hint where %s', async (_, options, text, more) => {
	const result = await run(speech(text, options, more));
	expect(good(result)[0]!.binary?.subtitles).toBeUndefined();
	expect(hints(result)).toEqual([]);
	expect(sim.requests.filter(({ path }) => path.startsWith('/files/subtitle'))).toEqual([]);
});

test('without the sound, the subtitles alone', async () => {
	const result = await run(speech('Hello.', { subtitles }, { download: false }));
	expect(Object.keys(good(result)[0]!.binary!)).toEqual(['subtitles']);
	expect(await textOf(result)).toBe(served(made()[0]!.id));
});

test("on the API's own host they get the token", async () => {
	await start({ dialect: { apiFiles: 'private', relativeAudioUrl: true, audioField: 'result' } });
	const result = await run(speech('Hello.', { subtitles }));
	expect(await textOf(result)).toBe(served(made()[0]!.id));
});

test.each(['', '[sim:subtitles=vtt]', '[sim:mp3]'])(
	'those of a long text are joined with its sound, on time %s',
	async (word) => {
		const result = await run(long(text(5, word)));
		const [item] = good(result);
		const tasks = item!.json.task_ids as string[];
		expect([tasks.length, good(result).length]).toEqual([5, 1]);
		const said = await textOf(result);
		expectShifted(said, tasks);
		expect(said.match(/^\d+$/gm)).toEqual(timesOf(said).map((_, index) => `${index + 1}`));
		expect(said.startsWith('WEBVTT')).toBe(word.includes('vtt'));
		expect(item!.binary!.subtitles!.fileName).toBe(
			`speech-${tasks[0]}.${word.includes('vtt') ? 'vtt' : 'srt'}`,
		);
		expect(hints(result)).toEqual([]);
	},
);

test('Wait joins those of several tasks, in the order of their ids, from files on disk, too', async () => {
	good(await run(long(text(3), {}, { waitForCompletion: false })));
	const tasks = ids().reverse();
	const fields = wait(tasks.join(','));
	fields.parameters.options = { pollInterval: 1, subtitles };
	const result = await run(fields, { binaryMode: 'filesystem' });
	expectShifted(await textOf(result), tasks);
	expect(posts()).toBe(3);
});

test('a part without subtitles leaves a gap', async () => {
	const result = await run(long(text(3, '[sim:subtitles=none]', (part) => part === 1)));
	const tasks = good(result)[0]!.json.task_ids as string[];
	const times = timesOf(await textOf(result));
	const gap = durationOf(tasks[0]!) + durationOf(tasks[1]!);
	expect(times.map(([begin]) => begin)).toContain(Math.round(gap));
	expect(times).toHaveLength(timesOf(served(tasks[0]!)).length + timesOf(served(tasks[2]!)).length);
});

test('SRT and VTT are not joined: a hint says so, and the sound is whole', async () => {
	const result = await run(long(text(3, '[sim:subtitles=vtt]', (part) => part === 1)));
	expect(Object.keys(good(result)[0]!.binary!)).toEqual(['data']);
	expect(hints(result)).toEqual([
		'The subtitles of the parts of a speech could not be joined: some are SRT, others VTT. Speech → Wait with a single task ID fetches those of that part (item 0)',
	]);
});

test('those of several parts need their sound, and a hint says so', async () => {
	const result = await run(long(text(3), {}, { download: false }));
	expect(good(result)[0]!.binary).toBeUndefined();
	expect(hints(result).join()).toContain("turn on 'Download File'");
});

test('where the sound is not joined, each part comes with its own', async () => {
	const respond = { status: 200, headers: { 'Content-Type': 'audio/ogg' }, body: 'OggS..' };
	sim.fault({ on: 'file', path: '/files/audio', times: Infinity, action: { respond } });
	const result = await run(long(text(2)));
	for (const [index, { json }] of good(result).entries()) {
		expect(await textOf(result, index)).toBe(served(String(json.task_id)));
	}
});

test.each<[string, object, string]>([
	['are gone', { respond: { status: 410, body: { error: 'expired' } } }, '410 (expired)'],
	['are something else', { respond: { status: 200, body: 'Hello.' } }, 'neither SRT nor VTT'],
	[
		'are too large',
		{ respond: { status: 200, body: `WEBVTT\n\n${'NOTE a\n\n'.repeat(300_000)}` } },
		'larger than subtitles are: more than 2 MB',
	],
])('when they %s, the sound comes out, and a hint says why', async (_, action, said) => {
	fault(action);
	const result = await run(speech('=Hello {{ $json.n }}.', { subtitles }), {
		items: [{ n: 1 }, { n: 2 }],
	});
	expect(good(result).map(({ binary }) => Object.keys(binary!))).toEqual([['data'], ['data']]);
	expect(good(result)[0]!.json.subtitle).toMatch(/^http.*\.srt$/);
	expect(hints(result)).toHaveLength(1);
	expect(hints(result)[0]).toContain(said);
	expect(hints(result)[0]).toMatch(/^Subtitles could not .*at no extra charge \(item 0, 1\)$/);
	expect([posts(), sim.leaks.length]).toEqual([2, 0]);
	await allClosed();
});

test('they are fetched again when their host is away for a moment', async () => {
	fault({ respond: { status: 503 } }, { times: 2 });
	const result = await run(speech('Hello.', { subtitles }));
	expect(await textOf(result)).toBe(served(made()[0]!.id));
	expect(hints(result)).toEqual([]);
});

test('when those of one part can not be fetched, the others are on time', async () => {
	fault({ respond: { status: 410 } }, { times: 1 });
	const result = await run(long(text(3), { concurrency: 1 }));
	const tasks = good(result)[0]!.json.task_ids as string[];
	expect(timesOf(await textOf(result))[0]![0]).toBe(Math.round(durationOf(tasks[0]!)));
	expect(hints(result).join()).toContain('410');
});

test('more than 16 MB of them are not joined', async () => {
	fault({ respond: { status: 200, body: `WEBVTT\n\n${'NOTE a\n\n'.repeat(240_000)}` } });
	const result = await run(long(text(9)));
	expect(Object.keys(good(result)[0]!.binary!)).toEqual(['data']);
	expect(hints(result).join()).toContain('together they have more than 16 MB');
});

test('a host of subtitles that never answers does not cost the sound, when time is up', async () => {
	fault({ hang: true });
	const result = await run(speech('Hello.', { subtitles, timeout: 5 }));
	expect(Object.keys(good(result)[0]!.binary!)).toEqual(['data']);
	expect(hints(result).join()).toContain('Subtitles could not be downloaded: No result after');
	await allClosed();
});

test('the sound can not go into the field of the subtitles', async () => {
	const fields = speech('Hello.', { subtitles, outputField: 'subtitles' });
	expect(bad(await run(fields)).message).toContain(
		`'Put Output File in Field' must not be "subtitles"`,
	);
	expect(sim.requests).toEqual([]);
});
