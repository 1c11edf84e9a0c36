import type { IDataObject } from 'n8n-workflow';
import { Failure } from '../../shared/failure';

const FIELD = 'mediaGenerationSent';

/** Paid requests that a node has sent in one execution, as its context holds them. */
interface Sent {
	executionId: string;
	requests: number;
}

/**
 * Keeps to `options.maxPaidPerExecution`. The count is kept in the node's context, which rounds of a
 * loop, further attempts and an agent's calls have in common. "Retry execution" keeps the context, but is
 * another execution, and counts anew.
 */
export class Budget {
	/** Those that are counted as sent, but were not. */
	private reserved = 0;

	constructor(
		private readonly store: IDataObject,
		private readonly executionId: string,
	) {}

	/**
	 * Counts all that is planned as sent, so that an agent's calls at the same time don't exceed the limit
	 * together. If they would, counts nothing and returns what is wrong.
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
				: `${before} paid requests were sent in this execution already, and this run needs ${planned} more`;
		return new Failure('overBudget', { text: needs, limit });
	}

	countSent(): void {
		this.reserved--;
	}

	/** The service has surely not accepted it. */
	countRefused(): void {
		this.reserved++;
	}

	/** The run is over: what was planned, but not sent, may be sent by the next one. */
	settle(): void {
		this.requests -= this.reserved;
	}

	private get requests(): number {
		const sent = this.store[FIELD] as Sent | undefined;
		return sent?.executionId === this.executionId ? sent.requests : 0;
	}

	private set requests(requests: number) {
		this.store[FIELD] = { executionId: this.executionId, requests };
	}
}
