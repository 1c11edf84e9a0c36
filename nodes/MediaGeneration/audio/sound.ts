import type { FileType } from '../../shared/parsing/fileType';

/** The sound of one audio file, taken apart so that it can be joined with the sound of other files. */
export interface Sound {
	type: FileType;
	/** Encoding, channels and sampling rate, in words. Files with the same text can be joined. */
	format: string;
	durationMs: number;
	/** The bytes of the file that hold sound, in order, without file headers and tags. */
	soundData: Buffer[];
	/** Makes the header of a file of this format, for `bytes` bytes of sound that last `durationMs` milliseconds. */
	headerFor(bytes: number, durationMs: number): Buffer;
}

/**
 * Parses a file from its start, and returns its duration in ms. Yields n to look at n bytes (fewer at the end), and -n
 * to move on by n.
 */
export type ByteParser = Generator<number, number, Buffer>;
