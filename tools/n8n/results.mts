import { join } from 'node:path';
import type { IBinaryData, INodeExecutionData, IRun } from 'n8n-workflow';
import type { Instance } from './instance.mts';

/** Returns the items of the first output of a node in its last run. */
export function itemsOf(run: Pick<IRun, 'data'>, nodeName: string): INodeExecutionData[] {
	return run.data.resultData.runData[nodeName]?.at(-1)?.data?.main?.[0] ?? [];
}

/** Returns the path at which n8n has stored a file. */
export function storedPath(instance: Instance, { id = '' }: IBinaryData): string {
	return join(instance.folder, '.n8n/storage', id.replace(/^filesystem-v2:/, ''));
}
