import type { ITriggerFunctions, ITriggerResponse, WorkflowActivateMode } from 'n8n-workflow';
import { accountOf } from '../shared/account';
import { Api } from '../shared/api/api';
import {
	tokenError,
	confirmTokenRefusal,
	isTransientOrOutOfCredit,
} from '../shared/api/tokenCheck';
import { Failure, toFailure, withDefaultFacts } from '../shared/failure';
import type { Credential } from '../shared/http/credential';
import { wordingOf } from '../shared/n8n/messages';
import { readNodeCredential } from '../shared/n8n/nodeCredential';
import { toNodeError } from '../shared/n8n/nodeErrors';
import { selfStartFailure } from '../shared/n8n/selfStart';
import { eventsField, taskIdsField } from '../shared/n8n/triggerEvents';
import type { Redactor } from '../shared/parsing/redaction';
import { hasWebSocket } from '../shared/speech/accountSocket';
import type { Activation } from './activation/activation';
import { Outbox, staticDataCopies, type OutboxItem } from './activation/outbox';
import { supportsDeduplication } from './activation/executionQueue';
import { HistoryWatch } from './generated/historyWatch';
import { downstreamCreationCheck } from './activation/downstream';
import { readSettings, type Settings } from './activation/settings';
import { TaskWatch } from './tasks/taskWatch';

/**
 * Modes in which n8n activates a trigger by itself, as after a restart. If the trigger throws, n8n soon stops retrying
 * it, so a failure that may be transient must not be thrown.
 */
const SYSTEM_ACTIVATION_MODES: WorkflowActivateMode[] = ['init', 'leadershipChange'];

/**
 * Starts the trigger and returns the function that closes it. In a manual test, it does not start the trigger but also
 * returns the function that does. Throws an n8n error if the trigger cannot start.
 */
export async function startTrigger(context: ITriggerFunctions): Promise<ITriggerResponse> {
	const trigger = new ListeningTrigger(context);
	const start = async () => await trigger.activate();
	const closeFunction = async () => trigger.close();
	if (trigger.isManual) return { closeFunction, manualTriggerFunction: start };
	await start();
	return { closeFunction };
}

/** One activation of the trigger, from its start until `close`. */
class ListeningTrigger {
	readonly isManual: boolean;
	private readonly closeController = new AbortController();
	private redact: Redactor | undefined;
	private watches: Array<TaskWatch | HistoryWatch> = [];

	constructor(private readonly context: ITriggerFunctions) {
		this.isManual = context.getMode() === 'manual';
	}

	/** Starts listening. Call it once. If it fails, closes the trigger and throws an n8n error. */
	async activate(): Promise<void> {
		await this.listen().catch((error: unknown) => {
			this.close();
			throw this.asNodeError(error);
		});
	}

	/** Ends the trigger. Further calls do nothing. */
	close(): void {
		const { closeController, context, isManual, watches } = this;
		if (closeController.signal.aborted) return;
		closeController.abort(new Failure('canceled'));
		if (!isManual) for (const { outbox } of watches) outbox.handOver();
		// When a manual test is stopped, n8n (2.41) goes on waiting for its event. An empty event ends that wait.
		else context.emit([]);
	}

	private async listen(): Promise<void> {
		const { context, isManual } = this;
		const settings = readSettings(context);
		// A manual test ends after one event, so it cannot start itself again and again.
		if (!isManual) refuseSelfStart(context, settings);
		// If the parameters name no tasks, the trigger learns of new tasks only from messages over the socket.
		const needsSocket = settings.listensForTasks && settings.taskIds.size === 0;
		if (needsSocket && !hasWebSocket()) throw new Failure('webSocketUnsupported');
		const credential = await readNodeCredential(context);
		this.redact = credential.redact;
		const { signal } = this.closeController;
		if (signal.aborted) return;
		const activation = this.activationFor(credential, settings);
		// The watch of tasks hears the socket from now on, because the previous activation stops listening within seconds.
		this.watches = watchesOf(activation);
		if (SYSTEM_ACTIVATION_MODES.includes(context.getActivationMode()))
			return this.startInBackground(activation);
		const error = await tokenError(activation.api, 0, signal);
		if (signal.aborted) return;
		// A transient failure, such as an outage, does not prevent publishing.
		if (error !== undefined && (isManual || !isTransientOrOutOfCredit(error))) throw error;
		await Promise.all(this.watches.map(async (watch) => await watch.start()));
		// n8n stores this now, and then only when an execution starts.
		for (const { outbox } of this.watches) outbox.save();
	}

	private activationFor(credential: Credential, settings: Settings): Activation {
		const { context, isManual } = this;
		const { baseUrl, redact } = credential;
		const { signal: closing } = this.closeController;
		const api = new Api(context, credential);
		return {
			context,
			api,
			settings,
			isManual,
			closing,
			identityKey: `${context.getWorkflow().id}\n${context.getNode().id}\n${baseUrl}`,
			isCreatedDownstream: downstreamCreationCheck(context, credential, closing),
			warn: (text) => context.logger.warn(redact.text(`Media Generation Trigger: ${text}`)),
			onFatal: (failure) => void this.endWithError(failure, api),
		};
	}

	private startInBackground(activation: Activation): void {
		const { onFatal, warn } = activation;
		for (const watch of this.watches) {
			void watch.start().catch((error: unknown) => {
				const failure = toFailure(error);
				if (failure.kind === 'tokenRefused') onFatal(failure);
				else warn(`${wordingOf(failure).message}. The trigger keeps trying`);
			});
		}
	}

	/** Reports `failure` to n8n and closes the trigger; if the token was refused, only once that is confirmed. */
	private async endWithError(failure: Failure, api: Api): Promise<void> {
		const { signal } = this.closeController;
		const mayBeTransient = failure.kind === 'tokenRefused';
		const confirmedFailure = mayBeTransient ? await confirmTokenRefusal(api, signal) : failure;
		if (!confirmedFailure || signal.aborted) return;
		this.context.emitError(this.asNodeError(confirmedFailure));
		this.close();
	}

	private asNodeError(error: unknown) {
		const failure = withDefaultFacts(error, { isTrigger: true });
		return toNodeError(failure, { node: this.context.getNode(), redact: this.redact });
	}
}

/** Throws a Failure of kind selfTrigger if a trigger with these settings would start itself. */
function refuseSelfStart(context: ITriggerFunctions, { events, taskIds }: Settings): void {
	const parameters = {
		[eventsField.name]: [...events],
		[taskIdsField.name]: [...taskIds].join(' '),
	};
	const failure = selfStartFailure(context, { ...context.getNode(), parameters });
	if (failure) throw failure;
}

/**
 * Returns the watches of the selected events, and keeps the account until the trigger is closed. Each Base URL has its
 * outboxes: another service may use the same ids.
 */
function watchesOf(activation: Activation) {
	const { api, context, settings, identityKey, isManual, closing } = activation;
	const { baseUrl } = api.credential;
	accountOf(api.credential).retain(closing);
	// A manual test starts with an empty outbox and saves nothing.
	const copies = isManual ? () => [] : staticDataCopies(context, closing);
	const nodeKey = isManual ? '' : identityKey;
	const replaysEmitted = supportsDeduplication(context);
	const newOutbox = <Item extends OutboxItem, Cursor>(subject: string) =>
		new Outbox<Item, Cursor>(copies, `${subject} of ${baseUrl}`, nodeKey, replaysEmitted);
	const watches = [];
	if (settings.listensForTasks) watches.push(new TaskWatch(activation, newOutbox('tasks')));
	if (settings.listensForHistory)
		watches.push(new HistoryWatch(activation, newOutbox('generated')));
	return watches;
}
