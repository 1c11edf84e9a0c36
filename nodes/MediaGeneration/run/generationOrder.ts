import type { GenerationOperation } from '../../shared/contract';

/** The create call of one item, before it is sent. */
export interface GenerationOrder {
	generation: GenerationOperation;
	fields: GenerationFields;
	/**
	 * Exists only if images are part of the request. Downloads the images that are given by URL, and resolves with a
	 * function that fills the body. Throws a Failure if a download fails or the images are too large.
	 */
	prepareBody?(fields: GenerationFields, signal: AbortSignal): Promise<FillBody>;
}

/** The fields of a request body, without images. */
export type GenerationFields = {
	prompt?: string;
	aspect_ratio?: string;
	number_of_videos?: number;
};

/** The body of a request. It has no bytes before it is filled and after it is freed. */
export interface RequestBody {
	bytes?: Buffer;
	/** Gives back the memory that was reserved for the bytes. Call it once, when they are no longer needed. */
	release?(): void;
}

/** Fills the body of a request. Call it right before each attempt to send. */
export type FillBody = (body: RequestBody, signal: AbortSignal) => Promise<unknown>;
