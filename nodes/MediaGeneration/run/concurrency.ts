import { sleep, steadyNow } from '../../shared/async/deadline';
import type { LoadListener } from '../../shared/api/retry';

/** Where automatic concurrency begins, and where it stops growing. */
const AUTOMATIC_START = 10;
const AUTOMATIC_MAX = 100;
/** How many requests go out with each turn of the event loop. */
const SENT_PER_TURN = 3;

/** What is worked on: input items, or the parts that one of them consists of. */
type Unit = 'item' | 'part';

/**
 * How many items are processed at once (`options.concurrency`). Each create call that is accepted
 * adds one, up to the maximum. A refusal for rate or load halves it; after that, each success adds
 * one.
 */
export class Concurrency implements LoadListener {
	private start = AUTOMATIC_START;
	private max = AUTOMATIC_MAX;
	private accepts = 0;
	private successes = 0;
	/** When the last refusal came, in ms since 1970. */
	private refusedAt = 0;
	private active = 0;
	private spreadSoFar = 0;
	private lastTurn = Promise.resolve();
	/** What starts each that has no place yet. */
	private readonly waiting = { part: new Set<() => void>(), item: new Set<() => void>() };

	/** `learnt`: what this account's executions know of refusals; Infinity before the first. */
	constructor(private readonly learnt: { maxAtOnce: number }) {}

	/** 0: automatic; 1–500: that many from the start. */
	configure(concurrency: number): void {
		this.start = concurrency === 0 ? AUTOMATIC_START : concurrency;
		this.max = concurrency === 0 ? AUTOMATIC_MAX : concurrency;
	}

	get limit(): number {
		// Operations that create nothing, and results of an earlier attempt, grow it by their successes.
		const grown = this.start + Math.max(this.accepts, this.successes);
		return Math.min(this.max, grown, this.learnt.maxAtOnce);
	}

	accepted(): void {
		this.accepts++;
		this.startMore();
	}

	succeeded(): void {
		this.successes++;
		this.learnt.maxAtOnce++;
	}

	/**
	 * The service has refused what began at `since` (ms since 1970). Of several calls begun before the
	 * first refusal, only that refusal counts.
	 */
	refused(since: number): void {
		if (since <= this.refusedAt) return;
		this.refusedAt = steadyNow();
		this.learnt.maxAtOnce = Math.max(1, Math.floor(this.limit / 2));
	}

	/**
	 * Resolves when it is this item's turn to send its request, or `signal` aborts. Requests that go out
	 * together come back together, and the processor idles in between.
	 */
	async spread(signal: AbortSignal): Promise<void> {
		const turn = this.lastTurn;
		this.spreadSoFar++;
		if (this.spreadSoFar % SENT_PER_TURN === 0) {
			this.lastTurn = turn.then(async () => await sleep(1, signal));
		}
		await turn;
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
		if (await work(index)) concurrency.succeeded();
		left--;
		// The last part leaves its place to the item.
		if (of === 'item' || left > 0) concurrency.leave();
	});
	if (of === 'part') concurrency.leave();
	await Promise.all(works);
}
