import { steadyNow } from '../async/deadline';
import { Queue, TokenBucket } from '../async/tokenBucket';

/** Lookups of many tasks are spread over the interval, at most this far apart, in ms. */
const MAX_SPREAD_MS = 250;
/** The share of the interval they are spread over: what is spread already must not be delayed again. */
const SPREAD_OVER = 0.7;

/** A trigger follows others' tasks for hours: the interval of all its lookups together, in ms. */
const WATCH_EVERY_MS = 2000;
/** While the socket lives, lookups are just a safeguard: the interval for each task, in ms. */
const LIVE_WATCH_EVERY_MS = 40_000;
/** How many lookups may come at once: without a socket, and beside a live one. */
const POLLS_AT_ONCE = 10;
const LIVE_POLLS_AT_ONCE = 3;
/** After a lost socket or a restart: hundreds of tasks may have ended unheard, so this many in a row, … */
const CATCH_UPS_IN_A_ROW = 400;
/** … this far apart, in ms. */
const CATCH_UPS_APART_MS = 50;
/** Tasks of old messages, which have most probably ended. */
const PAST_AT_ONCE = 60;
/** Looking once more for tasks that are announced, and that the service does not know (yet), in ms. */
const UNKNOWN_EVERY_MS = 3000;
const UNKNOWN_AT_ONCE = 10;

/**
 * A trigger's reading: without a socket, beside a live one, after a lost one or a restart, of a task that
 * only old messages name, of one that the service did not know.
 */
export type TurnKind = 'poll' | 'livePoll' | 'catchUp' | 'past' | 'unknown';

/** The readings of an account that nothing announced: each waits for its turn, so that they never pile up. */
export class ReadingTurns {
	private lastLookup = 0;
	/** How many tasks lookups are spread for, and since when, so that ended tasks leave no gaps. */
	private spread = { tasks: 0, since: 0 };
	private readonly lookups = new Queue(
		(everyMs) => this.lastLookup + this.spreadMs(everyMs) - steadyNow(),
		() => (this.lastLookup = steadyNow()),
	);
	private readonly watching: Record<TurnKind, TokenBucket> = {
		poll: new TokenBucket(POLLS_AT_ONCE, () => WATCH_EVERY_MS),
		livePoll: new TokenBucket(LIVE_POLLS_AT_ONCE, () =>
			Math.max(WATCH_EVERY_MS, LIVE_WATCH_EVERY_MS / Math.max(1, this.underWay.watched)),
		),
		catchUp: new TokenBucket(CATCH_UPS_IN_A_ROW, () => WATCH_EVERY_MS, CATCH_UPS_APART_MS),
		past: new TokenBucket(PAST_AT_ONCE, () => WATCH_EVERY_MS),
		unknown: new TokenBucket(UNKNOWN_AT_ONCE, () => UNKNOWN_EVERY_MS),
	};

	/** `underWay`: how many tasks items wait for, and how many triggers watch, at any moment. */
	constructor(private readonly underWay: Readonly<Record<'task' | 'watched', number>>) {}

	/**
	 * For one of the tasks that items wait for, each of which is looked up every `everyMs`: true when the
	 * turn has come, false if `signal` aborted first.
	 */
	async lookup(everyMs: number, signal: AbortSignal): Promise<boolean> {
		return await this.lookups.enter(signal, everyMs);
	}

	/** The same for what a trigger follows. */
	async watch(kind: TurnKind, signal: AbortSignal): Promise<boolean> {
		return await this.watching[kind].take(signal);
	}

	/** A task was there after all: looking for it takes no turn from others. */
	foundUnknown(): void {
		this.watching.unknown.giveBack();
	}

	/** Milliseconds between two lookups of tasks that are each read every `everyMs`. */
	private spreadMs(everyMs: number): number {
		const now = steadyNow();
		const { task } = this.underWay;
		if (task >= this.spread.tasks || now - this.spread.since > everyMs) {
			this.spread = { tasks: task, since: now };
		}
		return Math.min(MAX_SPREAD_MS, (everyMs * SPREAD_OVER) / this.spread.tasks);
	}
}
