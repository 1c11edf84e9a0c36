import { type Dialect, dialectOf } from './dialect.mts';
import type { PendingRule } from './faults.mts';
import { bytesOf, type StoredFile } from './files.mts';
import type { RunningServer } from './http.mts';
import { Renderer } from './media/renderer.mts';
import { SocketHub } from './sockets.mts';
import { Timers } from './timers.mts';
import type {
	FaultRule,
	HistoryItem,
	RequestRecord,
	SimulatorOptions,
	TaskRecord,
	WebSocketMode,
} from './types.mts';
import { makeVoices } from './voices.mts';

const DEFAULTS = {
	port: 0,
	filePort: 0,
	host: '127.0.0.1',
	token: 'demo-token',
	otherTokens: [] as string[],
	pace: 1,
};

/**
 * The state of a running simulator, shared by its parts. Tests use it to see what happened and to cause faults.
 * `startSimulator` creates it.
 */
export class Simulator {
	/** The options of `startSimulator`, with defaults. */
	readonly options: SimulatorOptions & typeof DEFAULTS;
	/** The option `token`. The tokens of further accounts are in `options.otherTokens`. */
	readonly token: string;
	/** The dialect. A test may change its values at any time; the next answer already has them. */
	readonly dialect: Dialect;
	/** The option `concurrencyLimit`. A test may change it at any time. */
	concurrencyLimit: SimulatorOptions['concurrencyLimit'];
	/** The option `requestLimit`. A test may change it at any time. */
	requestLimit: SimulatorOptions['requestLimit'];
	baseUrl = '';
	/** The origin of the WebSocket. */
	webSocketUrl = '';
	/** The second origin, which serves files. */
	fileOrigin = '';
	listeners: RunningServer[] = [];
	/** All requests, in the order in which their bodies were read. */
	readonly requests: RequestRecord[] = [];
	/** Requests to the file origin that had a valid token in their URL or in a header. */
	readonly leaks: RequestRecord[] = [];
	/** All speech tasks by id. */
	readonly tasks = new Map<string, TaskRecord>();
	/**
	 * For each speech task by id: `cancel` stops it without an end. `end` ends it now, in the way in which it would
	 * have ended later. An ended task stays in this map until it is deleted.
	 */
	readonly taskControls = new Map<string, { cancel(): void; end(): void }>();
	/** Tasks and generations in flight, each with the token that created it. */
	readonly inFlight = new Set<{ token: string }>();
	/** All entries of the history, newest first. */
	readonly history: HistoryItem[] = [];
	/** All files that can be downloaded, by path. */
	readonly files = new Map<string, StoredFile>();
	/** The catalog of voices. */
	readonly voices = makeVoices();
	/** Renders the files; undefined if files are cheap. */
	readonly renderer: Renderer | undefined;
	/** Fault rules, in the order in which they were added. */
	readonly faults: PendingRule[] = [];
	/** All timers, which end when the simulator closes. */
	readonly timers = new Timers();
	readonly hub = new SocketHub();
	/** Exchanges whose response is not complete. */
	readonly openExchanges = new Set<object>();
	/** Tokens that `revoke` has made invalid. */
	readonly revokedTokens = new Set<string>();
	/** Is aborted when the simulator closes. */
	readonly closeController = new AbortController();
	/** How many create calls were accepted, and so charged. */
	chargedCalls = 0;
	/**
	 * How many requests each token has sent in its latest window (see `requestLimit`). `window` is the number of the
	 * window, counted since 1970.
	 */
	readonly requestsInWindow = new Map<string, { window: number; requests: number }>();
	/**
	 * The id of the next task. At the start it is the number of seconds since 2026 began, so that ids are higher after
	 * each restart, as those of a real service are.
	 */
	nextTaskId = Math.floor((Date.now() - Date.parse('2026-01-01')) / 1000);
	readonly #pendingChecks = new Set<() => void>();
	#isClosed = false;

	/** Use `startSimulator` instead, which also starts the servers. */
	constructor(options: SimulatorOptions) {
		this.options = { ...DEFAULTS, ...options };
		this.token = this.options.token;
		this.dialect = { ...dialectOf(([defaultValue]) => defaultValue), ...options.dialect };
		this.renderer = options.media === 'rendered' ? new Renderer() : undefined;
		this.concurrencyLimit = options.concurrencyLimit;
		this.requestLimit = options.requestLimit;
	}

	/** Returns a duration in ms, multiplied by the simulator's pace. */
	applyPace(ms: number): number {
		return ms * this.options.pace;
	}

	/** The time by the service's clock, which may be ahead of the real one or behind it. */
	now(): Date {
		return new Date(Date.now() + this.dialect.clockSkewSeconds * 1000);
	}

	/** The service's time as ISO 8601 with a numeric UTC offset (§2.3). */
	timestamp(): string {
		return this.now().toISOString().replace('Z', '+00:00');
	}

	/** The tokens that the service accepts now. */
	validTokens(): string[] {
		return [this.token, ...this.options.otherTokens].filter(
			(token) => !this.revokedTokens.has(token),
		);
	}

	/** How many WebSockets were ever opened. */
	get openedSocketCount(): number {
		return this.hub.openedCount;
	}

	/** How many WebSockets are open. */
	countOpenSockets = () => this.hub.size;
	/** How many responses are not complete yet: open streams, downloads, and requests without an answer. */
	countOpenConnections = () => this.openExchanges.size;
	/** How many requests had this method and a path that starts with `pathPrefix`. */
	countRequests = (method: string, pathPrefix: string) =>
		this.requests.filter(
			(request) => request.method === method && request.path.startsWith(pathPrefix),
		).length;
	/** The ids of the voices that a speech task may use. */
	voiceIds = () => this.voices.map((voice) => voice.voice_id);
	/**
	 * Returns all bytes of a file, by its URL or path. Returns undefined if there is no such file, if it is rendered,
	 * or if it is larger than 512 MiB.
	 */
	fileBytes = (url: string) => bytesOf(this, url);
	/** Sends anything to all WebSockets. A string or Buffer is sent as it is, anything else as JSON. */
	broadcast = (message: unknown) => this.hub.broadcast(message);
	/** Ends all WebSockets without a closing handshake. */
	dropSockets = () => this.hub.drop();
	clearFaults = () => void this.faults.splice(0);

	/** Adds a fault rule. It hits the next matching request unless the rule says otherwise. */
	fault(rule: FaultRule): void {
		this.faults.push({ rule, skip: rule.after ?? 0, remaining: rule.times ?? 1 });
	}

	/** Sets how the handshakes and messages of WebSockets are handled from now on. */
	setWebSocketMode(mode: WebSocketMode): void {
		this.hub.mode = mode;
	}

	/** Makes a token invalid and ends the WebSockets that it has opened. */
	revoke(token: string): void {
		this.revokedTokens.add(token);
		this.hub.drop(token);
	}

	/**
	 * Ends a running speech task now, in the way in which it would have ended later. Throws an Error if the task is not
	 * running.
	 */
	endTask(id: string): void {
		const status = this.tasks.get(id)?.status;
		if (status !== 'pending' && status !== 'processing') {
			throw new Error(`Task ${id} is ${status ?? 'unknown'}: it cannot be ended`);
		}
		this.taskControls.get(id)?.end();
	}

	/** Tries all predicates of `waitFor` again. Call this after each change that a test may wait for. */
	notifyWaiters(): void {
		for (const check of [...this.#pendingChecks]) check();
	}

	/**
	 * Resolves once `predicate` returns true. It is called now and after each change. Rejects with an Error after
	 * `timeoutMs` ms and when the simulator is closed, and with what `predicate` throws.
	 */
	async waitFor(predicate: () => boolean, timeoutMs = 100_000): Promise<void> {
		let stop = () => {};
		// Promise.withResolvers does not exist on Node 20, on which the tests of the oldest n8n run.
		const fulfilled = new Promise<void>((resolve, reject) => {
			const check = () => {
				try {
					if (predicate()) resolve();
					else if (this.#isClosed) reject(new Error('Simulator closed'));
				} catch (error) {
					reject(error);
				}
			};
			const onTimeout = () => reject(new Error(`Not seen within ${timeoutMs} ms: ${predicate}`));
			const timer = setTimeout(onTimeout, timeoutMs);
			this.#pendingChecks.add(check);
			stop = () => {
				clearTimeout(timer);
				this.#pendingChecks.delete(check);
			};
			check();
		});
		await fulfilled.finally(stop);
	}

	/** Stops the simulator and ends all connections at once. */
	async close(): Promise<void> {
		if (this.closeController.signal.aborted) return;
		this.closeController.abort();
		this.timers.close();
		this.renderer?.close();
		this.hub.drop();
		await Promise.all(this.listeners.map((listener) => listener.close()));
		this.#isClosed = true;
		this.notifyWaiters();
	}
}
