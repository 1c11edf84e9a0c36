import { accountKeyOf, type ServiceAddress } from './address';
import { pause } from './clock';
import { Turns } from './turns';

/**
 * How an account that refuses for rate is left alone: rate limits count per account, polls
 * included, so everything in this process that uses the account waits together (field notes HTTP).
 */
export interface Pacing {
	/** Resolves once the account may be asked again, or when `signal` aborts. */
	clear(signal: AbortSignal): Promise<void>;
	/** Milliseconds until the account may be asked again. */
	holdMs(): number;
	/**
	 * Waits for a turn for a reading that nothing announced: a poll in silence, or one that catches up
	 * after the socket was away. True when it may be made, false when `signal` aborted first. `everyMs`
	 * is how often the one who waits would read by itself.
	 */
	turn(kind: 'poll' | 'catchUp', everyMs: number, signal: AbortSignal): Promise<boolean>;
	/** Notes a refusal; `retryAfterMs` is what the service asked for. */
	refused(retryAfterMs: number | undefined): void;
}

const DEFAULT_HOLD_MS = 2000;
/** Limits near 30 requests a minute for an account, polls included, are reported (field notes HTTP). */
const POLL_EVERY_MS = 2000;
/** So many polls, and readings after a lost socket, may come at once. */
const POLLS_AT_ONCE = 10;
const CATCH_UPS_AT_ONCE = 60;

interface Account {
	notBefore: number;
	poll: Turns;
	catchUp: Turns;
}

const accounts = new Map<string, Account>();

/** The shared pacing of an account (a token at an address) in this process. */
export function pacingOf(address: ServiceAddress): Pacing {
	const key = accountKeyOf(address);
	const account = accounts.get(key) ?? {
		notBefore: 0,
		poll: new Turns(POLLS_AT_ONCE, POLL_EVERY_MS),
		catchUp: new Turns(CATCH_UPS_AT_ONCE, POLL_EVERY_MS),
	};
	accounts.set(key, account);
	const holdMs = () => Math.max(0, account.notBefore - Date.now());
	return {
		holdMs,
		turn: async (kind, everyMs, signal) => await account[kind].take(signal, everyMs),
		async clear(signal) {
			while (!signal.aborted && holdMs() > 0) await pause(holdMs(), signal);
		},
		refused(retryAfterMs) {
			const until = Date.now() + (retryAfterMs ?? DEFAULT_HOLD_MS);
			account.notBefore = Math.max(account.notBefore, until);
		},
	};
}

/** Delay before the `attempt`-th repetition (0, 1, …): doubling from 500 ms, with jitter, in ms. */
export function backOffMs(attempt: number, longestMs = 8000): number {
	const full = Math.min(longestMs, 500 * 2 ** attempt);
	return full / 2 + Math.random() * (full / 2);
}
