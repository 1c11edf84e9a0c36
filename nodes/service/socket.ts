import { pause } from './clock';
import { backOffMs } from './pacing';

/** Checks that the instance's egress policy allows an address; rejects when it does not. */
export type EgressCheck = (url: string) => Promise<void>;

export interface SocketEvents {
	/** A message as text; binary ones are read as UTF-8. */
	onText(text: string): void;
	/** The socket is open, or was lost: messages may have been missed. */
	onChange(open: boolean): void;
}

/** How long one attempt to open may take, in ms. */
const GIVE_UP_OPENING_MS = 15_000;
/** A socket silent for this long may be dead without a word: another takes its place. */
const IDLE_MS = 60_000;
/** A socket that stayed open this long was a good one, in ms. */
const LASTING_MS = 10_000;
const LONGEST_BACK_OFF_MS = 30_000;

/** One WebSocket from its opening to its end. */
interface Session {
	close(): void;
	/** Aborts when the socket is closed, whoever did it. */
	closed: AbortSignal;
	/** When anything last came, in ms since 1970. */
	lastHeard: number;
	began: number;
}

/**
 * A WebSocket that is kept open: opened again with growing pauses when it is lost, and replaced when
 * it is silent for long. The global WebSocket tells neither why it failed nor of pings (n8n notes C9).
 */
export class SteadySocket {
	private readonly ended = new AbortController();
	private current: Session | undefined;
	private open = false;
	/** Resolves when the first attempt to open has come to anything; never rejects. */
	readonly firstTry: Promise<void>;

	/** `url` may hold a secret after its "?": only the part before is shown to `checkEgress`. */
	constructor(
		private readonly url: string,
		private readonly checkEgress: EgressCheck,
		private readonly events: SocketEvents,
	) {
		let resolve = () => {};
		this.firstTry = new Promise((done) => (resolve = done));
		void this.keepOpen(resolve);
	}

	get isOpen(): boolean {
		return this.open;
	}

	close(): void {
		this.open = false;
		this.ended.abort();
		this.current?.close();
	}

	private async keepOpen(firstTried: () => void): Promise<void> {
		try {
			await this.checkEgress(this.url.split('?')[0]);
		} catch {
			// The policy forbids the socket: polling goes through n8n's own, allowed, way.
			return firstTried();
		}
		for (let attempt = 0; !this.ended.signal.aborted; attempt++) {
			const session = await this.connect();
			// One that replaces a silent socket takes over without a moment between in which neither hears.
			const previous = this.current;
			this.current = session;
			if (previous?.closed.aborted) this.change(false);
			previous?.close();
			if (session) this.change(true);
			firstTried();
			const isSilent = session !== undefined && (await this.untilOverOrSilent(session));
			if (isSilent) attempt = -1;
			if (isSilent) continue;
			this.current = undefined;
			this.change(false);
			// One that is dropped as soon as it opens deserves as much patience as one that is refused.
			if (session && Date.now() - session.began > LASTING_MS) attempt = 0;
			await pause(2 * backOffMs(attempt, LONGEST_BACK_OFF_MS / 2), this.ended.signal);
		}
	}

	/** Opens one; undefined when that fails or takes too long. */
	private async connect(): Promise<Session | undefined> {
		if (this.ended.signal.aborted) return undefined;
		let socket: WebSocket;
		try {
			socket = new WebSocket(this.url);
		} catch {
			return undefined;
		}
		const closed = new AbortController();
		const opened = new AbortController();
		const now = Date.now();
		const session: Session = {
			close: () => socket.close(),
			closed: closed.signal,
			lastHeard: now,
			began: now,
		};
		socket.binaryType = 'arraybuffer';
		socket.addEventListener('open', () => {
			session.lastHeard = session.began = Date.now();
			opened.abort();
		});
		socket.addEventListener('message', (event: { data: unknown }) => {
			session.lastHeard = Date.now();
			this.receive(event.data);
		});
		// Only 'close' matters: it follows every 'error', which says nothing of use.
		socket.addEventListener('error', () => {});
		socket.addEventListener('close', () => closed.abort());
		const decided = AbortSignal.any([opened.signal, closed.signal, this.ended.signal]);
		await pause(GIVE_UP_OPENING_MS, decided);
		if (opened.signal.aborted && !closed.signal.aborted && !this.ended.signal.aborted) {
			return session;
		}
		socket.close();
		return undefined;
	}

	/** True when the socket is still there but silent, false when it is over. */
	private async untilOverOrSilent(session: Session): Promise<boolean> {
		const over = AbortSignal.any([session.closed, this.ended.signal]);
		while (!over.aborted) {
			const rest = session.lastHeard + IDLE_MS - Date.now();
			if (rest <= 0) return true;
			await pause(rest, over);
		}
		return false;
	}

	private change(open: boolean) {
		if (this.open === open || this.ended.signal.aborted) return;
		this.open = open;
		this.events.onChange(open);
	}

	private receive(data: unknown) {
		if (this.ended.signal.aborted) return;
		if (typeof data === 'string') this.events.onText(data);
		if (data instanceof ArrayBuffer) this.events.onText(Buffer.from(data).toString('utf8'));
	}
}
