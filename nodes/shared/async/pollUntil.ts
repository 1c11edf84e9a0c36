import {
	anyOf,
	NO_REASON,
	remainingMs,
	sleep,
	startDeadline,
	steadyNow,
	throwIfAborted,
	whenAborted,
} from './deadline';
import { Timetable, type Finding, type NewsKind, type Pace, type ReadingReason } from './timetable';
import { isTransient } from '../failure';

/** What one reading of a pending outcome found. */
export type Reading<T> =
	| { done: true; value: T }
	/** `soon`: the outcome is announced and can be there any moment. */
	| { done: false; soon?: boolean };

/** A source of progress besides readings. */
export interface News {
	/** True while the channel delivers: readings may then be rare. */
	isLive(): boolean;
	/** Starts delivering. */
	start(onNews: (news: NewsKind) => void): void;
}

export interface PollOptions<T> extends Pace {
	/**
	 * Reads once; throws a Failure. A transient one is repeated, any other ends the wait. From `lastAt`
	 * on, in ms since 1970, there is no time for another.
	 */
	read(signal: AbortSignal, lastAt: number): Promise<Reading<T>>;
	/**
	 * Deadline and cancel: the wait throws its reason (a Failure) at once. Shortly before the deadline
	 * there is a last reading, whatever was heard and whoever else is waiting for a turn.
	 */
	signal: AbortSignal;
	news?: News;
	/**
	 * Resolves with true once a reading without news may be made, with false if the signal aborts
	 * first. At once unless given. `pauseMs`: milliseconds between two such readings at present.
	 */
	waitForTurn?(reason: ReadingReason, pauseMs: number, signal: AbortSignal): Promise<boolean>;
	/** Milliseconds until the account may be asked again. */
	cooldownMs(): number;
}

/** Waits for an outcome: reads it when news announce it, and every so often in case they never do. */
export async function pollUntil<T>(options: PollOptions<T>): Promise<T> {
	const { signal, news } = options;
	const timetable = new Timetable(options, remainingMs(signal), steadyNow());
	let pause = new AbortController();
	let reading = new AbortController();

	news?.start((kind) => {
		if (timetable.hear(kind, steadyNow())) reading.abort(NO_REASON);
		pause.abort(NO_REASON);
	});

	for (;;) {
		await due();
		const { lastAt } = timetable;
		timetable.begin(steadyNow());
		const found = await readOnce(lastAt);
		if (typeof found !== 'string') return found.value;
		timetable.note(found, news?.isLive() ?? false, steadyNow());
	}

	/** Resolves once the next reading may be made; throws the signal's reason. */
	async function due(): Promise<void> {
		for (let isDue = false; !isDue;) {
			throwIfAborted(signal);
			pause = new AbortController();
			const restMs = Math.max(timetable.dueAt - steadyNow(), options.cooldownMs());
			if (restMs > 0) {
				await sleep(restMs, anyOf(signal, pause.signal));
				pause.abort(NO_REASON);
			} else {
				isDue = await takeTurn();
			}
		}
		throwIfAborted(signal);
	}

	async function takeTurn(): Promise<boolean> {
		if (!options.waitForTurn || !timetable.needsTurn(steadyNow())) return true;
		const { reason, pauseMs, lastAt } = timetable;
		const patience = startDeadline(lastAt - steadyNow(), signal, pause.signal);
		const isMine = await options.waitForTurn(reason, pauseMs, patience.signal);
		patience.stop();
		if (!isMine) timetable.missTurn();
		return isMine;
	}

	async function readOnce(lastAt: number): Promise<{ value: T } | Finding> {
		const current = (reading = new AbortController());
		const readSignal = anyOf(signal, current.signal);
		const found = await Promise.race([
			options.read(readSignal, lastAt).catch((error: unknown) => ({ error })),
			// Ends the wait also when the reading is shared with others and goes on.
			whenAborted(readSignal),
		]);
		const isGivenUp = current.signal.aborted;
		current.abort(NO_REASON);
		throwIfAborted(signal);
		if (found && 'done' in found) {
			if (found.done) return { value: found.value };
			return found.soon ? 'soon' : 'pending';
		}
		if (!isGivenUp && !isTransient(found?.error)) throw found?.error;
		return options.cooldownMs() > 0 ? 'refused' : 'failed';
	}
}
