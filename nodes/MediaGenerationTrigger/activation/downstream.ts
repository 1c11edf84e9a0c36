import type { INode, ITriggerFunctions, NodeTypeAndVersion } from 'n8n-workflow';
import { allRequests } from '../../shared/generation/requestLedger';
import type { Credential } from '../../shared/http/credential';
import { enabledNodes } from '../../shared/n8n/internals';
import {
	isCreatedByOwnExecution,
	type RequestCreator,
	triggerKeyOf,
} from '../../shared/n8n/requestCreator';
import { findReachableNodes, findReportedOperation, mayCall } from '../../shared/n8n/selfStart';
import { mayReport } from '../../shared/n8n/triggerEvents';
import type { Activation } from './activation';

/** Returns the function `isCreatedDownstream`, which resolves with false once `signal` aborts. */
export function downstreamCreationCheck(
	context: ITriggerFunctions,
	credential: Credential,
	signal: AbortSignal,
): Activation['isCreatedDownstream'] {
	const { id: workflowId = '' } = context.getWorkflow();
	const { name: triggerName } = context.getNode();
	const triggerKey = triggerKeyOf(workflowId, context.getNode());
	// The nodes of a sub-workflow are not known here. So a sub-workflow counts only by what it has created already.
	const mayHaveStartedTrigger = (node: NodeTypeAndVersion, { parameters }: INode) =>
		allRequests().some(
			({ creator, kind }) =>
				creator.calledBy === workflowId &&
				mayCall(node, creator.id) &&
				mayReport(parameters, kind === 'speech'),
		);
	return async (subject) => {
		const nodes = findReachableNodes(
			context,
			triggerName,
			(node, trigger) =>
				findReportedOperation(node, trigger) || mayHaveStartedTrigger(node, trigger),
		);
		const isOwnCreator = ({ id, calledBy, triggers }: RequestCreator) => {
			// Another workflow may have created it because of what this one has created: they would start each other.
			if (triggers?.includes(triggerKey)) return true;
			// Equal ids mean an error workflow, and name the workflow that failed: this one, or one that it has called.
			if (id === calledBy) return id === workflowId || nodes.some((node) => mayCall(node, id));
			if (calledBy !== workflowId) return false;
			// n8n does not restart a published trigger when nodes are added after it, so those nodes are not known
			// here. One of them may have called a sub-workflow that no known node calls.
			const isCaller = (node: INode | NodeTypeAndVersion) => mayCall(node, id);
			return nodes.some(isCaller) || !enabledNodes(context).some(isCaller);
		};
		return await isCreatedByOwnExecution(subject, credential, isOwnCreator, signal);
	};
}
