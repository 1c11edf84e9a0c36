import type {
	IContextObject,
	IDataObject,
	IExecuteFunctions,
	INode,
	ITaskData,
	ITriggerFunctions,
} from 'n8n-workflow';

/** The fields of n8n's contexts that no public method returns. n8n may rename them, so each may be missing. */
interface ContextInternals {
	/** The workflow with all its nodes, by name. */
	workflow?: {
		nodes?: Record<string, INode>;
		getStaticData?(type: 'node', node: INode): IDataObject;
	};
	/** Only an execution has it. */
	runExecutionData?: {
		parentExecution?: { workflowId?: string };
		/** Before n8n 2, `destinationNode` was just the name of that node. */
		startData?: { destinationNode?: string | { nodeName: string } };
		/** The runs of each node that has run. */
		resultData?: { runData?: Record<string, ITaskData[]> };
		executionData?: { contextData?: Record<string, IContextObject> };
	};
}

/** Returns all enabled nodes of the workflow; none if they are not known. */
export const enabledNodes = (context: IExecuteFunctions | ITriggerFunctions): INode[] =>
	Object.values((context as ContextInternals).workflow?.nodes ?? {}).filter(
		({ disabled }) => !disabled,
	);

/** Returns the static data of a node in the copy of the workflow that `context` has; undefined if it is not known. */
export const staticDataOf = (context: ITriggerFunctions, node: INode): IDataObject | undefined =>
	(context as ContextInternals).workflow?.getStaticData?.('node', node);

/** Returns the id of the workflow that called this one; undefined if none is known. */
export const callerIdOf = (context: IExecuteFunctions): string | undefined =>
	(context as ContextInternals).runExecutionData?.parentExecution?.workflowId;

/** Returns the name of the node that the user executes; undefined if it is the whole workflow, or if it is not known. */
export function destinationOf(context: IExecuteFunctions): string | undefined {
	const { destinationNode } = (context as ContextInternals).runExecutionData?.startData ?? {};
	return typeof destinationNode === 'object' ? destinationNode.nodeName : destinationNode;
}

/** True if n8n has recorded that this node has begun, in this execution or in the one that it retries. */
export const hasBegun = (context: IExecuteFunctions): boolean =>
	context.getNode().name in
	((context as ContextInternals).runExecutionData?.resultData?.runData ?? {});

/** Returns the context data of all nodes that have finished a run in this execution. n8n keeps it for later runs. */
export function contextsOfFinishedNodes(context: IExecuteFunctions): IContextObject[] {
	const { executionData, resultData } = (context as ContextInternals).runExecutionData ?? {};
	return Object.entries(executionData?.contextData ?? {})
		.filter(([key]) => resultData?.runData?.[key.replace('node:', '')]?.length)
		.map(([, data]) => data);
}

/** Returns the name of the node that the execution began with, and its runs. Both are undefined if not known. */
export function startNodeOf(context: IExecuteFunctions): { name?: string; runs?: ITaskData[] } {
	const { resultData } = (context as ContextInternals).runExecutionData ?? {};
	// JavaScript puts names that are integers first, whenever their nodes have run.
	const [[name, runs] = []] = Object.entries(resultData?.runData ?? {}).sort(
		([, [a]], [, [b]]) => (a?.executionIndex ?? 0) - (b?.executionIndex ?? 0),
	);
	return { name, runs };
}
