import { backOffMs, sleep, steadyNow } from '../async/deadline';
import type { EgressCheck } from '../http/request';

export interface SocketEvents {
	/** A message as text; binary ones are read as UTF-8. Returns true if it came from the service. */
	onText(text: string): boolean;
	/** The socket is open, or was lost: messages may have been missed. */
	onChange(open: boolean): void;
	/** Nobody needs it and nothing of it is left: from now on another takes its place. */
	onOver(): void;
}

/** How long an attempt to open may take, in ms. */
const GIVE_UP_OPENING_MS = 15_000;
/** How long a socket may be silent before it counts as dead and is replaced, in ms. */
const IDLE_MS = 60_000;
/** A socket that stayed open this long, in ms, is reopened at once. */
const LASTING_MS = 10_000;
const MAX_BACK_OFF_MS = 30_000;

/** True where the runtime has a WebSocket (Node 22 and later). */
export const canListen = (): boolean => typeof WebSocket === 'function';

/** One WebSocket. */
interface Session {
	socket: WebSocket;
	began: number;
	/** When anything last came, by `steadyNow`. */
	lastHeard: number;
	hasDelivered: boolean;
}

/**
 * A WebSocket that is kept open as long as it is needed: reopened when it is lost, and replaced when
 * it is silent for long. The global WebSocket says neither why it failed nor when it was pinged, and
 * never lets go of a connection whose other side does not answer the close. So only one at a time is
 * asked to close. Until it has, a silent one is not replaced, and one that nobody needs stays open
 * for the next user.
 */
export class ReconnectingSocket {
	private current: Session | undefined;
	/** Has been asked to close, but is still open. */
	private leaving: Session | undefined;
	private unneeded = new AbortController();
	private firstAttempt = new AbortController();
	/** Aborted when anything changes. */
	private awake = new AbortController();
	/** The runtime has none, or the policy forbids it: polling still works, by n8n's request helper. */
	private isForbidden = !canListen();
	/** Attempts in a row that failed, or opened one that was no good. */
	private failures = 0;
	/** The pause before the next attempt, in ms. */
	private pauseMs = 0;

	/** `url` may hold a secret after its "?": only the part before is shown to `checkEgress`. */
	constructor(
		private readonly url: string,
		private readonly checkEgress: EgressCheck,
		private readonly events: SocketEvents,
	) {
		void this.live();
	}

	get isOpen(): boolean {
		return this.current !== undefined;
	}

	/** Open, and not silent for so long that it may be dead. */
	get isLive(): boolean {
		return this.current !== undefined && this.untilIdleMs > -GIVE_UP_OPENING_MS;
	}

	/** Aborts when the first attempt to open since it is needed has succeeded or failed. */
	get tried(): AbortSignal {
		return this.firstAttempt.signal;
	}

	/** Somebody needs it (again). */
	need(): void {
		if (this.isNeeded) return;
		this.unneeded = new AbortController();
		this.firstAttempt = new AbortController();
		this.failures = 0;
		this.pauseMs = 0;
		this.awake.abort();
	}

	/** Nobody needs it any more. */
	leave(): void {
		this.unneeded.abort();
		if (this.current && !this.leaving) this.askToClose(this.current);
		this.awake.abort();
	}

	private get isNeeded(): boolean {
		return !this.unneeded.signal.aborted;
	}

	/** How long until the current one has been silent for too long; 0 if there is none. */
	private get untilIdleMs(): number {
		return this.current ? this.current.lastHeard + IDLE_MS - steadyNow() : 0;
	}

	private async live(): Promise<void> {
		await this.checkEgress(this.url.split('?')[0]!).catch(() => (this.isForbidden = true));
		while (this.isNeeded || this.current || this.leaving) await this.step();
		this.events.onOver();
	}

	/** Does what is to be done next, or waits until anything has changed. */
	private async step(): Promise<void> {
		const { current, leaving, isNeeded, isForbidden, untilIdleMs } = this;
		if (isForbidden) this.firstAttempt.abort();
		if (isNeeded && !isForbidden && !current) {
			if (this.pauseMs > 0) await sleep(this.pauseMs, this.unneeded.signal);
			if (this.isNeeded) await this.open();
		} else if (isNeeded && current && !leaving && untilIdleMs <= 0) {
			await this.open();
		} else if (!isNeeded && current && !leaving) {
			this.askToClose(current);
		} else {
			this.awake = new AbortController();
			await sleep(untilIdleMs > 0 ? untilIdleMs : IDLE_MS, this.awake.signal);
		}
	}

	/** Opens one. It takes over from a silent one without a gap. */
	private async open(): Promise<void> {
		const { signal } = this.unneeded;
		const { firstAttempt } = this;
		const session = await this.connect(signal).catch(() => undefined);
		if (!session && signal.aborted) return;
		const previous = this.current;
		if (session) this.current = session;
		else this.pauseMs = backOffMs(++this.failures, MAX_BACK_OFF_MS);
		if (previous) this.askToClose(previous);
		else if (session) this.events.onChange(true);
		firstAttempt.abort();
	}

	/** Opens one; undefined if that fails, takes too long, or nobody needs it any more. */
	private async connect(unneeded: AbortSignal): Promise<Session | undefined> {
		const socket = new WebSocket(this.url);
		const session: Session = { socket, began: 0, lastHeard: 0, hasDelivered: false };
		const opened = new AbortController();
		const closed = new AbortController();
		socket.binaryType = 'arraybuffer';
		socket.addEventListener('open', () => {
			session.lastHeard = session.began = steadyNow();
			opened.abort();
		});
		socket.addEventListener('message', ({ data }: { data: string | ArrayBuffer }) => {
			session.lastHeard = steadyNow();
			const text = typeof data === 'string' ? data : Buffer.from(data).toString('utf8');
			if (this.events.onText(text)) session.hasDelivered = true;
		});
		// Only 'close' matters: it follows every 'error', which says nothing useful.
		socket.addEventListener('error', () => {});
		socket.addEventListener('close', () => {
			closed.abort();
			this.closed(session);
		});
		await sleep(GIVE_UP_OPENING_MS, AbortSignal.any([opened.signal, closed.signal, unneeded]));
		if (opened.signal.aborted && !closed.signal.aborted) return session;
		// Before the socket is open, this ends the connection in any case.
		socket.close();
		return undefined;
	}

	/** Asks a socket to close, unless it is closed. */
	private askToClose(session: Session): void {
		if (session.socket.readyState === WebSocket.CLOSED) return;
		this.leaving = session;
		if (this.current === session) this.lose();
		session.socket.close();
	}

	private closed(session: Session): void {
		if (this.leaving === session) this.leaving = undefined;
		if (this.current === session) {
			const hasLasted = steadyNow() - session.began > LASTING_MS;
			// One that is dropped as soon as it opens is treated like one that is refused.
			this.failures = hasLasted || session.hasDelivered ? 0 : this.failures + 1;
			this.pauseMs = hasLasted ? 0 : backOffMs(this.failures, MAX_BACK_OFF_MS);
			this.lose();
		}
		this.awake.abort();
	}

	private lose(): void {
		this.current = undefined;
		this.events.onChange(false);
	}
}
