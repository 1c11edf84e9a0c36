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
