import { abortReason, NO_REASON, throwIfAborted } from './deadline';

interface Shared {
	answer: Promise<unknown>;
	users: number;
	/** Lets the next one who asks read anew, and gives up what is still under way. */
	end(): void;
}

/** One reading for everyone who wants the same thing at the same time. */
export class SingleFlight {
	private readonly underWay = new Map<string, Shared>();

	/**
	 * Reads once for all who ask meanwhile, such as a trigger and a waiting item that hear of a task's
	 * end. It goes on until the last of them has left. `key` says what is read. Throws what `read`
	 * throws, or the signal's reason (a Failure).
	 */
	async share<T>(
		key: string,
		signal: AbortSignal,
		read: (signal: AbortSignal) => Promise<T>,
	): Promise<T> {
		throwIfAborted(signal);
		const reading = this.underWay.get(key) ?? this.begin(key, read);
		reading.users++;
		return await new Promise<T>((resolve, reject) => {
			// At once, so that nobody who asks at this moment gets an answer that was given up.
			const giveUp = () => {
				if (--reading.users === 0) reading.end();
				reject(abortReason(signal));
			};
			signal.addEventListener('abort', giveUp, { once: true });
			(reading.answer as Promise<T>)
				.then(resolve, reject)
				.finally(() => signal.removeEventListener('abort', giveUp));
		});
	}

	private begin(key: string, read: (signal: AbortSignal) => Promise<unknown>): Shared {
		const over = new AbortController();
		const end = () => {
			if (this.underWay.get(key) === reading) this.underWay.delete(key);
			over.abort(NO_REASON);
		};
		const reading: Shared = { answer: read(over.signal), users: 0, end };
		reading.answer.then(end, end);
		this.underWay.set(key, reading);
		return reading;
	}
}
