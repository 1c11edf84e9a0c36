/** Timers that can all be canceled at once, so that nothing runs on after the simulator was closed. */
export class Timers {
	readonly #running = new Set<NodeJS.Timeout>();
	isClosed = false;

	/**
	 * Calls `action` after `ms` milliseconds; the pace is not applied. Returns a function that cancels the call. Once
	 * the timers are closed, nothing is called.
	 */
	after(ms: number, action: () => void): () => void {
		if (this.isClosed) return () => {};
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

	/** Cancels all timers. From then on, no new timer can be started. */
	close(): void {
		this.isClosed = true;
		for (const timer of this.#running) clearTimeout(timer);
		this.#running.clear();
	}
}
