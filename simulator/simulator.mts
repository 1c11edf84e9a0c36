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
	const simulator = new Simulator(options);
	const { host, port, filePort } = simulator.options;
	const api = await listen(simulator, 'api', port, (exchange) => handleApi(simulator, exchange));
	simulator.listeners.push(api);
	const files = await listen(simulator, 'file', filePort, (exchange) =>
		handleFile(simulator, exchange),
	).catch(async (error: unknown) => {
		await simulator.close();
		throw error;
	});
	simulator.listeners.push(files);
	api.server.on('upgrade', (request, socket, earlyBytes) => {
		simulator.hub.upgrade(simulator, request, socket, earlyBytes);
	});
	const urlHost = host.includes(':') ? `[${host}]` : host;
	simulator.baseUrl = `http://${urlHost}:${api.port}`;
	simulator.webSocketUrl = `ws://${urlHost}:${api.port}`;
	simulator.fileOrigin = `http://${urlHost}:${files.port}`;
	return simulator;
}
