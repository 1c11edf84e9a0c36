import type { INode, ITriggerFunctions, NodeTypeAndVersion } from 'n8n-workflow';
import { GENERATIONS, SPEAK, SPEECH_OPERATIONS, type PaidOperation } from '../../shared/contract';
import { Failure } from '../../shared/failure';
import { allRequests } from '../../shared/generation/requestLedger';
import type { Credential } from '../../shared/http/credential';
import { isCreatedBySubWorkflow, type SubWorkflow } from '../../shared/n8n/subWorkflows';
import { asText, isRecord } from '../../shared/parsing/values';
import type { Activation } from './activation';
import { mayReport, type Settings } from './settings';

/** Where n8n's context of a trigger has the nodes of the workflow. No public method of n8n returns them all. */
interface TriggerInternals {
	workflow?: { nodes?: Record<string, INode> };
}

/**
 * Throws a Failure of kind selfTrigger if a Media Generation node downstream may create something that this trigger
 * reports, also by starting another trigger of the workflow. Such a workflow would start itself in an endless loop, and
 * each round would be charged.
 */
export function refuseSelfStart(context: ITriggerFunctions, settings: Settings): void {
	const { events, listensForTasks, taskIds } = settings;
	// What sub-workflows create is passed over later, so calls are no reason to refuse.
	const downstream = nodesOfLoop(context, mayStart);
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
	const { id: workflowId } = context.getWorkflow();
	const mayHaveCalled = (node: NodeTypeAndVersion, { id, calledBy }: SubWorkflow) => {
		const calledId = calledIdOf(node);
		return calledBy === workflowId && (calledId === '' || calledId === id);
	};
	// What a sub-workflow may create is unknown until it has created something.
	const hasStarted = (node: NodeTypeAndVersion, { parameters }: INode) =>
		[true, false].some(
			(isSpeech) =>
				mayReport(parameters, isSpeech) &&
				allRequests(isSpeech).some(({ creator }) => creator && mayHaveCalled(node, creator)),
		);
	return async (product) => {
		const nodes = nodesOfLoop(
			context,
			(node, trigger) => mayStart(node, trigger) || hasStarted(node, trigger),
		);
		const isOwn = (creator: SubWorkflow) => {
			const { id, calledBy } = creator;
			// An error workflow has the id of the workflow that failed: this one, or one that it has called.
			if (id === calledBy)
				return id === workflowId || nodes.some((node) => calledIdOf(node) === id);
			return nodes.some((node) => mayHaveCalled(node, creator));
		};
		return await isCreatedBySubWorkflow(product, credential, isOwn, signal);
	};
}

/** The nodes downstream of this trigger, and of each other trigger of the workflow that these may start, and so on. */
function nodesOfLoop(
	context: ITriggerFunctions,
	mayLeadTo: (node: NodeTypeAndVersion, trigger: INode) => boolean,
): NodeTypeAndVersion[] {
	const { type, name } = context.getNode();
	const nodes = Object.values((context as TriggerInternals).workflow?.nodes ?? {});
	const triggers = nodes.filter((node) => node.type === type && !node.disabled);
	const reached = new Map([[name, downstreamNodes(context, name)]]);
	// A Map also iterates over what is added meanwhile.
	for (const [, downstream] of reached) {
		for (const trigger of triggers) {
			if (!reached.has(trigger.name) && downstream.some((node) => mayLeadTo(node, trigger)))
				reached.set(trigger.name, downstreamNodes(context, trigger.name));
		}
	}
	return [...reached.values()].flat();
}

/** The enabled nodes downstream of a trigger, including the tools of agents. */
function downstreamNodes(context: ITriggerFunctions, triggerName: string): NodeTypeAndVersion[] {
	const isEnabled = ({ disabled }: NodeTypeAndVersion) => !disabled;
	const options = { includeNodeParameters: true };
	const downstream = context.getChildNodes(triggerName, options).filter(isEnabled);
	const tools = downstream.flatMap(({ name }) =>
		context.getParentNodes(name, { ...options, connectionType: 'ai_tool' }),
	);
	return [...downstream, ...tools.filter(isEnabled)];
}

/** The id of the sub-workflow that a node calls: '' if it may be any one, undefined if the node calls none. */
function calledIdOf({ type, parameters }: NodeTypeAndVersion): string | undefined {
	if (!/\.(?:executeWorkflow|toolWorkflow)$/.test(type)) return undefined;
	const called = parameters?.workflowId as unknown;
	const id = asText(isRecord(called) ? called.value : called) ?? '';
	// The id may be given by an expression, or the sub-workflow as JSON without an id.
	return id.startsWith('=') ? '' : id;
}

/** True if a node may create something that another trigger of the workflow reports. */
const mayStart = (node: NodeTypeAndVersion, { parameters }: INode): boolean =>
	(mayReport(parameters, true) && SPEECH_OPERATIONS.some((operation) => mayRun(node, operation))) ||
	(mayReport(parameters, false) &&
		Object.values(GENERATIONS).some((operation) => mayRun(node, operation)));

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
