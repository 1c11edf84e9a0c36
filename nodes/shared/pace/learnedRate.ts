/** The time over which the present rate is measured, in ms. */
const PRESENT_MS = 2000;
/** How many requests must be accepted after a refusal before the rate grows … */
const PROOF = 10;
/** … by this factor with each further one. */
const GROWTH = 1.1;
/**
 * The lowest rates, in requests per millisecond: after a single refusal, which may have been meant
 * for others, …
 */
const MIN_RATE_AT_FIRST = 1 / 1000;
/** … after any number of refusals, … */
const MIN_RATE = 1 / 60_000;
/** … and the rate from which nothing is held back any more. */
const UNLIMITED = 1 / 20;
/**
 * Halving the rate so many times was in vain if, as a rule, as many requests as these still pass between
 * two refusals: the service refuses by chance, so the rate is doubled again.
 */
const IN_VAIN = 5;
const USUAL_ACCEPTS = 4;
/** More than so many in a row say nothing of what is usual: a limit may let pass a burst. */
const BURST = 20;

/**
 * How often an account may be asked, learnt from its refusals: at will until the first one, then half
 * as often as before, but no less often than requests were accepted since the last one; and faster
 * again as they are accepted, or if a lower rate does not help. No service announces its limit. All
 * times in ms since 1970.
 */
export class LearnedRate {
	/** Requests per millisecond. */
	private most = Infinity;
	/** Requests sent per millisecond at present: a mean in which older ones count less and less. */
	private used = 0;
	private usedAt = 0;
	private refusedAt = 0;
	/** Requests accepted since the last refusal. */
	private accepts = 0;
	/** The same between any two refusals: a mean in which the last time counts half. */
	private usualAccepts = 0;
	private halvings = 0;

	/** Milliseconds between two requests. */
	get gapMs(): number {
		return 1 / this.most;
	}

	sent(now: number): void {
		this.used = this.usedNow(now) + 1 / PRESENT_MS;
		this.usedAt = now;
	}

	accepted(): void {
		this.accepts++;
		if (this.accepts > PROOF) this.most *= GROWTH;
		if (this.most > UNLIMITED) this.most = Infinity;
	}

	refused(now: number): void {
		this.usualAccepts = (this.usualAccepts + Math.min(this.accepts, BURST)) / 2;
		// Nothing was accepted in between, so nothing new was learnt.
		if (this.refusedAt > 0 && this.accepts === 0) return;
		const isInVain = this.halvings >= IN_VAIN && this.usualAccepts >= USUAL_ACCEPTS;
		if (isInVain) this.most *= 2;
		else this.halve(now);
		this.refusedAt = now;
		this.accepts = 0;
	}

	private halve(now: number): void {
		const isFirst = this.refusedAt === 0;
		const proven = isFirst ? MIN_RATE_AT_FIRST : this.accepts / (now - this.refusedAt);
		const half = Math.min(this.most, this.usedNow(now)) / 2;
		this.most = Math.max(MIN_RATE, proven, half);
		this.halvings++;
	}

	private usedNow(now: number): number {
		return this.used * Math.exp((this.usedAt - now) / PRESENT_MS);
	}
}
