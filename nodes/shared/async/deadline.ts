import { sleep as n8nSleep } from 'n8n-workflow';
import { Failure } from '../failure';

/**
 * The time in ms since 1970, by a clock that goes on when the machine's is set. For what lasts or comes
 * later in this process: pauses, limits, what came first. Not for times that are kept or compared with
 * the service's.
 */
export const monotonicNow = (): number => performance.timeOrigin + performance.now();

/**
 * Resolves after `ms` milliseconds or as soon as `signal` aborts; never rejects. n8n-workflow's
 * `sleep` ignores its signal before n8n 2.36, so the signal is heard here, too.
 */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
	if (signal?.aborted) return;
	await new Promise<void>((resolve) => {
		const wake = () => {
			signal?.removeEventListener('abort', wake);
			resolve();
		};
		signal?.addEventListener('abort', wake);
		// Node warns of a negative time.
		n8nSleep(Math.max(0, ms), signal).then(wake, wake);
	});
}

/** Delay before the `attempt`-th repetition (0, 1, …): doubling from 500 ms, with jitter, in ms. */
export function backOffMs(attempt: number, longestMs = 4000): number {
	const full = Math.min(longestMs, 500 * 2 ** attempt);
	return full / 2 + Math.random() * (full / 2);
}

/** Resolves when `signal` aborts. */
export async function whenAborted(signal: AbortSignal): Promise<void> {
	if (signal.aborted) return;
	await new Promise<void>((resolve) => {
		signal.addEventListener('abort', () => resolve(), { once: true });
	});
}

/**
 * A signal for the purpose of the first, that aborts with the first of all, one of which has to abort when
 * the work is over; its reason is a Failure. What listens to a signal of `AbortSignal.any`, a whole request, is freed by a full
 * garbage collection only.
 */
export function anySignal<Signal extends AbortSignal>(
	...signals: [Signal, ...AbortSignal[]]
): Signal {
	const any = new AbortController();
	const onAbort = () => {
		for (const signal of signals) signal.removeEventListener('abort', onAbort);
		any.abort(abortReason(signals.find((signal) => signal.aborted)!));
	};
	for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true });
	if (signals.some((signal) => signal.aborted)) onAbort();
	return any.signal as Signal;
}

/** Calls `onSilence` some seconds after `until` at the latest, by `monotonicNow`, unless `signal` aborts. */
export async function watchIdle(
	until: () => number,
	signal: AbortSignal,
	onSilence: () => void,
): Promise<void> {
	while (!signal.aborted) {
		const restMs = until() - monotonicNow();
		if (restMs <= 0) return onSilence();
		await sleep(Math.min(restMs, 10_000), signal);
	}
}

/**
 * For aborts whose reason nobody reads. An abort without a reason makes an exception with a stack,
 * some 40 µs each time, and an item makes a dozen of them.
 */
export const SILENT_ABORT = new Failure('canceled');

export interface Deadline {
	/** Aborts at the deadline, on cancel, and when the work is over; its reason is a Failure. */
	signal: AbortSignal;
	/** The time no longer counts; the signals still do. */
	disarm(): void;
	/** Call this when the work is over: it releases the timer and listeners. */
	stop(): void;
}

/** When each deadline's signal aborts by itself, by `monotonicNow`. */
const deadlines = new WeakMap<AbortSignal, number>();

const deadlineOf = (signal: AbortSignal) => deadlines.get(signal) ?? Infinity;

/** Milliseconds until a deadline's signal aborts by itself; Infinity for any other signal. */
export const remainingMs = (signal: AbortSignal): number =>
	Math.max(0, deadlineOf(signal) - monotonicNow());

/** A time limit of `ms` milliseconds (24 days at most), which also ends when one of `signals` aborts. */
export function startDeadline(ms: number, ...signals: Array<AbortSignal | undefined>): Deadline {
	const listened = signals.filter((signal) => signal !== undefined);
	const end = new AbortController();
	const timer = new AbortController();
	const signal = anySignal(end.signal, ...listened);
	deadlines.set(signal, Math.min(monotonicNow() + ms, ...listened.map(deadlineOf)));
	void sleep(ms, timer.signal).then(() => {
		if (!timer.signal.aborted) end.abort(new Failure('timedOut', { limitMs: ms }));
	});
	const disarm = () => {
		deadlines.set(signal, Math.min(...listened.map(deadlineOf)));
		timer.abort(SILENT_ABORT);
	};
	return {
		signal,
		disarm,
		stop() {
			disarm();
			end.abort(SILENT_ABORT);
		},
	};
}

/**
 * Does `action` under a time limit of `ms` milliseconds, which also ends when `signal` aborts. It is given
 * a signal for the same purpose.
 */
export async function withDeadline<T, Signal extends AbortSignal>(
	ms: number,
	signal: Signal | undefined,
	action: (signal: Signal) => Promise<T>,
): Promise<T> {
	const deadline = startDeadline(ms, signal);
	return await action(deadline.signal as Signal).finally(() => deadline.stop());
}

/** What `promise` resolves with; undefined if that takes more than `ms` milliseconds, or `signal` aborts. */
export async function raceTimeout<T>(
	ms: number,
	signal: AbortSignal,
	promise: Promise<T>,
): Promise<T | undefined> {
	const race = async (deadline: AbortSignal) =>
		await Promise.race([promise, whenAborted(deadline)]);
	return (await withDeadline(ms, signal, race)) ?? undefined;
}

/** Throws the signal's reason (a Failure) when it has aborted. */
export function throwIfAborted(signal: AbortSignal): void {
	if (signal.aborted) throw abortReason(signal);
}

/** Why `signal` aborted, as a Failure. */
export function abortReason(signal: AbortSignal): Failure {
	return signal.reason instanceof Failure ? signal.reason : new Failure('canceled');
}
