import type { ITriggerFunctions } from 'n8n-workflow';
import { withoutToken, type ServiceAddress } from '../service/address';
import { pause, startDeadline } from '../service/clock';
import { asWrongAddress, Failure, isTransient } from '../service/failure';
import { egressCheckOf } from '../service/http';
import { wordingOf } from '../service/nodeErrors';
import { canListen, listen, type Listening } from '../service/notifications';
import { Requests } from '../service/requests';
import { waitForTask } from '../service/speechTask';
import type { Emitter } from './emitter';
import { eventItem, withFile, type TaskEvent } from './items';
import { LONGEST_MS, MOST_UNDER_WAY, type Ledger } from './ledger';
import type { Settings } from './settings';

/** Seconds of silence after which a task under way is read; doubles up to 5 minutes. */
const SILENCE_SECONDS = 30;
/** How often it is looked whether the socket is open, in ms. */
const LOOK_MS = 5000;
/** While it is not, how often the token is tried, in ms. */
const TRY_TOKEN_MS = 60_000;
/** How long the first reading of the account may take, in seconds. */
const CHECK_SECONDS = 20;
/** Pause before a task is watched again after the service refused to tell of it, in ms. */
const REFUSED_MS = 60_000;

export interface WatchParts {
	context: ITriggerFunctions;
	address: ServiceAddress;
	settings: Settings;
	ledger: Ledger;
	emitter: Emitter;
	/** A person listens for one event, and is told of everything that stands in its way. */
	isManual: boolean;
	/** Aborts when the trigger is closed. */
	closing: AbortSignal;
	/** Called when it makes no sense to go on: the token is refused, say. */
	onFatal(failure: Failure): void;
}

/** Watches the speech tasks of an account, and emits what becomes of them. */
export class Watch {
	private readonly requests: Requests;
	/** Tasks that are watched, those that were seen first in front; aborted to give one up. */
	private readonly watched = new Map<string, AbortController>();
	private listening: Listening | undefined;

	constructor(private readonly parts: WatchParts) {
		this.requests = new Requests(parts.context, parts.address);
	}

	/**
	 * Checks address and token, listens, and catches up with the tasks that are known. Throws a Failure
	 * when it makes no sense to listen.
	 */
	async start(): Promise<void> {
		const { context, address, settings, ledger, closing } = this.parts;
		if (!canListen() && settings.taskIds.size === 0) throw new Failure('noWebSocket');
		const checkEgress = egressCheckOf(context);
		await checkEgress(`${address.webSocketUrl}/ws`);
		await this.checkToken(this.parts.isManual);
		if (closing.aborted) return;
		this.listening = listen(address, checkEgress);
		closing.addEventListener('abort', () => this.listening?.release(), { once: true });
		const restored = ledger.tasks().filter((taskId) => this.isWanted(taskId));
		for (const taskId of new Set([...restored, ...settings.taskIds])) {
			if (!ledger.isOver(taskId)) void this.watch(taskId, true);
		}
		this.listening.followAll((taskId) => {
			if (this.watched.has(taskId) || ledger.isOver(taskId)) return;
			if (this.isWanted(taskId)) void this.watch(taskId, false);
		});
		void this.tryTokenWhileClosed(this.listening);
		// Whoever creates a task as soon as the workflow is active expects it to be heard.
		await this.listening.ready;
	}

	private isWanted(taskId: string): boolean {
		const { taskIds } = this.parts.settings;
		if (taskIds.size > 0) return taskIds.has(taskId);
		// Ids are stored in clear; no service in its right mind has the token in one.
		return withoutToken(taskId, this.parts.address.apiToken) === taskId;
	}

	/** A service that is away for the moment is no reason not to listen; a refused token is. */
	private async checkToken(mustWork: boolean): Promise<void> {
		const limit = startDeadline(CHECK_SECONDS, this.parts.closing);
		await this.requests
			.account(limit.signal, 'once')
			.catch((thrown: unknown) => {
				const error = asWrongAddress(thrown);
				const kind = error instanceof Failure ? error.kind : undefined;
				const passes = isTransient(error) || kind === 'timedOut' || kind === 'outOfCredit';
				if (kind !== 'canceled' && (mustWork || !passes)) throw error;
			})
			.finally(() => limit.stop());
	}

	/** A socket that can't be opened does not say why (n8n notes C9): the account's answer does. */
	private async tryTokenWhileClosed(listening: Listening): Promise<void> {
		const { closing, context, onFatal } = this.parts;
		let nextTry = 0;
		let closedSince: number | undefined;
		for (;;) {
			await pause(LOOK_MS, closing);
			if (closing.aborted) return;
			if (listening.isOpen()) {
				closedSince = undefined;
				nextTry = 0;
				continue;
			}
			if (closedSince === undefined) {
				closedSince = Date.now();
				context.logger.warn('Media Generation Trigger: the WebSocket is closed, opening it again');
			}
			if (Date.now() < nextTry) continue;
			nextTry = Date.now() + TRY_TOKEN_MS;
			const refused = await this.checkToken(false).then(
				() => undefined,
				(error: unknown) => error,
			);
			if (refused instanceof Failure && refused.kind === 'tokenRefused') onFatal(refused);
		}
	}

	/** Follows one task to its end. */
	private async watch(taskId: string, isOld: boolean): Promise<void> {
		const { closing, ledger } = this.parts;
		if (this.watched.size >= MOST_UNDER_WAY) this.giveUpOldest();
		const givenUp = new AbortController();
		this.watched.set(taskId, givenUp);
		const seconds = Math.max(1, (ledger.see(taskId) + LONGEST_MS - Date.now()) / 1000);
		const deadline = startDeadline(seconds, closing, givenUp.signal);
		try {
			while (!(await this.follow(taskId, isOld, deadline.signal))) {
				await pause(REFUSED_MS, deadline.signal);
			}
		} finally {
			deadline.stop();
			if (this.watched.get(taskId) === givenUp) this.watched.delete(taskId);
		}
	}

	private giveUpOldest(): void {
		const [[taskId, oldest]] = this.watched;
		this.watched.delete(taskId);
		this.parts.ledger.forget(taskId);
		oldest.abort();
	}

	/** Waits for a task's end and acts on it; false when it has to be tried again. Never rejects. */
	private async follow(taskId: string, isOld: boolean, signal: AbortSignal): Promise<boolean> {
		const { settings, ledger, context, closing, isManual, onFatal } = this.parts;
		let highest = 0;
		const onProgress = (percentage: number) => {
			highest = percentage;
			const isStep = ledger.rise(taskId, percentage, settings.progressStep);
			if (isStep && settings.events.has('progress')) this.progress(taskId, percentage);
		};
		const outcome = await waitForTask(this.requests, {
			taskId,
			signal,
			pollInterval: SILENCE_SECONDS,
			listening: this.listening!,
			justCreated: !isOld,
			watch: { readFirst: isOld },
			onProgress,
		}).then(
			(task) => ({ task }),
			(error: unknown) => ({ error }),
		);
		const completed = { event: 'completed', task_id: taskId, process_percentage: 100 } as const;
		if ('task' in outcome) {
			const { status, audioUrl } = outcome.task;
			this.end({ ...completed, status, ...(audioUrl ? { audio_url: audioUrl } : {}) });
			return true;
		}
		const { error } = outcome;
		const failure = error instanceof Failure ? error : new Failure('noAnswer');
		if (closing.aborted) return true;
		switch (failure.kind) {
			case 'taskFailed': {
				const reason = failure.facts.text ?? 'The service gave no reason';
				const event = { event: 'failed', task_id: taskId, process_percentage: highest } as const;
				this.end({ ...event, status: 'error', error: reason });
				return true;
			}
			case 'noAddress':
				this.end({ ...completed, status: 'completed', error: wordingOf(failure).message });
				return true;
			case 'tokenRefused':
				onFatal(failure);
				return true;
			case 'notFound':
				// Whoever tests by hand with the ID of a task wants to know that it is none.
				if (isManual) onFatal(failure);
				ledger.end(taskId);
				return true;
			case 'timedOut':
				ledger.forget(taskId);
				return true;
			case 'canceled':
				return true;
			default: {
				const message = `Media Generation Trigger: ${wordingOf(failure).message}`;
				context.logger.warn(withoutToken(message, this.parts.address.apiToken));
				return false;
			}
		}
	}

	private progress(taskId: string, percentage: number): void {
		const { address, ledger, emitter } = this.parts;
		const event: TaskEvent = { event: 'progress', task_id: taskId, process_percentage: percentage };
		void emitter.emit({
			taskId,
			name: `progress ${percentage}`,
			make: async () => eventItem(event, address.apiToken),
			onEmit: () => ledger.save(),
			onDone: () => {},
		});
	}

	private end(event: TaskEvent): void {
		const { context, settings, address, ledger, emitter, closing } = this.parts;
		const taskId = event.task_id;
		if (!settings.events.has(event.event)) return ledger.end(taskId);
		ledger.over(taskId);
		const make = async () => {
			if (!settings.download) return eventItem(event, address.apiToken);
			return await withFile(event, context, this.requests, settings.outputField, closing);
		};
		void emitter.emit({
			taskId,
			name: event.event,
			make,
			onEmit: () => {
				ledger.emitted(taskId);
				ledger.save();
			},
			onDone: () => ledger.end(taskId),
		});
	}
}
