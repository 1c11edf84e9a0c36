import { AsyncLocalStorage } from 'node:async_hooks';
import { randomFrom } from '../../simulator/media/random.mts';

/** One process of n8n. What it has begun ends with it. */
export interface Process {
	name: string;
	isDead: boolean;
}

/** On whose behalf something runs: undefined for the service and the world around. */
export type Who = { process: Process; attempt?: number } | undefined;

const running = new AsyncLocalStorage<Who>();

export const whoRuns = (): Who => running.getStore();

/** Whoever is dead does nothing any more. */
export const runAs = <T,>(who: Who, act: () => T): T | undefined =>
	who?.process.isDead ? undefined : running.run(who, act);

const { Date: RealDate, setTimeout, clearTimeout, setImmediate } = globalThis;
const { random: realRandom } = Math;
const EPOCH = RealDate.UTC(2026, 5, 1);
/** A world has some thousands; what turns in a circle has no end. */
const MOST_STEPS = 300_000;

interface Timer {
	at: number;
	act: () => void;
	who: Who;
}

/**
 * Time that passes only when nothing else is left to do: `Date`, `performance`, timers and `Math.random`
 * of this process, until `restore`. Sockets and files are not meant to be used meanwhile.
 */
export class Clock {
	/** In ms since the world began. */
	now = 0;
	private readonly timers = new Set<Timer>();
	private steps = 0;

	constructor(seed: number) {
		const time = () => EPOCH + this.now;
		Math.random = randomFrom(seed);
		const set = (act: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) =>
			this.after(ms > 1 && ms < 2 ** 31 ? ms : 1, () => act(...args));
		Object.assign(globalThis, {
			Date: class extends RealDate {
				static override now = time;
				constructor(...args: []) {
					super(...((args.length > 0 ? args : [time()]) as []));
				}
			},
			setTimeout: set,
			setImmediate: (act: () => void, ...args: unknown[]) =>
				this.after(0, () => act(...(args as []))),
			clearTimeout: (timer: Timer) => void this.timers.delete(timer),
		});
		const fixed = (value: unknown) => ({ value, configurable: true, writable: true });
		Object.defineProperties(performance, {
			now: fixed(() => this.now),
			timeOrigin: fixed(EPOCH),
		});
	}

	/** Gives the process its time and its chance back. */
	restore(): void {
		Object.assign(globalThis, { Date: RealDate, setTimeout, clearTimeout, setImmediate });
		Math.random = realRandom;
		for (const name of ['now', 'timeOrigin']) Reflect.deleteProperty(performance, name);
	}

	/** Calls `act` after so many ms on behalf of whoever runs; returns what `clearTimeout` takes. */
	after(ms: number, act: () => void): Timer {
		const timer = { at: this.now + ms, act, who: whoRuns(), unref: () => timer, ref: () => timer };
		this.timers.add(timer);
		return timer;
	}

	/** How many timers live processes still have. */
	left(): number {
		return [...this.timers].filter(({ who }) => who && !who.process.isDead).length;
	}

	/** Lets time pass until `isOver` holds, for so many ms at most. */
	async pass(ms: number, isOver = () => false): Promise<void> {
		const end = this.now + ms;
		for (;;) {
			// Everything that can go on without time has gone on.
			await new Promise<void>((next) => setImmediate(next));
			if (isOver()) return;
			const [first, ...others] = this.timers;
			const next = others.reduce((least, one) => (one.at < least!.at ? one : least), first);
			if (!next || next.at > end) break;
			if (this.steps++ === MOST_STEPS) throw new Error('It turns in a circle');
			this.timers.delete(next);
			this.now = next.at;
			runAs(next.who, next.act);
		}
		this.now = end;
	}
}
