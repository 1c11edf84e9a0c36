import type { ITriggerFunctions, ITriggerResponse } from 'n8n-workflow';
import { readCredential, type Credential } from '../shared/http/credential';
import { Failure } from '../shared/failure';
import { CREDENTIAL_TYPE } from '../shared/http/request';
import { toNodeError } from '../shared/n8n/nodeErrors';
import { dropsDuplicates, ExecutionQueue } from './executionQueue';
import { TaskStore } from './watch/taskStore';
import { readSettings } from './settings';
import { Watch } from './watch/watch';

/**
 * Listens for the events of speech tasks. Activated, it goes on until it is closed; by hand, until the
 * first event. Throws the n8n error that names what to change.
 */
export async function startTrigger(context: ITriggerFunctions): Promise<ITriggerResponse> {
	const node = context.getNode();
	const isManual = context.getMode() === 'manual';
	const closing = new AbortController();
	let credential: Credential | undefined;
	let taskStore: TaskStore | undefined;

	const closeFunction = async () => {
		if (closing.signal.aborted) return;
		closing.abort(new Failure('canceled'));
		if (!isManual) taskStore?.leave();
	};
	const asNodeError = (error: unknown) => toNodeError(error, { node, redact: credential?.redact });

	const listen = async () => {
		const settings = readSettings(context);
		credential = readCredential(await context.getCredentials(CREDENTIAL_TYPE));
		const scope = `${context.getWorkflow().id}\n${node.id}\n${credential.baseUrl}`;
		// A manual run saves nothing, so earlier tests don't count.
		taskStore = isManual
			? new TaskStore({}, '', false)
			: new TaskStore(context.getWorkflowStaticData('node'), scope, dropsDuplicates(context));
		const { signal } = closing;
		const watch = new Watch({
			context,
			credential: credential,
			settings,
			taskStore: taskStore,
			executionQueue: new ExecutionQueue(context, scope, signal),
			scope: isManual ? undefined : scope,
			isManual,
			closing: signal,
			onFatal(failure) {
				if (signal.aborted) return;
				void closeFunction();
				context.emitError(asNodeError(failure));
			},
		});
		await watch.start();
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
