import type { IExecuteFunctions, INode, ITaskData } from 'n8n-workflow';
import type { GeneratedFile } from '../../shared/contract';
import { asText } from '../../shared/parsing/coerce';

/** What n8n knows of an execution but offers no method for; any of it may be missing. */
interface Internals {
	workflow?: { nodes?: Record<string, INode> };
	runExecutionData?: { resultData?: { runData?: Record<string, ITaskData[]> } };
}

/** What n8n keeps of this execution: one object for as long as it runs in this process. */
export const executionOf = (context: IExecuteFunctions): object =>
	(context as Internals).runExecutionData ?? {};

/** The videos and images that nodes of this execution have put out so far, perhaps in another process. */
export function filesBefore(context: IExecuteFunctions): GeneratedFile[] {
	const { workflow, runExecutionData } = context as Internals;
	return Object.entries(runExecutionData?.resultData?.runData ?? {})
		.filter(([name]) => isCreator(workflow?.nodes?.[name]))
		.flatMap(([, runs]) => runs.flatMap(({ data }) => data?.main?.flat() ?? []))
		.flatMap((item) => {
			const { id, file_url: fileUrl } = item?.json ?? {};
			return typeof fileUrl === 'string' ? [{ id: asText(id), fileUrl, fields: {} }] : [];
		});
}

/** What History puts out may be anybody's, the file that is looked for among it. */
const isCreator = ({ type, parameters }: Partial<INode> = {}) =>
	/\.mediaGeneration(?:Tool)?$/.test(type ?? '') && parameters?.resource !== 'history';
