/* The servers that n8n's queue mode needs, each in a folder of its own that goes with it. */
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onExit, temporaryFolder, type TemporaryFolder } from '../cleanup.mts';
import { freePorts } from '../n8n/ports.mts';
import { cleanEnvironment } from '../process.mjs';
import { findPrograms } from './programs.mjs';

const HOST = '127.0.0.1';
const USER = 'n8n';
const SHOWN_LINES = 20;

export interface Server {
	/** The environment variables by which n8n finds it. */
	environment: Record<string, string>;
	/** Ends it, and removes its folder. */
	stop(): Promise<void>;
}

interface Plan {
	command: string;
	args: string[];
	/** Given to it as its input. */
	input?: string;
	folder: TemporaryFolder;
	/** A line with this text says that the server can be used. */
	ready: string;
	/** Ends it without waiting for its clients. */
	signal: NodeJS.Signals;
	account?: Account;
}

interface Account {
	uid: number;
	gid: number;
}

/** Redis on a free port, in memory alone. */
export async function startRedis(): Promise<Server> {
	const { redis } = installed();
	const folder = temporaryFolder('redis');
	const [port] = (await freePorts(1)) as [number];
	const password = newPassword();
	const settings = [
		`bind ${HOST}`,
		`port ${port}`,
		`requirepass ${password}`,
		`dir ${folder.path}`,
		'save ""',
		'appendonly no',
	];
	const stop = await serve({
		command: redis,
		args: ['-'],
		input: settings.join('\n'),
		folder,
		ready: 'Ready to accept connections',
		signal: 'SIGTERM',
	});
	const environment = {
		QUEUE_BULL_REDIS_HOST: HOST,
		QUEUE_BULL_REDIS_PORT: String(port),
		QUEUE_BULL_REDIS_PASSWORD: password,
	};
	return { environment, stop };
}

/** PostgreSQL on a free port, with a new and empty database. */
export async function startPostgres(): Promise<Server> {
	const { initdb, postgres } = installed();
	const folder = temporaryFolder('postgres');
	const [port] = (await freePorts(1)) as [number];
	const password = newPassword();
	const passwordFile = join(folder.path, 'password');
	writeFileSync(passwordFile, password, { mode: 0o600 });
	// PostgreSQL refuses to be run by root.
	const account = process.getuid?.() === 0 ? accountOf('postgres') : undefined;
	if (account) {
		for (const path of [folder.path, passwordFile]) chownSync(path, account.uid, account.gid);
	}
	const data = join(folder.path, 'data');
	const creation = [
		`--pgdata=${data}`,
		`--username=${USER}`,
		`--pwfile=${passwordFile}`,
		'--auth=scram-sha-256',
		'--encoding=UTF8',
		'--no-sync',
	];
	const stdio: ['ignore', 'ignore', 'inherit'] = ['ignore', 'ignore', 'inherit'];
	execFileSync(initdb, creation, { stdio, ...placeOf(folder, account) });
	// What makes data survive a power cut takes most of the time, and nobody wants this data.
	const settings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];
	const stop = await serve({
		command: postgres,
		args: ['-D', data, '-p', String(port), '-h', HOST, '-k', folder.path].concat(
			settings.flatMap((setting) => ['-c', setting]),
		),
		folder,
		ready: 'database system is ready to accept connections',
		signal: 'SIGQUIT',
		account,
	});
	const environment = {
		DB_TYPE: 'postgresdb',
		DB_POSTGRESDB_HOST: HOST,
		DB_POSTGRESDB_PORT: String(port),
		DB_POSTGRESDB_DATABASE: 'postgres',
		DB_POSTGRESDB_USER: USER,
		DB_POSTGRESDB_PASSWORD: password,
	};
	return { environment, stop };
}

/** Starts a server; resolves, once it is ready, to what ends it. */
async function serve(plan: Plan): Promise<() => Promise<void>> {
	const { command, args, input = '', folder, ready, signal, account } = plan;
	const child = spawn(command, args, {
		stdio: ['pipe', 'pipe', 'pipe'],
		// Ctrl-C is not to end it before n8n, which would complain at length.
		detached: true,
		...placeOf(folder, account),
	});
	const forget = onExit(() => void child.kill(signal));
	const ended = new Promise<void>((resolve) => {
		child.once('error', () => resolve());
		child.once('close', () => resolve());
	});
	const stop = async () => {
		child.kill(signal);
		await ended;
		forget();
		folder.remove();
	};
	const lines: string[] = [];
	const isReady = new Promise<boolean>((resolve) => {
		for (const output of [child.stdout, child.stderr]) {
			createInterface({ input: output }).on('line', (line) => {
				if (lines.push(line) > SHOWN_LINES) lines.shift();
				if (line.includes(ready)) resolve(true);
			});
		}
		void ended.then(() => resolve(false));
	});
	child.stdin.end(input);
	if (await isReady) return stop;
	await stop();
	throw new Error(`${command} did not start:\n${lines.join('\n')}`);
}

const newPassword = () => randomBytes(16).toString('hex');

const placeOf = (folder: TemporaryFolder, account: Account | undefined) => ({
	cwd: folder.path,
	env: cleanEnvironment({ LC_ALL: 'C' }),
	...account,
});

function installed(): { redis: string; initdb: string; postgres: string } {
	const { redis, initdb, postgres } = findPrograms();
	if (redis && initdb && postgres) return { redis, initdb, postgres };
	throw new Error('Redis and PostgreSQL are not installed');
}

function accountOf(user: string): Account {
	const id = (flag: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
	return { uid: id('-u'), gid: id('-g') };
}
