import { sleep } from '../../shared/async/deadline';

/** How long tasks are collected, to tell a few from a flood, in ms. */
const GATHER_MS = 500;
/** How long after activation these may be tasks that ended before, in ms. */
const EARLY_MS = 60_000;
/**
 * Until then each one waits this long, and counts as one of those if its message is repeated for this
 * long, in ms.
 */
const HOLD_MS = 3000;
const REPEATED_MS = 1000;
/** … as do all of them if there are more than this. */
const MOST_EARLY = 100;
/** How many may be read at once. */
const MOST_AT_ONCE = 200;
/** How long until one more may be read, in ms. */
const ONE_MORE_MS = 15_000;
/** A flood is read one by one, with this pause between, in ms: fewer than 60 a minute. */
const FLOOD_PAUSE_MS = 1600;
/** How often to look for room while there is none, in ms. */
const NO_ROOM_MS = 1000;
/** How many tasks may wait: reading that many takes hours. */
const MOST_WAITING = 10_000;

/**
 * Tasks that are first heard of when they end. Each one has to be read, and a service that repeats
 * the messages of thousands of old tasks must not cause as many requests: a few are released at once,
 * a flood one by one. Right after activation, what is repeated or comes as a flood ended before, and
 * is dropped.
 */
export class Arrivals {
	/** When the first and the last message of each came, in ms since 1970. */
	private readonly waiting = new Map<string, { first: number; last: number }>();
	private early = 0;
	private isWorking = false;
	private left = MOST_AT_ONCE;
	private countedAt = Date.now();

	constructor(
		private readonly signal: AbortSignal,
		private readonly parts: {
			/** When the trigger was activated, in ms since 1970. */
			since(): number;
			hasRoom(): boolean;
			letGo(taskId: string): void;
			/** Called once, when all tasks heard of right after activation are dropped. */
			onFlood(): void;
			/** Called when a task is dropped because too many wait. */
			onFull(): void;
		},
	) {}

	/** Releases the task when its turn comes. */
	add(taskId: string): void {
		if (this.waiting.has(taskId)) return;
		const now = Date.now();
		if (this.isEarly(now) && ++this.early > MOST_EARLY) {
			if (this.early === MOST_EARLY + 1) this.parts.onFlood();
			return this.waiting.clear();
		}
		if (this.waiting.size >= MOST_WAITING) return this.parts.onFull();
		this.waiting.set(taskId, { first: now, last: now });
		if (!this.isWorking) void this.work();
	}

	/** The service says again that the task has ended. */
	again(taskId: string): void {
		const sighting = this.waiting.get(taskId);
		if (sighting) sighting.last = Date.now();
	}

	private async work(): Promise<void> {
		this.isWorking = true;
		while (this.waiting.size > 0) {
			await sleep(GATHER_MS, this.signal);
			while (!this.signal.aborted && !this.parts.hasRoom()) await sleep(NO_ROOM_MS, this.signal);
			if (this.signal.aborted) return;
			const ripe = this.ripe();
			const isFlood = ripe.length > this.countLeft();
			// The newest first: one that ends amid a flood is likelier to be of interest.
			const next = isFlood ? ripe.slice(-1) : ripe;
			if (!isFlood) this.left -= next.length;
			for (const taskId of next) {
				this.waiting.delete(taskId);
				this.parts.letGo(taskId);
			}
			if (isFlood) await sleep(FLOOD_PAUSE_MS, this.signal);
		}
		this.isWorking = false;
	}

	/** The tasks that have waited long enough; drops those that turn out to have ended before. */
	private ripe(): string[] {
		const now = Date.now();
		const ripe: string[] = [];
		for (const [taskId, { first, last }] of this.waiting) {
			const isEarly = this.isEarly(first);
			if (isEarly && last - first >= REPEATED_MS) this.waiting.delete(taskId);
			else if (!isEarly || now - first >= HOLD_MS) ripe.push(taskId);
		}
		return ripe;
	}

	private isEarly(at: number): boolean {
		return at < this.parts.since() + EARLY_MS;
	}

	private countLeft(): number {
		const now = Date.now();
		const more = (now - this.countedAt) / ONE_MORE_MS;
		this.left = Math.min(MOST_AT_ONCE, this.left + more);
		this.countedAt = now;
		return this.left;
	}
}
