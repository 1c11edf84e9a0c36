import type { IDataObject, ITriggerFunctions, ITriggerResponse } from 'n8n-workflow';
import { accountOf } from '../shared/account';
import { Api } from '../shared/api/api';
import { Failure } from '../shared/failure';
import { readCredential, type Credential } from '../shared/http/credential';
import { CREDENTIAL_TYPE } from '../shared/http/request';
import { toNodeError } from '../shared/n8n/nodeErrors';
import type { Activation } from './activation/activation';
import { dropsDuplicates, ExecutionQueue } from './activation/executionQueue';
import { EntryStore } from './generated/entryStore';
import { HistoryWatch } from './generated/historyWatch';
import { ownWorkOf, refuseSelfStart } from './activation/followers';
import { readSettings } from './activation/settings';
import { TaskStore } from './tasks/taskStore';
import { TaskWatch } from './tasks/taskWatch';

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
		if (!isManual) for (const { store } of watches) store.leaveBehind();
		// n8n (2.41) waits for an event even when listening was stopped: a worker would be busy for ever.
		else context.emit([]);
	};
	const asNodeError = (error: unknown) => toNodeError(error, { node, redact: credential?.redact });

	const listen = async () => {
		const settings = readSettings(context);
		// By hand only one event comes.
		if (!isManual) refuseSelfStart(context, settings);
		credential = readCredential(await context.getCredentials(CREDENTIAL_TYPE));
		const { baseUrl, redact } = credential;
		const scope = `${context.getWorkflow().id}\n${node.id}\n${baseUrl}`;
		const { signal } = closing;
		if (signal.aborted) return;
		signal.addEventListener('abort', accountOf(credential).use(), { once: true });
		const onFatal = (failure: Failure) => {
			if (signal.aborted) return;
			context.emitError(asNodeError(failure));
			void closeFunction();
		};
		const activation: Activation = {
			context,
			api: new Api(context, credential),
			settings,
			executionQueue: new ExecutionQueue(context, redact, scope, signal),
			isManual,
			closing: signal,
			isOwnWork: ownWorkOf(context, credential, signal),
			warn: (text) => context.logger.warn(redact.text(`Media Generation Trigger: ${text}`)),
			onFatal,
		};
		// By hand nothing is saved, so nothing of earlier tests counts.
		watches = isManual
			? watchesOf(activation, {}, '')
			: watchesOf(activation, context.getWorkflowStaticData('node'), scope);
		await Promise.all(watches.map(async (watch) => await watch.start()));
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

/** What listens for the chosen events. */
function watchesOf(activation: Activation, kept: IDataObject, key: string) {
	const { api, context, settings, isManual } = activation;
	const emitsAgain = !isManual && dropsDuplicates(context);
	const watches = [];
	if (settings.ofTasks) {
		const store = new TaskStore(kept, key, api.credential.baseUrl, emitsAgain);
		watches.push(new TaskWatch(activation, store));
	}
	if (settings.events.has('generated')) {
		const store = new EntryStore(kept, key, api.credential.accountKey, emitsAgain);
		watches.push(new HistoryWatch(activation, store));
	} else EntryStore.forget(kept, key);
	return watches;
}
