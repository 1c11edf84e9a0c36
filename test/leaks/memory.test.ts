import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { event } from '../faults/row.mts';
import { MIB } from '../service/bodies.mts';
import { split } from '../engine/longText';
import { allClosed, expectServed, good, only } from '../engine/seen';
import { ALWAYS, answer, onCreate, onFile, posts } from '../engine/service';
import { begin, run, sim, start, video } from '../engine/setup';

/* What large files cost in memory. */

const SAMPLE_MS = 10;
const disk = { binaryMode: 'filesystem' } as const;

/** Peak growth of memory during a run with files on disk, in bytes: objects and buffers, garbage included. */
async function growth(subject: Parameters<typeof run>[0]) {
	const inUse = () => process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
	const before = inUse();
	let peak = before;
	let ended = false;
	const watching = (async () => {
		while (!ended) {
			peak = Math.max(peak, inUse());
			await sleep(SAMPLE_MS);
		}
	})();
	const result = await run(subject, disk);
	ended = true;
	await watching;
	return { result, grown: peak - before };
}

beforeEach(async () => await start({ pace: 0.01 }));

test('a big file goes to disk in a stream, in bounded memory', async () => {
	good(await run(video('Small'), disk));
	const { result, grown } = await growth(video('Big [sim:big-file=200]'));
	const file = only(result).binary!.data!;
	expect(file).toMatchObject({ bytes: 200 * MIB, mimeType: 'video/mp4' });
	expect(file.id).toMatch(/^filesystem/);
	// Used pieces are collected only after some 64 MiB of them, on a busy machine later.
	expect(grown).toBeLessThan(140 * MIB);
	await expectServed(result);
	expect(sim.leaks).toEqual([]);
	await allClosed();
}, 180_000);

const PART_BYTES = 16 * MIB;
const PARTS = 4;
/** Besides twice the joined file: what is on its way, and some 64 MiB of garbage that a busy machine collects late. */
const MORE_BYTES = 64 * MIB;

/** As many frames as fit: MPEG-2, layer III, 32 kbit/s, 22 050 Hz, 104 bytes each, silent. */
function mp3(): Buffer {
	const frame = Buffer.alloc(104);
	Buffer.from([0xff, 0xf3, 0x40, 0xc0]).copy(frame);
	return Buffer.alloc(Math.floor(PART_BYTES / frame.length) * frame.length, frame);
}

test('files that came in the stream itself are not kept once their runs are over', async () => {
	setFlagsFromString('--expose-gc');
	const collect = runInNewContext('gc') as () => void;
	const bytes = `\0${'a video'.repeat(MIB)}`;
	const file_url = `data:video/mp4;base64,${Buffer.from(bytes).toString('base64')}`;
	const sse = [event('video_generation_complete', [{ file_url }])];
	onCreate({ sse }, ALWAYS);
	const heap = async () => {
		good(await run(video('P'), disk));
		await sleep(0);
		collect();
		return process.memoryUsage().heapUsed;
	};
	const before = await heap();
	for (let runs = 1; runs < 5; runs++) await heap();
	expect((await heap()) - before).toBeLessThan(20 * MIB);
});

test('images leave the memory once the service has accepted their request', async () => {
	setFlagsFromString('--expose-gc');
	const collect = runInNewContext('gc') as () => void;
	/** What is left after some collections: the garbage of buffers is freed in the background. */
	const buffers = async () => {
		for (let times = 0; times < 20; times++) {
			collect();
			await sleep(100);
		}
		return process.memoryUsage().arrayBuffers;
	};
	onCreate({ sse: [event('video_generation_status', 'processing')] }, ALWAYS);
	const data = Buffer.alloc(6 * MIB)
		.fill('89504e470d0a1a0a', 0, 8, 'hex')
		.toString('base64');
	const item = { json: {}, binary: { data: { data, mimeType: 'image/png' } } };
	const fields = { operation: 'ingredientsToVideo', binaryPropertyName: 'data' };
	const before = await buffers();
	const { cancel, finished } = await begin(video('P', {}, fields), { input: Array(10).fill(item) });
	await sim.waitFor(() => posts() === 10, 60_000);
	expect((await buffers()) - before).toBeLessThan(10 * MIB);
	cancel();
	await finished;
}, 120_000);

test.each(['WAV', 'MP3'])(
	'parts that are joined, %s: at most twice the joined file',
	async (format) => {
		good(await run(split(), disk));
		const name = `[sim:big-file=${PART_BYTES / MIB}]`;
		const text = Array.from({ length: PARTS }, (_, n) => `Number ${n} ${name}`).join('\n\n');
		if (format === 'MP3') onFile(answer(200, mp3(), { 'Content-Type': 'audio/mpeg' }), ALWAYS);
		const { result, grown } = await growth(split(text, { splitLongerThan: 40 }));
		const { json, binary } = only(result);
		expect(json.parts).toBe(PARTS);
		const { bytes = 0 } = binary!.data!;
		expect(bytes).toBeGreaterThan(PARTS * PART_BYTES * 0.99);
		expect(grown).toBeLessThan(2 * bytes + MORE_BYTES);
	},
	180_000,
);
