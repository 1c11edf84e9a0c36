import { accountOf } from '../../shared/account';
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
/**
 * The maximum number of slots of a run, if the concurrency is chosen automatically. With up to 100 more once calls have
 * succeeded, 200 texts of 3 s took 7.5 s in place of 8.4 s. But where 40 texts at once work and the rest is charged and
 * fails late, 13 % of 1,000 were lost in place of 8 %; where 120 images work, 12 % in place of none.
 */
const MAX_SLOTS = 100;
/** Slow start (RFC 5681): each call that has proved healthy is worth this many slots. */
const SLOTS_PER_HEALTHY_CALL = 5;
/**
 * While so many create calls of an account wait for their turn, no further unit starts. A unit's Timeout runs from its
 * start: when 100 units waited for a service that allows 6 requests a minute, 15 % of them timed out.
 */
const MAX_WAITING_CREATES = 2;
/** How often the limits are checked again, in ms. */
const RECHECK_MS = 1000;

/** What takes one slot while it runs: an input item, or one part of a speech. */
interface Unit {
	/** Shared by all units of a run that belong to the same account. */
	api: { throttle: Throttle; credential: { accountKey: string } };
}

/** Processes a unit. Resolves with true if it has succeeded, and must not reject. */
type RunUnit<One> = (unit: One, index: number) => Promise<boolean>;

/** The slots of an account, which all runs of this process share. */
class AccountSlots {
	usedCount = 0;
	/** How many calls have proved healthy, at most a third of `usedCount` each time that a slot becomes free. */
	healthyCount = 0;
}
const accountSlotsOf = ({ api }: Unit) => accountOf(api.credential).get(AccountSlots);

/**
 * Limits how many items of a run, or parts of long speeches, are processed at the same time: by `options.concurrency`,
 * and by the limit of each account. A unit that has to wait for its account does not hold up the units of other
 * accounts.
 */
export class ConcurrencyLimiter {
	/**
	 * The units of all runs of this process wait here. The run that uses the fewest slots of the account goes first. When
	 * each run had a queue of its own, it took back each slot that it had freed, so the first of twenty equal runs was
	 * done in a quarter of the time of the last.
	 */
	private static readonly queue = new Queue<{ limiter: ConcurrencyLimiter; unit: Unit }>(
		({ limiter, unit }) => limiter.delayMsOf(unit),
		({ limiter, unit }) => limiter.useSlots(unit, 1),
		({ limiter, unit }) => limiter.slotsOf(unit),
	);
	private readonly startedAt = monotonicNow();
	private usedSlots = 0;
	private readonly slotsByApi = new Map<Unit['api'], number>();

	/** `concurrency`: the number of slots. 0 chooses the number automatically. */
	constructor(private readonly concurrency: number) {}

	/** Call this when an item or a part is healthy: an overload would most likely have failed it by now. */
	onHealthy(unit: Unit): void {
		accountSlotsOf(unit).healthyCount++;
		ConcurrencyLimiter.queue.notify();
	}

	/** Calls `run` for each of `units`, as many at the same time as the limits allow. */
	async forEach<One extends Unit>(units: One[], run: RunUnit<One>): Promise<void> {
		const runInSlot = async (unit: One, index: number) => {
			// No signal takes units from the queue when the run stops: `run` ends at once then.
			await ConcurrencyLimiter.queue.enter({ limiter: this, unit }, undefined, unit.api);
			if (await run(unit, index)) this.onHealthy(unit);
			this.useSlots(unit, -1);
		};
		await Promise.all(units.map(runInSlot));
	}

	/** How many slots of a unit's account this run uses. */
	private slotsOf({ api }: Unit): number {
		return this.slotsByApi.get(api) ?? 0;
	}

	/** Adds `count` to the slots of a unit's account that this run uses. It is negative if slots become free. */
	useSlots(unit: Unit, count: number): void {
		const account = accountSlotsOf(unit);
		this.usedSlots += count;
		this.slotsByApi.set(unit.api, this.slotsOf(unit) + count);
		account.usedCount += count;
		// What is healthy beside few others is no proof for many more: after hours of single calls, slow start begins anew.
		if (count < 0) account.healthyCount = Math.min(account.healthyCount, account.usedCount / 3);
		ConcurrencyLimiter.queue.notify();
	}

	/**
	 * Returns how long it takes until a unit may start, or until the limits are checked again, in ms. Up to the
	 * concurrency, a run may always use one slot of each account, whatever the other limits are.
	 */
	private delayMsOf(unit: Unit): number {
		const { usedCount, healthyCount } = accountSlotsOf(unit);
		const minSlots = monotonicNow() < this.startedAt + 1000 ? FIRST_SECOND_SLOTS : MIN_SLOTS;
		const healthySlots = Math.max(minSlots, SLOTS_PER_HEALTHY_CALL * healthyCount);
		if (this.usedSlots >= (this.concurrency || MAX_SLOTS)) return RECHECK_MS;
		if (this.slotsOf(unit) === 0) return 0;
		if (unit.api.throttle.waitingCreates >= MAX_WAITING_CREATES) return RECHECK_MS;
		if (!this.concurrency && usedCount >= healthySlots) return RECHECK_MS;
		return unit.api.throttle.limit.delayMs(usedCount);
	}
}
