import { checkToken, FRESH_MS } from '../../shared/api/tokenCheck';
import { sleep, startDeadline, steadyNow } from '../../shared/async/deadline';
import { Failure, isFailure } from '../../shared/failure';
import { egressCheckOf } from '../../shared/http/request';
import { subscribe, type Subscription } from '../../shared/speech/notifications';
import { canListen } from '../../shared/speech/webSocket';
import type { Activation } from '../activation/activation';
import { TaskEvents } from './taskEvents';
import { TaskFollower } from './taskFollower';
import { MAX_WATCHED_MS, type TaskStore } from './taskStore';

/** How many tasks are followed at once; the oldest gives way, and is taken up again by its next message. */
const MAX_FOLLOWED = 1000;
/** How long the socket may take to open before that is an error, in ms, and how often it is looked at. */
const OPENING_MS = 5000;
const OPENING_LOOK_MS = 200;
/** How often an open socket is looked at, in ms. */
const LOOK_MS = 5000;
/** How long a good token is trusted while the socket stays closed, in ms. */
const TRUSTED_MS = 60_000;

/** How a task comes to be known: a message says that it is under way, or has ended, or it is named or kept. */
type Beginning = 'underWay' | 'ended' | 'known';

/** Watches the speech tasks of an account, and emits what becomes of them. */
export class TaskWatch {
	private follower: TaskFollower | undefined;
	/** What gives up the following of each task, the oldest in front. */
	private readonly followed = new Map<string, AbortController>();
	/** When the trigger began to listen, in ms since 1970: what ended before is none of its business. */
	private since = 0;

	constructor(
		private readonly activation: Activation,
		readonly store: TaskStore,
	) {}

	/**
	 * Listens until the trigger is closed, and catches up with the tasks that are known. Resolves when the
	 * socket is open; throws a Failure for what a person must mend, and goes on listening all the same.
	 */
	async start(): Promise<void> {
		const { activation, store } = this;
		const { api, context, settings, closing } = activation;
		const isSelective = settings.taskIds.size > 0;
		if (!canListen() && !isSelective) throw new Failure('noWebSocket');
		const checkEgress = egressCheckOf(context);
		await checkEgress(`${api.credential.webSocketUrl}/ws`);
		if (closing.aborted) return;
		const subscription = subscribe(api.credential, checkEgress);
		closing.addEventListener('abort', () => subscription.release(), { once: true });
		const events = new TaskEvents(activation, store);
		this.follower = new TaskFollower(activation, store, subscription, events);
		this.since = Date.now();
		for (const taskId of [...store.underWay(), ...settings.taskIds]) this.take(taskId, 'known');
		const heardBefore = subscription.followAll((taskId, percentage) =>
			this.take(taskId, percentage === 100 ? 'ended' : 'underWay'),
		);
		for (const taskId of heardBefore) void this.lookInto(taskId);
		// Whoever creates a task as soon as the workflow is active expects it to be heard.
		await subscription.ready;
		// Tasks that are named are looked up instead.
		const isOpen = isSelective || (await this.opens(subscription));
		const isBlocked = !isOpen && (await checkToken(api, FRESH_MS, closing)) === undefined;
		void this.tryTokenWhileClosed(subscription, isBlocked);
		if (isBlocked && !closing.aborted) throw new Failure('noSocket');
	}

	/** Whether the socket opens within some seconds: the first attempt may fail for a reason that passes. */
	private async opens(subscription: Subscription): Promise<boolean> {
		const { closing } = this.activation;
		const latest = steadyNow() + OPENING_MS;
		while (!subscription.isOpen() && steadyNow() < latest && !closing.aborted) {
			await sleep(OPENING_LOOK_MS, closing);
		}
		return subscription.isOpen();
	}

	/** Follows a task, unless that is done already, or it is not wanted. */
	private take(taskId: string, begins: Beginning): void {
		if (!this.isWanted(taskId) || this.followed.has(taskId) || this.store.hasEnded(taskId)) return;
		void this.follow(taskId, begins);
		if (this.followed.size <= MAX_FOLLOWED) return;
		const [[oldest, over] = ['', undefined]] = this.followed;
		over?.abort();
		this.followed.delete(oldest);
		this.store.forget(oldest);
	}

	private isWanted(taskId: string): boolean {
		const { api, settings } = this.activation;
		const { taskIds } = settings;
		if (taskIds.size > 0) return taskIds.has(taskId);
		// Ids are stored in clear; no service in its right mind has the token in one.
		return api.credential.redact.text(taskId) === taskId;
	}

	private async follow(taskId: string, begins: Beginning): Promise<void> {
		const { api, closing, settings } = this.activation;
		const over = new AbortController();
		this.followed.set(taskId, over);
		const mayBeOld = begins === 'ended' && !settings.taskIds.has(taskId);
		const { since, notBefore } = this.store.watch(taskId, mayBeOld ? this.since : 0);
		const leftMs = Math.max(1000, since + MAX_WATCHED_MS - Date.now());
		const { signal, stop } = startDeadline(leftMs, closing, over.signal);
		// Each has to be read, and thousands may be named at once.
		if (mayBeOld) await api.pace.turns.watch(signal);
		await this.follower!.follow(taskId, begins === 'underWay', notBefore, signal);
		stop();
		if (this.followed.get(taskId) === over) this.followed.delete(taskId);
	}

	/** Follows a task that was under way by a message from before the trigger began, if it still is. */
	private async lookInto(taskId: string): Promise<void> {
		const { api, closing } = this.activation;
		if (!(await api.pace.turns.watch(closing))) return;
		const task = await api.getTask(taskId, closing).catch(() => undefined);
		const isUnderWay = task && task.state !== 'completed' && task.state !== 'error';
		if (isUnderWay) this.take(taskId, 'underWay');
	}

	/** A socket that can't be opened does not say why: the account's answer does. */
	private async tryTokenWhileClosed(subscription: Subscription, isKnown: boolean): Promise<void> {
		const { api, closing, warn, onFatal } = this.activation;
		for (let closedMs = isKnown ? LOOK_MS : 0; ;) {
			await sleep(LOOK_MS, closing);
			if (closing.aborted) return;
			if (subscription.isOpen()) {
				closedMs = 0;
				continue;
			}
			if (closedMs === 0) warn('the WebSocket was closed: reopening it');
			// The token may have been revoked, and the socket dropped for that.
			closedMs += LOOK_MS;
			const maxAgeMs = Math.max(FRESH_MS, Math.min(TRUSTED_MS, closedMs));
			const trouble = await checkToken(api, maxAgeMs, closing);
			if (isFailure(trouble, 'tokenRefused')) onFatal(trouble);
		}
	}
}
