import type { ServiceAddress } from './address';
import { pause } from './clock';
import { backOffMs } from './pacing';
import { readNotification } from './readers';

/** Told about the one task it follows, and about the socket it hears that over. */
export interface Follower {
	/** A message of the task came; `percentage` (0–100) may be unknown. */
	onMessage(percentage: number | undefined): void;
	/** The socket was lost or is open again: messages may have been missed. */
	onSocketChange(): void;
}

/** One waiting item's share of the account's socket. */
export interface Listening {
	/** Resolves once the socket is open, cannot be had, or 3 s have passed; never rejects. */
	ready: Promise<void>;
	isOpen(): boolean;
	/** Messages that came before this call are delivered at once (contract: nothing is replayed). */
	follow(taskId: string, follower: Follower): void;
	/** Must be called once the wait is over; the last one closes the socket. */
	release(): void;
}

/** Checks that the instance's egress policy allows an address; rejects when it does not. */
export type EgressCheck = (url: string) => Promise<void>;

/** How long a waiting item holds its create call back for the socket. */
const OPENING_MS = 3000;
/** How long one attempt to open may take in the background. */
const GIVE_UP_OPENING_MS = 15_000;
/** A socket silent for this long may be dead without a word: it is opened anew. */
const IDLE_MS = 90_000;
/** A socket that stayed open this long was a good one, in ms. */
const LASTING_MS = 10_000;
const LONGEST_BACK_OFF_MS = 30_000;
/** Tasks whose latest percentage is remembered, so that none is lost before its id is known. */
const REMEMBERED_TASKS = 5000;

const connections = new Map<string, Connection>();

/** The socket of one account in this process, shared by all waiting items and executions (§6.2). */
class Connection {
	private readonly latest = new Map<string, number | undefined>();
	private readonly followers = new Map<string, Set<Follower>>();
	private readonly ended = new AbortController();
	private socket: WebSocket | undefined;
	private users = 0;
	private opened = false;
	/** What the followers were last told of the socket. */
	private announced = false;
	private lastHeard = 0;
	readonly firstTry: Promise<void>;

	constructor(
		private readonly url: string,
		private readonly checkEgress: EgressCheck,
	) {
		let resolve = () => {};
		this.firstTry = new Promise((done) => (resolve = done));
		void this.keepOpen(resolve);
	}

	listen(): Listening {
		this.users++;
		const mine: Array<[string, Follower]> = [];
		let released = false;
		return {
			ready: this.opened ? Promise.resolve() : this.whenTried(),
			isOpen: () => this.opened,
			follow: (taskId, follower) => {
				if (released) return;
				mine.push([taskId, follower]);
				const others = this.followers.get(taskId) ?? new Set();
				this.followers.set(taskId, others.add(follower));
				if (this.latest.has(taskId)) follower.onMessage(this.latest.get(taskId));
			},
			release: () => {
				if (released) return;
				released = true;
				for (const [taskId, follower] of mine) this.unfollow(taskId, follower);
				if (--this.users === 0) this.close();
			},
		};
	}

	private async whenTried(): Promise<void> {
		const waited = new AbortController();
		await Promise.race([this.firstTry, pause(OPENING_MS, waited.signal)]);
		waited.abort();
	}

	private unfollow(taskId: string, follower: Follower) {
		const others = this.followers.get(taskId);
		others?.delete(follower);
		if (others?.size === 0) this.followers.delete(taskId);
	}

	private close() {
		connections.delete(this.url);
		this.ended.abort();
		this.socket?.close();
	}

	/** Opens, listens until the socket is lost or idle, and opens again, until the last user left. */
	private async keepOpen(firstTried: () => void): Promise<void> {
		try {
			await this.checkEgress(this.url.split('?')[0]);
		} catch {
			// The policy forbids the socket: polling goes through n8n's own, allowed, way.
			return firstTried();
		}
		for (let attempt = 0; !this.ended.signal.aborted; attempt++) {
			const end = await this.session(firstTried);
			firstTried();
			this.opened = false;
			// A socket that is renewed for silence was not lost: nobody has to know of the moment between.
			if (end === 'idle') continue;
			this.announce(false);
			if (end === 'lost') attempt = 0;
			await pause(2 * backOffMs(attempt, LONGEST_BACK_OFF_MS / 2), this.ended.signal);
		}
	}

	/** One socket from opening to its end. */
	private async session(onOpen: () => void): Promise<'unusable' | 'lost' | 'idle'> {
		let socket: WebSocket;
		try {
			socket = new WebSocket(this.url);
		} catch {
			return 'unusable';
		}
		this.socket = socket;
		socket.binaryType = 'arraybuffer';
		this.lastHeard = Date.now();
		const over = new AbortController();
		const began = Date.now();
		let wasOpen = false;
		socket.addEventListener('open', () => {
			wasOpen = true;
			this.opened = true;
			this.announce(true);
			onOpen();
		});
		socket.addEventListener('message', (event: { data: unknown }) => this.receive(event.data));
		// Only 'close' matters: it follows every 'error', which says nothing of use.
		socket.addEventListener('error', () => {});
		socket.addEventListener('close', () => over.abort());
		const either = AbortSignal.any([over.signal, this.ended.signal]);
		while (!either.aborted) {
			const rest = this.lastHeard + (wasOpen ? IDLE_MS : GIVE_UP_OPENING_MS) - Date.now();
			if (rest <= 0) break;
			await pause(rest, either);
		}
		socket.close();
		if (!over.signal.aborted && wasOpen) return 'idle';
		// One that is dropped as soon as it opens deserves as much patience as one that is refused.
		return wasOpen && Date.now() - began > LASTING_MS ? 'lost' : 'unusable';
	}

	private announce(open: boolean) {
		if (this.announced === open) return;
		this.announced = open;
		for (const followers of this.followers.values()) {
			for (const follower of followers) follower.onSocketChange();
		}
	}

	private receive(data: unknown) {
		this.lastHeard = Date.now();
		const text =
			typeof data === 'string'
				? data
				: data instanceof ArrayBuffer
					? Buffer.from(data).toString('utf8')
					: '';
		const message = readNotification(text);
		if (!message) return;
		this.remember(message.taskId, message.percentage);
		for (const follower of this.followers.get(message.taskId) ?? []) {
			follower.onMessage(message.percentage);
		}
	}

	private remember(taskId: string, percentage: number | undefined) {
		const highest = Math.max(percentage ?? 0, this.latest.get(taskId) ?? 0);
		this.latest.delete(taskId);
		this.latest.set(taskId, percentage === undefined && highest === 0 ? undefined : highest);
		if (this.latest.size > REMEMBERED_TASKS) {
			const [oldest] = this.latest.keys();
			this.latest.delete(oldest);
		}
	}
}

/** What listening comes to where there is no WebSocket (Node before 22). */
const DEAF: Listening = {
	ready: Promise.resolve(),
	isOpen: () => false,
	follow() {},
	release() {},
};

/**
 * A share of the account's socket at `{ws_url}/ws?token=` (§6.2): one per account and process,
 * opened for the first listener and closed by the last. The address holds the token: it appears
 * nowhere else.
 */
export function listen(address: ServiceAddress, checkEgress: EgressCheck): Listening {
	if (typeof WebSocket !== 'function') return DEAF;
	const url = `${address.webSocketUrl}/ws?token=${encodeURIComponent(address.apiToken)}`;
	const connection = connections.get(url) ?? new Connection(url, checkEgress);
	connections.set(url, connection);
	return connection.listen();
}
