import type { Operation } from '../service.mts';
import type { N8n } from '../n8n.mts';
import { workflowOf, type Lines, type Step } from '../workflow.mts';
import type { Contender } from './contender.mts';

/** A contender whose steps are published in n8n, as a workflow for each operation; their names begin with `id`. */
export async function inN8n(
	n8n: N8n,
	id: string,
	name: string,
	requests: Contender['requests'],
	{ speech, video }: Record<Operation, Step[]>,
	speechLines?: Lines,
): Promise<Contender> {
	const published = {
		speech: await n8n.publish(workflowOf(`${id}-speech`, speech, speechLines)),
		video: await n8n.publish(workflowOf(`${id}-video`, video)),
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
		process: n8n,
	};
}
