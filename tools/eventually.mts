import { setTimeout as pause } from 'node:timers/promises';

const POLL_MS = 150;

/**
 * Calls `attempt` every `pollMs` ms until it returns something other than undefined or false, and resolves with that. Use
 * it only where no event tells. Throws an Error after `timeoutMs` ms; `what` says in its message what did not happen.
 */
export async function eventually<T>(
	what: string,
	timeoutMs: number,
	attempt: () => Promise<T | false | undefined> | T | false | undefined,
	pollMs = POLL_MS,
): Promise<T> {
	const endsAt = Date.now() + timeoutMs;
	for (;;) {
		const found = await attempt();
		if (found !== undefined && found !== false) return found;
		if (Date.now() > endsAt) throw new Error(`Waited ${timeoutMs / 1000} s in vain for ${what}`);
		await pause(pollMs);
	}
}
