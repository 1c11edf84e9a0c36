import { sleep, steadyNow } from '../../shared/async/deadline';
import type { LoadListener } from '../../shared/api/retry';

/** Automatic concurrency begins here … */
const AUTOMATIC_START = 10;
/** … and stops growing here. */
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
	/** All that has more to start, the parts of items under way first, then the items. */
	private readonly waiting: Array<() => void> = [];

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

	/** The service has accepted a create call. */
	accepted(): void {
		this.accepts++;
		this.startMore();
	}

	/** An item is done. */
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

	/**
	 * Calls `startMore` whenever there may be room, until the returned function is called. Meanwhile parts
	 * have the place of their item, which then takes it again without waiting for one.
	 */
	wait(startMore: () => void, of: Unit): () => void {
		if (of === 'part') this.active--;
		this.waiting.splice(of === 'part' ? -1 : this.waiting.length, 0, startMore);
		startMore();
		return () => {
			if (of === 'part') this.active++;
			this.waiting.splice(this.waiting.indexOf(startMore), 1);
		};
	}

	/** A place for one more, to be given back; false when there is none. */
	takePlace(): boolean {
		if (this.active >= this.limit) return false;
		this.active++;
		return true;
	}

	giveBack(): void {
		this.active--;
		this.startMore();
	}

	private startMore(): void {
		for (const startMore of [...this.waiting]) startMore();
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
	let next = 0;
	let active = 0;
	await new Promise<void>((resolve) => {
		const workOn = async (index: number) => {
			if (await work(index)) concurrency.succeeded();
			active--;
			endIfOver();
			concurrency.giveBack();
		};
		const startMore = () => {
			while (next < count && concurrency.takePlace()) {
				active++;
				void workOn(next++);
			}
		};
		const endIfOver = () => {
			if (active > 0 || next < count) return;
			leave();
			resolve();
		};
		const leave = concurrency.wait(startMore, of);
		endIfOver();
	});
}
