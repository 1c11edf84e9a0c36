import { sleep, monotonicNow, withDeadline } from '../async/deadline';
import { toWrongBaseUrl, isFailure, isTransient, type Failure } from '../failure';
import type { Api } from './api';

/** How long the reading of the account may take, in ms. */
const CHECK_TIMEOUT_MS = 20_000;
/** How old an answer may be for whoever only has a doubt, in ms: so there are five checks a minute at most. */
export const TOKEN_CHECK_TTL_MS = 12_000;
/** How many times in a row the token must be refused until that counts, and the pauses in between, in ms. */
const REFUSALS_TO_CONFIRM = 3;
const CONFIRMATION_PAUSE_MS = 60_000;

/**
 * Reads the account (§4.10); resolves with why that fails, or undefined. An answer that anybody in this
 * process got in the last `maxAgeMs` will do. Resolves with the signal's reason (a Failure) when that aborts.
 */
export async function tokenError(
	api: Api,
	maxAgeMs: number,
	signal: AbortSignal,
): Promise<unknown> {
	const read = async (inTime: AbortSignal) => await api.getAccount(inTime, 'once');
	const check = async (shared: AbortSignal) =>
		await withDeadline(CHECK_TIMEOUT_MS, shared, read).then(() => undefined, toWrongBaseUrl);
	const reading = api.throttle.readings.share('account', monotonicNow() - maxAgeMs, signal, check);
	return await reading.catch((reason: unknown) => reason);
}

/**
 * Resolves with the refusal if the token is refused for two minutes; undefined as soon as it is not, or
 * nobody can tell: a replica with a cold cache refuses good ones, too.
 */
export async function confirmRefusal(api: Api, signal: AbortSignal): Promise<Failure | undefined> {
	for (let refusals = 1; ; refusals++) {
		const trouble = await tokenError(api, TOKEN_CHECK_TTL_MS, signal);
		if (signal.aborted || !isFailure(trouble, 'tokenRefused')) return undefined;
		if (refusals === REFUSALS_TO_CONFIRM) return trouble;
		await sleep(CONFIRMATION_PAUSE_MS, signal);
	}
}

/** True for trouble that passes and says nothing against the address or the token. */
export const isTemporary = (trouble: unknown): boolean =>
	isTransient(trouble) || isFailure(trouble, 'timedOut', 'outOfCredit');
