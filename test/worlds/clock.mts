import { AsyncLocalStorage } from 'node:async_hooks';
import { Random } from './random.mts';

/** One process of n8n. What it has begun ends with it. */
export interface Process {
	name: string;
	isDead: boolean;
}

/** On whose behalf something runs; nothing for the service and the world around. */
export const running = new AsyncLocalStorage<{ process: Process; attempt?: number } | undefined>();

interface Timer {
	at: number;
	order: number;
	act: () => void;
	owner: ReturnType<typeof running.getStore>;
}

const real = { setImmediate, setTimeout, clearTimeout, Date, random: Math.random };
const EPOCH = real.Date.UTC(2026, 5, 1);

/**
 * Time that passes only when nothing else is left to do: `Date`, `performance`, timers and `Math.random`
 * of this process, until `restore`. Sockets and files are not meant to be used meanwhile.
 */
export class Clock {
	/** In ms since the world began. */
	now = 0;
	private readonly timers = new Map<object, Timer>();
	private orders = 0;
	private immediates = 0;

	constructor(seed: number) {
		const random = new Random(seed);
		const time = () => EPOCH + this.now;
		class FakeDate extends real.Date {
			constructor(...args: unknown[]) {
				super(...((args.length === 0 ? [time()] : args) as [number]));
			}
			static override now = time;
		}
		Math.random = () => random.next();
		const set = (act: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
			this.after(ms, () => act(...args));
		const clear = (timer: object) => void this.timers.delete(timer);
		Object.assign(globalThis, {
			Date: FakeDate,
			setTimeout: set,
			clearTimeout: clear,
			setImmediate: (act: (...args: unknown[]) => void, ...args: unknown[]) => {
				this.immediates++;
				return real.setImmediate(() => {
					this.immediates--;
					act(...args);
				});
			},
		});
		Object.defineProperties(performance, {
			now: { value: () => this.now, configurable: true, writable: true },
			timeOrigin: { value: EPOCH, configurable: true, writable: true },
		});
	}

	/** Gives the process its time and its chance back. */
	restore(): void {
		const { random, ...globals } = real;
		Object.assign(globalThis, globals);
		Math.random = random;
		delete (performance as { now?: unknown }).now;
		delete (performance as { timeOrigin?: unknown }).timeOrigin;
	}

	/** Calls `act` after so many ms, unless its process has died; returns what `clearTimeout` takes. */
	after(ms: number, act: () => void): object {
		const handle = { unref: () => handle, ref: () => handle, hasRef: () => true };
		const at = this.now + Math.max(1, Number.isFinite(ms) ? ms : 1);
		this.timers.set(handle, { at, order: this.orders++, act, owner: running.getStore() });
		return handle;
	}

	/** How many timers live processes still have. */
	left(): number {
		return [...this.timers.values()].filter(({ owner }) => owner && !owner.process.isDead).length;
	}

	/** Lets time pass until `isOver` holds or so many ms are over; false if it never held. */
	async pass(ms: number, isOver: () => boolean = () => false): Promise<boolean> {
		const end = this.now + ms;
		for (;;) {
			await this.settle();
			if (isOver()) return true;
			const next = this.next();
			if (!next || next[1].at > end) break;
			this.timers.delete(next[0]);
			const { at, act, owner } = next[1];
			this.now = Math.max(this.now, at);
			if (!owner?.process.isDead) running.run(owner, act);
		}
		this.now = end;
		return false;
	}

	private next(): [object, Timer] | undefined {
		let first: [object, Timer] | undefined;
		for (const entry of this.timers) {
			const [, { at, order }] = entry;
			if (!first || at < first[1].at || (at === first[1].at && order < first[1].order))
				first = entry;
		}
		return first;
	}

	/** Everything that can go on without time has gone on. */
	private async settle(): Promise<void> {
		do await new Promise((next) => real.setImmediate(next));
		while (this.immediates > 0);
	}
}
