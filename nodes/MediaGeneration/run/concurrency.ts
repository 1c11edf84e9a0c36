import type { Pace } from '../../shared/pace/pace';

/** Where automatic concurrency begins, and where it stops growing. */
const AUTOMATIC_START = 10;
const AUTOMATIC_MAX = 100;
/** Some services accept everything and fail what is too much: beyond this, something has to be alive. */
const UNCHECKED_MAX = 16;

/** What is worked on: input items, or the parts that one of them consists of. */
type Unit = 'item' | 'part';

/** Of one account: how many are in work, and what starts each that has no place yet. */
type Share = { pace: Pace; active: number } & Record<Unit, Set<() => void>>;

/**
 * How many items are in work at once (`options.concurrency`), of all accounts. Automatic: each create call
 * that is accepted adds one, up to the maximum, as does each success. Of an account never more than its
 * pace allows, which refusals lower. The next place goes to the account with the fewest in work, of
 * several to the one that has waited longest: one that has to wait holds up no other.
 */
export class Concurrency {
	private readonly max: number;
	private grown: number;
	/** Up to here it may grow, until what was begun last is known to be alive; then to twice that. */
	private checkedMax: number;
	private active = 0;
	private readonly shares = new Map<Pace, Share>();

	/** `concurrency` 0: automatic; 1–500: that many from the start. */
	constructor(concurrency: number) {
		this.max = concurrency || AUTOMATIC_MAX;
		this.grown = concurrency || AUTOMATIC_START;
		this.checkedMax = concurrency || UNCHECKED_MAX;
	}

	/** The service has accepted a create call. Returns true if it grows on only once that is known to be alive. */
	recordAccepted(): boolean {
		this.grown++;
		this.startMore();
		return this.grown === this.checkedMax && this.checkedMax < this.max;
	}

	/** What was begun last is alive. */
	recordAlive(): void {
		this.checkedMax = Math.min(this.max, this.checkedMax * 2);
		this.startMore();
	}

	/**
	 * Runs `work`, which never rejects, for each of `all`, those of an account in order, as many at once as the
	 * limits allow. It resolves with true on success. The parts of an item under way count as items, in place
	 * of their own, and go before items that have not begun.
	 */
	async forEach<One extends { api: { pace: Pace } }>(
		all: One[],
		work: (one: One, index: number) => Promise<boolean>,
		of: Unit = 'item',
	): Promise<void> {
		let left = all.length;
		const works = all.map(async (one, index) => {
			const share = this.shareOf(one.api.pace);
			await new Promise<void>((start) => share[of].add(start));
			if (await work(one, index)) {
				this.grown++;
				this.checkedMax = this.max;
				share.pace.recordSuccess();
			}
			left--;
			// The last part leaves its place to the item.
			if (of === 'item' || left > 0) this.leave(share);
		});
		if (of === 'part') this.leave(this.shareOf(all[0]!.api.pace));
		this.startMore();
		await Promise.all(works);
	}

	private shareOf(pace: Pace): Share {
		const share = this.shares.get(pace) ?? { pace, active: 0, part: new Set(), item: new Set() };
		this.shares.set(pace, share);
		return share;
	}

	private leave(share: Share): void {
		this.active--;
		share.active--;
		this.startMore();
	}

	private startMore(): void {
		for (const unit of ['part', 'item'] as const) {
			while (this.active < Math.min(this.max, this.grown, this.checkedMax)) {
				const [next] = [...this.shares.values()]
					.filter((share) => share[unit].size > 0 && share.active < share.pace.atOnce)
					.sort((one, other) => one.active - other.active);
				if (!next) break;
				const [start] = next[unit];
				next[unit].delete(start!);
				next.active++;
				this.active++;
				this.shares.delete(next.pace);
				this.shares.set(next.pace, next);
				start!();
			}
		}
	}
}
