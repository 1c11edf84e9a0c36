import { accountOf } from '../account';
import { steadyNow, withDeadline } from '../async/deadline';
import { asWrongAddress, isFailure, isTransient } from '../failure';
import { singleFlightOf, type Api } from './api';

/** How long the reading of the account may take, in ms. */
const CHECK_MS = 20_000;
/** How many checks of one account may begin within a minute. */
const MAX_A_MINUTE = 5;
const MINUTE_MS = 60_000;
/** How long an activation takes a good token for granted, in ms. */
const TRUSTED_MS = 10_000;

/** The checks of an account's token in this process. */
class TokenChecks {
	/** When the latest ones began, in ms since 1970, oldest first. */
	began: number[] = [];
	/** When the last one that has ended began, and what it came to. */
	last?: { began: number; trouble: unknown };
}

/** Reads the account (§4.10); resolves with why that fails, or undefined. */
async function checkToken(api: Api, signal: AbortSignal): Promise<unknown> {
	const read = async (over: AbortSignal) => await api.getAccount(over, 'once');
	return await withDeadline(CHECK_MS, signal, read).then(() => undefined, asWrongAddress);
}

/**
 * The same, once for all in this process that use the account: an answer to a check that began at
 * `since` (ms since 1970) or later will do, and any answer once the account has been asked too often.
 * Resolves with the signal's reason (a Failure) when that aborts first.
 */
export async function checkTokenTogether(
	api: Api,
	since: number,
	signal: AbortSignal,
): Promise<unknown> {
	const checks = accountOf(api.credential).shared(TokenChecks);
	const { last } = checks;
	const mayAsk = (checks.began.at(-MAX_A_MINUTE) ?? 0) < steadyNow() - MINUTE_MS;
	if (last && (last.began >= since || !mayAsk)) return last.trouble;
	return await singleFlightOf(api.credential)
		.share('token', signal, async (over) => {
			const began = steadyNow();
			checks.began = [...checks.began, began].slice(-MAX_A_MINUTE);
			const trouble = await checkToken(api, over);
			if (!over.aborted) checks.last = { began, trouble };
			return trouble;
		})
		.catch((canceled: unknown) => canceled);
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
		: await checkTokenTogether(api, steadyNow() - TRUSTED_MS, signal);
	if (trouble === undefined || signal.aborted) return;
	if (mustWork || !passes(trouble)) throw trouble;
}
