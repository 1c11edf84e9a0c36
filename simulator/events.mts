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

interface Watcher {
	check(): void;
	fail(error: Error): void;
}

/** Lets tests wait for a condition; conditions are tried again after every recorded event. */
export class Watchers {
	readonly #watchers = new Set<Watcher>();

	changed(): void {
		for (const watcher of [...this.#watchers]) watcher.check();
	}

	/** Resolves when the predicate holds; rejects after `timeoutMs` milliseconds. */
	waitFor(predicate: () => boolean, timeoutMs: number): Promise<void> {
		return new Promise((resolve, reject) => {
			const settle = (act: () => void) => {
				clearTimeout(timer);
				this.#watchers.delete(watcher);
				act();
			};
			const watcher: Watcher = {
				check: () => {
					try {
						if (predicate()) settle(resolve);
					} catch (error) {
						settle(() => reject(error));
					}
				},
				fail: (error) => settle(() => reject(error)),
			};
			const timer = setTimeout(() => {
				watcher.fail(new Error(`Not seen within ${timeoutMs} ms: ${predicate}`));
			}, timeoutMs);
			this.#watchers.add(watcher);
			watcher.check();
		});
	}

	close(): void {
		for (const watcher of [...this.#watchers]) watcher.fail(new Error('Simulator closed'));
	}
}
