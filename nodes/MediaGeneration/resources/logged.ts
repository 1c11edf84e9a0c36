import type { INodeExecutionData } from 'n8n-workflow';
import { Failure } from '../../shared/failure';
import type { Item } from '../item';
import { NotMade, type Job } from '../made';

const bytesOf = ({ binary = {} }: INodeExecutionData): number =>
	Object.values(binary).reduce((sum, { bytes = 0 }) => sum + bytes, 0);

const reasonOf = (error: unknown) => (error instanceof Failure ? error.kind : 'unexpected');

/**
 * An item's job that leaves a line in n8n's log when it ends: at info if something was paid or waited
 * for, which an operator looks for when a night went wrong.
 */
export const logged =
	(item: Item, operation: string, job: Job): Job =>
	async () => {
		const began = Date.now();
		const end = (event: 'done' | 'failed', facts: { bytes?: number; reason?: string }) =>
			item.log.end(event, { operation, ...facts, waited_ms: Date.now() - began });
		const made = await job().catch((error: unknown) => {
			end('failed', { reason: reasonOf(error) });
			throw error;
		});
		const missing = made.find((part) => part instanceof NotMade);
		const bytes = made.reduce(
			(sum, part) => sum + (part instanceof NotMade ? 0 : bytesOf(part)),
			0,
		);
		if (missing) end('failed', { reason: reasonOf(missing.error), bytes });
		else end('done', { bytes });
		return made;
	};
