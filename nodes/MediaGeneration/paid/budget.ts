import type { IDataObject } from 'n8n-workflow';
import { Failure } from '../../shared/failure';

const FIELD = 'mediaGenerationSent';

/** The number of billable requests that a node has sent in one execution, as n8n stores it. */
interface StoredCount {
	executionId: string;
	requests: number;
}

/**
 * Enforces the option Max Paid Requests per Execution. The count is in the node's context, which is shared by
 * the rounds of a loop, all attempts, and all calls of an agent. "Retry execution" keeps that context, but it
 * is a new execution, so its count begins at 0.
 *
 * One run calls `reserve` once, `countSent` and `countRefused` for its requests, and `settle` at its end.
 */
export class Budget {
	/** Requests that are in the count, but have not been sent. */
	private reserved = 0;

	/** `store` is the node's context (see `storeFor`). */
	constructor(
		private readonly store: IDataObject,
		private readonly executionId: string,
	) {}

	/**
	 * Adds `planned` requests to the count before they are sent. Otherwise concurrent calls of an agent could
	 * each stay within the limit and exceed it together. If the limit does not allow them, the count stays as
	 * it is, and the Failure to report is returned.
	 */
	reserve(planned: number, limit: number): Failure | undefined {
		const before = this.requests;
		if (before + planned <= limit) {
			this.reserved = planned;
			this.requests = before + planned;
			return undefined;
		}
		const needs =
			before === 0
				? `This run needs ${planned} paid requests`
				: `${before} paid requests have already been sent in this execution, and this run needs ${planned} more`;
		return new Failure('overBudget', { text: needs, limit });
	}

	/** Call right before a request is sent. */
	countSent(): void {
		this.reserved--;
	}

	/** Call after `countSent` when the service has surely not accepted the request. */
	countRefused(): void {
		this.reserved++;
	}

	/** Call once at the end of the run: takes the reserved requests out of the count again. */
	settle(): void {
		this.requests -= this.reserved;
	}

	private get requests(): number {
		const sent = this.store[FIELD] as StoredCount | undefined;
		return sent?.executionId === this.executionId ? sent.requests : 0;
	}

	private set requests(requests: number) {
		this.store[FIELD] = { executionId: this.executionId, requests };
	}
}
