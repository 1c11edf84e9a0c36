import type { Pace } from '../../shared/pace/pace';

/** Where automatic concurrency begins, and where it stops growing. */
const AUTOMATIC_START = 10;
const AUTOMATIC_MAX = 100;
/** Some services accept everything and fail what is too much: beyond this, something has to be alive. */
const UNCHECKED_MAX = 16;

/** What is worked on: input items, or the parts that one of them consists of. */
type Unit = 'item' | 'part';

/**
 * How many items are in work at once (`options.concurrency`). Automatic: each create call that is
 * accepted adds one, up to the maximum, as does each success. Never more than the account's pace allows,
 * which refusals lower.
 */
export class Concurrency {
	private readonly max: number;
	private grown: number;
	/** Up to here it may grow, until what was begun last is known to be alive; then to twice that. */
	private checkedMax: number;
	private active = 0;
	/** What starts each that has no place yet. */
	private readonly waiting = { part: new Set<() => void>(), item: new Set<() => void>() };

	/** `concurrency` 0: automatic; 1–500: that many from the start. */
	constructor(
		private readonly pace: Pace,
		concurrency: number,
	) {
		this.max = concurrency || AUTOMATIC_MAX;
		this.grown = concurrency || AUTOMATIC_START;
		this.checkedMax = concurrency || UNCHECKED_MAX;
	}

	private get limit(): number {
		return Math.min(this.max, this.grown, this.checkedMax, this.pace.atOnce);
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

	/** Something was done from beginning to end. */
	private recordSuccess(): void {
		this.grown++;
		this.checkedMax = this.max;
		this.pace.recordSuccess();
	}

	/**
	 * Runs `work`, which never rejects, for the indexes 0 … count - 1, in order, as many at once as the limit
	 * allows. It resolves with true on success. The parts of an item under way count as items, in place of
	 * their own, and go before items that have not begun.
	 */
	async forEach(
		count: number,
		work: (index: number) => Promise<boolean>,
		of: Unit = 'item',
	): Promise<void> {
		let left = count;
		const works = Array.from({ length: count }, async (_, index) => {
			await this.enter(of);
			if (await work(index)) this.recordSuccess();
			left--;
			// The last part leaves its place to the item.
			if (of === 'item' || left > 0) this.leave();
		});
		if (of === 'part') this.leave();
		await Promise.all(works);
	}

	private async enter(of: Unit): Promise<void> {
		await new Promise<void>((start) => {
			this.waiting[of].add(start);
			this.startMore();
		});
	}

	private leave(): void {
		this.active--;
		this.startMore();
	}

	private startMore(): void {
		for (const waiting of [this.waiting.part, this.waiting.item]) {
			for (const start of waiting) {
				if (this.active >= this.limit) return;
				this.active++;
				waiting.delete(start);
				start();
			}
		}
	}
}
