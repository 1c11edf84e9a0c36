import type { Operation } from '../service.mts';
import type { N8n } from '../n8n.mts';
import type { Workflow } from '../workflow.mts';
import type { Contender } from './contender.mts';

/** A contender with a workflow of n8n's for each operation, which it publishes. */
export async function inN8n(
	n8n: N8n,
	name: string,
	requests: Contender['requests'],
	workflows: Record<Operation, Workflow>,
): Promise<Contender> {
	const published = {
		speech: await n8n.publish(workflows.speech),
		video: await n8n.publish(workflows.video),
	};
	return {
		name,
		requests,
		make: async (operation, texts) => await n8n.run(published[operation], texts),
		async made(operation) {
			const executions = await n8n.executions(published[operation]);
			return {
				files: executions.flatMap(({ files }) => files),
				errors: executions.flatMap(({ error }) => error ?? []),
			};
		},
		clear: async (operation) => await n8n.forget(published[operation]),
		memory: () => n8n.memory(),
		memoryInUse: async () => await n8n.memoryInUse(),
		peakInUse: async () => await n8n.peakInUse(),
	};
}
