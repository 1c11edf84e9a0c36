import type { IDataObject } from 'n8n-workflow';
import { invalidInput, type Failure } from '../../shared/failure';
import { isRecord } from '../../shared/parsing/coerce';

const FIELD = 'mediaGenerationSent';

/** Paid requests that a node has sent in one execution, as its context holds them. */
interface Sent {
	executionId: string;
	requests: number;
}

/** What an item is about to send. */
interface Plan {
	/** Paid requests. */
	requests: number;
	/** Tasks of an earlier attempt that it needs as well. */
	taskIds: string[];
}

/**
 * Keeps to `options.maxPaidPerExecution`. The count is kept in the node's context, which rounds of a
 * loop, further attempts and an agent's calls have in common. "Retry execution" keeps the context, but is
 * another execution, and counts anew.
 */
export class Spending {
	private limit = Infinity;
	private readonly plans = new Map<number, Plan>();
	private reserved = 0;
	private sentNow = 0;

	constructor(
		private readonly store: IDataObject,
		private readonly executionId: string,
	) {}

	/** An item is about to send paid requests, for which its limit is `limit`. */
	plan(index: number, plan: Plan, limit: number): void {
		if (plan.requests > 0) this.plans.set(index, plan);
		this.limit = Math.min(this.limit, limit);
	}

	/**
	 * Counts all that is planned as sent, so that an agent's calls at the same time don't exceed the limit
	 * together. If it would be exceeded, returns what is wrong with each item that has to pay, and counts
	 * nothing; items that only collect what is paid can go on.
	 */
	reserve(): ReadonlyMap<number, Failure> {
		const refused = new Map<number, Failure>();
		if (this.limit === Infinity) return refused;
		const planned = [...this.plans.values()].reduce((sum, { requests }) => sum + requests, 0);
		const before = this.requests;
		if (before + planned <= this.limit) {
			this.reserved = planned;
			this.requests = before + planned;
			return refused;
		}
		const sent = before === 0 ? '' : `${before} were sent in this execution already, and `;
		const needs = `this run needs ${planned}${before === 0 ? '' : ' more'}`;
		const failure = invalidInput(
			'Max Paid Requests per Execution',
			`is ${this.limit}, but ${sent}${needs}`,
		);
		for (const [index, { taskIds }] of this.plans) refused.set(index, failure.with({ taskIds }));
		return refused;
	}

	/** A paid request goes out. */
	sent(): void {
		this.sentNow++;
	}

	/** The service has definitely not accepted it. */
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
