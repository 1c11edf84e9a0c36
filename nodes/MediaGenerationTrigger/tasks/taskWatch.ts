import { tokenError, TOKEN_CHECK_TTL_MS } from '../../shared/api/tokenCheck';
import { SILENT_ABORT, sleep, startDeadline } from '../../shared/async/deadline';
import { Failure, isFailure } from '../../shared/failure';
import { checkEgress } from '../../shared/http/request';
import { subscribe, type AccountSocket } from '../../shared/speech/accountSocket';
import type { Activation } from '../activation/activation';
import type { Outbox } from '../activation/outbox';
import { ExecutionQueue } from '../activation/executionQueue';
import { TaskPoller } from './taskPoller';

/** How many tasks are followed at once; the oldest gives way, and is taken up again by its next message. */
const MAX_FOLLOWED = 1000;
/** How long a task is followed, in ms. */
const MAX_WATCHED_MS = 24 * 3600 * 1000;
/** How much longer the socket may take to open than a first attempt, which may fail for what passes, in ms. */
const OPENING_MS = 2000;
/** How often it is seen whether the socket is open, in ms. */
const SOCKET_CHECK_MS = 10_000;

/** Watches the speech tasks of an account, and emits what becomes of them. */
export class TaskWatch {
	/** What gives up the following of each task, the oldest in front. */
	private readonly followed = new Map<string, AbortController>();

	private readonly executionQueue: ExecutionQueue;

	constructor(
		private readonly activation: Activation,
		readonly store: Outbox,
	) {
		this.executionQueue = new ExecutionQueue(activation, store);
	}

	/**
	 * Listens until the trigger is closed, and catches up with the tasks that are known. Resolves when the
	 * socket is open; throws a Failure for what a person must mend, and goes on listening all the same.
	 */
	async start(): Promise<void> {
		const { api, context, settings, closing } = this.activation;
		const { taskIds } = settings;
		const isSelective = taskIds.size > 0;
		await checkEgress(context, `${api.credential.webSocketUrl}/ws`);
		if (closing.aborted) return;
		const subscription = subscribe(api.credential, context);
		closing.addEventListener('abort', () => void subscription.release(), { once: true });
		for (const taskId of [...this.store.namesIn('tracking'), ...taskIds]) {
			void this.follow(subscription, taskId, 'restored');
		}
		const onMessage = (taskId: string) => void this.follow(subscription, taskId, 'announced');
		subscription.onAllTasks(onMessage, closing);
		// Whoever creates a task as soon as the workflow is active expects it to be heard.
		subscription.openNow();
		await subscription.ready();
		void this.tryTokenWhileClosed(subscription);
		// Tasks that are named are looked up instead.
		if (isSelective) return;
		if (!subscription.isOpen) await sleep(OPENING_MS, closing);
		const mayPass =
			subscription.isOpen || (await tokenError(api, TOKEN_CHECK_TTL_MS, closing)) !== undefined;
		if (!mayPass && !closing.aborted) throw new Failure('noSocket');
	}

	/** Follows a task to its end, unless that is done already, or it is not wanted. */
	private async follow(
		subscription: AccountSocket,
		taskId: string,
		mode: 'announced' | 'restored',
	): Promise<void> {
		const { activation, store, executionQueue, followed } = this;
		const { closing } = activation;
		const task = store.events.get(taskId) ?? { state: 'tracking' };
		if (!this.isWanted(taskId) || followed.has(taskId) || task.state !== 'tracking') return;
		store.events.set(taskId, task);
		const evicted = new AbortController();
		followed.set(taskId, evicted);
		for (const oldest of [...followed.values()].slice(0, -MAX_FOLLOWED)) oldest.abort(SILENT_ABORT);
		const { signal, stop } = startDeadline(MAX_WATCHED_MS, closing, evicted.signal);
		const poller = new TaskPoller(activation, store, executionQueue, taskId);
		await poller.follow(subscription, mode, signal);
		stop();
		followed.delete(taskId);
		// Nothing came of it. A message may still name it again.
		if (task.state === 'tracking' && !closing.aborted) store.events.delete(taskId);
	}

	private isWanted(taskId: string): boolean {
		const { api, settings } = this.activation;
		const { taskIds } = settings;
		if (taskIds.size > 0) return taskIds.has(taskId);
		// Ids are stored in clear; no service in its right mind has the token in one.
		return api.credential.redact.text(taskId) === taskId;
	}

	/** A socket that can't be opened does not say why: the account's answer does. */
	private async tryTokenWhileClosed(subscription: AccountSocket): Promise<void> {
		const { api, closing, onFatal } = this.activation;
		while (!closing.aborted) {
			await sleep(SOCKET_CHECK_MS, closing);
			if (closing.aborted || subscription.isOpen) continue;
			// The token may have been revoked, and the socket dropped for that.
			const trouble = await tokenError(api, TOKEN_CHECK_TTL_MS, closing);
			if (isFailure(trouble, 'tokenRefused')) onFatal(trouble);
		}
	}
}
