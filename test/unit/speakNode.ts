import type { IExecuteFunctions } from 'n8n-workflow';
import type { Credential } from '../../nodes/shared/http/credential';
import { createdBy } from '../../nodes/shared/n8n/origins';

export interface Execution {
	workflowId?: string;
	mode?: string;
	/** The task whose event started it. */
	startedBy?: string;
	calledBy?: string;
}

/** A Speak node in an execution. */
export const execution = ({
	workflowId = 'w',
	mode = 'trigger',
	startedBy,
	calledBy,
}: Execution = {}) => {
	const run = startedBy && [{ data: { main: [[{ json: { task_id: startedBy } }]] } }];
	return {
		getNode: () => ({ name: 'Speak' }),
		getMode: () => mode,
		getWorkflow: () => ({ id: workflowId }),
		getParentNodes: () => [{ name: 'On task', type: 'pkg.mediaGenerationTrigger' }],
		runExecutionData: {
			parentExecution: calledBy ? { workflowId: calledBy } : undefined,
			resultData: { runData: run ? { 'On task': run } : {} },
		},
	} as unknown as IExecuteFunctions;
};

/** Creates a task in an execution. */
export const create = async (
	address: Credential,
	setting: Execution,
	answer: () => Promise<string>,
	text = 'Words',
) => await createdBy(execution(setting), address, answer, text);
