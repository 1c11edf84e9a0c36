import { monotonicNow } from './deadline';

/**
 * For how long a request that waits for memory keeps its place without asking again, in ms. The throttle asks ten times
 * as often.
 */
const PLACE_MS = 1000;

/** The memory that one request needs. */
export interface MemoryNeed {
	budget: MemoryBudget;
	bytes: number;
}

/**
 * A budget of memory for requests that have other reasons to wait, too, and so ask again and again whether it is free.
 * A need above the limit waits until nothing is taken.
 */
export class MemoryBudget {
	/** Those that have taken memory. A running sum of fractions would not end at 0. */
	private readonly takers = new Set<MemoryNeed>();
	/**
	 * When each need that waits last asked, in order of arrival, so that small ones cannot overtake a large one forever.
	 * One that no longer asks, because it has to wait for something else, does not hold up the others.
	 */
	private readonly askedAt = new Map<MemoryNeed, number>();

	constructor(private readonly limitBytes: number) {}

	/** Returns true if the memory can be taken now. If not, ask again soon: that keeps the place of the need. */
	isFree(need: MemoryNeed): boolean {
		const now = monotonicNow();
		for (const [other, askedAt] of this.askedAt) {
			if (other === need || now - askedAt < PLACE_MS) break;
			this.askedAt.delete(other);
		}
		const [first = need] = this.askedAt.keys();
		const neededBytes = [...this.takers].reduce((sum, { bytes }) => sum + bytes, need.bytes);
		const fits = this.takers.size === 0 || neededBytes <= this.limitBytes;
		if (first === need && fits) return true;
		this.askedAt.set(need, now);
		return false;
	}

	/** Takes the memory, until `giveBack`. Check `isFree` right before. */
	take(need: MemoryNeed): void {
		this.takers.add(need);
		this.askedAt.delete(need);
	}

	giveBack(need: MemoryNeed): void {
		this.takers.delete(need);
	}
}
