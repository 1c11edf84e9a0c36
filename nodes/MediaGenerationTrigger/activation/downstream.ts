import type { ITriggerFunctions, NodeTypeAndVersion } from 'n8n-workflow';
import { GENERATIONS, SPEAK, SPEECH_OPERATIONS, type PaidOperation } from '../../shared/contract';
import { Failure } from '../../shared/failure';
import type { Credential } from '../../shared/http/credential';
import { ledgerOf, speechLedgerOf } from '../../shared/generation/requestLedger';
import { isCreatedBySubWorkflow, type SubWorkflow } from '../../shared/n8n/creatorRegistry';
import { asText, isRecord } from '../../shared/parsing/values';
import type { Activation } from './activation';
import type { Settings } from './settings';

/**
 * Throws a Failure of kind selfTrigger if a Media Generation node downstream may create something that this trigger
 * reports. Such a workflow would start itself in an endless loop, and each round would be charged.
 */
export function refuseSelfStart(context: ITriggerFunctions, settings: Settings): void {
	const { events, listensForTasks, taskIds } = settings;
	const downstream = downstreamNodes(context);
	const findCreator = (operations: readonly PaidOperation[]) =>
		downstream.find((node) => operations.some((operation) => mayRun(node, operation)));
	const speechCreator = listensForTasks && taskIds.size === 0 && findCreator(SPEECH_OPERATIONS);
	const mediaCreator = events.has('generated') && findCreator(Object.values(GENERATIONS));
	if (speechCreator)
		throw new Failure('selfTrigger', { text: speechCreator.name, mediaKind: 'speech' });
	if (mediaCreator) throw new Failure('selfTrigger', { text: mediaCreator.name });
}

/** Makes the function `isCreatedDownstream` of an activation. */
export function downstreamCreationCheck(
	context: ITriggerFunctions,
	credential: Credential,
	signal: AbortSignal,
): Activation['isCreatedDownstream'] {
	const calledWorkflowIds = downstreamNodes(context)
		.filter(({ type }) => /\.(?:executeWorkflow|toolWorkflow)$/.test(type))
		.map(({ parameters }) => parameters?.workflowId as unknown)
		.map((called) => asText(isRecord(called) ? called.value : called) ?? '');
	// A call whose sub-workflow is given by an expression, or without an id (such as by JSON), may run any workflow.
	const mayBeAnyWorkflow = calledWorkflowIds.some(
		(calledId) => calledId === '' || calledId.startsWith('='),
	);
	const { id: workflowId } = context.getWorkflow();
	// The id of this workflow itself stands for its error workflow.
	const ownIds = new Set([...calledWorkflowIds, workflowId]);
	const isOwn = ({ id, calledBy }: SubWorkflow) =>
		calledBy === workflowId && (mayBeAnyWorkflow || ownIds.has(id));
	return async (product) => {
		const ledgerOfKind = product.files ? ledgerOf : speechLedgerOf;
		return await isCreatedBySubWorkflow(product, ledgerOfKind(credential), isOwn, signal);
	};
}

/** The enabled nodes downstream of this trigger, including the tools of agents. */
function downstreamNodes(context: ITriggerFunctions): NodeTypeAndVersion[] {
	const isEnabled = ({ disabled }: NodeTypeAndVersion) => !disabled;
	const options = { includeNodeParameters: true };
	const downstream = context.getChildNodes(context.getNode().name, options).filter(isEnabled);
	const tools = downstream.flatMap(({ name }) =>
		context.getParentNodes(name, { ...options, connectionType: 'ai_tool' }),
	);
	return [...downstream, ...tools.filter(isEnabled)];
}

/**
 * True if a node is the action node of this package and may run the given operation. n8n omits a parameter that has its
 * default value, and an expression may give any value.
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
