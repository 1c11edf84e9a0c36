import type { IExecuteFunctions, INode, ITriggerFunctions, NodeTypeAndVersion } from 'n8n-workflow';
import { PAID_OPERATIONS, SPEAK, type PaidOperation } from '../contract';
import { Failure } from '../failure';
import { asText, isRecord } from '../parsing/values';
import { enabledNodes, startNodeOf } from './internals';
import { eventsField, isExpression, mayReport, taskIdsField } from './triggerEvents';

type Context = IExecuteFunctions | ITriggerFunctions;

/**
 * Returns a Failure of kind selfTrigger if a Media Generation node downstream of `trigger` may create something that
 * the trigger reports, also by starting another trigger of the workflow. Such a workflow would start itself in an
 * endless loop, and each round would be charged. Returns undefined if there is no such node.
 */
export function selfStartFailure(context: Context, trigger: INode): Failure | undefined {
	// A node that only calls a sub-workflow is no reason to refuse, because the trigger emits no event about what such
	// a sub-workflow creates (see `downstreamCreationCheck`).
	for (const node of findReachableNodes(context, trigger.name, findReportedOperation)) {
		const operation = findReportedOperation(node, trigger);
		if (operation)
			return new Failure('selfTrigger', { nodeName: node.name, mediaKind: operation.kind });
	}
	return undefined;
}

/**
 * Returns the Failure of `selfStartFailure` for the trigger of this package that has started this execution; undefined
 * if it was started in another way, or by a person. n8n (2.41) does not restart a published trigger when nodes are
 * added after it, so the trigger cannot refuse them.
 */
export function selfStartFailureOfExecution(context: IExecuteFunctions): Failure | undefined {
	if (context.getMode() !== 'trigger') return undefined;
	const trigger = startTriggerOf(context);
	if (!trigger) return undefined;
	const parameters = { ...trigger.parameters };
	for (const field of [eventsField.name, taskIdsField.name]) {
		const value = parameters[field];
		if (isExpression(value)) parameters[field] = context.evaluateExpression(value.slice(1), 0);
	}
	return selfStartFailure(context, { ...trigger, parameters });
}

/** Returns the trigger of this package that the execution began with; undefined if it began in another way. */
export function startTriggerOf(context: IExecuteFunctions): INode | undefined {
	const { name } = startNodeOf(context);
	return enabledNodes(context).find((node) => node.name === name && isTrigger(node.type));
}

const isTrigger = (type: string) => type.endsWith('.mediaGenerationTrigger');

/**
 * Returns the nodes downstream of the trigger with this name, and of each other trigger of the workflow that one of
 * these nodes may start, and so on. `mayStart` returns a truthy value if a node may start a trigger.
 */
export function findReachableNodes(
	context: Context,
	triggerName: string,
	mayStart: (node: NodeTypeAndVersion, trigger: INode) => unknown,
): NodeTypeAndVersion[] {
	const triggers = enabledNodes(context).filter(({ type }) => isTrigger(type));
	const downstreamByTrigger = new Map([[triggerName, downstreamNodes(context, triggerName)]]);
	// The loop also visits the triggers that are added to the map in it.
	for (const [, downstream] of downstreamByTrigger) {
		const found = triggers.filter(
			(trigger) =>
				!downstreamByTrigger.has(trigger.name) &&
				downstream.some((node) => mayStart(node, trigger)),
		);
		for (const { name } of found) downstreamByTrigger.set(name, downstreamNodes(context, name));
	}
	return [...downstreamByTrigger.values()].flat();
}

/** Returns the enabled nodes downstream of a trigger, including the tools of agents. */
function downstreamNodes(context: Context, triggerName: string): NodeTypeAndVersion[] {
	const isEnabled = ({ disabled }: NodeTypeAndVersion) => !disabled;
	const options = { includeNodeParameters: true };
	const downstream = context.getChildNodes(triggerName, options).filter(isEnabled);
	const tools = downstream.flatMap(({ name }) =>
		context.getParentNodes(name, { ...options, connectionType: 'ai_tool' }),
	);
	return [...downstream, ...tools.filter(isEnabled)];
}

/** True if a node may call the sub-workflow with this id. */
export function mayCall(
	{ type, parameters }: INode | NodeTypeAndVersion,
	workflowId: string,
): boolean {
	if (!/\.(?:executeWorkflow|toolWorkflow)$/.test(type)) return false;
	const workflowIdField = parameters?.workflowId as unknown;
	const id = asText(isRecord(workflowIdField) ? workflowIdField.value : workflowIdField) ?? '';
	// The id is unknown if an expression gives it, or if the node contains the sub-workflow as JSON.
	return id === '' || isExpression(id) || id === workflowId;
}

/** Returns an operation that a node may run and whose media the trigger reports; undefined if there is none. */
export const findReportedOperation = (
	node: NodeTypeAndVersion,
	{ parameters }: INode,
): PaidOperation | undefined =>
	PAID_OPERATIONS.find(
		(operation) => mayReport(parameters, operation.kind === 'speech') && mayRun(node, operation),
	);

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
