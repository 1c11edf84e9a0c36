import { checkToken, FRESH_MS } from '../../shared/api/tokenCheck';
import { sleep, startDeadline } from '../../shared/async/deadline';
import { Failure, isFailure } from '../../shared/failure';
import { egressCheckOf } from '../../shared/http/request';
import { subscribe, type Connection } from '../../shared/speech/notifications';
import { canListen } from '../../shared/speech/webSocket';
import type { Activation } from '../activation/activation';
import { ExecutionQueue } from '../activation/executionQueue';
import { TaskFollower } from './taskFollower';
import { MAX_WATCHED_MS, type TaskStore } from './taskStore';

/** How many tasks are followed at once; the oldest gives way, and is taken up again by its next message. */
const MAX_FOLLOWED = 1000;
/** How much longer the socket may take to open than a first attempt, which may fail for what passes, in ms. */
const OPENING_MS = 2000;
/** How often it is seen whether the socket is open, in ms. */
const LOOK_MS = 10_000;

/** How a task comes to be known: a message says that it is under way, or has ended, or it is named or kept. */
type Beginning = 'underWay' | 'ended' | 'known';

/** Watches the speech tasks of an account, and emits what becomes of them. */
export class TaskWatch {
	/** What gives up the following of each task, the oldest in front. */
	private readonly followed = new Map<string, AbortController>();

	private readonly executionQueue: ExecutionQueue;

	constructor(
		private readonly activation: Activation,
		readonly store: TaskStore,
	) {
		this.executionQueue = new ExecutionQueue(activation, store);
	}

	/**
	 * Listens until the trigger is closed, and catches up with the tasks that are known. Resolves when the
	 * socket is open; throws a Failure for what a person must mend, and goes on listening all the same.
	 */
	async start(): Promise<void> {
		const { api, context, settings, closing } = this.activation;
		const isSelective = settings.taskIds.size > 0;
		if (!canListen() && !isSelective) throw new Failure('noWebSocket');
		const checkEgress = egressCheckOf(context);
		await checkEgress(`${api.credential.webSocketUrl}/ws`);
		if (closing.aborted) return;
		const subscription = subscribe(api.credential, checkEgress);
		closing.addEventListener('abort', () => void subscription.release(), { once: true });
		// What ended before is none of its business.
		const since = Date.now();
		const take = (taskId: string, begins: Beginning) =>
			void this.follow(subscription, taskId, begins, since);
		for (const taskId of [...this.store.underWay(), ...settings.taskIds]) take(taskId, 'known');
		const onMessage = (taskId: string, percentage?: number) =>
			take(taskId, percentage === 100 ? 'ended' : 'underWay');
		subscription.followAll(onMessage, closing);
		// Whoever creates a task as soon as the workflow is active expects it to be heard.
		await subscription.ready();
		void this.tryTokenWhileClosed(subscription);
		// Tasks that are named are looked up instead.
		if (isSelective) return;
		if (!subscription.isOpen) await sleep(OPENING_MS, closing);
		const mayPass = subscription.isOpen || (await checkToken(api, FRESH_MS, closing)) !== undefined;
		if (!mayPass && !closing.aborted) throw new Failure('noSocket');
	}

	/** Follows a task to its end, unless that is done already, or it is not wanted. */
	private async follow(
		subscription: Connection,
		taskId: string,
		begins: Beginning,
		listensSince: number,
	): Promise<void> {
		const { activation, store, executionQueue, followed } = this;
		const { api, closing, settings } = activation;
		if (!this.isWanted(taskId) || followed.has(taskId) || store.hasEnded(taskId)) return;
		const over = new AbortController();
		followed.set(taskId, over);
		this.dropOldest();
		const mayBeOld = begins === 'ended' && settings.taskIds.size === 0;
		const { since, notBefore } = store.watch(taskId, mayBeOld ? listensSince : 0);
		const leftMs = Math.max(1000, since + MAX_WATCHED_MS - Date.now());
		const { signal, stop } = startDeadline(leftMs, closing, over.signal);
		// Each has to be read, and thousands may be named at once.
		if (mayBeOld) await api.pace.turns.watch(signal);
		const follower = new TaskFollower(activation, store, executionQueue, taskId, notBefore);
		await follower.follow(subscription, begins === 'underWay' ? 'heard' : 'stored', signal);
		stop();
		if (followed.get(taskId) === over) followed.delete(taskId);
	}

	private dropOldest(): void {
		for (const [taskId, over] of this.followed) {
			if (this.followed.size <= MAX_FOLLOWED) return;
			over.abort();
			this.followed.delete(taskId);
			this.store.forget(taskId);
		}
	}

	private isWanted(taskId: string): boolean {
		const { api, settings } = this.activation;
		const { taskIds } = settings;
		if (taskIds.size > 0) return taskIds.has(taskId);
		// Ids are stored in clear; no service in its right mind has the token in one.
		return api.credential.redact.text(taskId) === taskId;
	}

	/** A socket that can't be opened does not say why: the account's answer does. */
	private async tryTokenWhileClosed(subscription: Connection): Promise<void> {
		const { api, closing, warn, onFatal } = this.activation;
		for (let wasOpen = true; !closing.aborted; wasOpen = subscription.isOpen) {
			await sleep(LOOK_MS, closing);
			if (closing.aborted || subscription.isOpen) continue;
			if (wasOpen) warn('the WebSocket was closed: reopening it');
			// The token may have been revoked, and the socket dropped for that.
			const trouble = await checkToken(api, FRESH_MS, closing);
			if (isFailure(trouble, 'tokenRefused')) onFatal(trouble);
		}
	}
}
