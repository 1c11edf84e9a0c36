import type { LoadListener } from '../shared/api/retry';

/** Automatic concurrency begins here … */
const AUTOMATIC_START = 10;
/** … and stops growing here. */
const AUTOMATIC_MOST = 100;

/**
 * How many items are processed at once (`options.concurrency`). Each create call that is accepted
 * adds one, up to the maximum. A refusal for rate or load halves it; after that, each success adds
 * one.
 */
export class Concurrency implements LoadListener {
	private start = AUTOMATIC_START;
	private most = AUTOMATIC_MOST;
	private accepts = 0;
	private successes = 0;
	/** When the last refusal came, in ms since 1970. */
	private refusedAt = 0;
	private onRoom = () => {};

	/** `learnt`: what this account's executions know of refusals; Infinity before the first. */
	constructor(private readonly learnt: { mostInWork: number }) {}

	/** 0: automatic; 1–500: that many from the start. */
	configure(concurrency: number): void {
		this.start = concurrency === 0 ? AUTOMATIC_START : concurrency;
		this.most = concurrency === 0 ? AUTOMATIC_MOST : concurrency;
	}

	get limit(): number {
		// Operations that create nothing, and results of an earlier try, grow it by their successes.
		const grown = this.start + Math.max(this.accepts, this.successes);
		return Math.min(this.most, grown, this.learnt.mostInWork);
	}

	/** Calls `onRoom` whenever the limit has grown. */
	watch(onRoom: () => void): void {
		this.onRoom = onRoom;
	}

	/** The service has accepted a create call. */
	accepted(): void {
		this.accepts++;
		this.onRoom();
	}

	/** An item is done. */
	succeeded(): void {
		this.successes++;
		this.learnt.mostInWork++;
	}

	/**
	 * The service has refused what began at `since` (ms since 1970). Of several calls begun before the
	 * first refusal, only that refusal counts.
	 */
	refused(since: number): void {
		if (since <= this.refusedAt) return;
		this.refusedAt = Date.now();
		this.learnt.mostInWork = Math.max(1, Math.floor(this.limit / 2));
	}
}

/**
 * Runs `work` for the indexes 0 … count - 1, in order, as many at once as `concurrency` allows.
 * `work` resolves with true on success, which lets the limit grow. Once one rejects, no more are
 * started. Resolves when all that were started have settled.
 */
export async function forEachConcurrently(
	count: number,
	concurrency: Concurrency,
	work: (index: number) => Promise<boolean>,
): Promise<void> {
	let next = 0;
	let active = 0;
	let failed = false;
	await new Promise<void>((resolve) => {
		const startMore = () => {
			while (!failed && next < count && active < concurrency.limit) {
				active++;
				void work(next++)
					.then(
						(succeeded) => {
							if (succeeded) concurrency.succeeded();
						},
						() => {
							failed = true;
						},
					)
					.then(() => {
						active--;
						startMore();
					});
			}
			if (active === 0) resolve();
		};
		concurrency.watch(startMore);
		startMore();
	});
}
