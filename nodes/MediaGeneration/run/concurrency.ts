import { SILENT_ABORT, sleep } from '../../shared/async/deadline';
import { ConcurrencyLimit } from '../../shared/pace/concurrencyLimit';
import type { Throttle } from '../../shared/pace/throttle';

/** Automatic concurrency: where it begins, and where it stops growing. */
const AUTOMATIC_START = 10;
const AUTOMATIC_MAX = 100;
/** Who cannot tell when it may start looks again after so many ms. */
const RECHECK_MS = 60_000;

/** What is worked on: input items, or the parts that one of them consists of. */
type Unit = 'item' | 'part';

/** Of one account: how many are in work, and what starts each that waits. */
type Share = { throttle: Throttle; active: number } & Record<Unit, Set<() => void>>;

/**
 * How many items are in work at once (`options.concurrency`), of all accounts; of one never more than its
 * throttle allows. The next place goes to the account with the fewest in work, of several to the one that
 * has waited longest: one that has to wait holds up no other.
 */
export class Concurrency {
	private readonly limit: ConcurrencyLimit;
	private active = 0;
	private readonly shares = new Map<Throttle, Share>();
	private timer = new AbortController();

	/** `concurrency` 0: automatic; 1–500: that many from the start. */
	constructor(concurrency: number) {
		const start = concurrency || AUTOMATIC_START;
		this.limit = new ConcurrencyLimit(start, concurrency || AUTOMATIC_MAX);
	}

	/** One is done, or beyond where it fails if too many are in flight. */
	onAlive(): void {
		this.limit.onAlive();
		this.startMore();
	}

	/**
	 * Runs `work`, which never rejects, for each of `all`, those of an account in order, as many at once as the
	 * limits allow. It resolves with true on success. The parts of an item count as items, in place of its own,
	 * and go before items that have not begun.
	 */
	async forEach<One extends { api: { throttle: Throttle } }>(
		all: One[],
		work: (one: One, index: number) => Promise<boolean>,
		of: Unit = 'item',
	): Promise<void> {
		let remaining = all.length;
		const works = all.map(async (one, index) => {
			const share = this.shareOf(one.api.throttle);
			await new Promise<void>((start) => share[of].add(start));
			if (await work(one, index)) this.onAlive();
			remaining--;
			// The last part leaves its place to the item.
			if (of === 'item' || remaining > 0) this.leave(share);
		});
		if (of === 'part') this.leave(this.shareOf(all[0]!.api.throttle));
		this.startMore();
		await Promise.all(works);
	}

	private shareOf(throttle: Throttle): Share {
		const share = this.shares.get(throttle) ?? {
			...{ throttle, active: 0, part: new Set(), item: new Set() },
		};
		this.shares.set(throttle, share);
		return share;
	}

	private leave(share: Share): void {
		this.active--;
		share.active--;
		this.startMore();
	}

	/** Starts all that the limits allow, and more as soon as they allow it. */
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

	/** Who may start first, and in how many milliseconds. */
	private next() {
		const shares = [...this.shares.values()].sort((one, other) => one.active - other.active);
		return (['part', 'item'] as const)
			.flatMap((unit) => shares.map((share) => ({ share, starts: share[unit] })))
			.filter(({ starts }) => starts.size > 0)
			.map(({ share, starts }) => ({ share, starts, delayMs: this.delayMsOf(share) }))
			.sort((one, other) => one.delayMs - other.delayMs)[0];
	}

	/** One of each account waits for its turn to be sent, which ends in time. */
	private delayMsOf({ throttle, active }: Share): number {
		const accountMs = active > 0 ? throttle.limit.delayMs(active) : 0;
		return Math.min(RECHECK_MS, Math.max(0, accountMs, this.limit.delayMs(this.active)));
	}
}
