import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

const HOST = '127.0.0.1';
/**
 * Below those that a system takes for outgoing connections: one of n8n's own, to its database, could
 * have a port before n8n listens on it.
 */
const FIRST = 20_000;
const END = 32_000;
const given = new Set<number>();

/** Whether nothing listens on a port at this moment. */
export async function isFree(port: number): Promise<boolean> {
	const server = createServer().listen(port, HOST);
	const isFree = await once(server, 'listening').then(
		() => true,
		() => false,
	);
	await new Promise((resolve) => server.close(resolve));
	return isFree;
}

/** Different ports that nothing listens on at this moment, and that this process has not given out. */
export async function freePorts(count: number): Promise<number[]> {
	const ports: number[] = [];
	while (ports.length < count) {
		const port = randomInt(FIRST, END);
		if (given.has(port) || !(await isFree(port))) continue;
		given.add(port);
		ports.push(port);
	}
	return ports;
}

export const freePort = async (): Promise<number> => (await freePorts(1))[0]!;
