import { monotonicNow } from '../async/deadline';
import { Failure } from '../failure';
import { mentionsConcurrency } from '../parsing/errorTable';

/**
 * How long all create calls must be refused for a quota until the quota counts as used up, in ms. A quota of
 * requests per minute refills sooner.
 */
const QUOTA_CONFIRM_MS = 600_000;
/** If `Retry-After` plus this margin is longer than QUOTA_CONFIRM_MS, it takes its place, in ms. */
const RETRY_AFTER_MARGIN_MS = 60_000;

/**
 * Decides when create calls stop waiting for a quota (“Fail Fast”, Shore, IEEE Software 2004). A quota per day does
 * not refill during a run. Once it is used up, each call is tried once and then fails, until one is accepted.
 *
 * A quota counts as used up in two cases:
 * - The service has named a quota in every refusal for ten minutes.
 * - A call has waited until its deadline while no create call was accepted, and the last refusal did not name
 *   calls in flight as the reason.
 *
 * Both need that nothing is in flight. Otherwise each call waits as long as its deadline allows.
 */
export class FailFast {
	/** True once a quota counts as used up. */
	isOn = false;
	/** The last temporary failure of a create call; undefined once a create call was accepted. */
	lastFailure: Failure | undefined;
	/** When the last create call was accepted, from `monotonicNow`. */
	private acceptedAt = 0;
	/** Since when every failure has named a quota, from `monotonicNow`; Infinity: the last one did not. */
	private quotaRefusedSince = Infinity;

	/** Call this when a create call was accepted. */
	onAccepted(): void {
		this.acceptedAt = monotonicNow();
		this.quotaRefusedSince = Infinity;
		this.isOn = false;
		this.lastFailure = undefined;
	}

	/** Call this when a create call has failed for a temporary reason. `isIdle` says that nothing is in flight. */
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
	 * `isIdle` says that nothing is in flight.
	 */
	onTimedOut(waitingSince: number, isIdle: boolean): void {
		const mayBeQuota =
			this.lastFailure !== undefined && !mentionsConcurrency(this.lastFailure.facts.text);
		this.isOn ||= isIdle && mayBeQuota && this.acceptedAt < waitingSince;
	}
}
