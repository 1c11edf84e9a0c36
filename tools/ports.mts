import { randomInt } from 'node:crypto';
import getPort, { portNumbers } from 'get-port';

const host = '127.0.0.1';
/**
 * The first of the ports to choose from. They are below the ports that operating systems use for outgoing connections.
 * Otherwise, a connection of n8n to its database could take a port before n8n listens on it.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;

/** Resolves with true if no program listens on this port now. */
export const isFree = async (port: number): Promise<boolean> =>
	(await getPort({ host, port })) === port;

/** Resolves with a port on which no program listens now, and which this function has not returned recently. */
export const freePort = async (): Promise<number> =>
	await getPort({ host, port: portNumbers(randomInt(FIRST_PORT, LAST_PORT), LAST_PORT) });

export const freePorts = async (count: number): Promise<number[]> =>
	await Promise.all(Array.from({ length: count }, freePort));
