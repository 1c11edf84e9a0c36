import {
	abortReason,
	linkedController,
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

/** How to read the outcome that is waited for, and when. */
export interface PollOptions<T> {
	/** Reads once, before others if `isUrgent`. A transient Failure is no outcome; any other error ends the wait. */
	read(signal: AbortSignal, isUrgent: boolean): Promise<ReadResult<T>>;
	/** The signal of a deadline (see `Deadline`). When it aborts, the wait throws its reason, a Failure. */
	signal: AbortSignal;
	/** The usual pause before a read while no channel is open, in ms. */
	pollMs: number;
	/** See `Schedule.maxBackoffMs`. */
	maxBackoffMs?: number;
	/** True to read at once instead of after the first pause. */
	readFirst?: boolean;
	/** Returns true while a channel is open that reports progress. Reads are then rare. */
	isChannelOpen?(): boolean;
	/** Makes the channel call `onEvent` for each of its events. Returns a function that ends these calls. */
	subscribe?(onEvent: (event: ChannelEvent) => void): () => void;
}

/** The share of the waiting time that is reserved for the final read and the download after it. */
const FINAL_READ_SHARE = 0.1;
/** The longest time that is reserved for the final read and the download after it, in ms. */
const MAX_FINAL_READ_MS = 2000;

/** Returns when the final read of a wait of `ms` milliseconds begins, in ms after the start of the wait. */
export const msBeforeFinalRead = (ms: number): number =>
	ms - Math.min(MAX_FINAL_READ_MS, ms * FINAL_READ_SHARE);

/** Reads until there is an outcome, and resolves with it. Throws the reason of `signal`, or the error of a read. */
export async function pollUntil<T>(options: PollOptions<T>): Promise<T> {
	const { read, signal, pollMs, maxBackoffMs } = options;
	const pauseMs = options.readFirst ? 0 : pollMs;
	const startedAt = monotonicNow();
	const times = { startedAt, pauseMs, nextAt: startedAt + pauseMs, lastReadAt: -Infinity };
	let schedule: Schedule = { pollMs, maxBackoffMs, ...times, hasShortPauses: false };
	let isReadInFlight = false;
	/** Aborts the current step: a pause, or the read in flight. */
	let stepController = new AbortController();
	const deadlineBeforeFinalRead = startDeadline(msBeforeFinalRead(remainingMs(signal)), signal);
	const unsubscribe = options.subscribe?.(onEvent);
	try {
		for (const limitSignal of [deadlineBeforeFinalRead.signal, signal]) {
			const outcome = await pollDuring(limitSignal);
			if (outcome) return outcome.value;
			onEvent('finalRead');
		}
	} finally {
		deadlineBeforeFinalRead.stop();
		unsubscribe?.();
	}
	throw abortReason(signal);

	function onEvent(event: ScheduleEvent): void {
		const { hasShortPauses: hadShortPauses, nextAt } = schedule;
		schedule = nextSchedule(schedule, event, monotonicNow());
		// A read in flight may hang, or return a state from before the announcement. An announcement therefore aborts
		// it, unless the pauses between reads are short already. A pause ends early only for an earlier read.
		const isStepOutdated = isReadInFlight
			? schedule.hasShortPauses && !hadShortPauses
			: schedule.nextAt < nextAt;
		if (isStepOutdated) stepController.abort(SILENT_ABORT);
	}

	/** Pauses and reads by turns until there is an outcome or `limitSignal` aborts. Throws the error of a read. */
	async function pollDuring(limitSignal: AbortSignal): Promise<{ value: T } | undefined> {
		while (!limitSignal.aborted) {
			stepController = linkedController(limitSignal);
			const { signal: currentSignal } = stepController;
			const delayMs = schedule.nextAt - monotonicNow();
			if (delayMs > 0) {
				await sleep(delayMs, currentSignal);
			} else {
				isReadInFlight = true;
				const isUrgent = schedule.hasShortPauses || limitSignal === signal;
				const result = await readOnce(currentSignal, isUrgent);
				isReadInFlight = false;
				if (typeof result === 'object') return result;
				if (result) onEvent(result);
			}
			stepController.abort(SILENT_ABORT);
		}
		return undefined;
	}

	/**
	 * Reads once. Resolves with the outcome, or with the event for a read without one, or with undefined if
	 * `currentSignal` aborts. Throws any error of the read that is not transient.
	 */
	async function readOnce(currentSignal: AbortSignal, isUrgent: boolean) {
		const result = read(currentSignal, isUrgent).then(
			(readResult) => {
				if (readResult.done) return readResult;
				return readResult.expectSoon ? 'readSoon' : noOutcomeEvent();
			},
			(error: unknown) => {
				if (currentSignal.aborted) return undefined;
				if (!isTransient(error)) throw error;
				return isFailure(error, 'throttled') ? 'readSoon' : noOutcomeEvent();
			},
		);
		return (await Promise.race([result, whenAborted(currentSignal)])) ?? undefined;
	}

	function noOutcomeEvent() {
		return options.isChannelOpen?.() ? 'noOutcomeBesideChannel' : 'noOutcome';
	}
}
