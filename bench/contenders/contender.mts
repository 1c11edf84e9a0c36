import type { Operation } from '../service.mts';

export interface Made {
	/** The paths of the files. */
	files: string[];
	/** Why runs failed. */
	errors: string[];
}

/** What a process takes, in bytes; a plain one can't be asked for what it uses. */
export interface Process {
	/** Resident memory. */
	memory(): number;
	/** What is used once garbage is collected. */
	memoryInUse?(): Promise<number>;
	/** The most that was used at once since the last call, garbage included. */
	peakInUse?(): Promise<number>;
}

/** One way of getting from texts to files. */
export interface Contender {
	readonly name: string;
	/** Makes a file of each text; resolves, with the milliseconds since 1970, when all are there. */
	make(operation: Operation, texts: string[]): Promise<number>;
	/** What came of all runs since the last call of `clear`. */
	made(operation: Operation): Promise<Made>;
	/** Deletes what was made. */
	clear(operation: Operation): Promise<void>;
	/** Requests sent so far, downloads included. */
	requests(operation: Operation): number;
	/** The one that does the work. */
	readonly process: Process;
}
