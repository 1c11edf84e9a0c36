import { tokenError, TOKEN_CHECK_TTL_MS } from '../../shared/api/tokenCheck';
import { SILENT_ABORT, sleep, startDeadline } from '../../shared/async/deadline';
import { Failure, isFailure } from '../../shared/failure';
import { acquireSocket, type AccountSocket } from '../../shared/speech/accountSocket';
import type { Activation } from '../activation/activation';
import type { Outbox } from '../activation/outbox';
import { ExecutionQueue } from '../activation/executionQueue';
import { TaskPoller } from './taskPoller';

/** How many tasks may be followed at the same time. Beyond that, the one whose last message is the oldest is dropped. */
const MAX_FOLLOWED_TASKS = 1000;
/** The longest time for which a task is followed, in ms. */
const MAX_FOLLOWED_MS = 24 * 3600 * 1000;
/** Additional time for the socket to open, in ms, if the first attempt has failed or is slow. */
const EXTRA_OPENING_MS = 2000;
/**
 * How long a closed trigger still hears a socket that others keep open, in ms. When a workflow is published again, n8n
 * (2.41) takes 0.7 to 2 s from closing its trigger to activating it.
 */
const HANDOVER_MS = 5000;
/** Time between two checks whether the socket is open, in ms. */
const SOCKET_CHECK_MS = 10_000;

/** Watches the speech tasks of an account, and emits their events. */
export class TaskWatch {
	/** The tasks that are followed now, by id, in the order of their last messages. Aborting a controller drops its task. */
	private readonly followedTasks = new Map<string, AbortController>();

	private readonly executionQueue: ExecutionQueue;
	private readonly accountSocket: AccountSocket;

	/**
	 * Opens the socket, and follows each task that a message names until the trigger is closed. What messages name
	 * within HANDOVER_MS after that is left in the outbox, for the next activation.
	 */
	constructor(
		private readonly activation: Activation,
		readonly outbox: Outbox,
	) {
		const { api, context, closing } = activation;
		this.executionQueue = new ExecutionQueue(activation, outbox);
		const accountSocket = (this.accountSocket = acquireSocket(api.credential, context));
		const stopListening = accountSocket.listenToAllTasks(
			(taskId) => void this.follow(taskId, false),
		);
		const onClosing = () => {
			void accountSocket.release();
			void sleep(HANDOVER_MS).then(stopListening);
		};
		closing.addEventListener('abort', onClosing, { once: true });
		outbox.onReopened = (taskId) => void this.follow(taskId, true);
	}

	/**
	 * Follows the tasks that are known already, and waits for the socket to open. Call it once. Throws a Failure if the
	 * socket cannot be opened although the account can be read. It does not throw if the parameters name the tasks,
	 * because these are polled.
	 */
	async start(): Promise<void> {
		const { accountSocket, outbox } = this;
		const { api, settings, closing } = this.activation;
		const { taskIds } = settings;
		for (const taskId of [...outbox.keysIn('tracking'), ...taskIds]) void this.follow(taskId, true);
		accountSocket.openNow();
		// Without this wait, a task that is created right after the activation could be missed.
		await accountSocket.ready();
		void this.checkTokenWhileClosed();
		// Tasks that the parameters name are also polled, so the trigger works without the socket.
		if (taskIds.size > 0) return;
		if (!accountSocket.isOpen) await sleep(EXTRA_OPENING_MS, closing);
		// If the account cannot be read either, the socket is not at fault.
		const isSocketAtFault =
			!accountSocket.isOpen && (await tokenError(api, TOKEN_CHECK_TTL_MS, closing)) === undefined;
		if (isSocketAtFault) throw new Failure('webSocketBlocked');
	}

	/**
	 * Follows a task to its end, unless it is not selected, has ended, or is followed already. `readFirst` is false if
	 * a message has just named the task.
	 */
	private async follow(taskId: string, readFirst: boolean): Promise<void> {
		const { activation, accountSocket, outbox, executionQueue, followedTasks } = this;
		const { closing } = activation;
		const task = outbox.itemsByKey.get(taskId) ?? { state: 'tracking' };
		if (!this.isSelected(taskId) || task.state !== 'tracking') return;
		outbox.itemsByKey.set(taskId, task);
		if (closing.aborted) return;
		const current = followedTasks.get(taskId);
		const eviction = current ?? new AbortController();
		// A task that has just ended must not be dropped before it is read, so each message moves its task to the end.
		followedTasks.delete(taskId);
		followedTasks.set(taskId, eviction);
		if (current) return;
		for (const [oldestId, oldest] of [...followedTasks].slice(0, -MAX_FOLLOWED_TASKS)) {
			followedTasks.delete(oldestId);
			oldest.abort(SILENT_ABORT);
		}
		const { signal, stop } = startDeadline(MAX_FOLLOWED_MS, closing, eviction.signal);
		const poller = new TaskPoller(activation, outbox, executionQueue, taskId, task);
		await poller.follow(accountSocket, readFirst, signal);
		stop();
		// If a message about this task came together with the one that dropped it, another call follows the task now.
		if (eviction.signal.aborted && followedTasks.has(taskId)) return;
		followedTasks.delete(taskId);
		// A task that was dropped or does not exist is forgotten, so that a later message can start following it again.
		// Those of a closed trigger are left to the next activation.
		if (task.state === 'tracking' && !closing.aborted) outbox.itemsByKey.delete(taskId);
	}

	private isSelected(taskId: string): boolean {
		const { api, settings } = this.activation;
		const { taskIds } = settings;
		if (taskIds.size > 0) return taskIds.has(taskId);
		// n8n stores ids unencrypted, so an id that contains the token is ignored.
		return api.credential.redact.text(taskId) === taskId;
	}

	/** Checks the token while the socket is closed: a failed opening does not say whether the token is why. */
	private async checkTokenWhileClosed(): Promise<void> {
		const { api, closing, onFatal } = this.activation;
		while (!closing.aborted) {
			await sleep(SOCKET_CHECK_MS, closing);
			if (this.accountSocket.isOpen) continue;
			const error = await tokenError(api, TOKEN_CHECK_TTL_MS, closing);
			if (isFailure(error, 'tokenRefused')) onFatal(error);
		}
	}
}
