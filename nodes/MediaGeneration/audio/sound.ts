import type { FileType } from '../../shared/contract';

/** The sound of one file. */
export interface Sound {
	type: FileType;
	/** In words, equal for files that can be joined. */
	format: string;
	durationMs: number;
	/** What of the file is sound. */
	stretches: Buffer[];
	/** What comes before `bytes` bytes of such sound, which last `durationMs`. */
	headOf(bytes: number, durationMs: number): Buffer;
}

/**
 * Reads a file from its start: yields how many bytes to look at next, and is given them, fewer only at
 * the file's end; or yields how many to pass over, as a negative number. Returns what it has found out.
 */
export type ByteReading<Result> = Generator<number, Result, Buffer>;
