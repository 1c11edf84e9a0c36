import { accountOf } from '../account';
import { LearnedRate } from './learnedRate';
import { startDeadline, steadyNow } from '../async/deadline';
import { Queue } from '../async/tokenBucket';
import { ReadingTurns } from './readingTurns';

/** How long after its last use an account's limits are forgotten, in ms. */
const FORGET_MS = 300_000;
/** The cooldown after a refusal that names none, in ms; doubled for each further one in a row. */
const FIRST_COOLDOWN_MS = 1000;
const MAX_COOLDOWN_MS = 30_000;
/** A cooldown that the service names is believed until it is this many times too short. */
const TOO_SHORT = 8;
/** Up to this share is added to a cooldown at random, since other processes may have the same one. */
const JITTER = 0.1;
const MAX_JITTER_MS = 300;
/**
 * After a cooldown, requests go out one by one: the first ones this far apart, in ms, the next ones
 * closer. If the service still refuses, it refuses a few, not all that have waited.
 */
const FIRST_GAP_MS = 250;
/** … or this far, if the service may just be waiting for a task under way to end. */
const FIRST_GAP_BUSY_MS = 50;
const GAP_SHRINKS_TO = 0.8;
const MIN_GAP_MS = 10;
/** Unanswered requests are limited, too: to one at first, to this many more each round trip. */
const WINDOW_GROWTH = 0.5;
const MAX_WINDOW = 20;
/** How long to wait for an answer before the next request goes out, in ms. */
const LATE_MS = 2000;
/** If so few create calls pass between refusals, so often, tasks under way are not to blame. */
const MEAGRE = 2;
const MAX_MEAGRE = 3;

/** What may be refused: a request for work, or a reading. */
export type CallKind = 'create' | 'read';

/** Under way at the service: a task an item waits for, one a trigger follows, or a stream. */
export type UnderWay = 'task' | 'watched' | 'stream';

/**
 * What this process has learnt of how often an account may be asked. A limit counts for the whole
 * account, readings included, so all its users keep it together. Held in memory only.
 */
export class RateLimit {
	/** How many items of one execution may be processed at once; Infinity before any refusal. */
	maxAtOnce = Infinity;
	/** Whether anything was ever accepted: then a refusal is a limit, and passes. */
	hasWorked = false;
	private rate = new LearnedRate();
	private notBefore = 0;
	/** Pause between two requests after a cooldown, in ms; 0 when they may go out at will. */
	private gapMs = 0;
	private lastSent = 0;
	private lastUsed = steadyNow();
	/** When the last refusal came; several refusals of requests sent together count as one. */
	private refusedAt = 0;
	/** Unanswered requests that are not late, and how many there may be. */
	private unanswered = 0;
	private window = Infinity;
	private readonly inARow: Record<CallKind, number> = { create: 0, read: 0 };
	private readonly underWay: Record<UnderWay, number> = { task: 0, watched: 0, stream: 0 };
	/** Create calls accepted since the last refusal, and how many times in a row they were few. */
	private created = 0;
	private meagre = 0;
	private readonly line = new Queue(
		() => this.restMs(),
		() => this.send(),
	);
	/** For readings that nothing announced. */
	readonly turns = new ReadingTurns(this.underWay);

	/** `learns`: whether requests stay slower after a refusal, or only rest for a while. */
	constructor(private readonly learns = true) {}

	/**
	 * Resolves with true once a request may go out, with false if `signal` aborts first. Call
	 * `answered` once it is answered or given up. A reading waits until `lastAt` at most, in ms since
	 * 1970, as long as only create calls were refused.
	 */
	async waitForSlot(signal: AbortSignal, lastAt = Infinity): Promise<boolean> {
		this.use();
		if (lastAt === Infinity || this.restMs() <= 0) return await this.line.enter(signal);
		const patience = startDeadline(lastAt - steadyNow(), signal);
		const isMine = await this.line.enter(patience.signal);
		patience.stop();
		if (isMine || signal.aborted) return isMine;
		if (this.isRefused) return await this.line.enter(signal);
		this.send();
		return true;
	}

	answered(): void {
		this.unanswered = Math.max(0, this.unanswered - 1);
		this.line.nudge();
	}

	/** Milliseconds until the account may be asked again after a refusal. */
	cooldownMs(): number {
		return Math.max(0, this.notBefore - steadyNow());
	}

	/** Whether the last reading was refused. */
	get isRefused(): boolean {
		return this.inARow.read > 0;
	}

	/** Counts one more under way at the service, until the returned function is called. */
	begin(what: UnderWay): () => void {
		this.underWay[what]++;
		return () => {
			this.underWay[what]--;
			this.use();
		};
	}

	/** Notes that a request sent at `sentAt` (ms since 1970) was not refused. */
	accepted(kind: CallKind, sentAt: number): void {
		this.hasWorked = true;
		// A request sent before the refusal says nothing about now.
		if (sentAt <= this.refusedAt) return;
		this.inARow[kind] = 0;
		if (kind === 'create') this.created++;
		this.rate.accepted();
		this.window += WINDOW_GROWTH / this.window;
		if (this.window > MAX_WINDOW) this.window = Infinity;
	}

	/** Notes a refusal; `retryAfterMs` is what the service asked for. */
	refused(kind: CallKind, sentAt: number, retryAfterMs: number | undefined): void {
		const now = steadyNow();
		// Something under way may be what keeps the service from starting more.
		const isBusy = kind === 'create' && this.underWay.task + this.underWay.stream > 0;
		if (sentAt > this.refusedAt) {
			this.refusedAt = now;
			if (isBusy && this.inARow.create === 0) this.noteMeagre();
			this.inARow[kind]++;
			if (this.learns && (!isBusy || this.meagre >= MAX_MEAGRE)) this.rate.refused(now);
		}
		const isTold = retryAfterMs !== undefined;
		const doubledMs = FIRST_COOLDOWN_MS * 2 ** (this.inARow[kind] - 1);
		const ownMs = Math.min(MAX_COOLDOWN_MS, isTold ? doubledMs / TOO_SHORT : doubledMs);
		const cooldownMs = Math.max(retryAfterMs ?? 0, ownMs);
		const jitterMs = Math.random() * Math.min(MAX_JITTER_MS, cooldownMs * JITTER);
		this.notBefore = Math.max(this.notBefore, now + cooldownMs + jitterMs);
		// The first request shrinks it once before it counts.
		this.gapMs = (isBusy ? FIRST_GAP_BUSY_MS : FIRST_GAP_MS) / GAP_SHRINKS_TO;
		this.window = 1;
	}

	private use(): void {
		const now = steadyNow();
		if (now - this.lastUsed > FORGET_MS) {
			this.rate = new LearnedRate();
			this.maxAtOnce = Infinity;
		}
		this.lastUsed = now;
	}

	/** A service that accepts a few and refuses again, time after time, limits the rate. */
	private noteMeagre(): void {
		this.meagre = this.created <= MEAGRE ? this.meagre + 1 : 0;
		this.created = 0;
	}

	private restMs(): number {
		const now = steadyNow();
		const isFull = this.unanswered >= Math.floor(this.window);
		const gapMs = Math.max(this.gapMs, this.rate.gapMs, isFull ? LATE_MS : 0);
		return Math.max(this.notBefore, this.lastSent + gapMs) - now;
	}

	private send(): void {
		this.lastSent = steadyNow();
		this.rate.sent(this.lastSent);
		// One goes out beyond the window when all others are late: they have held it back long enough.
		if (this.unanswered >= Math.floor(this.window)) this.unanswered = 0;
		this.unanswered++;
		const gapMs = this.gapMs * GAP_SHRINKS_TO;
		this.gapMs = gapMs < MIN_GAP_MS ? 0 : gapMs;
	}
}

/** The rate limit of a credential's account in this process. */
export const rateLimitOf = (credential: { accountKey: string }): RateLimit =>
	accountOf(credential).shared(RateLimit);
