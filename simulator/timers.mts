/** Timers that can all be canceled at once, so that nothing happens any more after the simulator was closed. */
export class Timers {
	readonly #running = new Set<NodeJS.Timeout>();
	isClosed = false;

	/**
	 * Calls `action` after `ms` milliseconds, whatever the pace is. Returns a function that cancels the call. Once
	 * `close` was called, `action` is never called.
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

	/** Resolves after `ms` milliseconds. Never settles once `close` was called. */
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
