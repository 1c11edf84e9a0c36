import { execFileSync } from 'node:child_process';
import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../cleanup.mts';
import { freePort } from '../ports.mts';
import {
	HOST,
	newPassword,
	processOptionsOf,
	programPath,
	serve,
	unprivilegedUser,
	type Server,
} from './serve.mts';

const USER = 'n8n';
const DATABASE = 'postgres';

export interface Postgres extends Server {
	/** The environment variables that make n8n use this server as its own database. */
	environment: Record<string, string>;
	/** The fields of n8n's credential for this server. */
	credential: { host: string; port: number; database: string; user: string; password: string };
}

/** Starts PostgreSQL on a free port, with a new and empty database. Resolves once it is ready. */
export async function startPostgres(): Promise<Postgres> {
	const folder = temporaryFolder('postgres');
	const port = await freePort();
	const password = newPassword();
	const passwordFile = join(folder.path, 'password');
	writeFileSync(passwordFile, password, { mode: 0o600 });
	// PostgreSQL refuses to be run by root.
	const account = unprivilegedUser();
	if (account) {
		for (const path of [folder.path, passwordFile]) chownSync(path, account.uid, account.gid);
	}
	const data = join(folder.path, 'data');
	const initdbArguments = [
		`--pgdata=${data}`,
		`--username=${USER}`,
		`--pwfile=${passwordFile}`,
		'--auth=scram-sha-256',
		'--encoding=UTF8',
		'--no-sync',
	];
	const stdio: ['ignore', 'ignore', 'inherit'] = ['ignore', 'ignore', 'inherit'];
	execFileSync(programPath('initdb'), initdbArguments, {
		stdio,
		...processOptionsOf(folder),
		...account,
	});
	// Without these settings, most of the time is spent on making the data survive a power cut, which no test needs.
	// The data still survives the end of the server, because every commit is passed to the operating system.
	const settings = ['fsync=off', 'full_page_writes=off'];
	const server = await serve({
		command: programPath('postgres'),
		args: ['-D', data, '-p', String(port), '-h', HOST, '-k', folder.path].concat(
			settings.flatMap((setting) => ['-c', setting]),
		),
		folder,
		ready: 'database system is ready to accept connections',
		signal: 'SIGQUIT',
		account,
	});
	return {
		environment: {
			DB_TYPE: 'postgresdb',
			DB_POSTGRESDB_HOST: HOST,
			DB_POSTGRESDB_PORT: String(port),
			DB_POSTGRESDB_DATABASE: DATABASE,
			DB_POSTGRESDB_USER: USER,
			DB_POSTGRESDB_PASSWORD: password,
		},
		credential: { host: HOST, port, database: DATABASE, user: USER, password },
		...server,
	};
}
