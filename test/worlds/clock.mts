import { AsyncLocalStorage } from 'node:async_hooks';
import { randomFrom } from '../../simulator/media/random.mts';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;

/** One process of n8n. What it has begun ends with it. */
export type Process = { name: string; isDead: boolean };

/** On whose behalf something runs: undefined for the service and the world around. */
export type Who = { process: Process; attempt?: number } | undefined;

const running = new AsyncLocalStorage<Who>();

export const whoRuns = (): Who => running.getStore();

/** Whoever is dead does nothing any more. */
export const runAs = <T,>(who: Who, act: () => T): T | undefined =>
	who?.process.isDead ? undefined : running.run(who, act);

const { Date: RealDate, setImmediate } = globalThis;
const EPOCH = RealDate.UTC(2026, 5, 1);
/** A world has some thousands; what turns in a circle has no end. */
const MOST_STEPS = 300_000;

const timers = new Set<{ at: number; act: () => void; who: Who }>();

/**
 * Time that passes only when nothing else is left to do: `Date`, `performance`, timers and `Math.random`
 * of this process from now on. Sockets and files are not meant to be used then.
 */
export const clock = {
	/** In ms since the world began. */
	now: 0,

	/** A world begins. */
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

	/** Calls `act` after so many ms on behalf of whoever runs; returns what `clearTimeout` takes. */
	after(ms: number, act: () => void) {
		const at = clock.now + ms;
		const timer = { at, act, who: whoRuns(), unref: () => timer as object, ref: () => timer };
		timers.add(timer);
		return timer;
	},

	/** How many timers live processes still have. */
	left: () => [...timers].filter(({ who }) => who && !who.process.isDead).length,

	/** Lets time pass until `isOver` holds, for so many ms at most. */
	async pass(ms: number, isOver = () => false): Promise<void> {
		const end = clock.now + ms;
		for (let steps = 0; steps < MOST_STEPS; steps++) {
			// Everything that can go on without time has gone on.
			await new Promise<void>((next) => setImmediate(next));
			if (isOver()) return;
			const [first, ...others] = timers;
			const next = others.reduce((least, one) => (one.at < least!.at ? one : least), first);
			if (!next || next.at > end) return void (clock.now = end);
			timers.delete(next);
			clock.now = next.at;
			runAs(next.who, next.act);
		}
		throw new Error('It turns in a circle');
	},
};
