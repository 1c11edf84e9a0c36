/** Automatic concurrency begins here … */
const AUTOMATIC_START = 10;
/** … and grows up to here. */
const AUTOMATIC_MOST = 50;

/**
 * How many items are in work at once (`options.concurrency`): one more with each success up to the
 * most, halved whenever the service refuses for rate or load.
 */
export class Limiter {
	private most = AUTOMATIC_MOST;
	private current = AUTOMATIC_START;

	/** 0 = automatic; 1–100: that many from the start. */
	configure(concurrency: number): void {
		this.most = concurrency === 0 ? AUTOMATIC_MOST : concurrency;
		this.current = concurrency === 0 ? AUTOMATIC_START : concurrency;
	}

	get limit(): number {
		return this.current;
	}

	succeeded(): void {
		this.current = Math.min(this.most, this.current + 1);
	}

	refused(): void {
		this.current = Math.max(1, Math.floor(this.current / 2));
	}
}

/**
 * Runs `work` for the indexes 0 … count - 1, starting them in order, as many at once as the limiter
 * allows. `work` tells whether it succeeded, which lets the limit grow; when one rejects no further one
 * is started. Resolves when all started ones have settled.
 */
export async function forEachLimited(
	count: number,
	limiter: Limiter,
	work: (index: number) => Promise<boolean>,
): Promise<void> {
	let next = 0;
	let active = 0;
	let failed = false;
	await new Promise<void>((resolve) => {
		const startMore = () => {
			while (!failed && next < count && active < limiter.limit) {
				active++;
				void work(next++)
					.then(
						(succeeded) => {
							if (succeeded) limiter.succeeded();
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
		startMore();
	});
}
