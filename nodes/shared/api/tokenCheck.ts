import { sleep, monotonicNow, withDeadline } from '../async/deadline';
import { toNoResponse, toWrongBaseUrl, isFailure, isTransient, Failure } from '../failure';
import { parseResponseBody } from '../parsing/errors';
import { readSuccessRecord } from '../parsing/responses';
import type { Api } from './api';

/** How long one check of the token may take, in ms. */
const TOKEN_CHECK_TIMEOUT_MS = 20_000;
/** The greatest age, in ms, of a shared check whose result is good enough for a caller that only suspects a problem. */
export const TOKEN_CHECK_TTL_MS = 12_000;
/** How many checks in a row must refuse the token before it counts as refused. */
const REFUSALS_TO_CONFIRM = 3;
/** The pause between two checks that confirm a refusal, in ms. */
const CONFIRMATION_PAUSE_MS = 60_000;

/**
 * Checks the token by reading the account (§4.10). If another caller began the same check at most `maxAgeMs`
 * milliseconds ago, uses that check instead. Resolves with the error of the check, or with undefined if it succeeds.
 * Never rejects.
 */
export async function tokenError(
	api: Api,
	maxAgeMs: number,
	signal: AbortSignal,
): Promise<unknown> {
	return await withDeadline(TOKEN_CHECK_TIMEOUT_MS, signal, async (deadline) => {
		const account = await api.readAccount(monotonicNow() - maxAgeMs, deadline);
		if (account instanceof Failure) throw account;
		parseResponseBody(account, api.credential.redact, readSuccessRecord);
	}).catch((error: unknown) => toWrongBaseUrl(toNoResponse(error)));
}

/**
 * Resolves with the Failure of kind tokenRefused if several checks in a row refuse the token, otherwise with undefined.
 * One check is not enough, because a replica of the service with a cold cache may refuse a valid token for a moment.
 */
export async function confirmTokenRefusal(
	api: Api,
	signal: AbortSignal,
): Promise<Failure | undefined> {
	for (let refusals = 1; ; refusals++) {
		const error = await tokenError(api, TOKEN_CHECK_TTL_MS, signal);
		if (signal.aborted || !isFailure(error, 'tokenRefused')) return undefined;
		if (refusals === REFUSALS_TO_CONFIRM) return error;
		await sleep(CONFIRMATION_PAUSE_MS, signal);
	}
}

/** Returns true for an error that may go away without a change of the credential. */
export const isTransientOrOutOfCredit = (error: unknown): boolean =>
	isTransient(error) || isFailure(error, 'outOfCredit');
