/** Timers that can all be canceled at once, so that nothing runs on after the simulator was closed. */
export class Timers {
	readonly #running = new Set<NodeJS.Timeout>();
	#closed = false;

	/**
	 * Calls `action` after `ms` milliseconds; the pace is not applied. Returns a function that cancels it. Does
	 * nothing once closed.
	 */
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

	/** Resolves after `ms` milliseconds. Once the timers are closed, it never settles. */
	pause(ms: number): Promise<void> {
		return new Promise((resolve) => void this.after(ms, resolve));
	}

	/** Cancels all timers. No new one can be started. */
	close(): void {
		this.#closed = true;
		for (const timer of this.#running) clearTimeout(timer);
		this.#running.clear();
	}
}
