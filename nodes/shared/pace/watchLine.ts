import { monotonicNow } from '../async/deadline';
import { Queue } from '../async/queue';

/** A trigger follows others' tasks for hours: the interval of all its readings together, in ms. */
const EVERY_MS = 2000;
/** After a lost socket or a restart hundreds may have ended unheard: so many in a row, … */
const SPARE_MS = 199 * EVERY_MS;
/** … this far apart, in ms. */
const APART_MS = 50;

/** The readings of an account's triggers that nothing announced: a token bucket. */
export class WatchLine extends Queue {
	constructor() {
		let last = 0;
		/** When as many as may come in a row may do so again, by `steadyNow`. */
		let fullAt = 0;
		super(
			() => Math.max(last + APART_MS, fullAt - SPARE_MS) - monotonicNow(),
			() => {
				last = monotonicNow();
				fullAt = Math.max(fullAt, last) + EVERY_MS;
			},
		);
	}
}
