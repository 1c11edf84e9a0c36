import { join } from 'node:path';
import type { IBinaryData, INodeExecutionData, IRun } from 'n8n-workflow';
import type { Instance } from './instance.mts';

/** What a node put out. */
export function itemsOf(run: Pick<IRun, 'data'>, nodeName: string): INodeExecutionData[] {
	return run.data.resultData.runData[nodeName]?.at(-1)?.data?.main?.[0] ?? [];
}

/** Where n8n has stored a file. */
export function storedAt(instance: Instance, { id = '' }: IBinaryData): string {
	return join(instance.folder, '.n8n/storage', id.replace(/^filesystem-v2:/, ''));
}
