/** Numbers that look random and are the same for the same seed (mulberry32). */
export class Random {
	private state: number;

	constructor(seed: number) {
		this.state = seed >>> 0;
	}

	/** From 0 to below 1. */
	next(): number {
		this.state = (this.state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
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

	/** One of the words; those that are there several times come up more often. */
	word(words: string): string {
		return this.pick(words.split(' '));
	}

	bytes(length: number): Buffer {
		const made = Buffer.alloc(length);
		for (let at = 0; at < length; at++) made[at] = this.whole(0, 255);
		return made;
	}
}
