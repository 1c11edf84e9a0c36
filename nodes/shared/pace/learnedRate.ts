/** How far back "at present" reaches, in ms. */
const PRESENT_MS = 2000;
/** So many requests have to be accepted after a refusal before more are tried … */
const PROOF = 10;
/** … by so much with each further one. */
const GROWTH = 1.1;
/** Requests a millisecond: of one refusal alone, which may have been meant for others, … */
const LEAST_AT_FIRST = 1 / 1000;
/** … however often it is refused, … */
const LEAST = 1 / 60_000;
/** … and from where on nothing is held back any more. */
const UNLIMITED = 1 / 20;

/**
 * How often an account may be asked, as its refusals have told: at will until the first one, then half
 * as often as it was, but not less often than what it has accepted since the one before; and more
 * again as requests are accepted. No service tells its limit in advance. All times in ms since 1970.
 */
export class LearnedRate {
	/** Requests a millisecond. */
	private most = Infinity;
	/** Requests a millisecond that are sent at present: the mean, older ones counting ever less. */
	private used = 0;
	private usedAt = 0;
	private refusedAt = 0;
	/** Requests accepted since the last refusal. */
	private accepts = 0;

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
		// It has not been asked again in between: nothing new was learnt.
		if (this.refusedAt > 0 && this.accepts === 0) return;
		const isFirst = this.refusedAt === 0;
		const proven = isFirst ? LEAST_AT_FIRST : this.accepts / (now - this.refusedAt);
		const half = Math.min(this.most, this.usedNow(now)) / 2;
		this.most = Math.max(LEAST, proven, half);
		this.refusedAt = now;
		this.accepts = 0;
	}

	private usedNow(now: number): number {
		return this.used * Math.exp((this.usedAt - now) / PRESENT_MS);
	}
}
