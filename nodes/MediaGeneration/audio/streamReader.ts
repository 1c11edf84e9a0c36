/** Reads a file while it streams, piece by piece, and keeps no more of it than what is looked at. */

/**
 * Reads a file from its start: yields how many bytes to look at next, and is given them, fewer only at
 * the file's end; or yields how many to pass over, as a negative number. Returns what it has found out.
 */
export type Reading<Result> = Generator<number, Result, Buffer>;

const NOTHING = Buffer.alloc(0);

/** Drives a reading. */
export class StreamReader<Result> {
	/** Bytes passed over. */
	at = 0;
	private rest = NOTHING;
	private state: IteratorResult<number, Result> | undefined;
	private readonly reading: Reading<Result>;

	constructor(read: (reader: { at: number }) => Reading<Result>) {
		this.reading = read(this);
	}

	push(piece: Uint8Array): void {
		this.state ??= this.reading.next();
		if (this.state.done) return;
		this.rest = Buffer.concat([this.rest, piece]);
		this.readOn(false);
	}

	/** Once all has been pushed: the result. */
	end(): Result {
		this.state ??= this.reading.next();
		this.readOn(true);
		return this.state.value as Result;
	}

	private readOn(isEnd: boolean): void {
		while (!this.state!.done) {
			const wanted = this.state!.value;
			if (wanted < 0) {
				const passed = Math.min(-wanted, this.rest.length);
				this.rest = this.rest.subarray(passed);
				this.at += passed;
				this.state!.value += passed;
			}
			const isThere = wanted < 0 ? this.state!.value === 0 : this.rest.length >= wanted;
			if (!isThere && !isEnd) return;
			this.state = this.reading.next(wanted < 0 ? NOTHING : this.rest.subarray(0, wanted));
		}
		this.rest = NOTHING;
	}
}
