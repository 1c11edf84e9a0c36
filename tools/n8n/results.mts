import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { IBinaryData, INodeExecutionData, IRun } from 'n8n-workflow';
import { CommandError, type Instance } from './instance.mts';

/** Executes a workflow without a server; returns its run as n8n prints it. */
export async function executeWorkflow(instance: Instance, id: string): Promise<IRun> {
	try {
		const run = runIn(await instance.command('execute', `--id=${id}`, '--rawOutput'));
		if (run) return run;
		throw new Error(`n8n printed no result; see ${instance.logFile}`);
	} catch (error) {
		const failed = error instanceof CommandError && runIn(error.output)?.data.resultData.error;
		if (!failed) throw error;
		throw new Error(`${failed.message}\n${failed.description ?? ''}`, { cause: error });
	}
}

/** The run in what n8n printed: there may be log lines around it, or their level on its first line. */
function runIn(output: string): IRun | undefined {
	const [, json] = /(?:^|\s)(\{\n[^]*^\})/m.exec(output) ?? [];
	return json === undefined ? undefined : JSON.parse(json);
}

/** What a node put out. */
export function itemsOf(run: Pick<IRun, 'data'>, nodeName: string): INodeExecutionData[] {
	return run.data.resultData.runData[nodeName]?.at(-1)?.data?.main?.[0] ?? [];
}

/** Where n8n has stored a file. */
export function storedAt(instance: Instance, { id = '' }: IBinaryData): string {
	return join(instance.folder, '.n8n/storage', id.replace(/^filesystem-v2:/, ''));
}

/** Copies the files of the items, with their own names; returns their paths. */
export function copyFiles(
	instance: Instance,
	items: INodeExecutionData[],
	folder: string,
): string[] {
	mkdirSync(folder, { recursive: true });
	return items
		.flatMap(({ binary = {} }) => Object.values(binary))
		.map((file) => {
			const path = join(folder, file.fileName ?? 'file');
			copyFileSync(storedAt(instance, file), path);
			return path;
		});
}
