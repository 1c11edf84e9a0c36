import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onExit } from 'signal-exit';

export interface TemporaryFolder {
	path: string;
	remove(): void;
}

/**
 * Creates a folder that only this user can read. It is removed when this process ends in any way, or when `remove` is
 * called.
 */
export function temporaryFolder(name: string): TemporaryFolder {
	const path = mkdtempSync(join(tmpdir(), `media-generation-${name}-`));
	// Processes that are about to end may still write into the folder, so a failed removal is tried again.
	const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 20 });
	const forget = onExit(remove, { alwaysLast: true });
	return {
		path,
		remove() {
			forget();
			remove();
		},
	};
}
