import { sleep, steadyNow } from '../../shared/async/deadline';

/** How long tasks are collected, to tell a few from a flood, in ms. */
const GATHER_MS = 500;
/** For this long after activation, a task first heard of at its end may have ended before, in ms. */
const EARLY_MS = 60_000;
/** Such a task is held back, in ms … */
const HOLD_MS = 3000;
/** … and dropped if its message is repeated for this long, or if there are more of them. */
const REPEATED_MS = 1000;
const MAX_EARLY = 100;
/** How many may be read at once. */
const MAX_AT_ONCE = 200;
/** How many that were under way are read without being collected first. */
const MAX_UNCOLLECTED = 10;
/** After how long one more may be read, in ms. */
const ONE_MORE_MS = 15_000;
/** The pause between two readings in a flood, in ms: fewer than 60 a minute. */
const FLOOD_PAUSE_MS = 1600;
/** How often to look for room while there is none, in ms. */
const NO_ROOM_MS = 1000;
const MAX_WAITING = 10_000;

const FLOODED =
	'the service repeats messages of many tasks that have ended, so tasks first heard of at 100 % within a minute of activation are ignored. To get one of them, enter it in Task IDs';

interface Arrival {
	/** When its end was first and last reported, in ms since 1970. */
	first: number;
	last: number;
	wasUnderWay: boolean;
}

/**
 * Tasks that have ended when they are first heard of, or end soon after. Each has to be read, but a
 * service that repeats the messages of thousands of old tasks must not cause as many requests: a few are
 * released at once, a flood one by one, and more together while its tasks turn out to be new. Right after
 * activation, those never heard of under way are dropped if their messages are repeated or come as a flood.
 */
export class Arrivals {
	private readonly waiting = new Map<string, Arrival>();
	private early = 0;
	private isWorking = false;
	private left = MAX_AT_ONCE;
	/** How many of a flood are read together. */
	private together = 1;
	private countedAt = steadyNow();

	constructor(
		private readonly signal: AbortSignal,
		private readonly watch: {
			/** When the trigger was activated, in ms since 1970. */
			since(): number;
			hasRoom(): boolean;
			letGo(taskId: string, wasUnderWay: boolean): void;
			warn(text: string): void;
		},
	) {}

	/** True when few come, so that one that was under way can be read at once. */
	isCalm(): boolean {
		if (this.waiting.size > 0 || this.countLeft() <= MAX_AT_ONCE - MAX_UNCOLLECTED) return false;
		this.left--;
		return true;
	}

	/** Whether a task turned out to be new: then its message was no repetition. */
	found(isNew: boolean): void {
		if (isNew) this.left++;
		this.together = isNew ? Math.min(MAX_AT_ONCE, this.together + 1) : 1;
	}

	/** Releases the task when its turn comes. */
	add(taskId: string, wasUnderWay: boolean): void {
		if (this.waiting.has(taskId)) return;
		const now = steadyNow();
		if (!wasUnderWay && this.isEarly(now) && ++this.early > MAX_EARLY) {
			if (this.early === MAX_EARLY + 1) this.watch.warn(FLOODED);
			for (const [other, arrival] of this.waiting) {
				if (!arrival.wasUnderWay) this.waiting.delete(other);
			}
			return;
		}
		if (this.waiting.size >= MAX_WAITING) {
			return this.watch.warn('too many tasks at once: some are ignored');
		}
		this.waiting.set(taskId, { first: now, last: now, wasUnderWay });
		if (!this.isWorking) void this.work();
	}

	/** The service says again that the task has ended. */
	again(taskId: string): void {
		const arrival = this.waiting.get(taskId);
		if (arrival) arrival.last = steadyNow();
	}

	private async work(): Promise<void> {
		this.isWorking = true;
		while (this.waiting.size > 0) {
			await sleep(GATHER_MS, this.signal);
			while (!this.signal.aborted && !this.watch.hasRoom()) await sleep(NO_ROOM_MS, this.signal);
			if (this.signal.aborted) return;
			const ripe = this.ripe();
			const isFlood = ripe.length > this.countLeft();
			// The newest first: one that ends amid a flood is likelier to be of interest.
			if (!isFlood) this.together = 1;
			const next = isFlood ? ripe.slice(-this.together) : ripe;
			this.left = Math.max(0, this.left - next.length);
			for (const taskId of next) {
				const { wasUnderWay } = this.waiting.get(taskId)!;
				this.waiting.delete(taskId);
				this.watch.letGo(taskId, wasUnderWay);
			}
			if (isFlood) await sleep(FLOOD_PAUSE_MS, this.signal);
		}
		this.isWorking = false;
	}

	/** The tasks that have waited long enough; drops those that turn out to have ended before. */
	private ripe(): string[] {
		const now = steadyNow();
		const ripe: string[] = [];
		for (const [taskId, { first, last, wasUnderWay }] of this.waiting) {
			const isEarly = !wasUnderWay && this.isEarly(first);
			if (isEarly && last - first >= REPEATED_MS) this.waiting.delete(taskId);
			else if (!isEarly || now - first >= HOLD_MS) ripe.push(taskId);
		}
		return ripe;
	}

	private isEarly(at: number): boolean {
		return at < this.watch.since() + EARLY_MS;
	}

	private countLeft(): number {
		const now = steadyNow();
		this.left = Math.min(MAX_AT_ONCE, this.left + (now - this.countedAt) / ONE_MORE_MS);
		this.countedAt = now;
		return this.left;
	}
}
