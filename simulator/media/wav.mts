import { randomFrom, seedOf } from './random.mts';

const SAMPLES_PER_SECOND = 16_000;
const LETTERS_PER_SECOND = 15;
/** The longest audio, in seconds. Without this limit, a very long text would make a file of hundreds of megabytes. */
export const MAX_AUDIO_SECONDS = 600;
const HEADER_BYTES = 44;

/**
 * Returns the duration of the speech for a text, in seconds. LETTERS_PER_SECOND letters take a second. The duration is
 * at least 1 second and at most MAX_AUDIO_SECONDS.
 */
export function speechSeconds(text: string): number {
	return Math.min(MAX_AUDIO_SECONDS, Math.max(1, text.length / LETTERS_PER_SECOND));
}

/**
 * Returns the 44-byte header of a WAV file: PCM, 16 bit, mono. `dataBytes` is the size of the samples. `sampleRate` is
 * in samples per second.
 */
export function wavHeader(dataBytes: number, sampleRate = SAMPLES_PER_SECOND): Buffer {
	const header = Buffer.alloc(HEADER_BYTES);
	header.write('RIFF', 0, 'latin1');
	header.writeUInt32LE(dataBytes + HEADER_BYTES - 8, 4);
	header.write('WAVEfmt ', 8, 'latin1');
	header.writeUInt32LE(16, 16);
	header.writeUInt16LE(1, 20);
	header.writeUInt16LE(1, 22);
	header.writeUInt32LE(sampleRate, 24);
	header.writeUInt32LE(sampleRate * 2, 28);
	header.writeUInt16LE(2, 32);
	header.writeUInt16LE(16, 34);
	header.write('data', 36, 'latin1');
	header.writeUInt32LE(dataBytes, 40);
	return header;
}

/**
 * Returns a playable WAV file that sounds a little like speech: a fading tone at the voice's pitch for each letter,
 * noise for consonants, and silence between words. The same text and voice always make the same file.
 */
export function speechWav(text: string, voiceId: string): Buffer {
	const samples = Math.round(speechSeconds(text) * SAMPLES_PER_SECOND);
	const data = Buffer.alloc(samples * 2);
	const pitch = 95 + (seedOf(voiceId) % 110);
	const random = randomFrom(seedOf(text));
	let phase = 0;
	let loudness = 0;
	for (let sampleIndex = 0, letterIndex = 0; sampleIndex < samples; letterIndex++) {
		const end = Math.min(
			samples,
			Math.round(((letterIndex + 1) * SAMPLES_PER_SECOND) / LETTERS_PER_SECOND),
		);
		const letter = (text[letterIndex] ?? ' ').toLowerCase();
		const isAudible = /[\p{L}\p{N}]/u.test(letter);
		const isNoise = /[bcdfghkpqstxz]/.test(letter);
		const formant = 300 + ((letter.charCodeAt(0) * 97) % 1000);
		for (; sampleIndex < end; sampleIndex++) {
			loudness += ((isAudible ? 1 : 0) - loudness) * 0.004;
			phase = (phase + pitch / SAMPLES_PER_SECOND) % 1;
			const tone = Math.exp(-4 * phase) * Math.sin((2 * Math.PI * formant * phase) / pitch);
			const value = isNoise ? 0.2 * (random() * 2 - 1) : tone;
			data.writeInt16LE(Math.round(value * loudness * 22_000), sampleIndex * 2);
		}
	}
	return Buffer.concat([wavHeader(data.length), data]);
}
