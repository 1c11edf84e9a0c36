import { handleApi } from './api.mts';
import { handleFile } from './file-server.mts';
import { listen } from './http.mts';
import type { SimulatorOptions } from './types.mts';
import { World } from './world.mts';

export type { Dialect } from './dialect.mts';
export { scenarioMeanings } from './scenarios.mts';
export type * from './types.mts';
export type { World as Simulator } from './world.mts';

/**
 * Starts the service: the API with its WebSocket, and the file server on a second origin. Resolves once both listen. The
 * caller must call `close` of the result. Throws if a port is in use.
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<World> {
	const world = new World(options);
	const { host, port, filePort } = world.options;
	const api = await listen(world, 'api', port, (exchange) => handleApi(world, exchange));
	world.listeners.push(api);
	const files = await listen(world, 'file', filePort, (exchange) =>
		handleFile(world, exchange),
	).catch(async (error: unknown) => {
		await world.close();
		throw error;
	});
	world.listeners.push(files);
	api.server.on('upgrade', (request, socket, earlyBytes) => {
		world.hub.upgrade(world, request, socket, earlyBytes);
	});
	const urlHost = host.includes(':') ? `[${host}]` : host;
	world.baseUrl = `http://${urlHost}:${api.port}`;
	world.webSocketUrl = `ws://${urlHost}:${api.port}`;
	world.fileOrigin = `http://${urlHost}:${files.port}`;
	return world;
}
