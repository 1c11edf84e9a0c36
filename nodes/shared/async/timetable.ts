/**
 * What was heard besides readings. 'progress': the pause before the next reading starts anew; 'outcome':
 * the outcome is announced; 'lost', 'back': the channel was lost or is there again, and something may
 * have been missed.
 */
export type NewsKind = 'progress' | 'outcome' | 'lost' | 'back';

/** Why a reading is made that no news asked for: the first one, silence, or a channel that is back. */
export type ReadingReason = 'first' | 'silence' | 'catchUp';

/** What a reading found: nothing yet, the outcome any moment, or nothing, as it failed or was refused. */
export type Finding = 'pending' | 'soon' | 'failed' | 'refused';

export interface Pace {
	/** Milliseconds without news before a reading. */
	pollMs: number;
	/** Milliseconds without news up to which the pause doubles while the channel lives; 30 s unless given. */
	longestPauseMs?: number;
	/** Milliseconds until the reading after the channel is back; `pollMs` unless given. */
	catchUpMs?: number;
	/** True to read at once instead of after the first pause. */
	readFirst?: boolean;
}

const MAX_PAUSE_MS = 30_000;
/** Pauses between readings once the outcome is announced, in ms. */
const SOON_MS = [50, 100, 200, 400, 800, 1500, 3000, 5000];
/** Time kept for the last reading and a download after it: a share of the wait, and ms at most. */
const LAST_SHARE = 0.1;
const LAST_MS = 2000;

/**
 * When a wait reads: given news and readings, it says when the next reading is due. Pure;
 * `now` and all points in time are ms since 1970.
 */
export class Timetable {
	/** Why the next reading is made, unless news ask for it. */
	reason: ReadingReason;
	/** Milliseconds between two readings at present. */
	pauseMs: number;
	/** When the last reading is due, whatever was heard; Infinity once it was made. */
	lastAt: number;
	private pausedSince: number;
	private readNow: boolean;
	private announced = false;
	/** The last reading found that the outcome can be there any moment. */
	private imminent = false;
	/** Readings in quick succession so far. */
	private quick = 0;

	/** `leftMs` is how long the wait may take. */
	constructor(
		private readonly pace: Pace,
		leftMs: number,
		now: number,
	) {
		this.readNow = pace.readFirst === true;
		this.reason = this.readNow ? 'first' : 'silence';
		this.pauseMs = pace.pollMs;
		this.pausedSince = now;
		this.lastAt = now + leftMs - Math.min(LAST_MS, leftMs * LAST_SHARE);
	}

	/** When the next reading is due; 0 for at once. */
	get dueAt(): number {
		return this.readNow ? 0 : Math.min(this.pausedSince + this.pauseMs, this.lastAt);
	}

	/** Whether a reading that is made now has to wait for others: none has asked for it. */
	needsTurn(now: number): boolean {
		return !this.announced && !this.imminent && now < this.lastAt;
	}

	/** The turn did not come in time. */
	missTurn(): void {
		if (!this.announced) this.readNow = false;
	}

	/** True if a reading under way must be given up: it may hang, or report an earlier state. */
	hear(news: NewsKind, now: number): boolean {
		const { pollMs, catchUpMs = pollMs } = this.pace;
		if (news === 'lost' || news === 'back') {
			// A channel that comes and goes must not put the next reading off again and again.
			const soonestMs = news === 'back' ? Math.min(pollMs, catchUpMs) : pollMs;
			const dueAt = Math.min(this.pausedSince + this.pauseMs, now + soonestMs);
			this.pausedSince = dueAt - pollMs;
			this.reason = 'catchUp';
		} else {
			this.pausedSince = now;
			this.reason = 'silence';
		}
		this.pauseMs = pollMs;
		if (news !== 'outcome') return false;
		const isNew = !this.announced;
		this.announced = true;
		this.quick = 0;
		this.readNow = true;
		return isNew;
	}

	/** A reading begins. */
	begin(now: number): void {
		this.readNow = false;
		this.reason = 'silence';
		if (now >= this.lastAt) this.lastAt = Infinity;
	}

	/** A reading has ended; `isLive`: news can be relied on. */
	note(found: Finding, isLive: boolean, now: number): void {
		const { pollMs, longestPauseMs = MAX_PAUSE_MS } = this.pace;
		this.pausedSince = now;
		if (found === 'refused') {
			// Still due, and made as soon as the account may be asked again.
			this.readNow = true;
			return;
		}
		this.imminent = found === 'soon';
		if (this.imminent || (this.announced && this.quick < SOON_MS.length)) {
			this.pauseMs = SOON_MS[Math.min(this.quick++, SOON_MS.length - 1)]!;
		} else if (this.announced || !isLive) {
			this.announced = false;
			this.pauseMs = pollMs;
		} else {
			this.pauseMs = Math.min(this.pauseMs * 2, Math.max(pollMs, longestPauseMs));
		}
	}
}
