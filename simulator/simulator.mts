import { handleApi } from './api.mts';
import { contractDialect } from './dialect.mts';
import { Timers, Watchers } from './events.mts';
import { handleFile } from './file-server.mts';
import { FaultBook } from './faults.mts';
import { bytesOf } from './files.mts';
import { listen, type Listener } from './http.mts';
import { SocketHub } from './sockets.mts';
import { endTask } from './speech.mts';
import type { FaultRule, SimulatorOptions, WebSocketMode } from './types.mts';
import { makeVoices } from './voices.mts';
import { DEFAULTS, type World } from './world.mts';

export type { Dialect } from './dialect.mts';
export { scenarioWords } from './scenarios.mts';
export type * from './types.mts';

/** Task numbers go on over restarts, as a service's do: one a second is more than it ever makes. */
const firstTask = () => Math.floor((Date.now() - Date.parse('2026-01-01')) / 1000);
const WAIT_MS = 100_000;

/** Starts the service: the API with its WebSocket, and the file server on a second origin. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
	const world = makeWorld(options);
	const api = await listen(world, 'api', world.options.port, (x) => handleApi(world, x));
	const files = await listen(world, 'file', world.options.filePort, (x) =>
		handleFile(world, x),
	).catch(async (error: unknown) => {
		await api.close();
		throw error;
	});
	api.server.on('upgrade', (request, socket, early) => {
		world.sockets.upgrade(world, request, socket, early);
	});
	const host = options.publicHost ?? world.options.host;
	const shown = host.includes(':') ? `[${host}]` : host;
	world.baseUrl = `http://${shown}:${api.port}`;
	world.fileOrigin = `http://${shown}:${files.port}`;
	return facade(world, `ws://${shown}:${api.port}`, [api, files]);
}

function makeWorld(options: SimulatorOptions): World {
	return {
		options: { ...DEFAULTS, ...options },
		dialect: { ...contractDialect, ...options.dialect },
		requests: [],
		leaks: [],
		tasks: new Map(),
		runs: new Map(),
		working: new Set(),
		history: [],
		files: new Map(),
		voices: makeVoices(),
		faults: new FaultBook(),
		timers: new Timers(),
		watchers: new Watchers(),
		sockets: new SocketHub(),
		open: new Set(),
		limited: new Set(),
		revoked: new Set(),
		closing: new AbortController(),
		baseUrl: '',
		fileOrigin: '',
		creates: 0,
		inWindow: new Map(),
		nextTask: firstTask(),
	};
}

export type Simulator = ReturnType<typeof facade>;

function facade(world: World, webSocketUrl: string, listeners: Listener[]) {
	let closed: Promise<void> | undefined;
	const close = async () => {
		world.closing.abort();
		world.timers.close();
		world.sockets.drop();
		await Promise.all(listeners.map((listener) => listener.close()));
		world.watchers.close();
	};
	return {
		baseUrl: world.baseUrl,
		webSocketUrl,
		fileOrigin: world.fileOrigin,
		token: world.options.token,
		/** May be changed while running; holds from the next answer on. */
		dialect: world.dialect,
		requests: world.requests,
		/** Requests to the file origin that carried an Authorization header or the token. */
		leaks: world.leaks,
		tasks: world.tasks,
		history: world.history,
		/** Create calls accepted, hence paid for. */
		get creates() {
			return world.creates;
		},
		/** As in the options, like the next; may be changed while running. */
		get mostAtOnce() {
			return world.options.mostAtOnce;
		},
		set mostAtOnce(most) {
			world.options.mostAtOnce = most;
		},
		get requestLimit() {
			return world.options.requestLimit;
		},
		set requestLimit(limit) {
			world.options.requestLimit = limit;
		},
		get socketsEver() {
			return world.sockets.ever;
		},
		sockets: () => world.sockets.size,
		/** Requests whose response (stream, download, hanging answer) is still in progress. */
		openConnections: () => world.open.size,
		count: (method: string, pathPrefix: string) =>
			world.requests.filter((r) => r.method === method && r.path.startsWith(pathPrefix)).length,
		/** Those that speech tasks accept. */
		voiceIds: () => world.voices.map((voice) => voice.voice_id),
		/** The bytes behind an address handed out; undefined when unknown or above 512 MiB. */
		fileBytes: (url: string) => bytesOf(world, url),
		/** Ends a speech task that is under way now, before its time; throws for any other. */
		endTask: (id: string) => endTask(world, id),
		fault: (rule: FaultRule) => world.faults.add(rule),
		clearFaults: () => world.faults.clear(),
		/** Resolves once the predicate holds; it is tried again after every recorded event. */
		waitFor: (predicate: () => boolean, timeoutMs = WAIT_MS) =>
			world.watchers.waitFor(predicate, timeoutMs),
		/** From now on a token is refused everywhere, and the sockets opened with it end. */
		revoke: (token: string) => {
			world.revoked.add(token);
			world.sockets.drop(token);
		},
		/** Sends anything to all sockets: a string or Buffer as it is, else as JSON. */
		push: (message: unknown) => world.sockets.push(message),
		dropSockets: () => world.sockets.drop(),
		setWebSocketMode: (mode: WebSocketMode) => {
			world.sockets.mode = mode;
		},
		close: () => (closed ??= close()),
	};
}
