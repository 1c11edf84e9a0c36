/* Runs servers for tests. Each has its own folder, which is removed when the server stops. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { TemporaryFolder } from '../cleanup.mts';
import { cleanEnvironment } from '../process.mjs';
import { waitForOutput, start } from '../program.mts';
import { findPrograms } from './programs.mjs';

/** The address on which every server listens. Other machines on the network cannot reach it. */
export const HOST = '127.0.0.1';
const SHOWN_LINES = 20;

export interface Server {
	/** Ends the server, and removes its folder. */
	stop(): Promise<void>;
	/** Ends the server, calls `meanwhile`, and then starts the server again with the data that it has stored. */
	simulateOutage(meanwhile: () => Promise<void>): Promise<void>;
}

interface ServerOptions {
	command: string;
	args: string[];
	/** The text that the server reads from its standard input. */
	input?: string;
	folder: TemporaryFolder;
	/** The server prints a line with this text once it can be used. */
	ready: string;
	/** The signal that ends the server without waiting for its clients; by default SIGTERM. */
	signal?: NodeJS.Signals;
	account?: Account;
}

interface Account {
	uid: number;
	gid: number;
}

/** Starts a server. Resolves once it is ready. Throws an Error with the last lines it printed if it does not start. */
export async function serve(plan: ServerOptions): Promise<Server> {
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
		async simulateOutage(meanwhile) {
			await end();
			await meanwhile();
			end = await launch(plan);
		},
	};
}

/** Starts the process of a server. Once it is ready, resolves with the function that ends it. */
async function launch(plan: ServerOptions): Promise<() => Promise<void>> {
	const { command, args, input, folder, ready, signal, account } = plan;
	const program = start(command, args, {
		...processOptionsOf(folder),
		account,
		input,
		killSignal: signal,
	});
	const lines: string[] = [];
	const isReady = await waitForOutput(program, ready, (line) => {
		if (lines.push(line) > SHOWN_LINES) lines.shift();
	});
	if (!isReady) throw new Error(`${command} did not start:\n${lines.join('\n')}`);
	return async () => {
		program.kill();
		await program;
	};
}

export const newPassword = () => randomBytes(16).toString('hex');

/** Returns the working directory and the environment of the programs of a server. */
export const processOptionsOf = (folder: TemporaryFolder) => ({
	cwd: folder.path,
	env: cleanEnvironment({ LC_ALL: 'C' }),
});

/** Returns the path of a program. Throws an Error if it is not installed. */
export function programPath(name: keyof ReturnType<typeof findPrograms>): string {
	const path = findPrograms()[name];
	if (path === undefined) throw new Error(`${name} is not installed`);
	return path;
}

/**
 * Returns a user with few rights, for programs that refuse to run as root. Returns undefined if this process does not
 * run as root.
 */
export function unprivilegedUser(): (Account & { name: string }) | undefined {
	if (process.getuid?.() !== 0) return undefined;
	const name = 'postgres';
	const id = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
	return { name, uid: id('-u'), gid: id('-g') };
}
