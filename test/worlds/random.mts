/** Numbers that look random and are the same for the same seed. */
export class Random {
	private state: number;

	constructor(state: number) {
		this.state = state;
	}

	/** From 0 to below 1 (mulberry32). */
	next(): number {
		this.state = (this.state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	}

	/** A whole number from `least` to `most`. */
	whole(least: number, most: number): number {
		return least + Math.floor(this.next() * (most - least + 1));
	}

	chance(share: number): boolean {
		return this.next() < share;
	}

	pick<T>(choices: readonly T[]): T {
		return choices[this.whole(0, choices.length - 1)]!;
	}
}

/** A number from 0 to below 1 that only the seed and the words decide: dropping one thing moves no other. */
export function share(seed: number, ...words: unknown[]): number {
	let hash = seed ^ 0x811c9dc5;
	for (const character of words.join(' '))
		hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
	return new Random(hash).next();
}
