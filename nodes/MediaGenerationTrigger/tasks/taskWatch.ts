import { sleep, startDeadline, steadyNow } from '../../shared/async/deadline';
import { Failure, isFailure } from '../../shared/failure';
import { egressCheckOf } from '../../shared/http/request';
import { knownTasksOf, type KnownTasks } from '../../shared/api/knownTasks';
import { subscribe, type Subscription, type MessageKind } from '../../shared/speech/notifications';
import { canListen } from '../../shared/speech/webSocket';
import { checkTokenTogether, requireToken } from '../../shared/api/tokenCheck';
import type { Activation } from '../activation/activation';
import { TaskEvents } from './taskEvents';
import { TaskFollower } from './taskFollower';
import { MAX_WATCHED_MS, MAX_UNDER_WAY, type TaskStore } from './taskStore';
import { Arrivals } from './arrivals';

/** How often the socket is checked, in ms. */
const LOOK_MS = 5000;
/** How long a good token is trusted while the socket is closed, in ms. */
const TRUSTED_MS = 60_000;
const MAX_ASIDE = 10_000;
/** A task is given up for another only when it has been under way for longer than this, in ms. */
const LONG_MS = 600_000;
/** One that ends sooner after it was first heard of may be an old one whose messages are repeated, in ms. */
const YOUNG_MS = 10_000;

/** What is known of a task at first: nothing but its id, that it is under way, or that it has ended. */
type Sight = 'old' | 'underWay' | 'ended';

/** Watches the speech tasks of an account, and emits what becomes of them. */
export class TaskWatch {
	private readonly known: KnownTasks;
	private taskFollower: TaskFollower | undefined;
	private readonly arrivals: Arrivals;
	/** Tasks that are watched, those that were seen first in front; aborted to give one up. */
	private readonly watched = new Map<string, AbortController>();
	/** Tasks that wait until one can be watched. */
	private readonly aside = new Map<string, Sight>();
	/** Tasks heard of before, whose first reading tells whether they are still under way. */
	private readonly past = new Set<string>();
	/** When the trigger began to listen, by `steadyNow`: what ended before is none of its business. */
	private since = Infinity;

	constructor(
		private readonly activation: Activation,
		readonly store: TaskStore,
	) {
		const { api, closing, warn } = activation;
		this.known = knownTasksOf(api.credential);
		this.arrivals = new Arrivals(closing, {
			hasRoom: () => this.watched.size < MAX_UNDER_WAY,
			since: () => this.since,
			letGo: (taskId, wasUnderWay) => this.take(taskId, wasUnderWay ? 'underWay' : 'ended'),
			warn,
		});
	}

	/**
	 * Checks address and token, listens, and catches up with the tasks that are known. Throws a Failure
	 * when it makes no sense to listen.
	 */
	async start(): Promise<void> {
		const { activation, store } = this;
		const { api, context, settings, isManual, closing } = activation;
		const { credential } = api;
		if (!canListen() && settings.taskIds.size === 0) throw new Failure('noWebSocket');
		const checkEgress = egressCheckOf(context);
		await checkEgress(`${credential.webSocketUrl}/ws`);
		await requireToken(api, isManual, closing);
		if (closing.aborted) return;
		const subscription = subscribe(credential, checkEgress);
		closing.addEventListener('abort', () => subscription.release(), { once: true });
		const events = new TaskEvents(activation, store);
		this.taskFollower = new TaskFollower(activation, store, subscription, events, this.arrivals);
		const restored = store.tasks().filter((taskId) => this.isWanted(taskId));
		for (const taskId of new Set([...restored, ...settings.taskIds])) {
			if (!store.isOver(taskId)) void this.watch(taskId, 'old');
		}
		this.since = steadyNow();
		subscription.followAll((...message) => this.hear(...message));
		void this.tryTokenWhileClosed(subscription);
		// Whoever creates a task as soon as the workflow is active expects it to be heard.
		await subscription.ready;
	}

	private hear(taskId: string, percentage: number | undefined, kind: MessageKind): void {
		if (kind === 'repeat' && percentage === 100) this.arrivals.again(taskId);
		if (kind === 'repeat' || !this.isWanted(taskId)) return;
		const isEnd = percentage === 100 && !this.activation.settings.taskIds.has(taskId);
		if (this.isKnown(taskId)) {
			if (isEnd && this.isYoung(taskId)) this.end(taskId, true);
			return;
		}
		if ((this.known.endedAt(taskId) ?? Infinity) < this.since) return;
		if (kind === 'past') return void this.lookInto(taskId);
		const wasUnderWay = this.past.delete(taskId) || this.aside.has(taskId);
		if (isEnd) this.end(taskId, wasUnderWay);
		else this.take(taskId, 'underWay');
	}

	/**
	 * A task has ended when it was first heard of, or soon after. One of many gives its place to others
	 * until its turn comes; it stays in the store, as far as that has room.
	 */
	private end(taskId: string, wasUnderWay: boolean): void {
		if (wasUnderWay && this.arrivals.isCalm()) return this.take(taskId, 'underWay');
		this.giveUp(taskId);
		this.aside.delete(taskId);
		if (this.store.size > MAX_UNDER_WAY) this.store.forget(taskId);
		this.arrivals.add(taskId, wasUnderWay);
	}

	/** Watches a task that a message has named, as soon as there is room. */
	private take(taskId: string, sight: Sight): void {
		if (this.isKnown(taskId) || this.activation.closing.aborted) return;
		if (this.watched.size < MAX_UNDER_WAY || this.giveUpOldest()) void this.watch(taskId, sight);
		else if (this.aside.size < MAX_ASIDE) this.aside.set(taskId, sight);
	}

	private isWanted(taskId: string): boolean {
		const { api, settings } = this.activation;
		const { taskIds } = settings;
		if (taskIds.size > 0) return taskIds.has(taskId);
		// Ids are stored in clear; no service in its right mind has the token in one.
		return api.credential.redact.text(taskId) === taskId;
	}

	private isKnown(taskId: string): boolean {
		return this.watched.has(taskId) || this.store.isOver(taskId);
	}

	private isYoung(taskId: string): boolean {
		const { store } = this;
		return !store.isOver(taskId) && Date.now() - store.see(taskId) < YOUNG_MS;
	}

	/** Watches a task that was heard of before the trigger began, if it is still under way. */
	private async lookInto(taskId: string): Promise<void> {
		const { api, closing } = this.activation;
		if (this.past.size >= MAX_UNDER_WAY) return;
		this.past.add(taskId);
		await api.pace.turns.watch(closing);
		// Meanwhile a message may have said that it is.
		const isOpen = !closing.aborted && this.past.has(taskId);
		const reading = isOpen ? api.getTask(taskId, closing) : undefined;
		const task = await reading?.catch(() => undefined);
		if (!this.past.delete(taskId) || closing.aborted || !task) return;
		if (this.known.endedAt(taskId) === undefined) this.take(taskId, 'underWay');
	}

	/** A socket that can't be opened does not say why: the account's answer does. */
	private async tryTokenWhileClosed(subscription: Subscription): Promise<void> {
		const { api, closing, warn, onFatal } = this.activation;
		let isTold = false;
		for (;;) {
			await sleep(LOOK_MS, closing);
			if (closing.aborted) return;
			if (subscription.isOpen()) {
				isTold = false;
				continue;
			}
			if (!isTold) {
				isTold = true;
				warn('the WebSocket was closed: reopening it');
			}
			// The token may have been revoked, and the socket dropped for that.
			const since = Math.max(subscription.lostAt(), steadyNow() - TRUSTED_MS);
			const trouble = await checkTokenTogether(api, since, closing);
			if (isFailure(trouble, 'tokenRefused')) onFatal(trouble);
		}
	}

	private async watch(taskId: string, sight: Sight): Promise<void> {
		const givenUp = new AbortController();
		this.watched.set(taskId, givenUp);
		const leftMs = Math.max(1000, this.store.see(taskId) + MAX_WATCHED_MS - Date.now());
		const deadline = startDeadline(leftMs, this.activation.closing, givenUp.signal);
		try {
			if (sight === 'ended') this.store.doubt(taskId, Date.now() - (steadyNow() - this.since));
			const since = this.store.doubted(taskId);
			await this.taskFollower!.toEnd(taskId, sight === 'old', since, deadline.signal);
		} finally {
			deadline.stop();
			if (this.watched.get(taskId) === givenUp) this.watched.delete(taskId);
			const [next] = this.aside;
			if (next && this.aside.delete(next[0])) this.take(...next);
		}
	}

	/** Gives up the task that is under way for longest, if that is long; false when there is none. */
	private giveUpOldest(): boolean {
		const { store } = this;
		for (const taskId of this.watched.keys()) {
			// It only waits for its end to be emitted.
			if (this.known.endedAt(taskId) !== undefined) continue;
			if (store.see(taskId) > Date.now() - LONG_MS) return false;
			this.giveUp(taskId);
			store.forget(taskId);
			return true;
		}
		return false;
	}

	private giveUp(taskId: string): void {
		this.watched.get(taskId)?.abort();
		this.watched.delete(taskId);
	}
}
