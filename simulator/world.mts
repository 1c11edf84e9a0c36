import type { Dialect } from './dialect.mts';
import type { Timers, Watchers } from './events.mts';
import type { FaultBook } from './faults.mts';
import type { StoredFile } from './files.mts';
import type { SocketHub } from './sockets.mts';
import type { HistoryItem, RequestRecord, SimulatorOptions, TaskRecord } from './types.mts';
import type { Voice } from './voices.mts';

export const DEFAULTS = {
	port: 0,
	filePort: 0,
	host: '127.0.0.1',
	token: 'demo-token',
	otherTokens: [] as string[],
	pace: 1,
};

export interface TaskRun {
	/** Cancels all that is still to come. */
	cancel(): void;
	/** Ends the task as it would have ended in its time. */
	end(): void;
}

/** The state of one running simulator, shared by its parts. */
export interface World {
	/** `mostAtOnce` and `requestLimit` may change on the way. */
	readonly options: SimulatorOptions & typeof DEFAULTS;
	readonly dialect: Dialect;
	readonly requests: RequestRecord[];
	readonly leaks: RequestRecord[];
	readonly tasks: Map<string, TaskRecord>;
	/** Per task: what goes on until it ends. */
	readonly runs: Map<string, TaskRun>;
	/** Tasks and generations at work, each with the token that made it. */
	readonly working: Set<{ token: string }>;
	readonly history: HistoryItem[];
	readonly files: Map<string, StoredFile>;
	readonly voices: Voice[];
	readonly faults: FaultBook;
	readonly timers: Timers;
	readonly watchers: Watchers;
	readonly sockets: SocketHub;
	/** Responses still in progress. */
	readonly open: Set<object>;
	/** Tokens that were valid once. */
	readonly revoked: Set<string>;
	/** Texts that have had their one 429. */
	readonly limited: Set<string>;
	/** Aborted on closing. */
	readonly closing: AbortController;
	baseUrl: string;
	fileOrigin: string;
	creates: number;
	/** Requests of each token in the window that began last. */
	readonly inWindow: Map<string, { window: number; requests: number }>;
	nextTask: number;
}

/** Scales a duration in milliseconds by the simulator's pace. */
export function paced(world: World, ms: number): number {
	return ms * world.options.pace;
}

/** The service's clock, which may run ahead of or behind the real one. */
export function now(world: World): Date {
	return new Date(Date.now() + world.dialect.clockSkewSeconds * 1000);
}

/** The service's time as ISO 8601 with a numeric UTC offset (§2.3). */
export function timestamp(world: World): string {
	return now(world).toISOString().replace('Z', '+00:00');
}

/** All tokens that are valid. */
export function tokens(world: World): string[] {
	const issued = [world.options.token, ...world.options.otherTokens];
	return issued.filter((token) => !world.revoked.has(token));
}
