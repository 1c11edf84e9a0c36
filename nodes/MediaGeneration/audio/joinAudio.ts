import { MAX_JOINED_BYTES } from '../../shared/limits';
import type { FileType } from '../../shared/contract';
import { readMp3 } from './mp3';
import type { Sound } from './sound';
import { readWav } from './wav';

/** Joins sound files without decoding them. Pure. */

/** More than the header of any joined file takes. */
const HEAD_BYTES = 4096;

/** A file to join. */
export interface SoundFile {
	/** Its size. */
	bytes: number;
	read(): Promise<Buffer>;
}

/** `startsMs`: when each of the files begins in it; `durationMs`: how long it is. */
export type JoinedSound = FileType & { bytes: Buffer; startsMs: number[]; durationMs: number };

/**
 * Joins WAV or MP3 files of one format; holds the joined file and one of the others in memory. Returns
 * why not, in words, when they are something else, differ, or are too large together.
 */
export async function joinAudio(files: SoundFile[]): Promise<JoinedSound | { reason: string }> {
	const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
	if (total > MAX_JOINED_BYTES) {
		return { reason: `together they have more than ${MAX_JOINED_BYTES / 1024 / 1024} MB` };
	}
	const joined = Buffer.allocUnsafe(HEAD_BYTES + total);
	const startsMs: number[] = [];
	let first: Omit<Sound, 'stretches'> | undefined;
	let end = HEAD_BYTES;
	let durationMs = 0;
	for (const [index, file] of files.entries()) {
		const bytes = await file.read();
		const read = readWav(bytes) ?? readMp3(bytes);
		if (!read) return { reason: `part ${index + 1} has no sound in it that is WAV or MP3` };
		const { stretches, ...sound } = read;
		first ??= sound;
		if (sound.format !== first.format) {
			return { reason: `part 1 is ${first.format}, part ${index + 1} is ${sound.format}` };
		}
		for (const stretch of stretches) end += stretch.copy(joined, end);
		startsMs.push(durationMs);
		durationMs += sound.durationMs;
	}
	const { headOf, type } = first!;
	const head = headOf(end - HEAD_BYTES, durationMs);
	const start = HEAD_BYTES - head.copy(joined, HEAD_BYTES - head.length);
	// A chunk of odd length is followed by a byte that belongs to none.
	if (type.extension === 'wav' && end % 2) joined[end++] = 0;
	return { bytes: joined.subarray(start, end), ...type, startsMs, durationMs };
}
