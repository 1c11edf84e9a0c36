import { monotonicNow } from '../async/deadline';
import { Failure } from '../failure';
import { mentionsConcurrency } from '../parsing/errorTable';

/**
 * If refusals name a quota, and no create call was accepted for this long, in ms, the quota counts as used up. A quota
 * of requests per minute refills sooner.
 */
const QUOTA_CONFIRM_MS = 600_000;

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

	/** Call this when a create call was accepted. */
	onAccepted(): void {
		this.lastAcceptedAt = monotonicNow();
		this.isQuotaExhausted = false;
		this.lastFailure = undefined;
	}

	/**
	 * Call this when a create call that has waited since `waitingSince` (from `monotonicNow`) has failed for a temporary
	 * reason. `isIdle` is true if no call of ours is in flight.
	 */
	onFailure({ kind, facts }: Failure, waitingSince: number, isIdle: boolean): void {
		const { mayBeCharged, ...otherFacts } = facts;
		this.lastFailure = new Failure(kind, otherFacts);
		const isConfirmed = monotonicNow() - waitingSince >= QUOTA_CONFIRM_MS;
		// The call has waited long enough for this quota, so it counts as timed out.
		if (facts.meaning === 'quota' && isConfirmed) this.onTimedOut(waitingSince, isIdle);
	}

	/**
	 * Call this when a create call that has waited since `waitingSince` has reached its deadline. If no create call was
	 * accepted during that wait, a quota may be the reason, and then counts as used up.
	 */
	onTimedOut(waitingSince: number, isIdle: boolean): void {
		const mayBeQuota =
			this.lastFailure !== undefined && !mentionsConcurrency(this.lastFailure.facts.reason);
		this.isQuotaExhausted ||= isIdle && mayBeQuota && this.lastAcceptedAt < waitingSince;
	}
}
