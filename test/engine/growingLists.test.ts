import type { WorkflowResult } from '../../demo/engine.mts';
import { event } from '../faults/row.mts';
import { out } from './seen';
import { made, onCreate } from './service';
import { fakeTime, node, sim, start, video } from './setup';
import { hasten } from './time';

/* Streams that tell of the same file again, with another signature, before the others are done. */

const url = (file: string, sig: number) => `${sim.fileOrigin}/media/${file}.mp4?sig=${sig}`;
const ready = (...urls: string[]) =>
	event(
		'video_generation_status',
		urls.map((file_url) => ({ file_url })),
	);
const complete = (...urls: string[]) =>
	event(
		'video_generation_complete',
		urls.map((file_url) => ({ file_url })),
	);

beforeEach(async () => {
	await start({ pace: 1 });
	fakeTime();
});

const entry = (id: string, file: string, more = {}) =>
	made(id, {
		prompt: 'P',
		file_url: url(file, 9),
		created_at: new Date(Date.now() + 500).toISOString(),
		...more,
	});

const namesOf = (result: WorkflowResult) =>
	out(result).map(({ json }) => String(json.file_url).replace(/.*\/|\.mp4.*/g, ''));

async function madeOf(numberOfVideos: number, ...sse: unknown[]): Promise<string[]> {
	onCreate({ sse: [...sse, 'END'] } as never);
	const fields = video('P', { timeout: 60 }, { download: false, numberOfVideos });
	const { result } = await hasten(node(fields));
	return namesOf(result);
}

test('the second of two comes out, though the first is told twice before', async () => {
	const made = await madeOf(
		2,
		ready(url('a', 1)),
		ready(url('a', 2)),
		complete(url('a', 3), url('b', 3)),
	);
	expect(made).toEqual(['a', 'b']);
});

test('none comes out twice, where the last event has all', async () => {
	expect(await madeOf(2, ready(url('a', 1)), complete(url('a', 2), url('b', 2)))).toEqual([
		'a',
		'b',
	]);
});

test('the lists that grow: all four come out, once', async () => {
	const files = ['a', 'b', 'c', 'd'];
	const lists = files.map((_, n) => files.slice(0, n + 1).map((file) => url(file, n)));
	const made = await madeOf(
		4,
		...lists.slice(0, 3).map((list) => ready(...list)),
		complete(...lists[3]!),
	);
	expect(made).toEqual(files);
});

test('addresses that differ only in the query, one per event, are two videos', async () => {
	const name = (file: string) => `${sim.fileOrigin}/get.mp4?file=${file}`;
	onCreate({ sse: [complete(name('a')), complete(name('b')), 'END'] } as never);
	const fields = video('P', { timeout: 60 }, { download: false, numberOfVideos: 2 });
	const { result } = await hasten(node(fields));
	expect(out(result).map(({ json }) => json.file_url)).toEqual([name('a'), name('b')]);
});

test('two told with growing lists, lost: the third is found', async () => {
	onCreate({
		sse: [complete(url('a', 1)), complete(url('a', 2), url('b', 2)), { delayMs: 2000 }, 'RESET'],
	} as never);
	sim.history.unshift(entry('1', 'a'), entry('2', 'b'));
	setTimeout(() => sim.history.unshift(entry('3', 'c')), 40_000);
	const fields = video('P', { timeout: 900 }, { download: false, numberOfVideos: 3 });
	const { result } = await hasten(node(fields));
	expect(namesOf(result).sort()).toEqual(['a', 'b', 'c']);
});

test('an error for one without id, others in growing lists: three come out', async () => {
	onCreate({
		sse: [
			complete(url('a', 1)),
			event('error', { error: 'UNSAFE' }),
			complete(url('a', 2), url('b', 2)),
			complete(url('a', 3), url('b', 3), url('c', 3)),
			'END',
		],
	} as never);
	const fields = video('P', { timeout: 900 }, { download: false, numberOfVideos: 4 });
	const { result } = await hasten(node(fields));
	expect(namesOf(result).sort()).toEqual(['a', 'b', 'c']);
});
