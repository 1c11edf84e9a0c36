import { sleep, steadyNow, withDeadline } from '../async/deadline';
import { asWrongAddress, isFailure, isTransient, type Failure } from '../failure';
import type { Api } from './api';

/** How long the reading of the account may take, in ms. */
const CHECK_MS = 20_000;
/** How old an answer may be for whoever only has a doubt, in ms: so there are five checks a minute at most. */
export const FRESH_MS = 12_000;
/** How many times in a row the token must be refused until that counts, and the pauses in between, in ms. */
const REFUSALS = 3;
const REFUSALS_APART_MS = 60_000;

/**
 * Reads the account (§4.10); resolves with why that fails, or undefined. An answer that anybody in this
 * process got in the last `maxAgeMs` will do. Resolves with the signal's reason (a Failure) when that aborts.
 */
export async function checkToken(
	api: Api,
	maxAgeMs: number,
	signal: AbortSignal,
): Promise<unknown> {
	const read = async (inTime: AbortSignal) => await api.getAccount(inTime, 'once');
	const check = async (shared: AbortSignal) =>
		await withDeadline(CHECK_MS, shared, read).then(() => undefined, asWrongAddress);
	const reading = api.pace.readings.share('account', steadyNow() - maxAgeMs, signal, check);
	return await reading.catch((reason: unknown) => reason);
}

/**
 * Resolves with the refusal if the token is refused for two minutes; undefined as soon as it is not, or
 * nobody can tell: a replica with a cold cache refuses good ones, too.
 */
export async function confirmRefusal(api: Api, signal: AbortSignal): Promise<Failure | undefined> {
	for (let refusals = 1; ; refusals++) {
		const trouble = await checkToken(api, FRESH_MS, signal);
		if (signal.aborted || !isFailure(trouble, 'tokenRefused')) return undefined;
		if (refusals === REFUSALS) return trouble;
		await sleep(REFUSALS_APART_MS, signal);
	}
}

/** True for trouble that passes and says nothing against the address or the token. */
export const passes = (trouble: unknown): boolean =>
	isTransient(trouble) || isFailure(trouble, 'timedOut', 'outOfCredit');
