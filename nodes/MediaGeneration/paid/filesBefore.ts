import type { IExecuteFunctions, INode } from 'n8n-workflow';
import type { GeneratedFile } from '../../shared/contract';
import type { ExecutionInternals } from '../../shared/n8n/origins';
import { asText } from '../../shared/parsing/coerce';

/** What n8n keeps of this execution: one object for as long as it runs in this process. */
export const executionOf = (context: IExecuteFunctions): object =>
	(context as ExecutionInternals).runExecutionData ?? {};

/** The videos and images that nodes of this execution have put out so far, perhaps in another process. */
export function filesBefore(context: IExecuteFunctions): GeneratedFile[] {
	const { workflow, runExecutionData } = context as ExecutionInternals;
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
