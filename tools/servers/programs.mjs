/* Where the servers that the tests start are on this machine. Also runs on Node 20, before any installation. */
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const folders = () => (process.env.PATH ?? '').split(delimiter);

/** Debian keeps PostgreSQL's programs out of the PATH, in a folder for each version. */
function debianFolders() {
	const root = '/usr/lib/postgresql';
	const versions = existsSync(root) ? readdirSync(root) : [];
	return versions
		.sort((a, b) => Number(b) - Number(a))
		.map((version) => join(root, version, 'bin'));
}

const find = (folders, name) =>
	folders.map((folder) => join(folder, name)).find((path) => existsSync(path));

/** The path of a program; undefined when it is not installed. */
export const onPath = (name) => find(folders(), name);

/** The paths of the programs; undefined for one that is not installed. */
export function findPrograms() {
	const postgres = [...debianFolders(), ...folders()];
	return {
		redis: onPath('redis-server'),
		postgres: find(postgres, 'postgres'),
		initdb: find(postgres, 'initdb'),
		// Servers may be out of the PATH of those who are not root.
		sshd: find([...folders(), '/usr/sbin'], 'sshd'),
		sshKeygen: onPath('ssh-keygen'),
		xmllint: onPath('xmllint'),
	};
}
