import { readFile } from 'node:fs/promises';
import type { IDataObject } from 'n8n-workflow';
import type { WorkflowResult } from '../../demo/engine.mts';
import { readMp3 } from '../../nodes/MediaGeneration/audio/mp3';
import { readWav } from '../../nodes/MediaGeneration/audio/wav';
import { good, hints, only } from './seen';
import { ALWAYS, answer, onFile, onRead, posts, requests, tasks } from './service';
import { run, sim, speech } from './setup';
import { ids, SENTENCES, split, wait } from './longText';

const subtitles = true;
const served = (id: string) => sim.fileBytes(sim.tasks.get(id)!.subtitleUrl!)!.toString();
const notes = (count: number) => answer(200, `WEBVTT\n\n${'NOTE a\n\n'.repeat(count)}`);
/** A text of so many parts, with a word for the simulator. */
const long = (count: number, word: string, more: IDataObject = {}) => {
	const text = SENTENCES.slice(0, count).map((sentence) => sentence.replace('.', `${word}.`));
	return split(text.join(' '), { subtitles, splitLongerThan: 75 }, more);
};

/** The text in the field of subtitles. */
const textOf = async (result: WorkflowResult) =>
	(await result.bytes(only(result).binary!.subtitles!)).toString();

/** Start and end of each cue, in ms. */
const timesOf = (text: string) =>
	[...text.matchAll(/^(\S+) --> (\S+)$/gm)].map((line) =>
		line.slice(1).map((time) => Date.parse(`1970-01-01T${time.replace(',', '.')}Z`)),
	);

function durationOf(id: string): number {
	const file = sim.fileBytes(sim.tasks.get(id)!.audioUrl!)!;
	return (readWav(file) ?? readMp3(file))!.durationMs;
}

/** The cues of all tasks, each later by the sound of those before it. */
function expectShifted(text: string, taskIds: string[]) {
	let startMs = 0;
	const expected = taskIds.flatMap((id) => {
		const times = timesOf(served(id)).map((cue) => cue.map((ms) => Math.round(ms + startMs)));
		startMs += durationOf(id);
		return times;
	});
	expect(expected.length).toBeGreaterThanOrEqual(taskIds.length);
	expect(timesOf(text)).toEqual(expected);
}

test.each([
	['srt', '', 'application/x-subrip'],
	['vtt', '[sim:subtitles=vtt]', 'text/vtt'],
])('%s comes out beside the sound, as the service made it', async (extension, word, mimeType) => {
	const result = await run(speech(`Hello there. ${word}`, { subtitles }));
	const { json, binary } = only(result);
	const { id, subtitleUrl } = tasks()[0]!;
	expect(json.subtitle).toBe(subtitleUrl);
	expect(binary!.data).toMatchObject({ mimeType: 'audio/wav' });
	expect(binary!.subtitles).toMatchObject({
		fileName: `speech-${id}.${extension}`,
		fileExtension: extension,
		mimeType,
	});
	expect(await textOf(result)).toBe(served(id));
	// The file lies on another host than the API.
	expect(requests('GET', '/files/subtitle')).toHaveLength(1);
	expect(sim.leaks).toEqual([]);
	expect(hints(result)).toEqual([]);
});

test.each(['', ' [sim:subtitles=vtt]', ' [sim:mp3]'])(
	'those of a long text are joined with its sound, on time %s',
	async (word) => {
		const result = await run(long(5, word));
		const { json, binary } = only(result);
		const taskIds = json.task_ids as string[];
		expect(taskIds).toHaveLength(5);
		const said = await textOf(result);
		expectShifted(said, taskIds);
		expect(said.match(/^\d+$/gm)).toEqual(timesOf(said).map((_, index) => `${index + 1}`));
		expect(said.startsWith('WEBVTT')).toBe(word.includes('vtt'));
		const extension = word.includes('vtt') ? 'vtt' : 'srt';
		expect(binary!.subtitles!.fileName).toBe(`speech-${taskIds[0]}.${extension}`);
		expect(hints(result)).toEqual([]);
	},
);

test('Collect joins those of several tasks, in the order of their ids, from files on disk, too', async () => {
	good(await run(long(3, '', { waitForCompletion: false })));
	const taskIds = ids().reverse();
	const fields = wait(taskIds.join(','), { subtitles });
	const result = await run(fields, { binaryMode: 'filesystem' });
	expectShifted(await textOf(result), taskIds);
	expect(posts()).toBe(3);
});

test('without its sound a text of several parts is one item, and a hint says what its subtitles need', async () => {
	const result = await run(long(3, '', { download: false }));
	const { json, binary } = only(result);
	expect([json.task_ids, binary]).toEqual([ids(), undefined]);
	expect(hints(result).join()).toContain(
		"'Download File' is off. To get them at no extra charge, use Speech → Collect with",
	);
});

test('that hint comes also if the sound is in the answers themselves, and so comes out', async () => {
	const bytes = await readFile('simulator/media/second.mp3');
	const result = `data:audio/mpeg;base64,${bytes.toString('base64')}`;
	onRead(answer(200, { id: 1, status: 'completed', result }), ALWAYS);
	const joined = await run(long(2, '', { download: false }));
	expect(Object.keys(only(joined).binary!)).toEqual(['data']);
	expect(hints(joined).join()).toContain("'Download File' is off");
});

test.each<[string, object, string]>([
	['are gone', answer(410, { error: 'expired' }), '410 (expired)'],
	['are something else', answer(200, 'Hello.'), 'neither SRT nor VTT'],
	['are too large', notes(300_000), 'larger than 2 MB'],
])('when they %s, the sound comes out, and a hint says why', async (_, action, said) => {
	onFile(action, { path: '/files/subtitle', ...ALWAYS });
	const items = [{ n: 1 }, { n: 2 }];
	const result = await run(speech('=Hello {{ $json.n }}.', { subtitles }), { items });
	expect(good(result).map(({ binary }) => Object.keys(binary!))).toEqual([['data'], ['data']]);
	expect(good(result)[0]!.json.subtitle).toMatch(/^http.*\.srt$/);
	expect(hints(result)).toHaveLength(1);
	expect(hints(result)[0]).toContain(said);
	expect(hints(result)[0]).toMatch(
		/^Rows 1 and 2: Subtitles could not .*Use Collect with 'Download Subtitles' on \(free\)$/,
	);
	expect([posts(), sim.leaks.length]).toEqual([2, 0]);
});
