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
import { isFailure, isTransient } from '../failure';

/** What one reading found: the outcome, or none yet; `soon`: it can be there any moment. */
export type Reading<T> = { done: true; value: T } | { done: false; soon?: boolean };

/**
 * What is heard besides readings. 'progress': the silence begins anew; 'outcome': the outcome is
 * announced; 'lost', 'back': the channel was lost or is there again, and something may have been missed.
 */
export type NewsKind = 'progress' | 'outcome' | 'lost' | 'back';

/** A source of progress besides readings. */
export interface News {
	/** True while the channel delivers: readings may then be rare. */
	isLive(): boolean;
	/** Starts delivering. */
	start(onNews: (news: NewsKind) => void): void;
}

export interface PollOptions<T> {
	/** Reads once; throws a Failure. A transient one is repeated, any other ends the wait. */
	read(signal: AbortSignal): Promise<Reading<T>>;
	/** Deadline and cancel: the wait throws its reason (a Failure) at once. */
	signal: AbortSignal;
	/** Milliseconds of silence before a reading. */
	pollMs: number;
	/** Milliseconds of silence up to which the pause doubles while the channel lives; 30 s unless given. */
	longestPauseMs?: number;
	/** True to read at once instead of after the first pause. */
	readFirst?: boolean;
	news?: News;
	/**
	 * Resolves with true once a reading that nothing announced may be made, with false if the signal
	 * aborts first. At once unless given. `pauseMs`: milliseconds between two such readings at present, 0
	 * before the first.
	 */
	waitForTurn?(pauseMs: number, signal: AbortSignal): Promise<boolean>;
}

const MAX_PAUSE_MS = 30_000;
/** Pauses between readings when the outcome can be there any moment, in ms. */
const SOON_MS = [50, 100, 200, 400, 800, 1500, 3000, 5000];
/** A channel that is back is followed by a reading within so many ms. */
const CATCH_UP_MS = 2000;
/** Time kept for the last reading and a download after it: a share of the wait, and ms at most. */
const LAST_SHARE = 0.1;
const LAST_MS = 2000;

/** When a wait reads, given what is heard and found. */
class Schedule {
	/** Milliseconds of silence before the next reading. */
	pauseMs: number;
	/** When the last reading is due, whatever was heard; Infinity once it was made. */
	lastAt: number;
	private nextAt: number;
	private isAnnounced = false;
	/** Readings in quick succession so far. */
	private quick = 0;

	constructor(private readonly options: Omit<PollOptions<unknown>, 'read'>) {
		const leftMs = remainingMs(options.signal);
		const now = steadyNow();
		this.pauseMs = options.readFirst ? 0 : options.pollMs;
		this.nextAt = now + this.pauseMs;
		this.lastAt = now + leftMs - Math.min(LAST_MS, leftMs * LAST_SHARE);
	}

	/** Milliseconds until the next reading is due. */
	get restMs(): number {
		return Math.min(this.nextAt, this.lastAt) - steadyNow();
	}

	get isLastDue(): boolean {
		return steadyNow() >= this.lastAt;
	}

	/** Whether a reading has to wait for others: nothing has asked for it. */
	get needsTurn(): boolean {
		return !this.isAnnounced && this.quick === 0 && !this.isLastDue;
	}

	/** Returns true if a reading under way must be given up: it may hang, or report an earlier state. */
	hear(kind: NewsKind): boolean {
		const { pollMs } = this.options;
		const now = steadyNow();
		this.pauseMs = pollMs;
		if (kind === 'lost' || kind === 'back') {
			// A channel that comes and goes must not put the next reading off again and again.
			const soonestMs = kind === 'back' ? Math.min(pollMs, CATCH_UP_MS) : pollMs;
			this.nextAt = Math.min(this.nextAt, now + soonestMs);
			return false;
		}
		if (kind === 'progress') {
			if (!this.isAnnounced && this.quick === 0) this.nextAt = now + pollMs;
			return false;
		}
		const isNew = !this.isAnnounced;
		this.isAnnounced = true;
		this.quick = 0;
		this.nextAt = now;
		return isNew;
	}

	/** A reading begins. */
	begin(): void {
		if (this.isLastDue) this.lastAt = Infinity;
	}

	/** A reading has found no outcome; `isSoon`: it can be there any moment. */
	markPending(isSoon: boolean): void {
		const { pollMs, longestPauseMs = MAX_PAUSE_MS, news } = this.options;
		if (isSoon || (this.isAnnounced && this.quick < SOON_MS.length)) {
			const pauseMs = SOON_MS[Math.min(this.quick++, SOON_MS.length - 1)]!;
			this.nextAt = steadyNow() + pauseMs;
			return;
		}
		const isSlower = news?.isLive() && !this.isAnnounced;
		const longestMs = Math.max(pollMs, longestPauseMs);
		this.pauseMs = isSlower && this.pauseMs > 0 ? Math.min(this.pauseMs * 2, longestMs) : pollMs;
		this.nextAt = steadyNow() + this.pauseMs;
		this.isAnnounced = false;
		this.quick = 0;
	}
}

/**
 * Waits for an outcome: reads it when news announce it, after each silence in case they never do, and
 * once more shortly before the time is up.
 */
export async function pollUntil<T>(options: PollOptions<T>): Promise<T> {
	const { signal, waitForTurn } = options;
	const schedule = new Schedule(options);
	let pause = new AbortController();
	let reading = new AbortController();

	options.news?.start((kind) => {
		if (schedule.hear(kind)) reading.abort(NO_REASON);
		pause.abort(NO_REASON);
	});

	for (;;) {
		await untilDue();
		const found = await readOnce();
		if (found?.done) return found.value;
		if (found) schedule.markPending(found.soon === true);
	}

	/** Resolves once the next reading may be made; throws the signal's reason. */
	async function untilDue(): Promise<void> {
		for (let isDue = false; !isDue;) {
			throwIfAborted(signal);
			pause = new AbortController();
			const { restMs } = schedule;
			if (restMs > 0) {
				await sleep(restMs, anyOf(signal, pause.signal));
				pause.abort(NO_REASON);
			} else {
				isDue = await isMyTurn();
			}
		}
		throwIfAborted(signal);
	}

	async function isMyTurn(): Promise<boolean> {
		if (!waitForTurn || !schedule.needsTurn) return true;
		const { pauseMs, lastAt } = schedule;
		const patience = startDeadline(lastAt - steadyNow(), signal, pause.signal);
		const isMine = await waitForTurn(pauseMs, patience.signal);
		patience.stop();
		return isMine;
	}

	/** One reading; undefined when it is given up for the last one, or for one that was announced. */
	async function readOnce(): Promise<Reading<T> | undefined> {
		schedule.begin();
		reading = new AbortController();
		const limit = startDeadline(schedule.lastAt - steadyNow(), signal, reading.signal);
		const found = await Promise.race([
			options.read(limit.signal).catch((error: unknown) => ({ error })),
			// Ends the wait also when the reading is shared with others and goes on.
			whenAborted(limit.signal),
		]);
		const isGivenUp = limit.signal.aborted;
		limit.stop();
		throwIfAborted(signal);
		if (found && 'done' in found) return found;
		if (isGivenUp || !found) return undefined;
		if (!isTransient(found.error)) throw found.error;
		// The next one goes out as soon as the account's pace lets it.
		return { done: false, soon: isFailure(found.error, 'rateLimited') };
	}
}
