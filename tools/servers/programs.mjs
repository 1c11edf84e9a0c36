/*
 * Finds the programs of the servers that the tests start. This file must run on Node 20 before anything is installed.
 */
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const folders = () => (process.env.PATH ?? '').split(delimiter);

/**
 * Returns the folders in which Debian has PostgreSQL's programs, the newest version first. They are not in the PATH.
 */
function debianFolders() {
	const root = '/usr/lib/postgresql';
	const versions = existsSync(root) ? readdirSync(root) : [];
	return versions
		.sort((a, b) => Number(b) - Number(a))
		.map((version) => join(root, version, 'bin'));
}

const find = (folders, name) =>
	folders.map((folder) => join(folder, name)).find((path) => existsSync(path));

/** Returns the path of a program in the PATH; undefined if it is not there. */
export const onPath = (name) => find(folders(), name);

/** Returns the paths of all programs; undefined for a program that is not installed. */
export function findPrograms() {
	const postgres = [...debianFolders(), ...folders()];
	return {
		redis: onPath('redis-server'),
		postgres: find(postgres, 'postgres'),
		initdb: find(postgres, 'initdb'),
		// /usr/sbin is often not in the PATH of users other than root.
		sshd: find([...folders(), '/usr/sbin'], 'sshd'),
		sshKeygen: onPath('ssh-keygen'),
		xmllint: onPath('xmllint'),
	};
}
