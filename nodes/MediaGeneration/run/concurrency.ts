import { SILENT_ABORT, sleep } from '../../shared/async/deadline';
import { ConcurrencyLimit } from '../../shared/pace/concurrencyLimit';
import type { Throttle } from '../../shared/pace/throttle';

/** How many slots a run has at its start, if the concurrency is chosen automatically. */
const AUTOMATIC_START = 10;
/** The most slots, if the concurrency is chosen automatically. */
const AUTOMATIC_MAX = 100;
/**
 * The longest wait before the limits are checked again, in ms. Other executions may change an account's limit, and this
 * run is not notified of that.
 */
const RECHECK_MS = 60_000;

/** What takes a slot: an input item, or one part of a speech. `throttle` is that of its account. */
interface Unit {
	api: { throttle: Throttle };
}
type UnitKind = 'item' | 'part';

/** One account's share of the slots. */
interface Share {
	throttle: Throttle;
	/** How many slots the account uses. */
	active: number;
	/** A function for each unit that waits. It starts the unit. */
	waiting: Record<UnitKind, Set<() => void>>;
}

/**
 * Limits how many items of a run, or parts of long speeches, are processed at the same time (`options.concurrency`).
 * The limit covers all accounts together. The concurrency limit of each account's throttle applies as well (see
 * `delayMsOf`).
 *
 * A free slot goes to a unit that may start at once. If several units may, parts go before items. Among the parts, or
 * else the items, those of the account that uses the fewest slots go first. Of several such accounts, the one that got
 * its last slot the longest ago goes first. So a throttled account does not delay the items of other accounts.
 */
export class Concurrency {
	private readonly limit: ConcurrencyLimit;
	/** How many slots are in use. */
	private active = 0;
	/** The account that got its last slot the longest ago comes first. */
	private readonly shares = new Map<Throttle, Share>();
	/** Its abort cancels the sleep after which `startMore` would start the next unit. */
	private timer = new AbortController();

	/** `concurrency`: the number of slots. 0 chooses the number automatically. */
	constructor(concurrency: number) {
		const start = concurrency || AUTOMATIC_START;
		this.limit = new ConcurrencyLimit(start, concurrency || AUTOMATIC_MAX);
	}

	/**
	 * Call this when an item or a part has proved healthy: if too many were in flight, it would most likely have failed
	 * by now. `forEach` calls it for each success as well. If the concurrency is chosen automatically, it rises with
	 * the number of these calls.
	 */
	onHealthy(): void {
		this.limit.onHealthy();
		this.startMore();
	}

	/**
	 * Calls `run` for each of `units`, as many at the same time as the limits allow. The units of one account start in
	 * the given order. `run` resolves with whether it succeeded, and must not reject. Resolves when all have ended.
	 * Never rejects.
	 *
	 * An item that consists of parts calls this with 'part' from its own `run`, with all its parts, while it has a
	 * slot. It gives up that slot, and its parts take slots of their own. The last part to end leaves its slot to the
	 * item.
	 */
	async forEach<One extends Unit>(
		units: One[],
		run: (unit: One, index: number) => Promise<boolean>,
		kind: UnitKind = 'item',
	): Promise<void> {
		let remaining = units.length;
		const started = units.map(async (unit, index) => {
			const share = this.shareOf(unit.api.throttle);
			await new Promise<void>((start) => share.waiting[kind].add(start));
			if (await run(unit, index)) this.onHealthy();
			remaining--;
			// The last part to end leaves its slot to the item, which goes on.
			if (kind === 'item' || remaining > 0) this.release(share);
		});
		// While the parts run, the item itself has no slot.
		if (kind === 'part') this.release(this.shareOf(units[0]!.api.throttle));
		this.startMore();
		await Promise.all(started);
	}

	private shareOf(throttle: Throttle): Share {
		const share = this.shares.get(throttle) ?? {
			...{ throttle, active: 0, waiting: { part: new Set(), item: new Set() } },
		};
		this.shares.set(throttle, share);
		return share;
	}

	private release(share: Share): void {
		this.active--;
		share.active--;
		this.startMore();
	}

	/** Starts as many waiting units as the limits allow. Does so again when the next one may start. */
	private startMore(): void {
		this.timer.abort(SILENT_ABORT);
		for (let next = this.nextToStart(); next; next = this.nextToStart()) {
			const { share, waiting, delayMs } = next;
			if (delayMs > 0) {
				const { signal } = (this.timer = new AbortController());
				return void sleep(delayMs, signal).then(() => signal.aborted || this.startMore());
			}
			const [start] = waiting;
			waiting.delete(start!);
			share.active++;
			this.active++;
			// Moves the account to the end.
			this.shares.delete(share.throttle);
			this.shares.set(share.throttle, share);
			start!();
		}
	}

	/**
	 * Returns the share that may start a unit next, the set of waiting units to take that unit from, and the delay
	 * until then in ms. Returns undefined if no unit waits.
	 */
	private nextToStart() {
		const shares = [...this.shares.values()].sort((one, other) => one.active - other.active);
		return (['part', 'item'] as const)
			.flatMap((kind) => shares.map((share) => ({ share, waiting: share.waiting[kind] })))
			.filter(({ waiting }) => waiting.size > 0)
			.map(({ share, waiting }) => ({ share, waiting, delayMs: this.delayMsOf(share) }))
			.sort((one, other) => one.delayMs - other.delayMs)[0];
	}

	/**
	 * Milliseconds until an account may start one more unit, at most RECHECK_MS. The account's own limit does not delay
	 * a unit if the account uses no slot of this run. Such a unit gets its slot, and then waits in the account's
	 * request queue, where the unit's deadline counts.
	 */
	private delayMsOf({ throttle, active }: Share): number {
		const accountMs = active > 0 ? throttle.limit.delayMs(active) : 0;
		return Math.min(RECHECK_MS, Math.max(0, accountMs, this.limit.delayMs(this.active)));
	}
}
