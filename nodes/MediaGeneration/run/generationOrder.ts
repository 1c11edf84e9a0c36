import type { GenerationOperation } from '../../shared/contract';
import type { MemoryNeed } from '../../shared/async/memoryBudget';

/** The create call of one item, before it is sent. */
export interface GenerationOrder {
	generation: GenerationOperation;
	fields: GenerationFields;
	/**
	 * Exists only if images are part of the request. Downloads the images that are given by URL. Throws a Failure if a
	 * download fails or the images are too large.
	 */
	prepareBody?(fields: GenerationFields, signal: AbortSignal): Promise<LargeBody>;
}

/** The fields of a request body, without images. */
export type GenerationFields = {
	prompt?: string;
	aspect_ratio?: string;
	number_of_videos?: number;
};

/**
 * True if the order has anything that the history does not show, such as images. Then an entry with the same prompt may
 * have been made of something else, also by another client.
 */
export function hasHiddenInputs({ fields, prepareBody }: GenerationOrder): boolean {
	const shown = ['prompt', 'aspect_ratio', 'number_of_videos'];
	const isHidden = ([name, value]: [string, unknown]) =>
		value !== undefined && !shown.includes(name);
	return prepareBody !== undefined || Object.entries(fields).some(isHidden);
}

/** A request body with images. `make` it right before each attempt to send, once its `memory` is taken. */
export interface LargeBody {
	memory: MemoryNeed;
	make(): Promise<Buffer>;
}
