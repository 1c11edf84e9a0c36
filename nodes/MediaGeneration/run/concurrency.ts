import { steadyNow } from '../../shared/async/deadline';
import type { Check, LoadListener } from '../../shared/api/retry';
import type { Pace } from '../../shared/pace/pace';

/** Where automatic concurrency begins, and where it stops growing. */
const AUTOMATIC_START = 10;
const AUTOMATIC_MAX = 100;
/** Some services accept everything and fail what is too much: beyond this, something has to be alive. */
const UNCHECKED_MAX = 20;

/** What is worked on: input items, or the parts that one of them consists of. */
type Unit = 'item' | 'part';

/**
 * How many items are in work at once (`options.concurrency`). Automatic: each create call that is
 * accepted adds one, up to the maximum; where nothing is created, each success does. Never more than the
 * account's pace allows, which refusals lower.
 */
export class Concurrency implements LoadListener {
	private start = AUTOMATIC_START;
	private max = AUTOMATIC_MAX;
	/** Up to here it may grow, until what was begun last is known to be alive; then to twice that. */
	private checkedMax = UNCHECKED_MAX;
	private isChecking = false;
	/** Checks what was begun last. */
	private youngest: Check | undefined;
	private accepts = 0;
	private successes = 0;
	private active = 0;
	/** What starts each that has no place yet. */
	private readonly waiting = { part: new Set<() => void>(), item: new Set<() => void>() };

	/** `stopped` ends a check that is under way. */
	constructor(
		private readonly pace: Pace,
		private readonly stopped: AbortSignal,
	) {}

	/** 0: automatic; 1–500: that many from the start. */
	configure(concurrency: number): void {
		if (concurrency === 0) return;
		this.start = this.max = this.checkedMax = concurrency;
	}

	get limit(): number {
		// Operations that create nothing, and results of an earlier attempt, grow it by their successes.
		const grown = this.start + Math.max(this.accepts, this.successes);
		return Math.min(this.max, grown, this.checkedMax, this.pace.atOnce);
	}

	recordAccepted(check: Check): void {
		this.accepts++;
		this.youngest = check;
		this.startMore();
		void this.grow();
	}

	/** Something was done from beginning to end. */
	recordSuccess(): void {
		this.successes++;
		this.checkedMax = this.max;
		this.pace.recordSuccess();
	}

	/** Resolves when there is a place, which `leave` gives back. Parts get one before items. */
	async enter(of: Unit): Promise<void> {
		await new Promise<void>((start) => {
			this.waiting[of].add(start);
			this.startMore();
		});
	}

	leave(): void {
		this.active--;
		this.startMore();
	}

	/** Lets it grow beyond what is checked, as far as what was begun last is alive. */
	private async grow(): Promise<void> {
		if (this.isChecking) return;
		this.isChecking = true;
		while (this.youngest && this.start + this.accepts >= this.checkedMax) {
			if (this.checkedMax === this.max) break;
			const check = this.youngest;
			// Only something younger is worth another check.
			this.youngest = undefined;
			const since = steadyNow();
			await check(this.stopped).then(
				() => (this.checkedMax = Math.min(this.max, this.checkedMax * 2)),
				// Whoever waits for it will note it once more.
				(error: unknown) => this.pace.noteFailed(error, since, 0),
			);
			this.startMore();
		}
		this.isChecking = false;
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

/**
 * Runs `work`, which never rejects, for the indexes 0 … count - 1, in order, as many at once as
 * `concurrency` allows. It resolves with true on success, which lets the limit grow. The parts of an item
 * under way count as items, in place of their own, and go before items that have not begun.
 */
export async function forEachConcurrently(
	count: number,
	concurrency: Concurrency,
	work: (index: number) => Promise<boolean>,
	of: Unit = 'item',
): Promise<void> {
	let left = count;
	const works = Array.from({ length: count }, async (_, index) => {
		await concurrency.enter(of);
		if (await work(index)) concurrency.recordSuccess();
		left--;
		// The last part leaves its place to the item.
		if (of === 'item' || left > 0) concurrency.leave();
	});
	if (of === 'part') concurrency.leave();
	await Promise.all(works);
}
