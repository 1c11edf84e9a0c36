import { sleep as n8nSleep } from 'n8n-workflow';
import { Failure } from '../failure';

/** The time in ms since 1970, by a clock that never jumps. Do not save it, or compare it with the service's. */
export const monotonicNow = (): number => performance.timeOrigin + performance.now();

/** Resolves after `ms`, or when `signal` aborts. (n8n-workflow's `sleep` ignores it before n8n 2.36.) */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
	if (signal?.aborted) return;
	await new Promise<void>((resolve) => {
		const wake = () => {
			signal?.removeEventListener('abort', wake);
			resolve();
		};
		signal?.addEventListener('abort', wake);
		// Node.js prints a warning for a negative time.
		n8nSleep(Math.max(0, ms), signal).then(wake, wake);
	});
}

/** Returns the pause before retry `attempt` (from 0), in ms: a doubling back-off with jitter, at most `maxMs`. */
export function backoffMs(attempt: number, maxMs = 4000): number {
	const baseMs = Math.min(maxMs, 500 * 2 ** attempt);
	return baseMs / 2 + Math.random() * (baseMs / 2);
}

/** Resolves when `signal` aborts, and never if it does not. */
export async function whenAborted(signal: AbortSignal): Promise<void> {
	if (signal.aborted) return;
	await new Promise<void>((resolve) => {
		signal.addEventListener('abort', () => resolve(), { once: true });
	});
}

/** A controller whose signal has the type of the signal that it is linked to. */
type LinkedController<Signal extends AbortSignal> = AbortController & { readonly signal: Signal };

/**
 * Returns a controller whose signal also aborts as soon as one of `signals` does, with a Failure as its reason. Abort
 * the controller when the work has ended, because until then each of `signals` keeps a listener.
 */
export function linkedController<Signal extends AbortSignal>(
	...signals: Signal[]
): LinkedController<Signal> {
	const controller = new AbortController();
	const onAbort = () => controller.abort(abortReason(signals.find((signal) => signal.aborted)!));
	for (const signal of signals) signal.addEventListener('abort', onAbort);
	controller.signal.addEventListener('abort', () => {
		for (const signal of signals) signal.removeEventListener('abort', onAbort);
	});
	if (signals.some((signal) => signal.aborted)) onAbort();
	return controller as LinkedController<Signal>;
}

/**
 * Waits until the time that `idleAt` returns, by `monotonicNow`, then calls `onIdle` and resolves. `idleAt` is called
 * again and again, because activity moves that time forward. If `signal` aborts first, resolves without calling
 * `onIdle`.
 */
export async function watchIdle(
	idleAt: () => number,
	signal: AbortSignal,
	onIdle: () => void,
): Promise<void> {
	while (!signal.aborted) {
		const delayMs = idleAt() - monotonicNow();
		if (delayMs <= 0) return onIdle();
		await sleep(Math.min(delayMs, 10_000), signal);
	}
}

/** For aborts whose reason nobody reads. Without it, each abort would create a stack trace, which is slow. */
export const SILENT_ABORT = new Failure('canceled');

/** A limit on the time of some work, from `startDeadline`. */
export interface Deadline {
	/** Aborts when the time is up, when a given signal does, and on `stop`. The reason is a Failure. */
	signal: AbortSignal;
	/** Releases the timer and the listeners. Call it when the work that the deadline limits has ended. */
	stop(): void;
}

/** When the time of each deadline is up, by `monotonicNow`. The key is the deadline's signal. */
const expiryTimes = new WeakMap<AbortSignal, number>();

const expiryTimeOf = (signal: AbortSignal) => expiryTimes.get(signal) ?? Infinity;

/** Returns the ms until the deadline with this signal; Infinity if it belongs to no deadline. */
export const remainingMs = (signal: AbortSignal): number =>
	Math.max(0, expiryTimeOf(signal) - monotonicNow());

/** Starts a limit of `ms`, at most 24 days (the longest timer). Its signal also aborts when one of `signals` does. */
export function startDeadline(ms: number, ...signals: AbortSignal[]): Deadline {
	const controller = linkedController(...signals);
	const { signal } = controller;
	expiryTimes.set(signal, Math.min(monotonicNow() + ms, ...signals.map(expiryTimeOf)));
	void sleep(ms, signal).then(() => {
		if (!signal.aborted) controller.abort(new Failure('timedOut', { limitMs: ms }));
	});
	return { signal, stop: () => controller.abort(SILENT_ABORT) };
}

/** Calls `action` with a signal that aborts after `ms`, or when `signal` does. Settles as `action` does. */
export async function withDeadline<T, Signal extends AbortSignal>(
	ms: number,
	signal: Signal,
	action: (signal: Signal) => Promise<T>,
): Promise<T> {
	const deadline = startDeadline(ms, signal);
	return await action(deadline.signal as Signal).finally(() => deadline.stop());
}

/** Settles as `promise` does, or resolves with undefined after `ms`, or when `signal` aborts. */
export async function raceTimeout<T>(
	ms: number,
	signal: AbortSignal,
	promise: Promise<T>,
): Promise<T | undefined> {
	const race = async (deadline: AbortSignal) =>
		await Promise.race([promise, whenAborted(deadline)]);
	return (await withDeadline(ms, signal, race)) ?? undefined;
}

/** If `signal` has aborted, throws its reason as a Failure (see `abortReason`). */
export function throwIfAborted(signal: AbortSignal): void {
	if (signal.aborted) throw abortReason(signal);
}

/** Returns the reason of an aborted signal if that is a Failure, otherwise a Failure of kind canceled. */
export function abortReason(signal: AbortSignal): Failure {
	return signal.reason instanceof Failure ? signal.reason : new Failure('canceled');
}
