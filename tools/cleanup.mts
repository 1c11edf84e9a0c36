import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onExit } from 'signal-exit';

export interface TemporaryFolder {
	path: string;
	remove(): void;
}

/** A new folder for this user alone, which is removed when this process ends, however it does, or before. */
export function temporaryFolder(name: string): TemporaryFolder {
	const path = mkdtempSync(join(tmpdir(), `media-generation-${name}-`));
	// Processes that were just told to end may still write there.
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
