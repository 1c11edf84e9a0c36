import { monotonicNow } from '../async/deadline';
import { Queue } from '../async/queue';

/** A trigger follows others' tasks for hours: how often all its readings together go out, in ms. */
const REFILL_MS = 2000;
/** After a lost socket or a restart hundreds may have ended unheard: so many tokens at most, … */
const BURST = 200;
/** … taken this far apart, in ms. */
const SPACING_MS = 50;

/** The readings of an account's triggers that nothing announced: a token bucket, as GCRA (ITU-T I.371). */
export class TokenBucket extends Queue {
	constructor() {
		let last = 0;
		/** When the bucket is full again. */
		let fullAt = 0;
		super(
			() => Math.max(last + SPACING_MS, fullAt - (BURST - 1) * REFILL_MS) - monotonicNow(),
			() => {
				last = monotonicNow();
				fullAt = Math.max(fullAt, last) + REFILL_MS;
			},
		);
	}
}
