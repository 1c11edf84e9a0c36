/** Timers that can all be cancelled at once, so that closing leaves nothing running. */
export class Timers {
	readonly #running = new Set<NodeJS.Timeout>();
	#closed = false;

	/** Calls `action` after `ms` milliseconds (not paced); returns a function that cancels it. */
	after(ms: number, action: () => void): () => void {
		if (this.#closed) return () => {};
		const timer = setTimeout(() => {
			this.#running.delete(timer);
			action();
		}, ms);
		this.#running.add(timer);
		return () => {
			clearTimeout(timer);
			this.#running.delete(timer);
		};
	}

	/** A promise for `ms` milliseconds from now; never settles once the timers are closed. */
	pause(ms: number): Promise<void> {
		return new Promise((resolve) => void this.after(ms, resolve));
	}

	close(): void {
		this.#closed = true;
		for (const timer of this.#running) clearTimeout(timer);
		this.#running.clear();
	}
}

type Settle = (error?: unknown) => void;

/** Lets tests wait for a condition; conditions are tried again after every recorded event. */
export class Watchers {
	readonly #waiting = new Map<Settle, () => boolean>();

	changed(): void {
		for (const [settle, predicate] of [...this.#waiting]) {
			try {
				if (predicate()) settle();
			} catch (error) {
				settle(error);
			}
		}
	}

	/** Resolves when the predicate holds; rejects after `timeoutMs` milliseconds. */
	waitFor(predicate: () => boolean, timeoutMs: number): Promise<void> {
		return new Promise((resolve, reject) => {
			const settle: Settle = (error) => {
				clearTimeout(timer);
				this.#waiting.delete(settle);
				if (error === undefined) resolve();
				else reject(error);
			};
			const late = () => settle(new Error(`Not seen within ${timeoutMs} ms: ${predicate}`));
			const timer = setTimeout(late, timeoutMs);
			this.#waiting.set(settle, predicate);
			this.changed();
		});
	}

	close(): void {
		for (const settle of [...this.#waiting.keys()]) settle(new Error('Simulator closed'));
	}
}
