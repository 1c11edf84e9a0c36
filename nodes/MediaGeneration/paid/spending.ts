import type { IDataObject } from 'n8n-workflow';
import { invalidInput } from '../../shared/failure';
import { isRecord } from '../../shared/parsing/coerce';

const FIELD = 'mediaGenerationSent';

/** Paid requests that a node has sent in one execution, as its context holds them. */
interface Sent {
	executionId: string;
	requests: number;
}

/**
 * Keeps to `options.maxPaidPerExecution`. The count lies in the node's context, which rounds of a loop,
 * further tries and an agent's calls have in common; "Retry execution" keeps the context, but is another
 * execution, and counts anew.
 */
export class Spending {
	private limit = Infinity;
	private planned = 0;
	private reserved = 0;
	private sentNow = 0;

	constructor(
		private readonly store: IDataObject,
		private readonly executionId: string,
	) {}

	/** An item is about to send so many paid requests. */
	plan(requests: number, limit: number): void {
		this.planned += requests;
		this.limit = Math.min(this.limit, limit);
	}

	/**
	 * Counts all that is planned as sent, so that an agent's calls at the same time don't exceed the limit
	 * together. Throws a Failure of kind invalidInput when it would be exceeded.
	 */
	reserve(): void {
		if (this.limit === Infinity) return;
		const before = this.requests;
		if (before + this.planned > this.limit) {
			const sent = before === 0 ? '' : `${before} were sent in this execution already, and `;
			throw invalidInput(
				'Max Paid Requests per Execution',
				`is ${this.limit}, but ${sent}this run needs ${this.planned}${before === 0 ? '' : ' more'}`,
			);
		}
		this.reserved = this.planned;
		this.requests = before + this.reserved;
	}

	/** A paid request goes out. */
	sent(): void {
		this.sentNow++;
	}

	/** The service has surely not accepted it. */
	refused(): void {
		this.sentNow--;
	}

	/** The run is over: what was planned, but not sent, may be sent by the next one. */
	settle(): void {
		if (this.limit !== Infinity) this.requests += this.sentNow - this.reserved;
	}

	private get requests(): number {
		const sent = this.store[FIELD] as Sent | undefined;
		return isRecord(sent) && sent.executionId === this.executionId ? sent.requests : 0;
	}

	private set requests(requests: number) {
		this.store[FIELD] = { executionId: this.executionId, requests };
	}
}
