import type { ITriggerFunctions, NodeTypeAndVersion } from 'n8n-workflow';
import { Failure } from '../../shared/failure';
import type { Credential } from '../../shared/http/credential';
import { requestsOf, speechRequestsOf } from '../../shared/generation/sentRequests';
import { isOwnWork, type SubWorkflow } from '../../shared/n8n/ownWork';
import { asText, isRecord } from '../../shared/parsing/coerce';
import type { Activation } from './activation';
import type { Settings } from './settings';

/**
 * Throws a Failure (startsItself) when a node that creates what the trigger hears of follows it: each
 * execution would pay for the event that starts the next one.
 */
export function refuseSelfStart(context: ITriggerFunctions, settings: Settings): void {
	const { events, ofTasks, taskIds } = settings;
	const after = followersOf(context);
	const speaks = ofTasks && taskIds.size === 0 && after.find(createsSpeech);
	const films = events.has('generated') && after.find(createsMedia);
	if (speaks) throw new Failure('startsItself', { text: speaks.name, isSpeech: true });
	if (films) throw new Failure('startsItself', { text: films.name });
}

/**
 * Tells what sub-workflows that are called after the trigger have created, as far as this process knows.
 */
export function ownWorkOf(
	context: ITriggerFunctions,
	credential: Credential,
	signal: AbortSignal,
): Activation['isOwnWork'] {
	const calls = followersOf(context)
		.filter(({ type }) => /\.(?:executeWorkflow|toolWorkflow)$/.test(type))
		.map(({ parameters }) => parameters?.workflowId as unknown)
		.map((called) => asText(isRecord(called) ? called.value : called) ?? '');
	// The workflow of an expression, or of pasted JSON, could be any.
	const isAny = calls.some((called) => called === '' || called.startsWith('='));
	const { id: workflowId } = context.getWorkflow();
	const isOwn = ({ id, calledBy }: SubWorkflow) =>
		calledBy === workflowId && (isAny || calls.includes(id));
	return async (product) => {
		const ofKind = product.prompt === undefined ? speechRequestsOf : requestsOf;
		return await isOwnWork(product, ofKind(credential), isOwn, signal);
	};
}

/** The nodes that an execution of this trigger may reach, tools of an agent among them. */
function followersOf(context: ITriggerFunctions): NodeTypeAndVersion[] {
	const isEnabled = ({ disabled }: NodeTypeAndVersion) => !disabled;
	const options = { includeNodeParameters: true };
	const after = context.getChildNodes(context.getNode().name, options).filter(isEnabled);
	const tools = after.flatMap(({ name }) =>
		context.getParentNodes(name, { ...options, connectionType: 'ai_tool' }),
	);
	return [...after, ...tools.filter(isEnabled)];
}

const createsSpeech = (node: NodeTypeAndVersion): boolean =>
	mayHave(node, 'resource', 'speech') && mayHave(node, 'operation', 'speak');

const createsMedia = (node: NodeTypeAndVersion): boolean =>
	mayHave(node, 'resource', 'video') || mayHave(node, 'resource', 'image');

/**
 * Whether a node is of this package, and a parameter may have this value. A missing one is that of Speak. An
 * expression may say anything; n8n hands it over without its "=" where a field takes none.
 */
function mayHave({ type, parameters }: NodeTypeAndVersion, name: string, wanted: string): boolean {
	const value = String(parameters?.[name] ?? (name === 'resource' ? 'speech' : 'speak'));
	return /\.mediaGeneration(?:Tool)?$/.test(type) && (value === wanted || /^=|\{\{/.test(value));
}
