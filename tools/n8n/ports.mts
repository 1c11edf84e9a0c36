import { createServer, type AddressInfo, type Server } from 'node:net';

const HOST = '127.0.0.1';

async function listen(port: number): Promise<Server> {
	return await new Promise((resolve, reject) => {
		const server = createServer().once('error', reject);
		server.listen(port, HOST, () => resolve(server));
	});
}

async function close(server: Server): Promise<number> {
	const { port } = server.address() as AddressInfo;
	return await new Promise((resolve) => void server.close(() => resolve(port)));
}

/** Whether nothing listens on a port at this moment. */
export async function isFree(port: number): Promise<boolean> {
	return await listen(port).then(
		async (server) => (await close(server)) === port,
		() => false,
	);
}

/** Different ports that nothing listens on at this moment. */
export async function freePorts(count: number): Promise<number[]> {
	const servers = await Promise.all(Array.from({ length: count }, async () => await listen(0)));
	return await Promise.all(servers.map(close));
}

export const freePort = async (): Promise<number> => (await freePorts(1))[0]!;
