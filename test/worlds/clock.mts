import { AsyncLocalStorage } from 'node:async_hooks';
import { randomFrom } from '../../simulator/media/random.mts';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;

/** One process of n8n. If it is killed, nothing that it has begun goes on. */
export type Process = { name: string; isDead: boolean };

/** The process, and the attempt of an execution, on whose behalf code runs; undefined for the service and the tests. */
export type Who = { process: Process; attempt?: number } | undefined;

const running = new AsyncLocalStorage<Who>();

export const whoRuns = (): Who => running.getStore();

/** Calls `act` on behalf of `who`, unless its process is dead. */
export const runAs = <T,>(who: Who, act: () => T): T | undefined =>
	who?.process.isDead ? undefined : running.run(who, act);

const { Date: RealDate, setImmediate } = globalThis;
const EPOCH = RealDate.UTC(2026, 5, 1);
/** A world has some thousands of steps. One with more than this is in an endless loop. */
const MAX_STEPS = 300_000;

const timers = new Set<{ at: number; act: () => void; who: Who }>();

/**
 * Virtual time, which passes only when nothing else is left to do. From `start` on, `Date`, `performance`, timers and
 * `Math.random` of this process use it, so real sockets and files must not be used.
 */
export const clock = {
	/** The time in ms since the world began. */
	now: 0,

	/** Begins a world. */
	start(seed: number): void {
		clock.now = 0;
		timers.clear();
		const time = () => EPOCH + clock.now;
		Math.random = randomFrom(seed);
		type Act = (...args: unknown[]) => void;
		Object.assign(globalThis, {
			Date: class extends RealDate {
				static override now = time;
				constructor(...args: []) {
					super(...((args.length > 0 ? args : [time()]) as []));
				}
			},
			setTimeout: (act: Act, ms = 1, ...args: unknown[]) =>
				clock.after(ms > 1 && ms < 2 ** 31 ? ms : 1, () => act(...args)),
			setImmediate: (act: Act, ...args: unknown[]) => clock.after(0, () => act(...args)),
			clearTimeout: (timer: never) => void timers.delete(timer),
		});
		const fixed = (value: unknown) => ({ value, configurable: true });
		Object.defineProperties(performance, { now: fixed(() => clock.now), timeOrigin: fixed(EPOCH) });
	},

	/** Calls `act` after `ms`, on behalf of whoever runs now. Returns the timer, which `clearTimeout` takes. */
	after(ms: number, act: () => void) {
		const at = clock.now + ms;
		const timer = { at, act, who: whoRuns(), unref: () => timer as object, ref: () => timer };
		timers.add(timer);
		return timer;
	},

	/** Returns how many timers of live processes are running. */
	countTimers: () => [...timers].filter(({ who }) => who && !who.process.isDead).length,

	/** Lets time pass until `isOver` returns true, but at most `ms`. */
	async pass(ms: number, isOver = () => false): Promise<void> {
		const end = clock.now + ms;
		for (let steps = 0; steps < MAX_STEPS; steps++) {
			// All promises that need no time settle first.
			await new Promise<void>((next) => setImmediate(next));
			if (isOver()) return;
			const [first, ...others] = timers;
			const next = others.reduce((soonest, one) => (one.at < soonest!.at ? one : soonest), first);
			if (!next || next.at > end) return void (clock.now = end);
			timers.delete(next);
			clock.now = next.at;
			runAs(next.who, next.act);
		}
		throw new Error('The world is in an endless loop');
	},
};
