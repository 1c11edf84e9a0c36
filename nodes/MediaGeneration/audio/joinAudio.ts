import { MAX_JOINED_BYTES } from '../../shared/limits';
import type { FileType } from '../../shared/parsing/fileType';
import { readMp3 } from './mp3';
import type { Sound } from './sound';
import { readWav } from './wav';

/* Joins sound files without decoding them. */

/** The largest header, in bytes. Its space is reserved first, because it is made only after all files are read. */
const MAX_HEADER_BYTES = 4096;

/** A file to join. It is read only when it is its turn, so that only one is in memory at a time. */
export interface SoundFile {
	/** The size of the file, in bytes. */
	bytes: number;
	read(): Promise<Buffer>;
}

/** A file made from others, and where each of them begins in it. */
export type JoinedSound = FileType & {
	bytes: Buffer;
	/** The time in the joined file at which each of the given files begins, in ms. */
	startsMs: number[];
	durationMs: number;
};

/**
 * Joins WAV or MP3 files of one format, in the given order. If they cannot be joined, resolves with a reason in words.
 * Rejects if `read` does. `files` must not be empty.
 */
export async function joinAudio(files: SoundFile[]): Promise<JoinedSound | { reason: string }> {
	const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
	if (totalBytes > MAX_JOINED_BYTES) {
		return { reason: `they are larger than ${MAX_JOINED_BYTES / 1024 / 1024} MB in total` };
	}
	const joined = Buffer.allocUnsafe(MAX_HEADER_BYTES + totalBytes);
	const startsMs: number[] = [];
	let firstSound: Omit<Sound, 'soundData'> | undefined;
	let end = MAX_HEADER_BYTES;
	let durationMs = 0;
	for (const [index, file] of files.entries()) {
		const bytes = await file.read();
		const parsed = readWav(bytes) ?? readMp3(bytes);
		if (!parsed) return { reason: `part ${index + 1} has no WAV or MP3 audio` };
		const { soundData, ...sound } = parsed;
		firstSound ??= sound;
		if (sound.format !== firstSound.format) {
			return { reason: `part 1 is ${firstSound.format}; part ${index + 1} is ${sound.format}` };
		}
		for (const data of soundData) end += data.copy(joined, end);
		startsMs.push(durationMs);
		durationMs += sound.durationMs;
	}
	const { headerFor, type } = firstSound!;
	const header = headerFor(end - MAX_HEADER_BYTES, durationMs);
	const start = MAX_HEADER_BYTES - header.copy(joined, MAX_HEADER_BYTES - header.length);
	// In a WAV file, a chunk of odd length is followed by one padding byte.
	if (type.extension === 'wav' && end % 2) joined[end++] = 0;
	return { bytes: joined.subarray(start, end), ...type, startsMs, durationMs };
}
