import { handleApi } from './api.mts';
import { handleFile } from './file-server.mts';
import { listen } from './http.mts';
import { Simulator } from './state.mts';
import type { SimulatorOptions } from './types.mts';

export type { Dialect } from './dialect.mts';
export { scenarioMeanings } from './scenarios.mts';
export type * from './types.mts';
export type { Simulator } from './state.mts';

/**
 * Starts the service: the API with its WebSocket, and the file server on a second origin. Resolves once both listen. The
 * caller must call `close` of the result. Throws if a port is in use.
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
	const sim = new Simulator(options);
	const { host, port, filePort } = sim.options;
	const api = await listen(sim, 'api', port, (exchange) => handleApi(sim, exchange));
	sim.listeners.push(api);
	const files = await listen(sim, 'file', filePort, (exchange) => handleFile(sim, exchange)).catch(
		async (error: unknown) => {
			await sim.close();
			throw error;
		},
	);
	sim.listeners.push(files);
	api.server.on('upgrade', (request, socket, earlyBytes) => {
		sim.hub.upgrade(sim, request, socket, earlyBytes);
	});
	const urlHost = host.includes(':') ? `[${host}]` : host;
	sim.baseUrl = `http://${urlHost}:${api.port}`;
	sim.webSocketUrl = `ws://${urlHost}:${api.port}`;
	sim.fileOrigin = `http://${urlHost}:${files.port}`;
	return sim;
}
