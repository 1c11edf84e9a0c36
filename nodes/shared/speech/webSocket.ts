import { backOffMs, sleep, steadyNow } from '../async/deadline';

/** How long users wait for the socket, in ms. */
const READY_MS = 3000;
/** How long it stays open for the next round of a loop or the next execution, in ms. */
const REST_MS = 300;
/** How long an attempt to open may take, in ms. */
const GIVE_UP_OPENING_MS = 15_000;
/** How long a socket may be silent before it counts as dead and is replaced, in ms. */
const IDLE_MS = 60_000;
/** One that is lost sooner than this counts as an attempt that failed, in ms. */
const LASTING_MS = 10_000;
const MAX_BACK_OFF_MS = 30_000;

/** True where the runtime has a WebSocket (Node 22 and later). */
export const canListen = (): boolean => typeof WebSocket === 'function';

/** One WebSocket; its times by `steadyNow`. */
interface Session {
	socket: WebSocket;
	began: number;
	/** When anything last came. */
	lastHeard: number;
}

/**
 * A WebSocket that is kept open as long as it has users: reopened when it is lost, and replaced when
 * it is silent for long. The global WebSocket says neither why it failed nor when it was pinged, and
 * never lets go of a connection whose other side does not answer the close. So only one at a time is
 * asked to close. Until it has, a silent one is not replaced, and one that nobody needs stays open
 * for the next user.
 */
export abstract class ReconnectingSocket {
	private users = 0;
	private current: Session | undefined;
	/** Has been asked to close, but is still open. */
	private leaving: Session | undefined;
	/** Aborts when the first attempt to open since it has users has succeeded or failed. */
	private firstAttempt = new AbortController();
	/** Aborted when anything changes. */
	private awake = new AbortController();
	/** Attempts in a row that came to nothing. */
	private failures = 0;
	/** When the next attempt is due while none is open, by `steadyNow`. */
	private retryAt = 0;

	/** `allowed` rejects where it must not be opened. */
	constructor(
		private readonly url: string,
		allowed: Promise<void>,
	) {
		void this.live(allowed);
	}

	get isOpen(): boolean {
		return this.current !== undefined;
	}

	/** A message as text; binary ones are read as UTF-8. */
	protected abstract receive(text: string): void;
	/** The socket is open, or was lost: messages may have been missed. */
	protected abstract changed(isOpen: boolean): void;
	/** It has no users, or can't be had: from now on another takes its place. */
	protected abstract ended(): void;

	/** Opens the socket for one more user. */
	subscribe(): this {
		if (this.users++ === 0) {
			if (!this.isOpen) this.firstAttempt = new AbortController();
			this.failures = this.retryAt = 0;
			this.awake.abort();
		}
		return this;
	}

	/** One user less, to be called once. The last one closes the socket, unless others follow soon. */
	async release(): Promise<void> {
		await sleep(REST_MS);
		this.users--;
		this.awake.abort();
	}

	/** Resolves once the socket is open, can't be opened, or 3 s have passed; never rejects. */
	async ready(): Promise<void> {
		await sleep(READY_MS, this.firstAttempt.signal);
	}

	private async live(allowed: Promise<void>): Promise<void> {
		const isAllowed = await allowed.then(canListen, () => false);
		// The runtime has none, or the policy forbids it: polling still works, by n8n's request helper.
		if (!isAllowed) this.firstAttempt.abort();
		while (isAllowed && (this.users > 0 || this.current || this.leaving)) await this.step();
		this.ended();
	}

	/** Does what is to be done next, or waits until it is due or anything has changed. */
	private async step(): Promise<void> {
		const { users, current, leaving } = this;
		// One is opened at once, after a pause, or in place of one that is silent.
		const dueAt = current ? current.lastHeard + IDLE_MS : this.retryAt;
		const restMs = users > 0 && !(current && leaving) ? dueAt - steadyNow() : Infinity;
		if (restMs <= 0) return await this.open();
		if (users === 0 && current && !leaving) return this.use(undefined);
		await this.pause(Math.min(restMs, IDLE_MS));
	}

	private async pause(ms: number): Promise<void> {
		this.awake = new AbortController();
		await sleep(ms, this.awake.signal);
	}

	/** Opens one. It takes over from a silent one without a gap. */
	private async open(): Promise<void> {
		const session = await this.connect().catch(() => undefined);
		if (!session && this.users === 0) return;
		if (!session) this.noteFailures(this.failures + 1);
		this.use(session);
		this.firstAttempt.abort();
	}

	/** Opens one; undefined if that fails, takes too long, or nobody needs it any more. */
	private async connect(): Promise<Session | undefined> {
		const socket = new WebSocket(this.url);
		const session: Session = { socket, began: steadyNow(), lastHeard: 0 };
		socket.binaryType = 'arraybuffer';
		socket.addEventListener('open', () => {
			session.lastHeard = session.began = steadyNow();
			this.awake.abort();
		});
		socket.addEventListener('message', ({ data }: { data: string | ArrayBuffer }) => {
			session.lastHeard = steadyNow();
			this.receive(typeof data === 'string' ? data : Buffer.from(data).toString('utf8'));
		});
		// Only 'close' matters: it follows every 'error', which says nothing useful.
		socket.addEventListener('error', () => {});
		socket.addEventListener('close', () => this.closed(session));
		while (socket.readyState === WebSocket.CONNECTING && this.users > 0) {
			const restMs = session.began + GIVE_UP_OPENING_MS - steadyNow();
			if (restMs <= 0) break;
			await this.pause(restMs);
		}
		if (socket.readyState === WebSocket.OPEN) return session;
		// Before the socket is open, this ends the connection in any case.
		socket.close();
		return undefined;
	}

	/** Listens to `next`, if there is one, and asks the one before to close. */
	private use(next: Session | undefined): void {
		const previous = this.current;
		this.current = next;
		if (!previous !== !next) this.changed(next !== undefined);
		if (!previous || previous.socket.readyState === WebSocket.CLOSED) return;
		this.leaving = previous;
		previous.socket.close();
	}

	private closed(session: Session): void {
		if (this.leaving === session) this.leaving = undefined;
		if (this.current === session) {
			this.noteFailures(steadyNow() - session.began > LASTING_MS ? 0 : this.failures + 1);
			this.use(undefined);
		}
		this.awake.abort();
	}

	private noteFailures(count: number): void {
		this.failures = count;
		this.retryAt = steadyNow() + backOffMs(count, MAX_BACK_OFF_MS);
	}
}
