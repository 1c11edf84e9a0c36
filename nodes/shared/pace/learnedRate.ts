/** The time over which the present rate is measured, in ms. */
const PRESENT_MS = 2000;
/** How many requests must be accepted after a refusal before the rate grows … */
const PROOF = 10;
/** … by this factor with each further one. */
const GROWTH = 1.1;
/** A refusal after more accepted requests than these came because the rate had grown: that is a limit. */
const GROWN = 12;
/** The lowest rate after a first refusal, which may have been meant for others, in requests per ms. */
const MIN_RATE_AT_FIRST = 1 / 1000;
/** The rate from which nothing is held back any more, in requests per ms. */
const UNLIMITED = 1 / 20;
/**
 * A lower rate is of no help if it never grew between so many refusals in a row, though so many requests
 * were accepted before the last one: the service refuses by chance, not by how often it is asked. The more
 * refusals, the fewer requests prove it.
 */
const NO_HELP = [
	{ refusals: 6, accepts: 2 },
	{ refusals: 4, accepts: 4 },
];

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
		// Nothing was accepted in between, so nothing new was learnt.
		if (this.refusedAt > 0 && this.accepts === 0) return;
		this.slowed = this.accepts > GROWN ? 0 : this.slowed + 1;
		const isOfNoHelp = NO_HELP.some(
			({ refusals, accepts }) => this.slowed >= refusals && this.accepts >= accepts,
		);
		if (isOfNoHelp) this.most *= 2;
		else this.halve(now);
		this.refusedAt = now;
		this.accepts = 0;
	}

	private halve(now: number): void {
		const isFirst = this.refusedAt === 0;
		const proven = isFirst ? MIN_RATE_AT_FIRST : this.accepts / (now - this.refusedAt);
		this.most = Math.max(proven, Math.min(this.most, this.usedNow(now)) / 2);
	}

	private usedNow(now: number): number {
		return this.used * Math.exp((this.usedAt - now) / PRESENT_MS);
	}
}
