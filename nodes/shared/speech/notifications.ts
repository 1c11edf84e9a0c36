import { accountOf } from '../account';
import { sleep } from '../async/deadline';
import type { NewsKind } from '../async/pollUntil';
import type { Credential } from '../http/credential';
import type { EgressCheck } from '../http/request';
import { dropOldest } from '../limits';
import { readNotification } from '../parsing/responses';
import { ReconnectingSocket } from './webSocket';

/** Hears of the one task it follows, and of the socket. `percentage` (0–100) is that of a message, if known. */
export type Follower = (news: NewsKind, percentage?: number) => void;

const tell = (follower: Follower, percentage: number | undefined) =>
	follower(percentage === 100 ? 'outcome' : 'progress', percentage);

/** Hears of every task of the account. */
type TaskListener = (taskId: string, percentage: number | undefined) => void;

/** One user's share of the account's socket. */
export type Subscription = ReturnType<Connection['subscribe']>;

/** How long a create call is held back for the socket, in ms. */
const OPENING_MS = 3000;
/** How long the socket stays open for the next round of a loop or the next execution, in ms. */
const REST_MS = 300;
/** How many tasks' latest percentage is remembered, so that none is lost before its id is known. */
const MAX_TASKS = 5000;

/** The socket of one account in this process, shared by all waiting items and triggers (§6.2). */
class Connection {
	private readonly latest = new Map<string, number | undefined>();
	private readonly followers = new Map<string, Set<Follower>>();
	private readonly listeners = new Set<TaskListener>();
	private readonly socket: ReconnectingSocket;
	private users = 0;

	/** The address holds the token: it appears nowhere else. */
	constructor(credential: Credential, checkEgress: EgressCheck) {
		const { webSocketUrl, apiToken } = credential;
		const url = `${webSocketUrl}/ws?token=${encodeURIComponent(apiToken)}`;
		const account = accountOf(credential);
		this.socket = new ReconnectingSocket(url, checkEgress, {
			onText: (text) => this.receive(text),
			onOver: () => account.drop(Connection),
			onChange: (open) => {
				for (const followers of this.followers.values()) {
					for (const follower of followers) follower(open ? 'back' : 'lost');
				}
			},
		});
	}

	subscribe() {
		this.users++;
		this.socket.need();
		/** What ends all that it follows; undefined once it is released. */
		let mine: Set<() => void> | undefined = new Set();
		return {
			/** Resolves once the socket is open, can't be opened, or 3 s have passed; never rejects. */
			ready: this.socket.isOpen ? Promise.resolve() : sleep(OPENING_MS, this.socket.tried),
			isOpen: () => this.socket.isOpen,
			/** Whether it can be relied on: open, and not silent for so long that it may be dead. */
			isLive: () => this.socket.isLive,
			/** Earlier messages are delivered at once (the service repeats none). Returns what ends it. */
			follow: (taskId: string, follower: Follower): (() => void) => {
				const unfollow = () => {
					mine?.delete(unfollow);
					const others = this.followers.get(taskId);
					others?.delete(follower);
					if (others?.size === 0) this.followers.delete(taskId);
				};
				if (!mine) return unfollow;
				mine.add(unfollow);
				const others = this.followers.get(taskId) ?? new Set();
				this.followers.set(taskId, others.add(follower));
				if (this.latest.has(taskId)) tell(follower, this.latest.get(taskId));
				return unfollow;
			},
			/** All messages from now on. */
			followAll: (listener: TaskListener): void => {
				if (!mine) return;
				mine.add(() => this.listeners.delete(listener));
				this.listeners.add(listener);
			},
			/** The last one closes the socket: at once, or a moment later if others may follow `soon`. */
			release: (when?: 'soon'): void => {
				const ends = mine;
				mine = undefined;
				if (!ends) return;
				for (const end of ends) end();
				if (--this.users > 0) return;
				this.latest.clear();
				if (when === 'soon') void sleep(REST_MS).then(() => this.rest());
				else this.rest();
			},
		};
	}

	private rest(): void {
		if (this.users === 0) this.socket.leave();
	}

	/** True when it is a message of the service. */
	private receive(text: string): boolean {
		const message = readNotification(text);
		if (!message) return false;
		// A socket that stays open without a user is as good as closed.
		if (this.users === 0) return true;
		const { taskId, percentage } = message;
		this.remember(taskId, percentage);
		for (const follower of this.followers.get(taskId) ?? []) tell(follower, percentage);
		for (const listener of this.listeners) listener(taskId, percentage);
		return true;
	}

	private remember(taskId: string, percentage: number | undefined) {
		const highest = Math.max(percentage ?? 0, this.latest.get(taskId) ?? 0);
		this.latest.delete(taskId);
		this.latest.set(taskId, percentage === undefined && highest === 0 ? undefined : highest);
		dropOldest(this.latest, MAX_TASKS);
	}
}

/** A share of the account's socket, which is opened for the first user and closed after the last. */
export const subscribe = (credential: Credential, checkEgress: EgressCheck): Subscription =>
	accountOf(credential).shared(Connection, credential, checkEgress).subscribe();
