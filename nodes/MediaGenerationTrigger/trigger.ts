import type { ITriggerFunctions, ITriggerResponse, WorkflowActivateMode } from 'n8n-workflow';
import { accountOf } from '../shared/account';
import { Api } from '../shared/api/api';
import { tokenError, confirmRefusal, isTemporary } from '../shared/api/tokenCheck';
import { Failure } from '../shared/failure';
import { readCredential, type Credential } from '../shared/http/credential';
import { CREDENTIAL_TYPE } from '../shared/http/request';
import { wordingOf } from '../shared/n8n/messages';
import { toNodeError } from '../shared/n8n/nodeErrors';
import { canListen } from '../shared/speech/accountSocket';
import type { Activation } from './activation/activation';
import { Outbox } from './activation/outbox';
import { supportsDeduplication } from './activation/executionQueue';
import { HistoryWatch } from './generated/historyWatch';
import type { HistoryStore } from './generated/newEntries';
import { subWorkflowCreations, refuseSelfStart } from './activation/downstream';
import { readSettings } from './activation/settings';
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
	const node = context.getNode();
	const isManual = context.getMode() === 'manual';
	const closing = new AbortController();
	let credential: Credential | undefined;
	let watches: Array<TaskWatch | HistoryWatch> = [];

	const closeFunction = async () => {
		if (closing.signal.aborted) return;
		closing.abort(new Failure('canceled'));
		if (!isManual) for (const { store } of watches) store.handOver();
		// n8n (2.41) waits for an event even when listening was stopped: a worker would be busy for ever.
		else context.emit([]);
	};
	const asNodeError = (error: unknown) => toNodeError(error, { node, redact: credential?.redact });

	const listen = async () => {
		const settings = readSettings(context);
		// By hand only one event comes.
		if (!isManual) refuseSelfStart(context, settings);
		const isHeard = settings.ofTasks && settings.taskIds.size === 0;
		if (isHeard && !canListen()) throw new Failure('noWebSocket');
		credential = readCredential(await context.getCredentials(CREDENTIAL_TYPE));
		const { redact } = credential;
		const { signal } = closing;
		if (signal.aborted) return;
		signal.addEventListener('abort', accountOf(credential).retain(), { once: true });
		const api = new Api(context, credential);
		const onFatal = async (failure: Failure) => {
			const mayPass = failure.kind === 'tokenRefused';
			const fatal = mayPass ? await confirmRefusal(api, signal) : failure;
			if (!fatal || signal.aborted) return;
			context.emitError(asNodeError(fatal));
			void closeFunction();
		};
		const activation: Activation = {
			context,
			api,
			settings,
			identityKey: `${context.getWorkflow().id}\n${node.id}\n${credential.baseUrl}`,
			isManual,
			closing: signal,
			isOwnWork: subWorkflowCreations(context, credential, signal),
			warn: (text) => context.logger.warn(redact.text(`Media Generation Trigger: ${text}`)),
			onFatal: (failure) => void onFatal(failure),
		};
		watches = watchesOf(activation);
		if (!SYSTEM_ACTIVATION_MODES.has(context.getActivationMode())) {
			const error = await tokenError(api, 0, signal);
			if (signal.aborted) return;
			// A service that is away for the moment is no reason, unless a person waits for an event.
			if (error !== undefined && (isManual || !isTemporary(error))) throw error;
			await Promise.all(watches.map(async (watch) => await watch.start()));
			return;
		}
		for (const watch of watches) {
			void watch.start().catch((error: unknown) => {
				const failure = error instanceof Failure ? error : new Failure('noResponse');
				if (failure.kind === 'tokenRefused') void onFatal(failure);
				else activation.warn(`${wordingOf(failure).message}. It goes on trying`);
			});
		}
	};

	const start = async () =>
		await listen().catch(async (error: unknown) => {
			await closeFunction();
			throw asNodeError(error);
		});

	if (isManual) return { closeFunction, manualTriggerFunction: start };
	await start();
	return { closeFunction };
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
