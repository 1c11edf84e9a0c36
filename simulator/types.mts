import type { DURATION_MS } from './generation.mts';
import type { Dialect } from './dialect.mts';

/** The options of `startSimulator`. */
export interface SimulatorOptions {
	/** The port of the API. 0, the default, takes any free one. */
	port?: number;
	/** The port of the file server, which is the second origin. 0, the default, takes any free one. */
	filePort?: number;
	host?: string;
	token?: string;
	/** Other valid tokens. Each is an account that sees only its own tasks, messages and history. */
	otherTokens?: string[];
	/**
	 * All durations of the service itself are multiplied by this number. The default 1 suits a person who watches;
	 * tests use less.
	 */
	pace?: number;
	/** Differences from the default dialect. */
	dialect?: Partial<Dialect>;
	/** How many create calls are accepted before the answer is 402. By default there is no limit. */
	credits?: number;
	/**
	 * `rendered`: speech is spoken, and images and videos show their prompt. `cheap`, the default, is fast, for
	 * tests.
	 */
	media?: 'cheap' | 'rendered';
	/** How many tasks and generations of one account may be in flight. A further create call is answered with 429. */
	concurrencyLimit?: number;
	/**
	 * How many requests one account may send to the API in each window of the real clock. A further one is answered
	 * with 429.
	 */
	requestLimit?: { requests: number; seconds: number };
}

/** What tests see of a request. */
export interface RequestRecord {
	/** Where it arrived: at the API, at the file server, or as the handshake of a WebSocket. */
	receivedBy: 'api' | 'file' | 'socket';
	method: string;
	path: string;
	query: Record<string, string>;
	headers: Record<string, string | string[] | undefined>;
	/** The parsed JSON body; undefined if there is no body, or if it is not JSON. */
	body: any;
	/** When it arrived, in ms since 1970 by the real clock. */
	arrivedAt: number;
	/**
	 * The status of the answer; 0 before there is an answer. It stays 0 if the connection is cut, or the request is
	 * never answered.
	 */
	status: number;
	/** True if the client closed the connection before the answer was complete. */
	closedByClient: boolean;
}

/** A speech task. */
export interface TaskRecord {
	id: string;
	/** The token that created it. */
	token: string;
	input: string;
	voiceId: string;
	modelId: string;
	settings: Record<string, unknown>;
	status: 'pending' | 'processing' | 'completed' | 'failed';
	percentage: number;
	audioUrl?: string;
	subtitleUrl?: string;
	error?: string;
	createdAt: string;
	/** When its audio became available, in ms since 1970 by the real clock. */
	readyAt?: number;
	callBackUrl?: string;
	/** How many times the task was read. */
	readCount: number;
}

/** The kinds of media that generations make. */
export type GeneratedKind = keyof typeof DURATION_MS;

/**
 * An entry of the history, with the fields of the contract (§2.3). Without a file it is in progress or has
 * failed.
 */
export interface HistoryItem {
	id: string;
	prompt: string;
	type: GeneratedKind;
	/** The URL of the file; '' as long as there is none. */
	file_url: string;
	status: string;
	created_at: string;
	aspect_ratio?: string;
	/**
	 * The token that created it. An item without owner is in every account's history. No answer contains this field.
	 */
	owner?: string;
}

/**
 * A step of an event stream: text or bytes to write, a pause, the proper end (`END`), or a reset of the connection
 * (`RESET`).
 */
export type StreamStep = string | Buffer | { delayMs: number } | 'END' | 'RESET';

/** What a fault does before the normal answer, or instead of it. The pace does not change the times of a fault. */
export interface FaultAction {
	/** Waits for this many ms before the rest of this action, or before the normal answer if there is no rest. */
	delayMs?: number;
	/** Sends this answer. */
	respond?: { status: number; headers?: Record<string, string>; body?: string | object };
	/** The request is never answered. */
	hang?: boolean;
	/** Cuts the connection before answering. */
	reset?: boolean;
	/** True if the request is accepted and charged in spite of `respond`, `hang` or `reset`. */
	accepted?: boolean;
	/** For downloads: announces the whole length, but cuts the connection after this many bytes. */
	truncateAfterBytes?: number;
	/** Redirects to this URL. */
	redirect?: string;
	/** The HTTP status of the redirect; 302 by default. */
	redirectStatus?: number;
	/**
	 * For generations: writes these steps to the stream instead of the events. If the last step is neither END nor
	 * RESET, the stream stays open and silent.
	 */
	sse?: StreamStep[];
	/** With `sse`: after how many ms the file of the generation is in the history. By default it never is. */
	finishesInHistoryAfterMs?: number;
}

/** A fault, and the requests that it hits. */
export interface FaultRule {
	method?: string;
	/** The start of the path, or a regular expression that matches the path, or the path with its query. */
	path?: string | RegExp;
	/** A text that the JSON body must contain, as in `"input":"Hello`. */
	body?: string;
	/** How many requests the rule hits. The default is 1; Infinity means all. */
	times?: number;
	/** How many matching requests pass before the first hit. Requests that another rule hits count, too. */
	after?: number;
	/**
	 * Hits only every n-th of the matching requests, beginning with the first. 20 means 5 % of them. `times` limits the
	 * hits here, too.
	 */
	every?: number;
	/** Which requests the rule can hit. `api` is the default; `file` means any download, from either origin. */
	on?: 'api' | 'file';
	action: FaultAction;
}

/**
 * How the simulator treats WebSockets. `refuse` answers handshakes with 403, `hang` never answers them, and `silent`
 * sends no messages about tasks.
 */
export type WebSocketMode = 'normal' | 'refuse' | 'hang' | 'silent';
