import type { Operation } from '../service.mts';

export interface Made {
	/** The paths of the files. */
	files: string[];
	/** Why runs failed. */
	errors: string[];
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
	/** Resident memory of the process that does the work, in bytes. */
	memory(): number;
	/** The process from within, where it can be asked: see `N8n`. */
	memoryInUse?(): Promise<number>;
	peakInUse?(): Promise<number>;
}
