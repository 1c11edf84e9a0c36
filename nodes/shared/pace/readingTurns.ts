import { steadyNow } from '../async/deadline';
import { Queue } from '../async/queue';

/** Lookups of many tasks are spread over the interval, at most this far apart, in ms. */
const MAX_SPREAD_MS = 250;
/** The share of the interval they are spread over: what is spread already must not be delayed again. */
const SPREAD_OVER = 0.7;
/** A trigger follows others' tasks for hours: the interval of all its readings together, in ms. */
const WATCH_EVERY_MS = 2000;
/** After a lost socket or a restart hundreds may have ended unheard: so many in a row, … */
const WATCH_SPARE_MS = 199 * WATCH_EVERY_MS;
/** … this far apart, in ms. */
const WATCH_APART_MS = 50;

/** The readings of an account that nothing announced: each waits for its turn, so that they never pile up. */
export class ReadingTurns {
	private lastLookup = 0;
	/** How many tasks lookups are spread for, and since when, so that ended tasks leave no gaps. */
	private spread = { tasks: 1, since: 0 };
	private readonly lookups = new Queue(
		(everyMs) => this.lastLookup + this.spreadMs(everyMs) - steadyNow(),
		() => (this.lastLookup = steadyNow()),
	);
	private lastWatch = 0;
	/** When as many as may come in a row may do so again, by `steadyNow`: a token bucket. */
	private fullAt = 0;
	private readonly watching = new Queue(
		() => Math.max(this.lastWatch + WATCH_APART_MS, this.fullAt - WATCH_SPARE_MS) - steadyNow(),
		() => {
			this.lastWatch = steadyNow();
			this.fullAt = Math.max(this.fullAt, this.lastWatch) + WATCH_EVERY_MS;
		},
	);

	/** `tasks`: how many tasks items wait for at the moment. */
	constructor(private readonly tasks: () => number) {}

	/**
	 * For one of the tasks that items wait for, each of which is looked up every `everyMs`: true when the
	 * turn has come, false if `signal` aborted first.
	 */
	async lookup(everyMs: number, signal: AbortSignal): Promise<boolean> {
		return await this.lookups.enter(signal, everyMs);
	}

	/** The same for what a trigger follows. */
	async watch(signal: AbortSignal): Promise<boolean> {
		return await this.watching.enter(signal);
	}

	private spreadMs(everyMs: number): number {
		const now = steadyNow();
		const tasks = Math.max(1, this.tasks());
		const isOld = now - this.spread.since > everyMs;
		if (isOld || tasks >= this.spread.tasks) this.spread = { tasks, since: now };
		return Math.min(MAX_SPREAD_MS, (everyMs * SPREAD_OVER) / this.spread.tasks);
	}
}
