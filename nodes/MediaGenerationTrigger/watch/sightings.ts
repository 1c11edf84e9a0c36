import { pause } from '../../shared/async/deadline';

/** How long tasks are gathered, to tell a few from a flood, in ms. */
const GATHER_MS = 500;
/** So many may be read at once. */
const MOST_AT_ONCE = 200;
/** How often one more of these comes up, in ms. */
const ONE_MORE_MS = 15_000;
/** A flood is read one by one, with this pause between, in ms: fewer than 60 a minute. */
const FLOOD_PAUSE_MS = 1600;
/** While there is no room, it is looked for again after this, in ms. */
const NO_ROOM_MS = 1000;
/** Tasks that wait at most: it takes hours to read them. */
const MOST_WAITING = 10_000;

/**
 * Tasks that are first heard of when they end. Each has to be read, and a service that repeats messages
 * of thousands that ended long ago must not cause as many requests: a few are let go at once, a flood
 * one by one.
 */
export class Sightings {
	private readonly waiting = new Set<string>();
	private isWorking = false;
	private left = MOST_AT_ONCE;
	private countedAt = Date.now();

	constructor(
		private readonly signal: AbortSignal,
		private readonly parts: {
			hasRoom(): boolean;
			letGo(taskId: string): void;
			/** Called when a task is forgotten because too many wait. */
			onFull(): void;
		},
	) {}

	/** Lets go of the task in its turn. */
	add(taskId: string): void {
		if (this.waiting.has(taskId)) return;
		if (this.waiting.size >= MOST_WAITING) return this.parts.onFull();
		this.waiting.add(taskId);
		if (!this.isWorking) void this.work();
	}

	private async work(): Promise<void> {
		this.isWorking = true;
		while (this.waiting.size > 0) {
			await pause(GATHER_MS, this.signal);
			while (!this.signal.aborted && !this.parts.hasRoom()) await pause(NO_ROOM_MS, this.signal);
			if (this.signal.aborted) return;
			const isFlood = this.waiting.size > this.countLeft();
			const next = [...this.waiting].slice(0, isFlood ? 1 : undefined);
			if (!isFlood) this.left -= next.length;
			for (const taskId of next) {
				this.waiting.delete(taskId);
				this.parts.letGo(taskId);
			}
			if (isFlood) await pause(FLOOD_PAUSE_MS, this.signal);
		}
		this.isWorking = false;
	}

	private countLeft(): number {
		const now = Date.now();
		const more = (now - this.countedAt) / ONE_MORE_MS;
		this.left = Math.min(MOST_AT_ONCE, this.left + more);
		this.countedAt = now;
		return this.left;
	}
}
