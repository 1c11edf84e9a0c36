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
