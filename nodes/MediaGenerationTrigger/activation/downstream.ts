import type { INode, ITriggerFunctions, NodeTypeAndVersion } from 'n8n-workflow';
import { GENERATIONS, SPEAK, SPEECH_OPERATIONS, type PaidOperation } from '../../shared/contract';
import { Failure } from '../../shared/failure';
import { allRequests } from '../../shared/generation/requestLedger';
import type { Credential } from '../../shared/http/credential';
import { isCreatedByOwnExecution, type RequestCreator } from '../../shared/n8n/requestCreator';
import { asText, isRecord } from '../../shared/parsing/values';
import type { Activation } from './activation';
import { mayReport, type Settings } from './settings';

/**
 * The private field of n8n's trigger context that contains the workflow's nodes, by name. No public method of n8n
 * returns all of them.
 */
interface TriggerInternals {
	workflow?: { nodes?: Record<string, INode> };
}

/** What tells which sub-workflow a node calls. */
type CallerNode = Pick<NodeTypeAndVersion, 'type' | 'parameters'>;

/**
 * Throws a Failure of kind selfTrigger if a Media Generation node downstream may create something that this trigger
 * reports, also by starting another trigger of the workflow. Such a workflow would start itself in an endless loop, and
 * each round would be charged.
 */
export function refuseSelfStart(context: ITriggerFunctions, settings: Settings): void {
	const { events, listensForTasks, taskIds } = settings;
	// A node that only calls a sub-workflow is no reason to refuse, because the trigger emits no event about what such
	// a sub-workflow creates (see `downstreamCreationCheck`).
	const downstream = findReachableNodes(context, mayStart);
	const findCreator = (operations: readonly PaidOperation[]) =>
		downstream.find((node) => operations.some((operation) => mayRun(node, operation)));
	const speechCreator = listensForTasks && taskIds.size === 0 && findCreator(SPEECH_OPERATIONS);
	const mediaCreator = events.has('generated') && findCreator(Object.values(GENERATIONS));
	if (speechCreator)
		throw new Failure('selfTrigger', { nodeName: speechCreator.name, mediaKind: 'speech' });
	if (mediaCreator) throw new Failure('selfTrigger', { nodeName: mediaCreator.name });
}

/**
 * Returns the function `isCreatedDownstream` of an activation. When `signal` aborts, that function resolves with false
 * at once.
 */
export function downstreamCreationCheck(
	context: ITriggerFunctions,
	credential: Credential,
	signal: AbortSignal,
): Activation['isCreatedDownstream'] {
	const { id: workflowId = '' } = context.getWorkflow();
	const { name: triggerName } = context.getNode();
	// The nodes of a sub-workflow are not known here. So a sub-workflow counts only by what it has created already.
	const mayHaveStartedTrigger = (node: NodeTypeAndVersion, { parameters }: INode) =>
		[true, false].some(
			(isSpeech) =>
				mayReport(parameters, isSpeech) &&
				allRequests(isSpeech).some(
					({ creator }) => creator?.calledBy === workflowId && mayCall(node, creator.id),
				),
		);
	return async (product) => {
		const nodes = findReachableNodes(
			context,
			(node, trigger) => mayStart(node, trigger) || mayHaveStartedTrigger(node, trigger),
		);
		const isOwnCreator = (creator: RequestCreator) => {
			const { id, calledBy, startNode } = creator;
			// Equal ids mean an error workflow, and are the id of the workflow that failed: this one, or a sub-workflow
			// that it has called.
			if (id === calledBy) return id === workflowId || nodes.some((node) => mayCall(node, id));
			if (id === workflowId) return startNode === triggerName;
			if (calledBy !== workflowId) return false;
			// n8n does not restart a published trigger when nodes are added behind it, so those nodes are not known
			// here. One of them may have called a sub-workflow that no known node calls.
			const isCaller = (node: CallerNode) => mayCall(node, id);
			return nodes.some(isCaller) || !enabledNodes(context).some(isCaller);
		};
		return await isCreatedByOwnExecution(product, credential, isOwnCreator, signal);
	};
}

/**
 * Returns the nodes downstream of this trigger, and of each other trigger of the workflow that one of these nodes may
 * start, and so on. `mayStartTrigger` returns true if a node may start a trigger.
 */
function findReachableNodes(
	context: ITriggerFunctions,
	mayStartTrigger: (node: NodeTypeAndVersion, trigger: INode) => boolean,
): NodeTypeAndVersion[] {
	const { type, name } = context.getNode();
	const triggers = enabledNodes(context).filter((node) => node.type === type);
	const downstreamByTrigger = new Map([[name, downstreamNodes(context, name)]]);
	// The outer loop also visits the triggers that the inner loop adds to the map.
	for (const [, downstream] of downstreamByTrigger) {
		for (const trigger of triggers) {
			if (
				!downstreamByTrigger.has(trigger.name) &&
				downstream.some((node) => mayStartTrigger(node, trigger))
			)
				downstreamByTrigger.set(trigger.name, downstreamNodes(context, trigger.name));
		}
	}
	return [...downstreamByTrigger.values()].flat();
}

/** Returns all enabled nodes of the workflow; none if n8n does not have its private field. */
const enabledNodes = (context: ITriggerFunctions): INode[] =>
	Object.values((context as TriggerInternals).workflow?.nodes ?? {}).filter(
		({ disabled }) => !disabled,
	);

/** Returns the enabled nodes downstream of a trigger, including the tools of agents. */
function downstreamNodes(context: ITriggerFunctions, triggerName: string): NodeTypeAndVersion[] {
	const isEnabled = ({ disabled }: NodeTypeAndVersion) => !disabled;
	const options = { includeNodeParameters: true };
	const downstream = context.getChildNodes(triggerName, options).filter(isEnabled);
	const tools = downstream.flatMap(({ name }) =>
		context.getParentNodes(name, { ...options, connectionType: 'ai_tool' }),
	);
	return [...downstream, ...tools.filter(isEnabled)];
}

/** True if a node may call the sub-workflow with this id. */
function mayCall({ type, parameters }: CallerNode, workflowId: string): boolean {
	if (!/\.(?:executeWorkflow|toolWorkflow)$/.test(type)) return false;
	const workflowIdField = parameters?.workflowId as unknown;
	const id = asText(isRecord(workflowIdField) ? workflowIdField.value : workflowIdField) ?? '';
	// The id is unknown if an expression gives it, or if the node contains the sub-workflow as JSON.
	return id === '' || id.startsWith('=') || id === workflowId;
}

/** True if a node may create something that the given trigger reports. */
const mayStart = (node: NodeTypeAndVersion, { parameters }: INode): boolean =>
	(mayReport(parameters, true) && SPEECH_OPERATIONS.some((operation) => mayRun(node, operation))) ||
	(mayReport(parameters, false) &&
		Object.values(GENERATIONS).some((operation) => mayRun(node, operation)));

/**
 * True if a node is the action node of this package and may run the given operation. A missing parameter has its
 * default value, because n8n does not save default values. An expression may give any value.
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
