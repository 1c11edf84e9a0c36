import type { ITriggerFunctions, ITriggerResponse, WorkflowActivateMode } from 'n8n-workflow';
import { accountOf } from '../shared/account';
import { Api } from '../shared/api/api';
import { tokenError, confirmRefusal, isTemporary } from '../shared/api/tokenCheck';
import { Failure } from '../shared/failure';
import { readCredential, type Credential } from '../shared/http/credential';
import { CREDENTIAL_TYPE } from '../shared/http/request';
import { wordingOf } from '../shared/n8n/messages';
import { toNodeError } from '../shared/n8n/nodeErrors';
import type { Redactor } from '../shared/parsing/redaction';
import { canListen } from '../shared/speech/accountSocket';
import type { Activation } from './activation/activation';
import { Outbox } from './activation/outbox';
import { supportsDeduplication } from './activation/executionQueue';
import { HistoryWatch } from './generated/historyWatch';
import type { HistoryStore } from './generated/newEntries';
import { subWorkflowCreations, refuseSelfStart } from './activation/downstream';
import { readSettings, type Settings } from './activation/settings';
import { TaskWatch } from './tasks/taskWatch';

/**
 * n8n itself activates, as after a restart. It tries five times within some 15 s and then leaves the trigger
 * dead, so what may pass is no reason to throw; a person who publishes is told at once.
 */
const SYSTEM_ACTIVATION_MODES = new Set<string>([
	'init',
	'leadershipChange',
] satisfies WorkflowActivateMode[]);

/**
 * Listens for what happens to speech tasks, and looks for new videos and images: until it is closed,
 * or by hand until the first event. Throws the n8n error that names what to change.
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
	private readonly closing = new AbortController();
	private redact: Redactor | undefined;
	private watches: Array<TaskWatch | HistoryWatch> = [];

	constructor(private readonly context: ITriggerFunctions) {
		this.isManual = context.getMode() === 'manual';
	}

	/** To be called once. Throws the n8n error that names what to change, and is closed then. */
	async activate(): Promise<void> {
		await this.listen().catch((error: unknown) => {
			this.close();
			throw this.asNodeError(error);
		});
	}

	close(): void {
		const { closing, context, isManual, watches } = this;
		if (closing.signal.aborted) return;
		closing.abort(new Failure('canceled'));
		if (!isManual) for (const { store } of watches) store.handOver();
		// n8n (2.41) waits for an event even when listening was stopped: a worker would be busy for ever.
		else context.emit([]);
	}

	private async listen(): Promise<void> {
		const { context, isManual } = this;
		const settings = readSettings(context);
		// By hand only one event comes.
		if (!isManual) refuseSelfStart(context, settings);
		const isHeard = settings.ofTasks && settings.taskIds.size === 0;
		if (isHeard && !canListen()) throw new Failure('noWebSocket');
		const credential = readCredential(await context.getCredentials(CREDENTIAL_TYPE));
		this.redact = credential.redact;
		const { signal } = this.closing;
		if (signal.aborted) return;
		signal.addEventListener('abort', accountOf(credential).retain(), { once: true });
		const activation = this.activationFor(credential, settings);
		this.watches = watchesOf(activation);
		if (SYSTEM_ACTIVATION_MODES.has(context.getActivationMode()))
			return this.startPatiently(activation);
		const error = await tokenError(activation.api, 0, signal);
		if (signal.aborted) return;
		// A service that is away for the moment is no reason, unless a person waits for an event.
		if (error !== undefined && (isManual || !isTemporary(error))) throw error;
		await Promise.all(this.watches.map(async (watch) => await watch.start()));
	}

	private activationFor(credential: Credential, settings: Settings): Activation {
		const { context, isManual } = this;
		const { baseUrl, redact } = credential;
		const { signal: closing } = this.closing;
		const api = new Api(context, credential);
		return {
			...{ context, api, settings, isManual, closing },
			identityKey: `${context.getWorkflow().id}\n${context.getNode().id}\n${baseUrl}`,
			isOwnWork: subWorkflowCreations(context, credential, closing),
			warn: (text) => context.logger.warn(redact.text(`Media Generation Trigger: ${text}`)),
			onFatal: (failure) => void this.end(failure, api),
		};
	}

	/** Nobody waits for the start: what is wrong ends it only if it is the token, and is logged otherwise. */
	private startPatiently({ onFatal, warn }: Activation): void {
		for (const watch of this.watches) {
			void watch.start().catch((error: unknown) => {
				const failure = error instanceof Failure ? error : new Failure('noResponse');
				if (failure.kind === 'tokenRefused') onFatal(failure);
				else warn(`${wordingOf(failure).message}. It goes on trying`);
			});
		}
	}

	/** Tells n8n of `failure` and closes, unless it is a refused token that is accepted again. */
	private async end(failure: Failure, api: Api): Promise<void> {
		const { signal } = this.closing;
		const mayPass = failure.kind === 'tokenRefused';
		const fatal = mayPass ? await confirmRefusal(api, signal) : failure;
		if (!fatal || signal.aborted) return;
		this.context.emitError(this.asNodeError(fatal));
		this.close();
	}

	private asNodeError(error: unknown) {
		return toNodeError(error, { node: this.context.getNode(), redact: this.redact });
	}
}

/** What listens for the chosen events. Another service may know other things by the same names. */
function watchesOf(activation: Activation) {
	const { api, context, settings, identityKey, isManual } = activation;
	const { baseUrl } = api.credential;
	// By hand nothing is saved, so nothing of earlier tests counts.
	const staticData = isManual ? {} : context.getWorkflowStaticData('node');
	const key = isManual ? '' : identityKey;
	const replaysEmitted = supportsDeduplication(context);
	const watches = [];
	if (settings.ofTasks) {
		const store = new Outbox(staticData, `tasks ${baseUrl}`, key, replaysEmitted);
		watches.push(new TaskWatch(activation, store));
	}
	if (settings.events.has('generated')) {
		const store: HistoryStore = new Outbox(staticData, `generated ${baseUrl}`, key, replaysEmitted);
		watches.push(new HistoryWatch(activation, store));
	}
	return watches;
}
