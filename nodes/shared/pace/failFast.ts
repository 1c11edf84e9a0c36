import { monotonicNow } from '../async/deadline';
import { Failure } from '../failure';
import { mentionsConcurrency } from '../parsing/errorTable';

/**
 * If every temporary failure of create calls has named a quota for this long, in ms, the quota counts as used up (see
 * `FailFast`). A quota of requests per minute refills sooner.
 */
const QUOTA_CONFIRM_MS = 600_000;
/** If `Retry-After` plus this margin, in ms, is longer than QUOTA_CONFIRM_MS, the sum counts instead. */
const RETRY_AFTER_MARGIN_MS = 60_000;

/**
 * Decides when create calls stop waiting for a quota (“Fail Fast”, Shore, IEEE Software 2004). A quota per day does not
 * refill during a run. Once it is used up, waiting calls fail at once, and each later call is tried once, until one is
 * accepted.
 *
 * A quota counts as used up in two cases:
 * - For ten minutes, or for the `Retry-After` and a minute if that is longer, every temporary failure has named a
 *   quota, and no create call was accepted.
 * - A create call has waited until its deadline while none was accepted, and the last temporary failure did not say
 *   that too many calls are in flight.
 *
 * Both cases require that no call of ours is in flight. Otherwise each create call waits as long as its deadline
 * allows.
 */
export class FailFast {
	/** True from the time when a quota counts as used up until a create call is accepted. */
	isOn = false;
	/**
	 * The last temporary failure of a create call; undefined if one was accepted since. Waiting calls fail with it. The
	 * fact `mayBeCharged` is left out, because a waiting call was surely not accepted.
	 */
	lastFailure: Failure | undefined;
	/** When a create call was last accepted, from `monotonicNow`; 0 if none was. */
	private acceptedAt = 0;
	/**
	 * Since when every temporary failure of a create call has named a quota, from `monotonicNow`. Infinity if the last
	 * failure named none, or if no create call has failed since one was accepted.
	 */
	private quotaRefusedSince = Infinity;

	/** Call this when a create call was accepted. */
	onAccepted(): void {
		this.acceptedAt = monotonicNow();
		this.quotaRefusedSince = Infinity;
		this.isOn = false;
		this.lastFailure = undefined;
	}

	/**
	 * Call this when a create call has failed for a temporary reason. `isIdle` says that no call of ours is in flight.
	 */
	onFailure({ kind, facts }: Failure, isIdle: boolean): void {
		const { mayBeCharged, ...otherFacts } = facts;
		this.lastFailure = new Failure(kind, otherFacts);
		this.quotaRefusedSince =
			facts.means === 'quota' ? Math.min(this.quotaRefusedSince, monotonicNow()) : Infinity;
		const confirmMs = Math.max(QUOTA_CONFIRM_MS, (facts.retryAfterMs ?? 0) + RETRY_AFTER_MARGIN_MS);
		this.isOn ||= isIdle && monotonicNow() - this.quotaRefusedSince >= confirmMs;
	}

	/**
	 * Call this when a create call that has waited since `waitingSince` (from `monotonicNow`) has reached its deadline.
	 * `isIdle` says that no call of ours is in flight.
	 */
	onTimedOut(waitingSince: number, isIdle: boolean): void {
		const mayBeQuota =
			this.lastFailure !== undefined && !mentionsConcurrency(this.lastFailure.facts.text);
		this.isOn ||= isIdle && mayBeQuota && this.acceptedAt < waitingSince;
	}
}
