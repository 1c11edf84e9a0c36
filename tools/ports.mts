import { randomInt } from 'node:crypto';
import getPort, { portNumbers } from 'get-port';

const host = '127.0.0.1';
/**
 * Below those that a system takes for outgoing connections: one of n8n's own, to its database, could
 * have a port before n8n listens on it.
 */
const FIRST = 20_000;
const END = 32_000;

/** Whether nothing listens on a port at this moment. */
export const isFree = async (port: number): Promise<boolean> =>
	(await getPort({ host, port })) === port;

/** A port that nothing listens on at this moment, and that this process has not just given out. */
export const freePort = async (): Promise<number> =>
	await getPort({ host, port: portNumbers(randomInt(FIRST, END), END) });

export const freePorts = async (count: number): Promise<number[]> =>
	await Promise.all(Array.from({ length: count }, freePort));
