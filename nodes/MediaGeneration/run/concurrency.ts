import { SILENT_ABORT, sleep } from '../../shared/async/deadline';
import { ConcurrencyLimit } from '../../shared/pace/concurrencyLimit';
import type { Throttle } from '../../shared/pace/throttle';

/** How many slots a run starts with, if the concurrency is chosen automatically. */
const AUTOMATIC_START_SLOTS = 10;
/** The maximum number of slots, if the concurrency is chosen automatically. */
const AUTOMATIC_MAX_SLOTS = 100;
/** The longest wait before the limits are checked again, in ms. Other executions may change an account's limit. */
const RECHECK_MS = 60_000;

/** What takes one slot while it runs: an input item, or one part of a speech. */
interface Unit {
	api: { throttle: Throttle };
}
type UnitKind = 'item' | 'part';

/** The slots that one account uses, and its units that wait for a slot. */
interface Share {
	throttle: Throttle;
	/** How many slots the account uses. */
	usedSlots: number;
	/** For each unit that waits, a function that starts it. */
	waiting: Record<UnitKind, Set<() => void>>;
}

/**
 * Limits how many items of a run, or parts of long speeches, are processed at the same time: by `options.concurrency`,
 * and by the limit of each account. A unit that has to wait for its account does not hold up the units of other
 * accounts.
 */
export class ConcurrencyLimiter {
	/** The limit of the whole run; each account has a limit of its own in its throttle. */
	private readonly limit: ConcurrencyLimit;
	/** How many slots are in use. */
	private usedSlots = 0;
	/** The shares of all accounts. The account whose last slot was given longest ago comes first. */
	private readonly shares = new Map<Throttle, Share>();
	/** Is aborted to cancel the timer that calls `startMore` when the next unit may start. */
	private timerAbort = new AbortController();

	/** `concurrency`: the number of slots. 0 chooses the number automatically. */
	constructor(concurrency: number) {
		const initialLimit = concurrency || AUTOMATIC_START_SLOTS;
		this.limit = new ConcurrencyLimit(initialLimit, concurrency || AUTOMATIC_MAX_SLOTS);
	}

	/**
	 * Call this when an item or a part has proved healthy: if too many were in flight, it would most likely have failed
	 * by now.
	 */
	onHealthy(): void {
		this.limit.onHealthy();
		this.startMore();
	}

	/**
	 * Calls `run` for each of `units`, as many at the same time as the limits allow. `run` resolves with true if it has
	 * succeeded, and must not reject.
	 *
	 * An item that consists of parts calls this from its own `run`, while it has a slot, with all its parts as `units`
	 * and with 'part' as `kind`.
	 */
	async forEach<One extends Unit>(
		units: One[],
		run: (unit: One, index: number) => Promise<boolean>,
		kind: UnitKind = 'item',
	): Promise<void> {
		let remaining = units.length;
		const unitPromises = units.map(async (unit, index) => {
			const share = this.shareOf(unit.api.throttle);
			await new Promise<void>((start) => share.waiting[kind].add(start));
			if (await run(unit, index)) this.onHealthy();
			remaining--;
			// The last part that ends leaves its slot to the item, which still has to join the parts.
			if (kind === 'item' || remaining > 0) this.releaseSlot(share);
		});
		// While the parts run, the item itself needs no slot.
		if (kind === 'part') this.releaseSlot(this.shareOf(units[0]!.api.throttle));
		this.startMore();
		await Promise.all(unitPromises);
	}

	/** Returns the share of an account; creates it on first use. */
	private shareOf(throttle: Throttle): Share {
		const share = this.shares.get(throttle) ?? {
			...{ throttle, usedSlots: 0, waiting: { part: new Set(), item: new Set() } },
		};
		this.shares.set(throttle, share);
		return share;
	}

	/** Frees a slot of an account, and starts the units that may start now. */
	private releaseSlot(share: Share): void {
		this.usedSlots--;
		share.usedSlots--;
		this.startMore();
	}

	/** Starts as many waiting units as the limits allow. If others must wait, sets the timer. */
	private startMore(): void {
		this.timerAbort.abort(SILENT_ABORT);
		for (let next = this.nextToStart(); next; next = this.nextToStart()) {
			const { share, waiting, delayMs } = next;
			if (delayMs > 0) {
				const { signal } = (this.timerAbort = new AbortController());
				return void sleep(delayMs, signal).then(() => signal.aborted || this.startMore());
			}
			const [start] = waiting;
			waiting.delete(start!);
			share.usedSlots++;
			this.usedSlots++;
			// Moves the account to the end of the map.
			this.shares.delete(share.throttle);
			this.shares.set(share.throttle, share);
			start!();
		}
	}

	/**
	 * Returns the share that may start a unit next, its waiting units of one kind, and the delay until one of them may
	 * start, in ms. Returns undefined if no unit waits.
	 */
	private nextToStart() {
		const shares = [...this.shares.values()].sort((a, b) => a.usedSlots - b.usedSlots);
		return (['part', 'item'] as const)
			.flatMap((kind) => shares.map((share) => ({ share, waiting: share.waiting[kind] })))
			.filter(({ waiting }) => waiting.size > 0)
			.map(({ share, waiting }) => ({ share, waiting, delayMs: this.delayMsOf(share) }))
			.sort((a, b) => a.delayMs - b.delayMs)[0];
	}

	/**
	 * Returns how long it takes until an account may start one more unit, or until the limits are checked again, in ms.
	 * An account that uses no slot may always start one, whatever its own limit is.
	 */
	private delayMsOf({ throttle, usedSlots }: Share): number {
		const accountDelayMs = usedSlots > 0 ? throttle.limit.delayMs(usedSlots) : 0;
		return Math.min(RECHECK_MS, Math.max(0, accountDelayMs, this.limit.delayMs(this.usedSlots)));
	}
}
