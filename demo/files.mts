import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { INodeExecutionData } from 'n8n-workflow';
import type { WorkflowResult } from './engine.mts';

/** Copies the files of the items into a folder; returns their absolute paths. */
export async function saveFiles(
	result: WorkflowResult,
	items: INodeExecutionData[],
	folder: string,
): Promise<string[]> {
	mkdirSync(folder, { recursive: true });
	const paths: string[] = [];
	for (const file of items.flatMap(({ binary = {} }) => Object.values(binary))) {
		const path = join(folder, file.fileName ?? `file-${paths.length}`);
		writeFileSync(path, await result.bytes(file));
		paths.push(path);
	}
	return paths;
}
