import { good } from './seen';
import { ALWAYS, answer, onFile } from './service';
import { run, start } from './setup';
import { split } from './longText';
import { growth, MIB } from './growth';

/* What a long text costs in memory while its parts are joined. */

const PART_BYTES = 16 * MIB;
const PARTS = 8;
/** Besides twice the joined file: what is on its way, and garbage. */
const MORE_BYTES = 48 * MIB;

/** As many frames as fit: MPEG-2, layer III, 32 kbit/s, 22 050 Hz, 104 bytes each, silent. */
function mp3(): Buffer {
	const frame = Buffer.alloc(104);
	Buffer.from([0xff, 0xf3, 0x40, 0xc0]).copy(frame);
	return Buffer.alloc(Math.floor(PART_BYTES / frame.length) * frame.length, frame);
}

test.each(['WAV', 'MP3'])(
	'%s: at most twice the joined file',
	async (format) => {
		await start({ pace: 0.01 });
		good(await run(split(), { binaryMode: 'filesystem' }));
		const name = `[sim:big-file=${PART_BYTES / MIB}]`;
		const text = Array.from({ length: PARTS }, (_, n) => `Number ${n} ${name}`).join('\n\n');
		if (format === 'MP3') {
			onFile(answer(200, mp3(), { 'Content-Type': 'audio/mpeg' }), ALWAYS);
		}
		const subject = split(text, { splitLongerThan: 40 });
		const { result, grown } = await growth(
			async () => await run(subject, { binaryMode: 'filesystem' }),
		);
		const [item, ...others] = good(result);
		expect(others).toEqual([]);
		expect(item!.json.parts).toBe(PARTS);
		const { bytes = 0 } = item!.binary!.data!;
		expect(bytes).toBeGreaterThan(PARTS * PART_BYTES * 0.99);
		expect(grown).toBeLessThan(2 * bytes + MORE_BYTES);
	},
	180_000,
);
