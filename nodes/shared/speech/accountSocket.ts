import { accountOf } from '../account';
import { backOffMs, sleep, monotonicNow } from '../async/deadline';
import type { ChannelEvent } from '../async/pollUntil';
import type { Credential } from '../http/credential';
import { checkEgress, type ServiceContext } from '../http/request';
import { evictOldest } from '../limits';
import { readNotification } from '../parsing/responses';

/** How long users wait for the socket, in ms. */
const READY_TIMEOUT_MS = 3000;
/** How long it stays open for the next round of a loop or the next execution, in ms. */
const LINGER_MS = 300;
/** How long an attempt to open may take, in ms. */
const OPENING_TIMEOUT_MS = 15_000;
/** How long a socket may be silent before it counts as dead and is replaced, in ms. */
const IDLE_MS = 60_000;
/** One that is lost later than this is opened again at once, in ms: a proxy may cut all after some seconds. */
const STABLE_AFTER_MS = 3000;
const MAX_BACK_OFF_MS = 30_000;

/** How many tasks' latest percentage is remembered, so that none is lost before its id is known. */
const MAX_TASKS = 5000;

/** True where the runtime has a WebSocket (Node 22 and later). */
export const canListen = (): boolean => typeof WebSocket === 'function';

/** Hears of the one task it follows, and of the socket. `percentage` (0–100) is that of a message, if known. */
type TaskSubscriber = (event: ChannelEvent, percentage?: number) => void;

const tell = (follower: TaskSubscriber, percentage: number | undefined) =>
	follower(percentage === 100 ? 'announced' : 'progress', percentage);

/** Hears of every task of the account. */
type TaskListener = (taskId: string) => void;

/** One WebSocket; its times by `monotonicNow`. */
interface SocketSession {
	socket: WebSocket;
	began: number;
	/** When anything last came. */
	lastHeard: number;
}

/**
 * The socket of one account in this process, shared by all waiting items and triggers (§6.2). It is kept
 * open as long as it has users: reopened when it is lost, and replaced when it is silent for long. The
 * global WebSocket says neither why it failed nor when it was pinged, and never lets go of a connection
 * whose other side does not answer the close. So only one at a time is asked to close. Until it has, a
 * silent one is not replaced, and one that nobody needs stays open for the next user.
 */
export class AccountSocket {
	private readonly lastPercentages = new Map<string, number>();
	private readonly subscribers = new Map<string, Set<TaskSubscriber>>();
	private readonly listeners = new Set<TaskListener>();
	private readonly url: string;
	private users = 0;
	private current: SocketSession | undefined;
	/** Has been asked to close, but is still open. */
	private closing: SocketSession | undefined;
	/** Aborts when the first attempt to open since `openNow` has succeeded or failed. */
	private settled = new AbortController();
	/** Aborted when anything changes. */
	private wakeUp = new AbortController();
	/** Attempts in a row that came to nothing. */
	private failures = 0;
	/** When the next attempt is due while none is open, by `monotonicNow`. */
	private retryAt = 0;

	constructor(
		private readonly credential: Credential,
		context: ServiceContext,
	) {
		this.url = `${credential.webSocketUrl}/ws`;
		void this.runLoop(checkEgress(context, this.url));
	}

	get isOpen(): boolean {
		return this.current !== undefined;
	}

	/** Opens the socket for one more user. */
	subscribe(): this {
		if (this.users++ === 0) this.openNow();
		return this;
	}

	/** Unless it is open, begins an attempt at once, whatever has failed before; `ready` waits for it. */
	openNow(): void {
		const hasFailed = !this.isOpen && this.settled.signal.aborted;
		if (hasFailed) this.settled = new AbortController();
		this.failures = this.retryAt = 0;
		this.wakeUp.abort();
	}

	/** One user less, to be called once. The last one closes the socket, unless others follow soon. */
	async release(): Promise<void> {
		await sleep(LINGER_MS);
		this.users--;
		this.wakeUp.abort();
	}

	/** Resolves once the socket is open, can't be opened, or 3 s have passed; never rejects. */
	async ready(): Promise<void> {
		await sleep(READY_TIMEOUT_MS, this.settled.signal);
	}

	/** Earlier messages are delivered at once (the service repeats none). Returns what ends it. */
	onTask(taskId: string, follower: TaskSubscriber): () => void {
		const followers = this.subscribers.get(taskId) ?? new Set();
		this.subscribers.set(taskId, followers.add(follower));
		if (this.lastPercentages.has(taskId)) tell(follower, this.lastPercentages.get(taskId));
		return () => {
			followers.delete(follower);
			if (followers.size === 0) this.subscribers.delete(taskId);
		};
	}

	/** All messages from now on, until `signal` aborts. */
	onAllTasks(listener: TaskListener, signal: AbortSignal): void {
		this.listeners.add(listener);
		signal.addEventListener('abort', () => this.listeners.delete(listener), { once: true });
	}

	/** A message as text. */
	private receive(text: string): void {
		const message = readNotification(text);
		if (!message) return;
		const { taskId, percentage } = message;
		const highest = Math.max(percentage ?? 0, this.lastPercentages.get(taskId) ?? 0);
		this.lastPercentages.delete(taskId);
		this.lastPercentages.set(taskId, highest);
		evictOldest(this.lastPercentages, MAX_TASKS);
		for (const follower of this.subscribers.get(taskId) ?? []) tell(follower, percentage);
		for (const listener of this.listeners) listener(taskId);
	}

	private async runLoop(allowed: Promise<void>): Promise<void> {
		const isAllowed = await allowed.then(canListen, () => false);
		// The runtime has none, or the policy forbids it: polling still works, by n8n's request helper.
		if (!isAllowed) this.settled.abort();
		while (isAllowed && (this.users > 0 || this.current || this.closing)) await this.step();
		// From now on another takes its place.
		accountOf(this.credential).evict(AccountSocket);
	}

	/** Does what is to be done next, or waits until it is due or anything has changed. */
	private async step(): Promise<void> {
		const { users, current, closing } = this;
		// One is opened at once, after a pause, or in place of one that is silent.
		const dueAt = current ? current.lastHeard + IDLE_MS : this.retryAt;
		const restMs = users > 0 && !(current && closing) ? dueAt - monotonicNow() : Infinity;
		if (restMs <= 0) return await this.open();
		if (users === 0 && current && !closing) return this.switchTo(undefined);
		await this.pause(Math.min(restMs, IDLE_MS));
	}

	private async pause(ms: number): Promise<void> {
		this.wakeUp = new AbortController();
		await sleep(ms, this.wakeUp.signal);
	}

	/** Opens one. It takes over from a silent one without a gap. */
	private async open(): Promise<void> {
		const session = await this.connect().catch(() => undefined);
		if (!session && this.users === 0) return;
		if (!session) this.noteFailures(this.failures + 1);
		this.switchTo(session);
		this.settled.abort();
	}

	/** Opens one; undefined if that fails, takes too long, or nobody needs it any more. */
	private async connect(): Promise<SocketSession | undefined> {
		// The address holds the token: it appears nowhere else.
		const socket = new WebSocket(
			`${this.url}?token=${encodeURIComponent(this.credential.apiToken)}`,
		);
		const session: SocketSession = { socket, began: monotonicNow(), lastHeard: 0 };
		socket.binaryType = 'arraybuffer';
		socket.addEventListener('open', () => {
			session.lastHeard = session.began = monotonicNow();
			this.wakeUp.abort();
		});
		socket.addEventListener('message', ({ data }: { data: string | ArrayBuffer }) => {
			session.lastHeard = monotonicNow();
			this.receive(typeof data === 'string' ? data : Buffer.from(data).toString('utf8'));
		});
		// It follows every 'error', which says nothing useful.
		socket.addEventListener('close', () => this.closed(session));
		while (socket.readyState === WebSocket.CONNECTING && this.users > 0) {
			const restMs = session.began + OPENING_TIMEOUT_MS - monotonicNow();
			if (restMs <= 0) break;
			await this.pause(restMs);
		}
		if (socket.readyState === WebSocket.OPEN) return session;
		// Before the socket is open, this ends the connection in any case.
		socket.close();
		return undefined;
	}

	/** Listens to `next`, if there is one, and asks the one before to close. */
	private switchTo(next: SocketSession | undefined): void {
		const previous = this.current;
		this.current = next;
		if (!previous !== !next) {
			const followers = [...this.subscribers.values()].flatMap((those) => [...those]);
			for (const follower of followers) follower(next ? 'reconnected' : 'disconnected');
		}
		if (!previous || previous.socket.readyState === WebSocket.CLOSED) return;
		this.closing = previous;
		previous.socket.close();
	}

	private closed(session: SocketSession): void {
		if (this.closing === session) this.closing = undefined;
		if (this.current === session) {
			// However often it is cut, it is opened again within 2 s: until then nobody hears anything.
			this.noteFailures(monotonicNow() - session.began > STABLE_AFTER_MS ? 0 : 2);
			this.switchTo(undefined);
		}
		this.wakeUp.abort();
	}

	private noteFailures(count: number): void {
		this.failures = count;
		this.retryAt = count === 0 ? 0 : monotonicNow() + backOffMs(count, MAX_BACK_OFF_MS);
	}
}

/** The account's socket, which is opened for the first user and closed after the last. */
export const subscribe = (credential: Credential, context: ServiceContext): AccountSocket =>
	accountOf(credential).get(AccountSocket, credential, context).subscribe();
