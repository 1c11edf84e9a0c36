import { monotonicNow } from '../../shared/async/deadline';
import { Queue } from '../../shared/async/queue';
import type { Throttle } from '../../shared/pace/throttle';

/**
 * How many slots an account has in the first second of a run, if the concurrency is chosen automatically. All runs of
 * this process share them. When each had its own, twenty runs of an account lost half of 600 rows of a service that
 * charges what it can't do above 15 at once.
 */
const FIRST_SECOND_SLOTS = 10;
/**
 * How many slots the account has at least after that. With 22, three processes lost 51 of 1,000 rows of a service that
 * charges what it can't do above 15 at once, before any row had failed. With fewer, quick images take longer.
 */
const MIN_SLOTS = 16;
/** The maximum number of slots of a run, if the concurrency is chosen automatically. */
const MAX_SLOTS = 100;
/** Slow start (RFC 5681): each call that has proved healthy is worth this many slots. */
const SLOTS_PER_HEALTHY_CALL = 5;
/** How often the limits are checked again, in ms. */
const RECHECK_MS = 1000;

/** What takes one slot while it runs: an input item, or one part of a speech. */
interface Unit {
	api: { throttle: Throttle };
}

/** Processes a unit. Resolves with true if it has succeeded, and must not reject. */
type RunUnit<One> = (unit: One, index: number) => Promise<boolean>;

/**
 * Limits how many items of a run, or parts of long speeches, are processed at the same time: by `options.concurrency`,
 * and by the limit of each account. A unit that has to wait for its account does not hold up the units of other
 * accounts.
 */
export class ConcurrencyLimiter {
	private readonly startedAt = monotonicNow();
	private usedSlots = 0;
	private readonly slotsByAccount = new Map<Throttle, number>();
	/** The account that uses the fewest slots goes first. */
	private readonly queue = new Queue<Throttle>(
		(throttle) => this.delayMsOf(throttle),
		(throttle) => this.useSlots(throttle, 1),
		(throttle) => throttle.usedSlots,
	);

	/** `concurrency`: the number of slots. 0 chooses the number automatically. */
	constructor(private readonly concurrency: number) {}

	/** Call this when an item or a part is healthy: an overload would most likely have failed it by now. */
	onHealthy(throttle: Throttle): void {
		throttle.healthyCount++;
		this.queue.notify();
	}

	/** Calls `run` for each of `units`, as many at the same time as the limits allow. */
	async forEach<One extends Unit>(units: One[], run: RunUnit<One>): Promise<void> {
		const runInSlot = async (unit: One, index: number) => {
			const { throttle } = unit.api;
			// No signal takes units from the queue when the run stops: `run` ends at once then.
			await this.queue.enter(undefined, throttle);
			if (await run(unit, index)) this.onHealthy(throttle);
			this.useSlots(throttle, -1);
		};
		await Promise.all(units.map(runInSlot));
	}

	/** Does the same for the parts of an item. Call it from the item's `run`, because they get its slot. */
	async forEachPart<One extends Unit>(parts: One[], run: RunUnit<One>): Promise<void> {
		const { throttle } = parts[0]!.api;
		this.useSlots(throttle, -1);
		await this.forEach(parts, run);
		this.useSlots(throttle, 1);
	}

	/** Adds `count` to the slots that an account uses; `count` is negative if slots become free. */
	private useSlots(throttle: Throttle, count: number): void {
		this.usedSlots += count;
		throttle.usedSlots += count;
		this.slotsByAccount.set(throttle, (this.slotsByAccount.get(throttle) ?? 0) + count);
		// What is healthy beside few others is no proof for many more: after hours of single calls, slow start begins anew.
		throttle.healthyCount = Math.min(throttle.healthyCount, throttle.usedSlots / 3);
		this.queue.notify();
	}

	/**
	 * Returns how long it takes until an account may start one more unit, or until the limits are checked again, in ms.
	 * Up to the concurrency, a run may always use one slot of each account, whatever the other limits are.
	 */
	private delayMsOf(throttle: Throttle): number {
		const minSlots = monotonicNow() < this.startedAt + 1000 ? FIRST_SECOND_SLOTS : MIN_SLOTS;
		const healthySlots = Math.max(minSlots, SLOTS_PER_HEALTHY_CALL * throttle.healthyCount);
		if (this.usedSlots >= (this.concurrency || MAX_SLOTS)) return RECHECK_MS;
		if (!this.slotsByAccount.get(throttle)) return 0;
		if (!this.concurrency && throttle.usedSlots >= healthySlots) return RECHECK_MS;
		// The slots of other runs don't count here: a run that holds all places would leave each other run a single slot.
		// Their calls take turns in the throttle.
		return throttle.limit.delayMs(this.slotsByAccount.get(throttle)!);
	}
}
