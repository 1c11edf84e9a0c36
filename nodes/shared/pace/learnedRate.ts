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
/** After so many accepted requests the rate has grown: it was too high again, which is what a limit does. */
const GROWN = 12;
/** More accepted requests in a row than these say nothing of what is usual: a limit may let pass a burst. */
const BURST = 20;
/**
 * A lower rate is of no help if it never grew between so many refusals in a row, though as many requests
 * were accepted for each of them: the service refuses by chance, not by how often it is asked. The more
 * refusals, the fewer requests prove it.
 */
const NO_HELP = [
	{ refusals: 6, accepts: 0.8 },
	{ refusals: 4, accepts: 4 },
];
/** What an earlier refusal counts beside a later one. */
const FADING = 0.85;

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
	/** Refusals in a row between which the rate did not grow. */
	private slowed = 0;
	/** How many requests were accepted and refused lately. */
	private lately = { accepts: 0, refusals: 0 };
	private isOfNoHelp = false;

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
		this.lately.accepts = this.lately.accepts * FADING + Math.min(this.accepts, BURST);
		this.lately.refusals = this.lately.refusals * FADING + 1;
		// Nothing was accepted in between, so nothing new was learnt.
		if (this.refusedAt > 0 && this.accepts === 0) return;
		const hasGrown = this.accepts > GROWN;
		const wasOfNoHelp = this.isOfNoHelp;
		if (!hasGrown && !wasOfNoHelp) this.slowed++;
		const usual = this.lately.accepts / this.lately.refusals;
		const proof = NO_HELP.find(({ refusals }) => this.slowed >= refusals);
		this.isOfNoHelp = proof !== undefined && usual >= proof.accepts;
		if (!this.isOfNoHelp) {
			if (hasGrown || wasOfNoHelp) this.forgetProof();
			this.halve(now);
		} else if (!hasGrown) this.most *= 2;
		this.refusedAt = now;
		this.accepts = 0;
	}

	private forgetProof(): void {
		this.slowed = 0;
		this.lately = { accepts: 0, refusals: 0 };
	}

	private halve(now: number): void {
		const isFirst = this.refusedAt === 0;
		const proven = isFirst ? MIN_RATE_AT_FIRST : this.accepts / (now - this.refusedAt);
		const half = Math.min(this.most, this.usedNow(now)) / 2;
		this.most = Math.max(MIN_RATE, proven, half);
	}

	private usedNow(now: number): number {
		return this.used * Math.exp((this.usedAt - now) / PRESENT_MS);
	}
}
