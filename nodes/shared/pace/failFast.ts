import { monotonicNow } from '../async/deadline';
import { Failure } from '../failure';
import { saysAtOnce } from '../parsing/errorTable';

/** For how long nothing may be accepted until a quota counts as used up, in ms: a quota of requests refills. */
const PATIENCE_MS = 600_000;
/** … or by how much longer than the service asks to wait. */
const BEYOND_RETRY_AFTER_MS = 60_000;

/**
 * Fail-fast (Shore, IEEE Software 2004): once a quota is used up, which does not pass within a run, each call is
 * tried once, until one is accepted. The service's words say so; in other words, one call has waited its whole time
 * while none of the account was accepted. Where all places are taken, each call waits as long as it may.
 */
export class FailFast {
	isOn = false;
	/** How the last create call failed, if none was accepted since. */
	last: Failure | undefined;
	private acceptedAt = 0;
	/** Since when each create call is refused for a quota. */
	private since = Infinity;

	onAccepted(): void {
		this.acceptedAt = monotonicNow();
		this.since = Infinity;
		this.isOn = false;
		this.last = undefined;
	}

	/** A create call has failed in a way that may pass; with something in flight, its end may be waited for. */
	onFailure({ kind, facts }: Failure, isIdle: boolean): void {
		const { mayBeCharged, ...more } = facts;
		this.last = new Failure(kind, more);
		this.since = facts.means === 'quota' ? Math.min(this.since, monotonicNow()) : Infinity;
		const patienceMs = Math.max(PATIENCE_MS, (facts.retryAfterMs ?? 0) + BEYOND_RETRY_AFTER_MS);
		this.isOn ||= isIdle && monotonicNow() - this.since >= patienceMs;
	}

	/** The time of a create call that waited since `since` is up. */
	onTimedOut(since: number, isIdle: boolean): void {
		const isQuota = this.last !== undefined && !saysAtOnce(this.last.facts.text);
		this.isOn ||= isIdle && isQuota && this.acceptedAt < since;
	}
}
