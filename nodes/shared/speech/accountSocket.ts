import { accountOf } from '../account';
import { backoffMs, sleep, monotonicNow } from '../async/deadline';
import type { ChannelEvent } from '../async/pollSchedule';
import type { Credential } from '../http/credential';
import { egressCheck, type ServiceContext } from '../http/request';
import { evictOldest } from '../limits';
import { readNotification } from '../parsing/responses';

/** The longest time that `ready` waits for the socket, in ms. */
const READY_TIMEOUT_MS = 3000;
/** How long a released socket stays open, in ms, for the next round of a loop in the workflow. */
const LINGER_MS = 300;
/** How long an attempt to open may take, in ms. */
const OPENING_TIMEOUT_MS = 15_000;
/** A connection that has been silent for this long, in ms, is replaced, because it may be lost without a sign. */
const MAX_SILENCE_MS = 60_000;
/**
 * A connection that is lost within this many ms after it was opened counts as a failed attempt, because some services
 * and proxies open a connection and then close it at once. Any other is reopened without a pause.
 */
const STABLE_AFTER_MS = 1000;
/** The longest back-off between attempts to open, in ms. */
const MAX_BACKOFF_MS = 30_000;

/** How many tasks' percentages are remembered: a message may precede the response with the task's id. */
const MAX_REMEMBERED_TASKS = 5000;

/** True if the runtime has a WebSocket (Node 22 and later). */
export const hasWebSocket = (): boolean => typeof WebSocket === 'function';

/** Is called for each message about one task, and when the socket opens or is lost. `percentage`: 0 to 100. */
type TaskSubscriber = (event: ChannelEvent, percentage?: number) => void;

const notifySubscriber = (subscriber: TaskSubscriber, percentage: number | undefined) =>
	subscriber(percentage === 100 ? 'announced' : 'progress', percentage);

/** One WebSocket connection; times are from `monotonicNow`. */
interface Connection {
	socket: WebSocket;
	/** When the connection was opened; 0 while it is being opened. */
	openedAt: number;
	/** When the last message arrived or, before the first one, when the connection was opened. */
	lastMessageAt: number;
}

/**
 * The WebSocket of one account for messages about speech tasks (§6.2), shared by the items and triggers of this
 * process. It consists of one connection after another. At most one connection may be closing at a time, because the
 * other side may never answer a close, so closing connections could pile up.
 */
export class AccountSocket {
	/** The highest percentage by task id, 0 to 100. The task with the oldest message comes first. */
	private readonly highestPercentages = new Map<string, number>();
	private readonly subscribers = new Map<string, Set<TaskSubscriber>>();
	private readonly listeners = new Set<(taskId: string) => void>();
	/** How many users the socket has: items and triggers that have not released it yet. */
	private userCount = 0;
	private isRunning = false;
	/** The open connection; undefined if there is none. */
	private current: Connection | undefined;
	/** The connection that was asked to close but is not closed yet; undefined if there is none. */
	private closing: Connection | undefined;
	/** Is aborted when an attempt to open has succeeded or failed, so that `ready` need not wait any longer. */
	private attemptEnded = new AbortController();
	/** Is aborted when a state has changed, to wake up `run`. */
	private stateChanged = new AbortController();
	/** The exponent of the back-off: how many attempts to open have failed in a row. */
	private consecutiveFailures = 0;
	/** When the next attempt to open is due, from `monotonicNow`. */
	private retryAt = 0;

	/** Creates a socket that is not open yet. It opens when the first user is added. */
	constructor(
		private readonly credential: Credential,
		/** Is called with a URL, and rejects if n8n forbids a connection to it. */
		private readonly checkEgress: ReturnType<typeof egressCheck>,
	) {}

	/** True while a connection is open, so that messages arrive. */
	get isOpen(): boolean {
		return this.current !== undefined;
	}

	/** Adds a user of the socket, and opens it if necessary. Each user must call `release` once. */
	acquire(): this {
		if (this.userCount++ === 0) this.openNow();
		if (!this.isRunning) void this.run();
		return this;
	}

	/** Ends the back-off, so that the next attempt starts at once. If the socket is closed, `ready` waits again. */
	openNow(): void {
		const hasAttemptFailed = !this.isOpen && this.attemptEnded.signal.aborted;
		if (hasAttemptFailed) this.attemptEnded = new AbortController();
		this.consecutiveFailures = this.retryAt = 0;
		this.stateChanged.abort();
	}

	/** Removes a user of the socket, after LINGER_MS. Never rejects. */
	async release(): Promise<void> {
		await sleep(LINGER_MS);
		this.userCount--;
		this.stateChanged.abort();
	}

	/** Resolves once an attempt to open has succeeded or failed, at the latest after READY_TIMEOUT_MS. */
	async ready(): Promise<void> {
		await sleep(READY_TIMEOUT_MS, this.attemptEnded.signal);
	}

	/**
	 * Calls `subscriber` for each message about a task, and when the socket is opened or lost. If a message about the
	 * task has arrived before, calls `subscriber` at once. Returns a function that ends these calls.
	 */
	subscribeToTask(taskId: string, subscriber: TaskSubscriber): () => void {
		const subscribers = this.subscribers.get(taskId) ?? new Set();
		this.subscribers.set(taskId, subscribers.add(subscriber));
		if (this.highestPercentages.has(taskId))
			notifySubscriber(subscriber, this.highestPercentages.get(taskId));
		return () => {
			subscribers.delete(subscriber);
			if (subscribers.size === 0) this.subscribers.delete(taskId);
		};
	}

	/** Calls `listener` for each message, with the id of its task. Returns a function that ends these calls. */
	listenToAllTasks(listener: (taskId: string) => void): () => void {
		this.listeners.add(listener);
		return () => void this.listeners.delete(listener);
	}

	private receive(text: string): void {
		const message = readNotification(text);
		if (!message) return;
		const { taskId, percentage } = message;
		const highestPercentage = Math.max(percentage ?? 0, this.highestPercentages.get(taskId) ?? 0);
		this.highestPercentages.delete(taskId);
		this.highestPercentages.set(taskId, highestPercentage);
		evictOldest(this.highestPercentages, MAX_REMEMBERED_TASKS);
		for (const subscriber of this.subscribers.get(taskId) ?? [])
			notifySubscriber(subscriber, percentage);
		for (const listener of this.listeners) listener(taskId);
	}

	/** Opens, replaces and closes connections until there is neither a user nor a connection left. */
	private async run(): Promise<void> {
		this.isRunning = true;
		while (this.userCount > 0 || this.current || this.closing) await this.step();
		this.isRunning = false;
		this.highestPercentages.clear();
	}

	/** Opens or closes a connection if that is due. Otherwise waits until that may be due, or until a state changes. */
	private async step(): Promise<void> {
		const { userCount, current, closing } = this;
		// A connection is due after the back-off, or once the current one has been silent for too long.
		const dueAt = current ? current.lastMessageAt + MAX_SILENCE_MS : this.retryAt;
		const delayMs = userCount > 0 && !(current && closing) ? dueAt - monotonicNow() : Infinity;
		if (delayMs <= 0) return await this.open();
		if (userCount === 0 && current && !closing) return this.switchTo(undefined);
		await this.pause(Math.min(delayMs, MAX_SILENCE_MS));
	}

	/** Waits for `ms` milliseconds, or until a state changes. */
	private async pause(ms: number): Promise<void> {
		this.stateChanged = new AbortController();
		await sleep(ms, this.stateChanged.signal);
	}

	/** Tries to open a connection. The current one is closed only afterwards, so that no message is missed. */
	private async open(): Promise<void> {
		const connection = await this.connect().catch(() => undefined);
		if (!connection && this.userCount === 0) return;
		if (!connection) this.setFailures(this.consecutiveFailures + 1);
		this.switchTo(connection);
		this.attemptEnded.abort();
	}

	/** Opens a connection. Resolves with undefined or rejects if that fails. */
	private async connect(): Promise<Connection | undefined> {
		const { webSocketUrl, apiToken } = this.credential;
		const url = `${webSocketUrl}/ws`;
		await this.checkEgress(url);
		// This URL contains the token, so it must not appear in any log or message.
		const socket = new WebSocket(`${url}?token=${encodeURIComponent(apiToken)}`);
		const connection: Connection = { socket, openedAt: 0, lastMessageAt: 0 };
		const openingUntil = monotonicNow() + OPENING_TIMEOUT_MS;
		socket.binaryType = 'arraybuffer';
		socket.addEventListener('open', () => {
			connection.lastMessageAt = connection.openedAt = monotonicNow();
			this.stateChanged.abort();
		});
		socket.addEventListener('message', ({ data }: { data: string | ArrayBuffer }) => {
			connection.lastMessageAt = monotonicNow();
			this.receive(typeof data === 'string' ? data : Buffer.from(data).toString('utf8'));
		});
		// Every 'error' event is followed by 'close' and says nothing useful, so nothing listens to 'error'.
		socket.addEventListener('close', () => this.onClose(connection));
		while (socket.readyState === WebSocket.CONNECTING && this.userCount > 0) {
			const remainingMs = openingUntil - monotonicNow();
			if (remainingMs <= 0) break;
			await this.pause(remainingMs);
		}
		if (socket.readyState === WebSocket.OPEN) return connection;
		// Before a connection is open, `close` ends it at once, without waiting for the other side.
		socket.close();
		return undefined;
	}

	/** Replaces and closes the current connection. Tells subscribers if the socket is thereby opened or lost. */
	private switchTo(connection: Connection | undefined): void {
		const previous = this.current;
		this.current = connection;
		if (!previous !== !connection) {
			const event = connection ? 'reconnected' : 'disconnected';
			for (const subscribers of this.subscribers.values())
				for (const subscriber of subscribers) subscriber(event);
		}
		if (!previous || previous.socket.readyState === WebSocket.CLOSED) return;
		this.closing = previous;
		previous.socket.close();
	}

	/** Is called when a connection has been closed by either side, or an attempt to open one has failed. */
	private onClose(connection: Connection): void {
		if (this.closing === connection) this.closing = undefined;
		if (this.current === connection) {
			const openMs = monotonicNow() - connection.openedAt;
			this.setFailures(openMs < STABLE_AFTER_MS ? this.consecutiveFailures + 1 : 0);
			this.switchTo(undefined);
		}
		this.stateChanged.abort();
	}

	/** Sets the number of failed attempts, and when the next attempt is due. */
	private setFailures(count: number): void {
		this.consecutiveFailures = count;
		this.retryAt = count === 0 ? 0 : monotonicNow() + backoffMs(count, MAX_BACKOFF_MS);
	}
}

/** The sockets of an account, by WebSocket URL, because its credentials may have different ones. */
class AccountSockets extends Map<string, AccountSocket> {}

/** Returns the shared socket of a credential, and adds the caller as a user, who must call `release` once. */
export function acquireSocket(credential: Credential, context: ServiceContext): AccountSocket {
	const sockets = accountOf(credential).get(AccountSockets);
	const url = credential.webSocketUrl;
	const socket = sockets.get(url) ?? new AccountSocket(credential, egressCheck(context));
	sockets.set(url, socket);
	return socket.acquire();
}
