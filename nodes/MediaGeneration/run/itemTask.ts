import type { INodeExecutionData } from 'n8n-workflow';
import { Failure, isFailure } from '../../shared/failure';
import { asText } from '../../shared/parsing/values';

/** Why an output item could not be made. */
export class FailedResult {
	constructor(readonly error: unknown) {}
}

/** One of the outcomes of an input item. */
export type ItemResult = INodeExecutionData | FailedResult;

/** The work of one item, whose fields have been read and found good. */
export type ItemTask = () => Promise<ItemResult[]>;

/** The failure of an empty field, with all items that lack the same: a person mends them together. */
export function mergeSameField(error: unknown, jobs: Array<ItemTask | FailedResult>): unknown {
	if (!isFailure(error, 'invalidInput') || error.facts.text !== 'is empty') return error;
	const { field, text } = error.facts;
	const items = jobs.flatMap((job, index) => {
		const failed = job instanceof FailedResult && isFailure(job.error, 'invalidInput') && job.error;
		return failed && failed.facts.field === field && failed.facts.text === text ? [index] : [];
	});
	return error.withDefaults({ items });
}

/** The outcome of `work`; its failure must not cost the other files of the item. */
export const captureFailure = async (promise: Promise<INodeExecutionData>): Promise<ItemResult> =>
	await promise.catch((error: unknown) => {
		if (!(error instanceof Failure)) throw error;
		return new FailedResult(error);
	});

/**
 * The failure of one file, with the addresses of the item's other files, which are paid for but lost
 * with the node.
 */
export function withOtherFiles(error: unknown, parts: ItemResult[]): unknown {
	if (!(error instanceof Failure)) return error;
	const addresses = parts.map((part) => {
		if (!(part instanceof FailedResult)) return asText(part.json.file_url);
		return part.error instanceof Failure ? part.error.facts.fileUrl : undefined;
	});
	const otherFiles = addresses.filter((url) => url !== undefined);
	return error.withDefaults({
		otherFiles: otherFiles.filter((url) => url !== error.facts.fileUrl),
	});
}
