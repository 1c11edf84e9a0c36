import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onExit } from '../cleanup.mts';

export interface FolderClaim {
	/** Who has the folder: an address once it can be opened. Undefined when this process has it now. */
	holder?: string;
	/** Tells the next one who asks where to look. */
	tell(address: string): void;
}

/** Claims an instance's folder for this process until it ends: two n8n must not share a database. */
export function claimFolder(folder: string): FolderClaim {
	const file = join(folder, 'running.json');
	mkdirSync(folder, { recursive: true });
	const holder = holderIn(file);
	if (holder !== undefined) return { holder, tell() {} };
	const tell = (address: string) =>
		writeFileSync(file, JSON.stringify({ pid: process.pid, address }));
	tell('it is still starting');
	onExit(() => rmSync(file, { force: true }));
	return { tell };
}

function holderIn(file: string): string | undefined {
	try {
		const { pid, address } = JSON.parse(readFileSync(file, 'utf8'));
		process.kill(pid, 0);
		return address;
	} catch {
		// Nobody has it, or its process is gone.
		return undefined;
	}
}
