import type { Dialect } from './dialect.mts';

export interface SimulatorOptions {
	/** Port of the API; 0 or nothing takes any free one. */
	port?: number;
	/** Port of the file server (the second origin); 0 or nothing takes any free one. */
	filePort?: number;
	host?: string;
	token?: string;
	/** Further valid tokens; each sees only its own tasks, messages and history. */
	otherTokens?: string[];
	/** Multiplier of every duration of the service itself; 1 suits a person who watches. */
	pace?: number;
	dialect?: Partial<Dialect>;
	/** Creates that may be accepted before the answer is 402; nothing means no limit. */
	credits?: number;
	/** `rendered`: speech is spoken, images and videos show their prompt; `cheap`, the default, is for tests. */
	media?: 'cheap' | 'rendered';
	/** Pieces of work of one account that may run at once; a create beyond them is answered 429. */
	mostAtOnce?: number;
	/** One account's requests to the API in each window by the real clock; beyond, the answer is 429. */
	requestLimit?: { requests: number; seconds: number };
}

export interface RequestRecord {
	on: 'api' | 'file' | 'socket';
	method: string;
	path: string;
	query: Record<string, string>;
	headers: Record<string, string | string[] | undefined>;
	/** The parsed JSON body; undefined without one or when it does not parse. */
	body: any;
	/** Arrival, milliseconds since 1970 by the real clock. */
	time: number;
	/** 0 until answered; stays 0 when the connection was cut or left hanging. */
	status: number;
	closedByClient: boolean;
}

export interface TaskRecord {
	id: string;
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
	/** When its audio could first be had, milliseconds since 1970 by the real clock. */
	readyAt?: number;
	callBackUrl?: string;
	/** How often the task has been read. */
	reads: number;
}

/** What a generation makes. */
export type GeneratedKind = 'video' | 'image';

/** A video or image, in the contract's own shape (§2.3); newest first in `history`. Without a file it is in the making, or has failed. */
export interface HistoryItem {
	id: string;
	prompt: string;
	type: GeneratedKind;
	file_url: string;
	status: string;
	created_at: string;
	aspect_ratio?: string;
	/** Token that made it; an item without owner is everyone's. Never sent. */
	owner?: string;
}

export type RawStreamStep = string | Buffer | { delayMs: number } | 'END' | 'RESET';

/** What happens instead of, or before, the normal answer. Milliseconds here are not paced. */
export interface FaultAction {
	/** Waits, then goes on with the rest of this action or as normal. */
	delayMs?: number;
	respond?: { status: number; headers?: Record<string, string>; body?: string | object };
	/** Never answers. */
	hang?: boolean;
	/** Cuts the connection before answering. */
	reset?: boolean;
	/** With respond, hang or reset: the work is started and paid for all the same. */
	accepted?: boolean;
	/** Files: declares the whole length and cuts the connection after this many bytes. */
	truncate?: number;
	redirect?: string;
	/** Status of the `redirect`; 302 by default. */
	status?: number;
	/**
	 * Generation endpoints: raw bytes instead of the events. Without a final END or RESET the
	 * stream stays open and silent.
	 */
	sse?: RawStreamStep[];
	/** With sse: when the item enters the history; never by default. */
	finishesInHistoryAfterMs?: number;
}

export interface FaultRule {
	method?: string;
	/** A prefix of the path, or an expression tried on the path and on the path with query. */
	path?: string | RegExp;
	/** Part of what the JSON body must hold, as in `"input":"Hello`. */
	body?: string;
	/** How many requests it hits; 1 by default, Infinity for all. */
	times?: number;
	/** Matching requests it lets pass first, those that another rule hits included. */
	after?: number;
	/** Hits one in so many of the matching requests: 20 is a share of 5 %. */
	every?: number;
	/** `api` by default; `file` is any download, whatever the origin. */
	on?: 'api' | 'file';
	action: FaultAction;
}

export type WebSocketMode = 'normal' | 'refuse' | 'hang' | 'silent';
