import { type Dialect, dialectOf } from './dialect.mts';
import type { PendingRule } from './faults.mts';
import { bytesOf, type StoredFile } from './files.mts';
import type { Listener } from './http.mts';
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

/** The state of one running simulator: what its parts share, and what tests see and do. */
export class World {
	readonly options: SimulatorOptions & typeof DEFAULTS;
	readonly token: string;
	/** May be changed while running, like the next two; holds from the next answer on. */
	readonly dialect: Dialect;
	mostAtOnce: SimulatorOptions['mostAtOnce'];
	requestLimit: SimulatorOptions['requestLimit'];
	baseUrl = '';
	webSocketUrl = '';
	fileOrigin = '';
	listeners: Listener[] = [];
	readonly requests: RequestRecord[] = [];
	/** Requests to the file origin that carried an Authorization header or the token. */
	readonly leaks: RequestRecord[] = [];
	readonly tasks = new Map<string, TaskRecord>();
	/** Per task: cancels all that is still to come, or ends it as it would have ended in its time. */
	readonly runs = new Map<string, { cancel(): void; end(): void }>();
	/** Tasks and generations at work, each with the token that made it. */
	readonly working = new Set<{ token: string }>();
	readonly history: HistoryItem[] = [];
	readonly files = new Map<string, StoredFile>();
	readonly voices = makeVoices();
	/** Makes the files; without it they are cheap ones. */
	readonly renderer: Renderer | undefined;
	readonly faults: PendingRule[] = [];
	readonly timers = new Timers();
	readonly hub = new SocketHub();
	/** Responses still in progress. */
	readonly open = new Set<object>();
	/** Tokens that were valid once. */
	readonly revoked = new Set<string>();
	/** Aborted on closing. */
	readonly closing = new AbortController();
	/** Create calls accepted, hence paid for. */
	creates = 0;
	/** Requests of each token in the window that began last. */
	readonly inWindow = new Map<string, { window: number; requests: number }>();
	/** Task numbers go on over restarts, as a service's do: one a second is more than it ever makes. */
	nextTask = Math.floor((Date.now() - Date.parse('2026-01-01')) / 1000);
	readonly #checks = new Set<() => void>();
	#isClosed = false;

	constructor(options: SimulatorOptions) {
		this.options = { ...DEFAULTS, ...options };
		this.token = this.options.token;
		this.dialect = { ...dialectOf(([usual]) => usual), ...options.dialect };
		this.renderer = options.media === 'rendered' ? new Renderer() : undefined;
		this.mostAtOnce = options.mostAtOnce;
		this.requestLimit = options.requestLimit;
	}

	/** Scales a duration in milliseconds by the simulator's pace. */
	paced(ms: number): number {
		return ms * this.options.pace;
	}

	/** The service's clock, which may run ahead of or behind the real one. */
	now(): Date {
		return new Date(Date.now() + this.dialect.clockSkewSeconds * 1000);
	}

	/** The service's time as ISO 8601 with a numeric UTC offset (§2.3). */
	timestamp(): string {
		return this.now().toISOString().replace('Z', '+00:00');
	}

	/** All tokens that are valid. */
	validTokens(): string[] {
		return [this.token, ...this.options.otherTokens].filter((token) => !this.revoked.has(token));
	}

	get socketsEver(): number {
		return this.hub.ever;
	}

	sockets = () => this.hub.size;
	/** Requests whose response (stream, download, hanging answer) is still in progress. */
	openConnections = () => this.open.size;
	count = (method: string, pathPrefix: string) =>
		this.requests.filter((r) => r.method === method && r.path.startsWith(pathPrefix)).length;
	/** Those that speech tasks accept. */
	voiceIds = () => this.voices.map((voice) => voice.voice_id);
	/** The bytes behind an address handed out; undefined when unknown, rendered or above 512 MiB. */
	fileBytes = (url: string) => bytesOf(this, url);
	/** Sends anything to all sockets: a string or Buffer as it is, else as JSON. */
	push = (message: unknown) => this.hub.push(message);
	dropSockets = () => this.hub.drop();
	clearFaults = () => void this.faults.splice(0);

	fault(rule: FaultRule): void {
		this.faults.push({ rule, skip: rule.after ?? 0, remaining: rule.times ?? 1 });
	}

	setWebSocketMode(mode: WebSocketMode): void {
		this.hub.mode = mode;
	}

	/** From now on a token is refused everywhere, and the sockets opened with it end. */
	revoke(token: string): void {
		this.revoked.add(token);
		this.hub.drop(token);
	}

	/** Ends a speech task that is under way now, before its time; throws for any other. */
	endTask(id: string): void {
		const status = this.tasks.get(id)?.status;
		if (status !== 'pending' && status !== 'processing') {
			throw new Error(`Task ${id} is ${status ?? 'unknown'}: it cannot be ended`);
		}
		this.runs.get(id)?.end();
	}

	/** To be called after whatever somebody may wait for. */
	changed(): void {
		for (const check of [...this.#checks]) check();
	}

	/** Resolves once the predicate holds; it is tried again after every recorded event. */
	async waitFor(predicate: () => boolean, timeoutMs = 100_000): Promise<void> {
		let stop = () => {};
		// Not Promise.withResolvers: the tests of the oldest n8n run this on Node 20.
		const seen = new Promise<void>((resolve, reject) => {
			const check = () => {
				try {
					if (predicate()) resolve();
					else if (this.#isClosed) reject(new Error('Simulator closed'));
				} catch (error) {
					reject(error);
				}
			};
			const late = () => reject(new Error(`Not seen within ${timeoutMs} ms: ${predicate}`));
			const timer = setTimeout(late, timeoutMs);
			this.#checks.add(check);
			stop = () => {
				clearTimeout(timer);
				this.#checks.delete(check);
			};
			check();
		});
		await seen.finally(stop);
	}

	async close(): Promise<void> {
		if (this.closing.signal.aborted) return;
		this.closing.abort();
		this.timers.close();
		this.renderer?.close();
		this.hub.drop();
		await Promise.all(this.listeners.map((listener) => listener.close()));
		this.#isClosed = true;
		this.changed();
	}
}
