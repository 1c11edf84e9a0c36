import { randomFrom } from '../../simulator/media/random.mts';

/** Numbers that look random and are the same for the same seed. */
export class Random {
	/** From 0 to below 1. */
	readonly next: () => number;

	constructor(seed: number) {
		this.next = randomFrom(seed);
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
