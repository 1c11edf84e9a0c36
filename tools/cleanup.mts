/* However this process ends, it leaves nothing behind on the machine. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const ATTEMPTS = 20;
const PAUSE_MS = 100;
const cleanups = new Set<() => void>();
let armed = false;

/**
 * Runs `cleanup`, which must be synchronous, when this process ends: also by a signal, unless
 * somebody else handles that one. Those registered last run first. Returns what takes it back.
 */
export function onExit(cleanup: () => void): () => void {
	arm();
	cleanups.add(cleanup);
	return () => cleanups.delete(cleanup);
}

function arm(): void {
	if (armed) return;
	armed = true;
	process.on('exit', () => {
		for (const cleanup of [...cleanups].reverse()) cleanup();
	});
	// A signal ends a process without 'exit', and what it has started would live on.
	for (const signal of SIGNALS) {
		process.on(signal, () => {
			if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal]);
		});
	}
}

export interface TemporaryFolder {
	path: string;
	remove(): void;
}

/** A new folder for this user alone, which is removed when this process ends, or before. */
export function temporaryFolder(name: string): TemporaryFolder {
	const path = mkdtempSync(join(tmpdir(), `media-generation-${name}-`));
	const remove = () => removeFolder(path);
	const forget = onExit(remove);
	return {
		path,
		remove() {
			forget();
			remove();
		},
	};
}

/** Removes a folder even while processes that were just told to end still write there. */
function removeFolder(path: string): void {
	for (let left = ATTEMPTS; left > 0; left--) {
		// With `force` it may return as if all were well when a file has just been added.
		rmSync(path, { recursive: true, force: true });
		if (!existsSync(path)) return;
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
	}
}
