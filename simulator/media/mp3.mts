import { LETTERS_PER_SECOND, speechSeconds } from './wav.mts';

const RATE = 24_000;
/** Per frame, in MPEG-2. */
const SAMPLES = 576;
/** Bytes of a frame: 32 kbit/s. */
const FRAME = 96;

/**
 * A playable MP3 file (MPEG-2 layer III, 24 kHz, mono, 32 kbit/s) as long as the speech for a text,
 * with a tone for each letter: one line of each frame's spectrum, in Huffman table 1.
 */
export function speechMp3(text: string): Buffer {
	const frames = Math.ceil((speechSeconds(text) * RATE) / SAMPLES);
	return Buffer.concat(
		Array.from({ length: frames }, (_, index) => {
			const letter = text[Math.floor((index * SAMPLES * LETTERS_PER_SECOND) / RATE)] ?? ' ';
			const code = letter.toLowerCase().codePointAt(0)!;
			return frame(/[\p{L}\p{N}]/u.test(letter) ? 6 + (code % 26) : undefined);
		}),
	);
}

/** A frame with a tone in that pair of spectral lines, 42 Hz a pair; silent without. */
function frame(pair: number | undefined): Buffer {
	const pairs = pair === undefined ? 0 : pair + 1;
	// Each pair before is (0, 0), one bit; then (1, 0), two bits, and its sign.
	const sound = pairs === 0 ? '' : `${'1'.repeat(pairs - 1)}010`;
	const bits = [
		// Header: sync, MPEG-2 layer III without checksum, 32 kbit/s, 24 kHz, no padding, mono, original.
		...[field(0xfff, 12), '0', '01', '1', field(4, 4), '01', '00', '11', '000100'],
		// Side information: no reservoir, then length, pairs, loudness, scale factors, window, tables.
		...[field(0, 9), field(sound.length, 12), field(pairs, 9), field(195, 8), field(0, 9), '0'],
		...[field(1, 5).repeat(3), field(0, 4 + 3 + 2)],
		sound,
	].join('');
	const bytes = Buffer.alloc(FRAME);
	for (let at = 0; at < bits.length; at += 8) {
		bytes[at / 8] = Number.parseInt(bits.slice(at, at + 8).padEnd(8, '0'), 2);
	}
	return bytes;
}

const field = (value: number, length: number) => value.toString(2).padStart(length, '0');
