import { randomFrom, seedOf } from './random.mts';

const RATE = 16_000;
export const LETTERS_PER_SECOND = 15;
/** Keeps a very long text from making a file of hundreds of megabytes. */
const LONGEST_SECONDS = 600;
const HEADER_BYTES = 44;

/** First two formants, in hertz, of the vowels that the ear tells apart best. */
const VOWELS: Readonly<Record<string, readonly [number, number]>> = {
	a: [750, 1200],
	e: [480, 1900],
	i: [300, 2250],
	o: [480, 880],
	u: [330, 800],
	y: [320, 1700],
};

/** Duration in seconds of the speech for a text: 15 letters a second, 1 s to 10 min. */
export function speechSeconds(text: string): number {
	return Math.min(LONGEST_SECONDS, Math.max(1, text.length / LETTERS_PER_SECOND));
}

/** A 44-byte header for PCM, 16 bit, mono, 16 kHz. */
export function wavHeader(dataBytes: number): Buffer {
	const header = Buffer.alloc(HEADER_BYTES);
	header.write('RIFF', 0, 'latin1');
	header.writeUInt32LE(dataBytes + HEADER_BYTES - 8, 4);
	header.write('WAVEfmt ', 8, 'latin1');
	header.writeUInt32LE(16, 16);
	header.writeUInt16LE(1, 20);
	header.writeUInt16LE(1, 22);
	header.writeUInt32LE(RATE, 24);
	header.writeUInt32LE(RATE * 2, 28);
	header.writeUInt16LE(2, 32);
	header.writeUInt16LE(16, 34);
	header.write('data', 36, 'latin1');
	header.writeUInt32LE(dataBytes, 40);
	return header;
}

/**
 * A playable WAV file of something like speech, the same every time for the same text and
 * voice: a buzz through two formant filters for vowels, noise for consonants, pauses between.
 */
export function speechWav(text: string, voice: string): Buffer {
	const samples = Math.round(speechSeconds(text) * RATE);
	const data = Buffer.alloc(samples * 2);
	const perLetter = RATE / LETTERS_PER_SECOND;
	const pitch = 95 + (seedOf(voice) % 110);
	const random = randomFrom(seedOf(text));
	const low = resonator();
	const high = resonator();
	let phase = 0;
	let loudness = 0;

	for (let start = 0, index = 0; start < samples; index++) {
		const end = Math.min(samples, Math.round((index + 1) * perLetter));
		const sound = soundOf(text[index] ?? ' ');
		low.tune(sound.formants[0], 90);
		high.tune(sound.formants[1], 130);
		const glide = pitch * (1 + 0.12 * Math.sin(index / 5) + 0.05 * random());
		for (let i = start; i < end; i++) {
			loudness += (sound.loudness - loudness) * 0.004;
			phase += glide / RATE;
			if (phase >= 1) phase -= 1;
			const buzz = sound.voiced ? 1 - 2 * phase : 0;
			const source = buzz + (random() * 2 - 1) * (sound.voiced ? 0.03 : 0.5);
			const value = Math.tanh((low.step(source) * 1.2 + high.step(source)) * loudness);
			data.writeInt16LE(Math.round(value * 22_000), i * 2);
		}
		start = end;
	}
	return Buffer.concat([wavHeader(data.length), data]);
}

interface Sound {
	voiced: boolean;
	loudness: number;
	formants: readonly [number, number];
}

function soundOf(letter: string): Sound {
	const lower = letter.toLowerCase();
	const vowel = VOWELS[lower];
	if (vowel) return { voiced: true, loudness: 1, formants: vowel };
	if (/[mnlrwjv]/.test(lower)) return { voiced: true, loudness: 0.5, formants: [280, 1300] };
	if (/[a-z]/.test(lower)) return { voiced: false, loudness: 0.35, formants: [1800, 3600] };
	if (/[\p{L}\p{N}]/u.test(letter) || letter > '\u2fff') {
		const formants = Object.values(VOWELS)[letter.charCodeAt(0) % 6];
		return { voiced: true, loudness: 0.9, formants: formants ?? [500, 1500] };
	}
	return { voiced: false, loudness: 0, formants: [500, 1500] };
}

/** A two-pole filter with unit gain at its peak. */
function resonator() {
	let gain = 0;
	let first = 0;
	let second = 0;
	let last = 0;
	let beforeLast = 0;
	return {
		tune(hertz: number, width: number): void {
			const radius = Math.exp((-Math.PI * width) / RATE);
			const angle = (2 * Math.PI * hertz) / RATE;
			first = 2 * radius * Math.cos(angle);
			second = -radius * radius;
			gain = (1 - radius) * Math.sqrt(1 - 2 * radius * Math.cos(2 * angle) + radius ** 2);
		},
		step(input: number): number {
			const output = gain * input + first * last + second * beforeLast;
			beforeLast = last;
			last = output;
			return output;
		},
	};
}
