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
	 * Waits for a turn for a reading that nothing announced. True when it may be made, false when `signal`
	 * aborted first. `everyMs` is how often the one who waits would read by itself.
	 */
	turn(kind: TurnKind, everyMs: number, signal: AbortSignal): Promise<boolean>;
	/** Counts one more that waits for a task; to be called again, through what it returns, at the end. */
	beginWait(): () => void;
	/** Notes a refusal; `retryAfterMs` is what the service asked for. */
	refused(retryAfterMs: number | undefined): void;
}

const DEFAULT_HOLD_MS = 2000;
/** Up to so much is added to a rest at random: other processes may rest for the same time, in ms. */
const JITTER_MS = 300;
/**
 * After a rest requests go out one by one, the first ones this far apart, in ms, and each next one
 * sooner: a service that still refuses says so to a few of them, not to all that have waited.
 */
const FIRST_GAP_MS = 250;
const GAP_SHRINKS_TO = 0.8;
const LEAST_GAP_MS = 10;
/** Limits near 30 requests a minute for an account, polls included, are reported (field notes HTTP). */
const POLL_EVERY_MS = 2000;
/** While the socket lives, polls are but a safeguard: so often for each task that is waited for. */
const LIVE_POLL_EVERY_MS = 40_000;
/** So many polls, polls beside a live socket, and readings after a lost one, may come at once. */
const POLLS_AT_ONCE = 10;
const LIVE_POLLS_AT_ONCE = 3;
const CATCH_UPS_AT_ONCE = 60;

/** A poll without a socket, one beside a live socket, or a reading after the socket was away. */
export type TurnKind = 'poll' | 'livePoll' | 'catchUp';

interface Account {
	notBefore: number;
	/** Pause between two requests after a rest, in ms; 0 when they may go out at will. */
	gapMs: number;
	lastSent: number;
	/** How many wait for a task. */
	waits: number;
	turns: Record<TurnKind, Turns>;
}

const accounts = new Map<string, Account>();

function newAccount(): Account {
	const everyMs = () => POLL_EVERY_MS;
	const account: Account = {
		notBefore: 0,
		gapMs: 0,
		lastSent: 0,
		waits: 0,
		turns: {
			poll: new Turns(POLLS_AT_ONCE, everyMs),
			livePoll: new Turns(LIVE_POLLS_AT_ONCE, () =>
				Math.max(POLL_EVERY_MS, LIVE_POLL_EVERY_MS / Math.max(1, account.waits)),
			),
			catchUp: new Turns(CATCH_UPS_AT_ONCE, everyMs),
		},
	};
	return account;
}

/** The shared pacing of an account (a token at an address) in this process. */
export function pacingOf(address: ServiceAddress): Pacing {
	const key = accountKeyOf(address);
	const account = accounts.get(key) ?? newAccount();
	accounts.set(key, account);
	const holdMs = () => Math.max(0, account.notBefore - Date.now());
	return {
		holdMs,
		turn: async (kind, everyMs, signal) =>
			await account.turns[kind].take(signal, kind === 'livePoll' ? undefined : everyMs),
		beginWait() {
			account.waits++;
			return () => void account.waits--;
		},
		async clear(signal) {
			for (;;) {
				const gapMs = account.gapMs > 0 ? account.lastSent + account.gapMs - Date.now() : 0;
				const restMs = Math.max(holdMs(), gapMs);
				if (signal.aborted) return;
				if (restMs <= 0) break;
				await pause(restMs, signal);
			}
			account.lastSent = Date.now();
			const gapMs = account.gapMs * GAP_SHRINKS_TO;
			account.gapMs = gapMs < LEAST_GAP_MS ? 0 : gapMs;
		},
		refused(retryAfterMs) {
			const jitterMs = Math.random() * JITTER_MS;
			const until = Date.now() + (retryAfterMs ?? DEFAULT_HOLD_MS) + jitterMs;
			account.notBefore = Math.max(account.notBefore, until);
			// The first request shrinks it once before it is the pause to the second.
			account.gapMs = FIRST_GAP_MS / GAP_SHRINKS_TO;
		},
	};
}

/** Delay before the `attempt`-th repetition (0, 1, …): doubling from 500 ms, with jitter, in ms. */
export function backOffMs(attempt: number, longestMs = 8000): number {
	const full = Math.min(longestMs, 500 * 2 ** attempt);
	return full / 2 + Math.random() * (full / 2);
}
