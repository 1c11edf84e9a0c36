import type { INodeExecutionData } from 'n8n-workflow';
import { Failure } from '../../shared/failure';
import type { Item } from '../item';
import { NotMade, type Job } from '../made';

const bytesOf = ({ binary = {} }: INodeExecutionData): number =>
	Object.values(binary).reduce((sum, { bytes = 0 }) => sum + bytes, 0);

/** Why an item failed; of a speech in parts, with the part that did. */
function causeOf(error: unknown) {
	if (!(error instanceof Failure)) return { reason: 'unexpected' };
	const { kind, facts } = error;
	if (facts.part === undefined) return { reason: kind };
	return { reason: kind, part: Number.parseInt(facts.part), task: facts.taskId };
}

/**
 * An item's job that leaves a line in n8n's log when it ends: at info if something was paid or waited
 * for, which an operator looks for when a night went wrong.
 */
export const logged =
	(item: Item, operation: string, job: Job): Job =>
	async () => {
		const began = Date.now();
		const end = (
			event: 'done' | 'failed',
			facts: { bytes?: number; reason?: string; part?: number; task?: string },
		) => item.log.end(event, { operation, ...facts, waited_ms: Date.now() - began });
		const made = await job().catch((error: unknown) => {
			end('failed', causeOf(error));
			throw error;
		});
		const missing = made.find((part) => part instanceof NotMade);
		const bytes = made.reduce(
			(sum, part) => sum + (part instanceof NotMade ? 0 : bytesOf(part)),
			0,
		);
		if (missing) end('failed', { ...causeOf(missing.error), bytes });
		else end('done', { bytes });
		return made;
	};
