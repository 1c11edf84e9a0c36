import { accountKeyOf, type ServiceAddress } from './address';
import { pause } from './clock';

/**
 * How an account that refuses for rate is left alone: rate limits count per account, polls
 * included, so everything in this process that uses the account waits together (field notes HTTP).
 */
export interface Pacing {
	/** Resolves once the account may be asked again, or when `signal` aborts. */
	clear(signal: AbortSignal): Promise<void>;
	/** Milliseconds until the account may be asked again. */
	holdMs(): number;
	/** Notes a refusal; `retryAfterMs` is what the service asked for. */
	refused(retryAfterMs: number | undefined): void;
}

const DEFAULT_HOLD_MS = 2000;
const accounts = new Map<string, { notBefore: number }>();

/** The shared pacing of an account (a token at an address) in this process. */
export function pacingOf(address: ServiceAddress): Pacing {
	const key = accountKeyOf(address);
	const account = accounts.get(key) ?? { notBefore: 0 };
	accounts.set(key, account);
	const holdMs = () => Math.max(0, account.notBefore - Date.now());
	return {
		holdMs,
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
