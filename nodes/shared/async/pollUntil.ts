import {
	abortReason,
	anySignal,
	SILENT_ABORT,
	remainingMs,
	sleep,
	startDeadline,
	monotonicNow,
	whenAborted,
} from './deadline';
import { isFailure, isTransient } from '../failure';
import { nextSchedule, type ChannelEvent, type Schedule, type ScheduleEvent } from './pollSchedule';

/** The result of one read: the outcome, or none yet. `expectSoon` is true if the outcome will be there in a moment. */
export type ReadResult<T> = { done: true; value: T } | { done: false; expectSoon?: boolean };

/** The outcome to wait for, and how to read it. */
export interface PollOptions<T> {
	/** Reads once, with priority if `isUrgent`. A transient Failure counts as no outcome. */
	read(signal: AbortSignal, isUrgent: boolean): Promise<ReadResult<T>>;
	/** The signal of a deadline (see `Deadline`). When it aborts, the wait throws its reason, a Failure, at once. */
	signal: AbortSignal;
	/** The usual pause before a read while no channel is open, in ms. */
	pollMs: number;
	/** The pause up to which pauses double while the channel is open, in ms. */
	maxBackoffMs?: number;
	/** True to read at once instead of after the first pause. */
	readFirst?: boolean;
	/** Returns true while a channel is open that reports progress. Reads are then rare. */
	isChannelOpen?(): boolean;
	/** Makes the channel call `onEvent` for each of its events. Returns a function that ends these calls. */
	subscribe?(onEvent: (event: ChannelEvent) => void): () => void;
}

const MAX_BACKOFF_MS = 30_000;
/** The share of the waiting time that is reserved for the last read and the download after it. */
const FINAL_READ_SHARE = 0.1;
/** The longest time that is reserved for the last read and the download, in ms. */
const MAX_FINAL_READ_MS = 2000;

/** Returns when the last read of a wait of `ms` milliseconds begins, in ms after the start of the wait. */
export const msBeforeFinalRead = (ms: number): number =>
	ms - Math.min(MAX_FINAL_READ_MS, ms * FINAL_READ_SHARE);

/**
 * Reads again and again until there is an outcome, and resolves with it. Throws the signal's reason, or the error of
 * `read` that ended the wait.
 */
export async function pollUntil<T>(options: PollOptions<T>): Promise<T> {
	const { read, signal, pollMs, maxBackoffMs = MAX_BACKOFF_MS } = options;
	const pauseMs = options.readFirst ? 0 : pollMs;
	const nextAt = monotonicNow() + pauseMs;
	let schedule: Schedule = { pollMs, maxBackoffMs, pauseMs, nextAt, isExpectedSoon: false };
	let isReadInFlight = false;
	/** Aborts the current pause, or the read in flight. */
	let stepAbort = new AbortController();
	const beforeFinalRead = startDeadline(msBeforeFinalRead(remainingMs(signal)), signal);
	const unsubscribe = options.subscribe?.(onEvent);
	try {
		for (const limitSignal of [beforeFinalRead.signal, signal]) {
			const outcome = await pollDuring(limitSignal);
			if (outcome) return outcome.value;
			onEvent('lastRead');
		}
	} finally {
		beforeFinalRead.stop();
		unsubscribe?.();
	}
	throw abortReason(signal);

	function onEvent(event: ScheduleEvent): void {
		const wasExpectedSoon = schedule.isExpectedSoon;
		schedule = nextSchedule(schedule, event, monotonicNow());
		// A read in flight may hang or report an earlier state, so an announcement aborts it, unless reads already
		// follow each other quickly.
		if (!isReadInFlight || (schedule.isExpectedSoon && !wasExpectedSoon))
			stepAbort.abort(SILENT_ABORT);
	}

	/** Pauses and reads by turns until there is an outcome, or `limitSignal` aborts. */
	async function pollDuring(limitSignal: AbortSignal): Promise<{ value: T } | undefined> {
		while (!limitSignal.aborted) {
			stepAbort = new AbortController();
			const currentSignal = anySignal(limitSignal, stepAbort.signal);
			const delayMs = schedule.nextAt - monotonicNow();
			if (delayMs > 0) {
				await sleep(delayMs, currentSignal);
			} else {
				isReadInFlight = true;
				const result = await readOnce(
					currentSignal,
					schedule.isExpectedSoon || limitSignal === signal,
				);
				isReadInFlight = false;
				if (typeof result === 'object') return result;
				if (result) onEvent(result);
			}
			stepAbort.abort(SILENT_ABORT);
		}
		return undefined;
	}

	/** Reads once. Resolves with the outcome, or with how the read ended without one; undefined if it was aborted. */
	async function readOnce(currentSignal: AbortSignal, isUrgent: boolean) {
		const result = read(currentSignal, isUrgent).then(
			(readResult) => {
				if (readResult.done) return readResult;
				if (readResult.expectSoon) return 'expectSoon';
				return noOutcome();
			},
			(error: unknown) => {
				if (currentSignal.aborted) return undefined;
				if (!isTransient(error)) throw error;
				return isFailure(error, 'rateLimited') ? 'throttled' : noOutcome();
			},
		);
		return (await Promise.race([result, whenAborted(currentSignal)])) ?? undefined;
	}

	function noOutcome() {
		return options.isChannelOpen?.() ? 'noOutcomeBesideChannel' : 'noOutcome';
	}
}
