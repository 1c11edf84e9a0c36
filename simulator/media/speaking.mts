import { Mp3Encoder } from '@breezystack/lamejs';
// @ts-expect-error: it has no types.
import startESpeak from '@echogarden/espeak-ng-emscripten';
import { seedOf } from './random.mts';
import { linesOf, type Cue } from './subtitles.mts';
import { LONGEST_SECONDS, wavHeader } from './wav.mts';

const RATE = 22_050;
/** In kbit/s. */
const MP3_BIT_RATE = 48;
const ENGLISH = ['en-us', 'en', 'en-gb-scotland', 'en-gb-x-rp'];
const ENGLISH_WORDS = /\b(?:the|and|of|is|are|this|that|you|with|by|my|for)\b/gi;

/** What the synthesiser tells of a part: times in ms, positions in characters from 1. */
interface WordEvent {
	type: string;
	text_position: number;
	audio_position: number;
}

export interface Speech {
	text: string;
	/** Who speaks it, at what multiple of the usual speed. */
	voice: { id: string; language: string; gender: string; speed: number };
	format: 'wav' | 'mp3';
}

export interface Spoken {
	file: Uint8Array;
	cues: Cue[];
}

const { eSpeakNGWorker: ESpeak } = await startESpeak();
const espeak = new ESpeak();

/** Speaks a text, of a long one the first ten minutes, with a cue for each line that is spoken. */
export function speak({ text, voice, format }: Speech): Spoken {
	const lines = linesOf(text);
	choose(voice, text);
	const sounds: Int16Array[] = [];
	const words: WordEvent[] = [];
	let samples = 0;
	espeak.synthesize(lines.join(' '), (sound: Int16Array, events: WordEvent[]) => {
		sounds.push(sound);
		samples += sound.length;
		words.push(...events.filter(({ type }) => type === 'word'));
		const isEnough = samples >= LONGEST_SECONDS * RATE;
		return isEnough;
	});
	const seconds = samples / RATE;
	let position = 1;
	const starts = lines.map((line) => {
		const first = words.find((word) => word.text_position >= position);
		position += [...line].length + 1;
		return first ? first.audio_position / 1000 : seconds;
	});
	// What has no word of its own, such as a smiley, is not heard.
	starts[0] = 0;
	const cues = lines.map((line, index) => {
		return { text: line, start: starts[index]!, end: starts[index + 1] ?? seconds };
	});
	return {
		file: format === 'mp3' ? mp3Of(sounds) : wavOf(sounds),
		cues: cues.filter(({ start, end }) => start < end),
	};
}

/** Each voice has an accent, a timbre, a pitch and a pace of its own; it reads English as English, and all else in its language. */
function choose({ id, language, gender, speed }: Speech['voice'], text: string): void {
	const seed = seedOf(id);
	const english = text.match(ENGLISH_WORDS)?.length ?? 0;
	const isEnglish = language === 'en' || english * 10 >= text.split(/\s+/).length;
	const accent = isEnglish || language === '' ? ENGLISH[seed % ENGLISH.length]! : language;
	const isFemale = gender === 'female' || (gender !== 'male' && seed % 2 === 0);
	const variant = isFemale ? `f${1 + ((seed >>> 3) % 5)}` : `m${1 + ((seed >>> 3) % 7)}`;
	const name = `${accent}+${variant}`;
	if (espeak.set_voice(name) !== 0) throw new Error(`There is no voice ${name}`);
	espeak.set_pitch(30 + ((seed >>> 6) % 45));
	espeak.set_rate(Math.round((140 + ((seed >>> 12) % 40)) * speed));
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Int16Array) =>
	new Uint8Array(buffer, byteOffset, byteLength);

function wavOf(sounds: Int16Array[]): Buffer {
	const bytes = sounds.reduce((sum, sound) => sum + sound.byteLength, 0);
	return Buffer.concat([wavHeader(bytes, RATE), ...sounds.map(bytesOf)]);
}

function mp3Of(sounds: Int16Array[]): Buffer {
	const encoder = new Mp3Encoder(1, RATE, MP3_BIT_RATE);
	const parts = [...sounds.map((sound) => encoder.encodeBuffer(sound)), encoder.flush()];
	return Buffer.concat(parts.map((part) => Uint8Array.from(part)));
}
