import type { ITriggerFunctions, ITriggerResponse } from 'n8n-workflow';
import { accountKeyOf } from '../shared/account';
import { readCredential, type Credential } from '../shared/http/credential';
import { Failure } from '../shared/failure';
import { CREDENTIAL_TYPE } from '../shared/http/request';
import { toNodeError } from '../shared/n8n/nodeErrors';
import { dropsDuplicates, ExecutionQueue } from './executionQueue';
import { EntryStore } from './generated/entryStore';
import { HistoryWatch } from './generated/historyWatch';
import { TaskStore } from './watch/taskStore';
import { readSettings } from './settings';
import { Watch } from './watch/watch';

/**
 * Listens for what happens to speech tasks, and looks for new videos and images. Activated, it goes on until it is closed; by hand, until the
 * first event. Throws the n8n error that names what to change.
 */
export async function startTrigger(context: ITriggerFunctions): Promise<ITriggerResponse> {
	const node = context.getNode();
	const isManual = context.getMode() === 'manual';
	const closing = new AbortController();
	let credential: Credential | undefined;
	let stores: Array<TaskStore | EntryStore> = [];

	const closeFunction = async () => {
		if (closing.signal.aborted) return;
		closing.abort(new Failure('canceled'));
		if (!isManual) for (const store of stores) store.leave();
	};
	const asNodeError = (error: unknown) => toNodeError(error, { node, redact: credential?.redact });

	const listen = async () => {
		const settings = readSettings(context);
		credential = readCredential(await context.getCredentials(CREDENTIAL_TYPE));
		const scope = `${context.getWorkflow().id}\n${node.id}\n${credential.baseUrl}`;
		const { signal } = closing;
		const parts = {
			context,
			credential,
			settings,
			executionQueue: new ExecutionQueue(context, scope, signal),
			scope: isManual ? undefined : scope,
			isManual,
			closing: signal,
			onFatal(failure: Failure) {
				if (signal.aborted) return;
				void closeFunction();
				context.emitError(asNodeError(failure));
			},
		};
		// By hand nothing is saved, so nothing of earlier tests counts.
		const kept = isManual ? {} : context.getWorkflowStaticData('node');
		const key = isManual ? '' : scope;
		const emitsAgain = !isManual && dropsDuplicates(context);
		const starting: Array<Promise<void>> = [];
		if (settings.ofTasks) {
			const taskStore = new TaskStore(kept, key, emitsAgain);
			stores = [taskStore];
			starting.push(new Watch({ ...parts, taskStore }).start());
		}
		if (settings.events.has('generated')) {
			const entryStore = new EntryStore(kept, key, accountKeyOf(credential), emitsAgain);
			stores = [...stores, entryStore];
			starting.push(new HistoryWatch({ ...parts, entryStore }).start());
		} else EntryStore.forget(kept, key);
		await Promise.all(starting);
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
