import { accountOf } from '../account';
import type { NewsKind } from '../async/pollUntil';
import type { Credential } from '../http/credential';
import { checkEgress, type ServiceContext } from '../http/request';
import { dropOldest } from '../limits';
import { readNotification } from '../parsing/responses';
import { ReconnectingSocket } from './webSocket';

/** Hears of the one task it follows, and of the socket. `percentage` (0–100) is that of a message, if known. */
export type Follower = (news: NewsKind, percentage?: number) => void;

const tell = (follower: Follower, percentage: number | undefined) =>
	follower(percentage === 100 ? 'outcome' : 'progress', percentage);

/** Hears of every task of the account. */
type TaskListener = (taskId: string, percentage: number | undefined) => void;

/** How many tasks' latest percentage is remembered, so that none is lost before its id is known. */
const MAX_TASKS = 5000;

/** The socket of one account in this process, shared by all waiting items and triggers (§6.2). */
export class Connection extends ReconnectingSocket {
	private readonly latest = new Map<string, number>();
	private readonly followers = new Map<string, Set<Follower>>();
	private readonly listeners = new Set<TaskListener>();

	constructor(
		private readonly credential: Credential,
		context: ServiceContext,
	) {
		const url = `${credential.webSocketUrl}/ws`;
		// The address holds the token: it appears nowhere else.
		const query = `?token=${encodeURIComponent(credential.apiToken)}`;
		super(url + query, checkEgress(context, url));
	}

	/** Earlier messages are delivered at once (the service repeats none). Returns what ends it. */
	follow(taskId: string, follower: Follower): () => void {
		const followers = this.followers.get(taskId) ?? new Set();
		this.followers.set(taskId, followers.add(follower));
		if (this.latest.has(taskId)) tell(follower, this.latest.get(taskId));
		return () => {
			followers.delete(follower);
			if (followers.size === 0) this.followers.delete(taskId);
		};
	}

	/** All messages from now on, until `signal` aborts. */
	followAll(listener: TaskListener, signal: AbortSignal): void {
		this.listeners.add(listener);
		signal.addEventListener('abort', () => this.listeners.delete(listener), { once: true });
	}

	protected changed(isOpen: boolean): void {
		for (const followers of this.followers.values()) {
			for (const follower of followers) follower(isOpen ? 'back' : 'lost');
		}
	}

	protected ended(): void {
		accountOf(this.credential).drop(Connection);
	}

	protected receive(text: string): void {
		const message = readNotification(text);
		if (!message) return;
		const { taskId, percentage } = message;
		const highest = Math.max(percentage ?? 0, this.latest.get(taskId) ?? 0);
		this.latest.delete(taskId);
		this.latest.set(taskId, highest);
		dropOldest(this.latest, MAX_TASKS);
		for (const follower of this.followers.get(taskId) ?? []) tell(follower, percentage);
		for (const listener of this.listeners) listener(taskId, percentage);
	}
}

/** The account's socket, which is opened for the first user and closed after the last. */
export const subscribe = (credential: Credential, context: ServiceContext): Connection =>
	accountOf(credential).shared(Connection, credential, context).subscribe();
