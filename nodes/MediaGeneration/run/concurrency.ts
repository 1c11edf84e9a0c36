import { SILENT_ABORT, sleep } from '../../shared/async/deadline';
import { ConcurrencyLimit } from '../../shared/pace/concurrencyLimit';
import type { Throttle } from '../../shared/pace/throttle';

/** Number of slots with automatic concurrency, at the start of a run and at most. */
const AUTOMATIC_START = 10;
const AUTOMATIC_MAX = 100;
/** Longest wait before the limits are checked again, in ms, if no end of the wait is known. */
const RECHECK_MS = 60_000;

/** A unit that takes one slot: an input item, or one part of a speech. */
type Unit = 'item' | 'part';

/** One account's share of the slots: how many it uses, and a start function for each unit that waits. */
type Share = { throttle: Throttle; active: number } & Record<Unit, Set<() => void>>;

/**
 * Limits how many items of a run are processed at the same time (`options.concurrency`). The limit counts the
 * items of all accounts. For each account, its throttle's concurrency limit applies as well. A free slot goes
 * to the account that uses the fewest slots; if several do, to the one that got its last slot the longest ago.
 * So an account that is throttled does not delay the items of others.
 */
export class Concurrency {
	private readonly limit: ConcurrencyLimit;
	private active = 0;
	private readonly shares = new Map<Throttle, Share>();
	private timer = new AbortController();

	/** `concurrency`: the number of slots, 1 to 500; 0 chooses it automatically. */
	constructor(concurrency: number) {
		const start = concurrency || AUTOMATIC_START;
		this.limit = new ConcurrencyLimit(start, concurrency || AUTOMATIC_MAX);
	}

	/**
	 * Call it when an item has come so far that it would have failed already if too many were in flight.
	 * `forEach` calls it for each success. Automatic concurrency then allows more.
	 */
	onAlive(): void {
		this.limit.onAlive();
		this.startMore();
	}

	/**
	 * Runs `work` for each of `all`, as many at the same time as the limits allow. The units of one account start
	 * in the given order. `work` resolves with whether it succeeded, and must not reject. Resolves when all
	 * have ended. Never rejects.
	 *
	 * An item that consists of parts calls this with 'part' from its own `work`, with all parts of one account.
	 * Its slot is free while its parts take slots of their own. Waiting parts start before waiting items.
	 */
	async forEach<One extends { api: { throttle: Throttle } }>(
		all: One[],
		work: (one: One, index: number) => Promise<boolean>,
		unit: Unit = 'item',
	): Promise<void> {
		let remaining = all.length;
		const started = all.map(async (one, index) => {
			const share = this.shareOf(one.api.throttle);
			await new Promise<void>((start) => share[unit].add(start));
			if (await work(one, index)) this.onAlive();
			remaining--;
			// The last part keeps its slot for the item, which goes on.
			if (unit === 'item' || remaining > 0) this.release(share);
		});
		if (unit === 'part') this.release(this.shareOf(all[0]!.api.throttle));
		this.startMore();
		await Promise.all(started);
	}

	private shareOf(throttle: Throttle): Share {
		const share = this.shares.get(throttle) ?? {
			...{ throttle, active: 0, part: new Set(), item: new Set() },
		};
		this.shares.set(throttle, share);
		return share;
	}

	private release(share: Share): void {
		this.active--;
		share.active--;
		this.startMore();
	}

	/** Starts as many waiting units as the limits allow, and sets a timer for the next one. */
	private startMore(): void {
		this.timer.abort(SILENT_ABORT);
		for (let next = this.next(); next; next = this.next()) {
			const { share, starts, delayMs } = next;
			if (delayMs > 0) {
				const { signal } = (this.timer = new AbortController());
				return void sleep(delayMs, signal).then(() => signal.aborted || this.startMore());
			}
			const [start] = starts;
			starts.delete(start!);
			share.active++;
			this.active++;
			this.shares.delete(share.throttle);
			this.shares.set(share.throttle, share);
			start!();
		}
	}

	/** The account and the kind of unit that may start first, and in how many ms; undefined if none waits. */
	private next() {
		const shares = [...this.shares.values()].sort((one, other) => one.active - other.active);
		return (['part', 'item'] as const)
			.flatMap((unit) => shares.map((share) => ({ share, starts: share[unit] })))
			.filter(({ starts }) => starts.size > 0)
			.map(({ share, starts }) => ({ share, starts, delayMs: this.delayMsOf(share) }))
			.sort((one, other) => one.delayMs - other.delayMs)[0];
	}

	/**
	 * Milliseconds until an account may start one more unit. An account that uses no slot may always start one. Its
	 * unit then waits in the account's request queue, where the unit's deadline counts.
	 */
	private delayMsOf({ throttle, active }: Share): number {
		const accountMs = active > 0 ? throttle.limit.delayMs(active) : 0;
		return Math.min(RECHECK_MS, Math.max(0, accountMs, this.limit.delayMs(this.active)));
	}
}
