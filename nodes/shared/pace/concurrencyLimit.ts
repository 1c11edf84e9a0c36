import { monotonicNow } from '../async/deadline';

/** Slow start: the limit rises by so much within so many ms, … */
const RISE = 12;
const RISE_MS = 1500;
/** … and is then so many times what was alive or done. */
const GROWTH = 4;
/** What is left of the number in flight when more was refused: room for others who share the account. */
const BACKOFF_RATIO = 0.9;
/** So many rounds after it is back at that number, the limit is twice as high, … */
const DOUBLED_AFTER_ROUNDS = 9;
/** … at the latest after so many ms. */
const DOUBLED_AFTER_MS = 150_000;
/** With none in flight, others hold all places. By what each further wait for one is multiplied, … */
const IDLE_INCREASE = 16;
/** … from what on, in ms, and by what it is divided with each call that was accepted. */
const LEAST_IDLE_MS = 250;
const IDLE_DECREASE = 1.2;
/** CUBIC's K, as a share of that time: when the limit is back at the number that was refused more. */
const BACK_AFTER = Math.cbrt(1 - BACKOFF_RATIO);
/** Where more was charged and failed, one more is tried after so many rounds: each try may cost money. */
const ROUNDS_TO_TRY = 25;

/**
 * How many may be in flight. Slow start (RFC 5681), until more is refused. Then multiplicative decrease, and an
 * increase with the cube of the time, not with success (CUBIC, RFC 9438): flat where more was refused, then ever
 * faster, and the same for all who share the account. Where more is charged and fails, it stays below that.
 */
export class ConcurrencyLimit {
	/** CUBIC's name: how many were in flight when more was refused; undefined in slow start. */
	private wMax: number | undefined;
	/** When more was refused or, before that, when it began. */
	private startedAt = monotonicNow();
	/** Processes that share an account must not try for more at the same time. */
	private jitter = 1;
	/** How long the last wait was where others hold all places, about. */
	private idleMs = LEAST_IDLE_MS;
	/** How long one takes, smoothed as a round-trip time (RFC 6298), in ms; 0: none has succeeded yet. */
	private roundMs = 0;
	private alive = 0;
	/** What was not too much where more was charged and failed. */
	private ceiling = Infinity;

	constructor(
		private readonly start = Infinity,
		private readonly max = Infinity,
	) {}

	get current(): number {
		const ms = monotonicNow() - this.startedAt;
		const since = ms / this.doubledAfterMs - BACK_AFTER;
		const startLimit = this.start + RISE * Math.min(1, ms / RISE_MS);
		const slowStart = Math.max(startLimit, GROWTH * this.alive);
		// A place of one's own is free once it has ended.
		const least = (this.wMax ?? 0) < 1 ? 0 : 1;
		const risen = this.wMax === undefined ? slowStart : this.wMax * (1 + since ** 3);
		return Math.min(this.max, this.ceiling, Math.max(least, risen));
	}

	/** How many were not too many, where more were; Infinity: not known. */
	get notTooMany(): number {
		return Math.floor(this.ceiling);
	}

	/** In ms. Tasks of seconds free places within seconds: who is then slow to try leaves them empty. */
	private get longestMs(): number {
		return Math.min(DOUBLED_AFTER_MS, DOUBLED_AFTER_ROUNDS * (this.roundMs || Infinity));
	}

	private get doubledAfterMs(): number {
		const isIdle = this.wMax !== undefined && this.wMax < 1;
		return this.jitter * (isIdle ? this.idleMs : this.longestMs);
	}

	/** Milliseconds until one more than `inFlight` may be, if nothing happens until then; Infinity: never. */
	delayMs(inFlight: number): number {
		const next = inFlight + 1;
		if (next <= this.current) return 0;
		if (next > Math.min(this.max, this.ceiling)) return Infinity;
		const share = (next - this.start) / RISE;
		const beginsMs = share <= 1 ? share * RISE_MS : Infinity;
		const risesMs =
			this.wMax === undefined
				? beginsMs
				: this.doubledAfterMs * (BACK_AFTER + Math.cbrt(next / this.wMax - 1));
		return Math.max(1, this.startedAt + risesMs - monotonicNow());
	}

	/** One was accepted, so many are in flight with it: it was on its way when another was refused. */
	onAccepted(inFlight: number): void {
		this.idleMs = Math.max(LEAST_IDLE_MS, this.idleMs / IDLE_DECREASE);
		if (this.wMax !== undefined && inFlight > this.current) this.wMax = inFlight;
	}

	/** One is done, or beyond where it fails if too many are in flight. */
	onAlive(): void {
		this.alive++;
	}

	/** The last of so many has succeeded, after so many ms. */
	onSuccess(inFlight: number, ms: number): void {
		this.roundMs = this.roundMs ? (7 * this.roundMs + ms) / 8 : ms;
		if (inFlight > this.ceiling - 1) this.ceiling += 1 / (ROUNDS_TO_TRY * this.ceiling);
	}

	/** One more than these was refused. With none in flight others hold all places. */
	onRefused(inFlight: number): void {
		this.wMax = Math.max(0.5, inFlight);
		this.startedAt = monotonicNow();
		if (inFlight === 0) this.idleMs = Math.min(this.longestMs, IDLE_INCREASE * this.idleMs);
		this.jitter = 0.75 + Math.random() / 2;
	}

	/** One more than these was accepted, charged, and has failed since they were too many. */
	onOverload(inFlight: number): void {
		this.ceiling = Math.min(this.ceiling, Math.max(1, inFlight));
	}
}
