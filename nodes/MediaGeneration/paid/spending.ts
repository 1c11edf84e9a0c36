import type { IDataObject } from 'n8n-workflow';
import { invalidInput, type Failure } from '../../shared/failure';
import { isRecord } from '../../shared/parsing/coerce';

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
export class Spending {
	private limit = Infinity;
	/** How many paid requests each item is about to send. */
	private readonly plans = new Map<number, number>();
	/** Those that are counted as sent, but were not. */
	private unsent = 0;

	constructor(
		private readonly store: IDataObject,
		private readonly executionId: string,
	) {}

	/** An item is about to send paid requests, for which its limit is `limit`. */
	plan(index: number, requests: number, limit: number): void {
		if (requests > 0) this.plans.set(index, requests);
		this.limit = Math.min(this.limit, limit);
	}

	/**
	 * Counts all that is planned as sent, so that an agent's calls at the same time don't exceed the limit
	 * together. If it would be exceeded, returns what is wrong with each item that has to pay, and counts
	 * nothing; items that only collect what is paid can go on.
	 */
	reserve(): ReadonlyMap<number, Failure> {
		const planned = [...this.plans.values()].reduce((sum, requests) => sum + requests, 0);
		const before = this.requests;
		if (before + planned <= this.limit) {
			this.unsent = planned;
			if (this.limit < Infinity) this.requests = before + planned;
			return new Map();
		}
		const needs =
			before === 0
				? `this run needs ${planned}`
				: `${before} were sent in this execution already, and this run needs ${planned} more`;
		const text = `is ${this.limit}, but ${needs}`;
		const failure = invalidInput('Max Paid Requests per Execution', text);
		return new Map([...this.plans.keys()].map((index) => [index, failure]));
	}

	countSent(): void {
		this.unsent--;
	}

	/** The service has definitely not accepted it. */
	countRefused(): void {
		this.unsent++;
	}

	/** The run is over: what was planned, but not sent, may be sent by the next one. */
	settle(): void {
		if (this.limit < Infinity) this.requests -= this.unsent;
	}

	private get requests(): number {
		const sent = this.store[FIELD] as Sent | undefined;
		return isRecord(sent) && sent.executionId === this.executionId ? sent.requests : 0;
	}

	private set requests(requests: number) {
		this.store[FIELD] = { executionId: this.executionId, requests };
	}
}
