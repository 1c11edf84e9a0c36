import { Mp3Encoder } from '@breezystack/lamejs';
// @ts-expect-error: it has no types.
import startESpeak from '@echogarden/espeak-ng-emscripten';
import { seedOf } from './random.mts';
import { linesOf, type Cue } from './subtitles.mts';
import { MAX_AUDIO_SECONDS, wavHeader } from './wav.mts';

const SAMPLES_PER_SECOND = 22_050;
/** The bit rate of MP3 files, in kbit/s. */
const MP3_KBPS = 48;
const ENGLISH_ACCENTS = ['en-us', 'en', 'en-gb-scotland', 'en-gb-x-rp'];
/** Words that are frequent in English texts, and rare in texts of other languages. */
const ENGLISH_WORDS = /\b(?:the|and|of|is|are|this|that|you|with|by|my|for)\b/gi;

/** An event of the synthesizer. `audio_position` is in ms; `text_position` counts characters from 1. */
interface WordEvent {
	type: string;
	text_position: number;
	audio_position: number;
}

/** A text to speak, and how to speak it. */
export interface Speech {
	text: string;
	/** The voice; `speed` is a multiple of its usual speed. */
	voice: { id: string; language: string; gender: string; speed: number };
	format: 'wav' | 'mp3';
}

/** The audio file, and when each line is spoken. */
export interface RenderedSpeech {
	file: Uint8Array;
	cues: Cue[];
}

const { eSpeakNGWorker: ESpeak } = await startESpeak();
const espeak = new ESpeak();

/** Speaks a text, up to ten minutes of it. Returns the file and a cue for each line that is spoken. */
export function speak({ text, voice, format }: Speech): RenderedSpeech {
	const lines = linesOf(text);
	setUpVoice(voice, text);
	const sounds: Int16Array[] = [];
	const words: WordEvent[] = [];
	let samples = 0;
	espeak.synthesize(lines.join(' '), (sound: Int16Array, events: WordEvent[]) => {
		sounds.push(sound);
		samples += sound.length;
		words.push(...events.filter(({ type }) => type === 'word'));
		// If this function returns true, the synthesizer stops.
		const isLongEnough = samples >= MAX_AUDIO_SECONDS * SAMPLES_PER_SECOND;
		return isLongEnough;
	});
	const seconds = samples / SAMPLES_PER_SECOND;
	let position = 1;
	const starts = lines.map((line) => {
		const firstWord = words.find((word) => word.text_position >= position);
		position += [...line].length + 1;
		return firstWord ? firstWord.audio_position / 1000 : seconds;
	});
	// A line without a word, such as a smiley, is not spoken and gets no cue. The first line always starts at 0.
	starts[0] = 0;
	const cues = lines.map((line, index) => {
		return { text: line, start: starts[index]!, end: starts[index + 1] ?? seconds };
	});
	return {
		file: format === 'mp3' ? mp3Of(sounds) : wavOf(sounds),
		cues: cues.filter(({ start, end }) => start < end),
	};
}

/**
 * Sets up the synthesizer for a voice and a text. Each voice has its own accent, timbre, pitch and pace. An English
 * text is read in English, any other text in the voice's language. A text counts as English if at least a tenth of its
 * words are in ENGLISH_WORDS. Throws an Error if the synthesizer does not have the voice.
 */
function setUpVoice({ id, language, gender, speed }: Speech['voice'], text: string): void {
	const seed = seedOf(id);
	const englishWordCount = text.match(ENGLISH_WORDS)?.length ?? 0;
	const isEnglish = language === 'en' || englishWordCount * 10 >= text.split(/\s+/).length;
	const accent =
		isEnglish || language === '' ? ENGLISH_ACCENTS[seed % ENGLISH_ACCENTS.length]! : language;
	const isFemale = gender === 'female' || (gender !== 'male' && seed % 2 === 0);
	const variant = isFemale ? `f${1 + ((seed >>> 3) % 5)}` : `m${1 + ((seed >>> 3) % 7)}`;
	const name = `${accent}+${variant}`;
	if (espeak.set_voice(name) !== 0) throw new Error(`There is no voice ${name}`);
	espeak.set_pitch(30 + ((seed >>> 6) % 45));
	espeak.set_rate(Math.round((140 + ((seed >>> 12) % 40)) * speed));
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Int16Array) =>
	new Uint8Array(buffer, byteOffset, byteLength);

/** Returns a WAV file with these samples. */
function wavOf(sounds: Int16Array[]): Buffer {
	const bytes = sounds.reduce((sum, sound) => sum + sound.byteLength, 0);
	return Buffer.concat([wavHeader(bytes, SAMPLES_PER_SECOND), ...sounds.map(bytesOf)]);
}

/** Returns an MP3 file with these samples. */
function mp3Of(sounds: Int16Array[]): Buffer {
	const encoder = new Mp3Encoder(1, SAMPLES_PER_SECOND, MP3_KBPS);
	const parts = [...sounds.map((sound) => encoder.encodeBuffer(sound)), encoder.flush()];
	return Buffer.concat(parts.map((part) => Uint8Array.from(part)));
}
