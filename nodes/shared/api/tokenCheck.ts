import { accountOf } from '../account';
import { steadyNow, withDeadline } from '../async/deadline';
import { asWrongAddress, isFailure, isTransient } from '../failure';
import { singleFlightOf, type Api } from './api';

/** How long the reading of the account may take, in ms. */
const CHECK_MS = 20_000;
/** How old a check may be for whoever wants one, in ms: so there are five a minute at most. */
const FRESH_MS = 12_000;

/** The last check of an account's token in this process: when it began, and what it came to. */
class TokenCheck {
	began = -Infinity;
	trouble: unknown;
}

/** Reads the account (§4.10); resolves with why that fails, or undefined. */
async function checkToken(api: Api, signal: AbortSignal): Promise<unknown> {
	const read = async (over: AbortSignal) => await api.getAccount(over, 'once');
	return await withDeadline(CHECK_MS, signal, read).then(() => undefined, asWrongAddress);
}

/**
 * The same, once for all in this process that use the account: an answer to a check that began at
 * `since` (ms since 1970) or later will do, and any that is some seconds old. Resolves with the signal's
 * reason (a Failure) when that aborts first.
 */
export async function checkTokenTogether(
	api: Api,
	since: number,
	signal: AbortSignal,
): Promise<unknown> {
	const last = accountOf(api.credential).shared(TokenCheck);
	if (last.began >= Math.min(since, steadyNow() - FRESH_MS)) return last.trouble;
	const check = async (over: AbortSignal) => {
		const began = steadyNow();
		const trouble = await checkToken(api, over);
		if (!over.aborted) Object.assign(last, { began, trouble });
		return trouble;
	};
	const checked = singleFlightOf(api.credential).share('token', signal, check);
	return await checked.catch((canceled: unknown) => canceled);
}

/** True for trouble that passes and says nothing against the address or the token. */
export const passes = (trouble: unknown): boolean =>
	isTransient(trouble) || isFailure(trouble, 'timedOut', 'outOfCredit');

/**
 * Throws what keeps a trigger from working: a refused token, but not a service that is away for the
 * moment. With `mustWork`, since a person is waiting for an event, throws any failure.
 */
export async function requireToken(
	api: Api,
	mustWork: boolean,
	signal: AbortSignal,
): Promise<void> {
	const trouble = mustWork
		? await checkToken(api, signal)
		: await checkTokenTogether(api, steadyNow(), signal);
	if (trouble === undefined || signal.aborted) return;
	if (mustWork || !passes(trouble)) throw trouble;
}
