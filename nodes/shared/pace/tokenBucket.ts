import { monotonicNow } from '../async/deadline';
import { Queue } from '../async/queue';

/**
 * One token is added to the bucket each time this many ms have passed. A trigger follows tasks for hours, so its reads
 * must stay rare.
 */
const REFILL_MS = 2000;
/**
 * The maximum number of tokens in the bucket. After a restart, hundreds of tasks may have ended unnoticed, and all of
 * them are read in one burst.
 */
const BURST = 200;
/** The least time between two reads, in ms. */
const SPACING_MS = 50;

/**
 * Limits the rate of the background reads of an account's triggers. It is a token bucket from which each read takes one
 * token, implemented as GCRA (ITU-T I.371).
 */
export class TokenBucket extends Queue {
	constructor() {
		/** When the last read was admitted, from `monotonicNow`. */
		let lastAt = 0;
		/** When the bucket will be full again, from `monotonicNow`; GCRA's theoretical arrival time. */
		let fullAt = 0;
		super(
			() => Math.max(lastAt + SPACING_MS, fullAt - (BURST - 1) * REFILL_MS) - monotonicNow(),
			() => {
				lastAt = monotonicNow();
				fullAt = Math.max(fullAt, lastAt) + REFILL_MS;
			},
		);
	}
}
