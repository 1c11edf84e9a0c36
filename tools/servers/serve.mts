/* How servers for tests are run: each in a folder of its own, which is removed with it. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { TemporaryFolder } from '../cleanup.mts';
import { cleanEnvironment } from '../process.mjs';
import { prints, start } from '../program.mts';
import { findPrograms } from './programs.mjs';

/** Where every server listens: nobody else on the network can reach it. */
export const HOST = '127.0.0.1';
const SHOWN_LINES = 20;

export interface Server {
	/** Ends it, and removes its folder. */
	stop(): Promise<void>;
	/** Ends it in the middle of its work for as long as `meanwhile` takes; then starts it with what it had stored. */
	outage(meanwhile: () => Promise<void>): Promise<void>;
}

interface Plan {
	command: string;
	args: string[];
	/** Given to it as its input. */
	input?: string;
	folder: TemporaryFolder;
	/** A line with this text says that the server can be used. */
	ready: string;
	/** Ends it without waiting for its clients: SIGTERM unless it says another. */
	signal?: NodeJS.Signals;
	account?: Account;
}

interface Account {
	uid: number;
	gid: number;
}

/** Starts a server; resolves once it is ready. Throws what it printed if it does not start. */
export async function serve(plan: Plan): Promise<Server> {
	const { folder } = plan;
	let end = await launch(plan).catch((error: unknown) => {
		folder.remove();
		throw error;
	});
	return {
		async stop() {
			await end();
			folder.remove();
		},
		async outage(meanwhile) {
			await end();
			await meanwhile();
			end = await launch(plan);
		},
	};
}

/** Starts a server's process; resolves, once it is ready, to what ends it. */
async function launch(plan: Plan): Promise<() => Promise<void>> {
	const { command, args, input, folder, ready, signal, account } = plan;
	const program = start(command, args, {
		...placeOf(folder),
		account,
		input,
		killSignal: signal,
	});
	const lines: string[] = [];
	const isReady = await prints(program, ready, (line) => {
		if (lines.push(line) > SHOWN_LINES) lines.shift();
	});
	if (!isReady) throw new Error(`${command} did not start:\n${lines.join('\n')}`);
	return async () => {
		program.kill();
		await program;
	};
}

export const newPassword = () => randomBytes(16).toString('hex');

/** Where a server's program is run. */
export const placeOf = (folder: TemporaryFolder) => ({
	cwd: folder.path,
	env: cleanEnvironment({ LC_ALL: 'C' }),
});

/** The path of a program. Throws if it is not installed. */
export function programPath(name: keyof ReturnType<typeof findPrograms>): string {
	const path = findPrograms()[name];
	if (path === undefined) throw new Error(`${name} is not installed`);
	return path;
}

/** A user without rights, for programs that refuse to be run by root; undefined unless this is root. */
export function unprivileged(): (Account & { name: string }) | undefined {
	if (process.getuid?.() !== 0) return undefined;
	const name = 'postgres';
	const id = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
	return { name, uid: id('-u'), gid: id('-g') };
}
