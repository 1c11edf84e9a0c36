import type { INodeExecutionData } from 'n8n-workflow';
import { Failure, isFailure } from '../../shared/failure';
import { asText } from '../../shared/parsing/values';

/** Takes the place of an output item that could not be made. `error` says why. */
export class FailedResult {
	constructor(readonly error: unknown) {}
}

/** One output item, or the reason why it is missing. An input item may have several results. */
export type ItemResult = INodeExecutionData | FailedResult;

/** Does the operation for one item, whose fields are valid. Rejects with the item's failure. */
export type ItemTask = () => Promise<ItemResult[]>;

/**
 * Adds to the failure of an empty field the indexes of all items in which the same field is empty, so that a
 * person can correct them together. Returns any other error as it is. `jobs` are those of all items, by index.
 */
export function mergeSameField(error: unknown, jobs: Array<ItemTask | FailedResult>): unknown {
	if (!isFailure(error, 'invalidInput') || error.facts.text !== 'is empty') return error;
	const { field, text, isInCredential } = error.facts;
	if (isInCredential) return error;
	const items = jobs.flatMap((job, index) => {
		const failed = job instanceof FailedResult && isFailure(job.error, 'invalidInput') && job.error;
		return failed && failed.facts.field === field && failed.facts.text === text ? [index] : [];
	});
	return error.withDefaults({ items, itemCount: jobs.length });
}

/**
 * Converts a Failure of one file into a FailedResult, so that the other files of the item are still returned:
 * they were charged as well. Rejects with any other error.
 */
export const captureFailure = async (promise: Promise<INodeExecutionData>): Promise<ItemResult> =>
	await promise.catch((error: unknown) => {
		if (!(error instanceof Failure)) throw error;
		return new FailedResult(error);
	});

/**
 * Adds to the failure of one file the URLs of the item's other files. They were charged, but the node returns
 * no output when it fails, so its error message has to name them. `parts` are all results of the item.
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
