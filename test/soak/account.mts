import type { ServerResponse } from 'node:http';
import type { Random } from './random.mts';

/** A create call, and whether the service has said that it failed. */
export interface Post {
	response: ServerResponse;
	hasFailed: boolean;
}

/** Whether a status refuses a create call for good: nothing was accepted. */
const isRefusal = (status: number) => status >= 300 && status < 500 && ![408, 425].includes(status);

/** True when the same may be asked for again: at once after 429, else by Retry On Fail. */
export function mayRepeat({ response, hasFailed }: Post, isRetried: boolean): boolean {
	const { headersSent, statusCode } = response;
	if (headersSent && statusCode === 429) return true;
	return isRetried && (hasFailed || (headersSent && isRefusal(statusCode)));
}

/** What belongs to one token: each run has its own. */
export interface Account {
	random: Random;
	/** Create calls by their unique text. */
	posts: Map<string, Post[]>;
	/** How often each task was read, and the call that created it. */
	tasks: Map<string, { reads: number; post?: Post }>;
	made: Array<{ id: string; prompt: string; file_url: string; created_at: string }>;
	/** How often something goes wrong. */
	malice: number;
	/** The node runs with Retry On Fail. */
	isRetried: boolean;
}
