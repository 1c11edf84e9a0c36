import { monotonicNow } from '../async/deadline';
import { Failure } from '../failure';
import { mentionsConcurrency } from '../parsing/errorTable';

/**
 * A quota counts as used up once all failures of create calls have named a quota for this long, in ms. A quota of
 * requests per minute refills sooner, so it never counts as used up.
 */
const QUOTA_CONFIRM_MS = 600_000;
/** If `Retry-After` plus this margin, in ms, is longer than QUOTA_CONFIRM_MS, the sum counts instead. */
const RETRY_AFTER_MARGIN_MS = 60_000;

/**
 * Decides when create calls stop waiting for a quota to be refilled (“Fail Fast”, Shore, IEEE Software 2004). A quota
 * per day is not refilled during a run, so waiting for it would be useless.
 */
export class FailFast {
	/** True from the time when a quota counts as used up until a create call is accepted. */
	isQuotaExhausted = false;
	/**
	 * The last temporary failure of a create call; undefined if a create call was accepted since. Calls that were never
	 * sent fail with this Failure as well, so it lacks the fact `mayBeCharged`.
	 */
	lastFailure: Failure | undefined;
	/** When a create call was last accepted, from `monotonicNow`; 0 if none was. */
	private lastAcceptedAt = 0;
	/**
	 * When the latest series of failures began in which each temporary failure of a create call named a quota, from
	 * `monotonicNow`; Infinity if the last one did not.
	 */
	private quotaRefusedSince = Infinity;
	/** When a create call last failed for a temporary reason, from `monotonicNow`. */
	private lastFailedAt = 0;

	/** Call this when a create call was accepted. */
	onAccepted(): void {
		this.lastAcceptedAt = monotonicNow();
		this.quotaRefusedSince = Infinity;
		this.isQuotaExhausted = false;
		this.lastFailure = undefined;
	}

	/**
	 * Call this when a create call has failed for a temporary reason. `isIdle` is true if no call of ours is in flight.
	 */
	onFailure({ kind, facts }: Failure, isIdle: boolean): void {
		const { mayBeCharged, ...otherFacts } = facts;
		this.lastFailure = new Failure(kind, otherFacts);
		const now = monotonicNow();
		// A failure that long ago belongs to an earlier run, and says nothing about the quota of today.
		if (now - this.lastFailedAt > QUOTA_CONFIRM_MS) this.quotaRefusedSince = Infinity;
		this.lastFailedAt = now;
		this.quotaRefusedSince =
			facts.meaning === 'quota' ? Math.min(this.quotaRefusedSince, now) : Infinity;
		const confirmMs = Math.max(QUOTA_CONFIRM_MS, (facts.retryAfterMs ?? 0) + RETRY_AFTER_MARGIN_MS);
		this.isQuotaExhausted ||= isIdle && now - this.quotaRefusedSince >= confirmMs;
	}

	/**
	 * Call this when a create call that has waited since `waitingSince` (from `monotonicNow`) has reached its deadline.
	 * If no create call was accepted during that wait, a quota may be the reason, and then counts as used up. `isIdle`
	 * is true if no call of ours is in flight.
	 */
	onTimedOut(waitingSince: number, isIdle: boolean): void {
		const mayBeQuota =
			this.lastFailure !== undefined && !mentionsConcurrency(this.lastFailure.facts.reason);
		this.isQuotaExhausted ||= isIdle && mayBeQuota && this.lastAcceptedAt < waitingSince;
	}
}
