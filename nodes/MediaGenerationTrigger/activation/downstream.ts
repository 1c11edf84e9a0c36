import type { ITriggerFunctions, NodeTypeAndVersion } from 'n8n-workflow';
import { GENERATIONS, SPEAK, SPEECH_OPERATIONS, type PaidOperation } from '../../shared/contract';
import { Failure } from '../../shared/failure';
import type { Credential } from '../../shared/http/credential';
import { requestsOf, speechRequestsOf } from '../../shared/generation/requestLedger';
import { isOwnWork, type SubWorkflow } from '../../shared/n8n/creatorRegistry';
import { asText, isRecord } from '../../shared/parsing/values';
import type { Activation } from './activation';
import type { Settings } from './settings';

/**
 * Throws a Failure (selfTrigger) when a node that creates what the trigger hears of follows it: each
 * execution would pay for the event that starts the next one.
 */
export function refuseSelfStart(context: ITriggerFunctions, settings: Settings): void {
	const { events, ofTasks, taskIds } = settings;
	const after = downstreamNodes(context);
	const findCreator = (operations: readonly PaidOperation[]) =>
		after.find((node) => operations.some((operation) => mayRun(node, operation)));
	const speechCreator = ofTasks && taskIds.size === 0 && findCreator(SPEECH_OPERATIONS);
	const mediaCreator = events.has('generated') && findCreator(Object.values(GENERATIONS));
	if (speechCreator) throw new Failure('selfTrigger', { text: speechCreator.name, isSpeech: true });
	if (mediaCreator) throw new Failure('selfTrigger', { text: mediaCreator.name });
}

/**
 * Tells what sub-workflows that are called after the trigger have created, as far as this process knows.
 */
export function subWorkflowCreations(
	context: ITriggerFunctions,
	credential: Credential,
	signal: AbortSignal,
): Activation['isOwnWork'] {
	const calls = downstreamNodes(context)
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
function downstreamNodes(context: ITriggerFunctions): NodeTypeAndVersion[] {
	const isEnabled = ({ disabled }: NodeTypeAndVersion) => !disabled;
	const options = { includeNodeParameters: true };
	const after = context.getChildNodes(context.getNode().name, options).filter(isEnabled);
	const tools = after.flatMap(({ name }) =>
		context.getParentNodes(name, { ...options, connectionType: 'ai_tool' }),
	);
	return [...after, ...tools.filter(isEnabled)];
}

/**
 * Whether a node is of this package and may run `operation`. n8n leaves out a parameter that has its default:
 * `resource` is then that of Speak, `operation` the first one of its resource. An expression may say anything;
 * n8n hands it over without its "=" where a field takes none.
 */
function mayRun(
	{ type, parameters = {} }: NodeTypeAndVersion,
	{ resource, operation }: PaidOperation,
): boolean {
	const mayBe = (value: unknown, expected: string) =>
		value === expected || /^=|\{\{/.test(String(value));
	return (
		/\.mediaGeneration(?:Tool)?$/.test(type) &&
		mayBe(parameters.resource ?? SPEAK.resource, resource) &&
		mayBe(parameters.operation ?? operation, operation)
	);
}
