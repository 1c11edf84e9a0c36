import { maxPaid } from '../../shared/n8n/descriptions';
import type { NodeParameters } from '../../shared/n8n/parameters';
import type { PaidLog, PaidRequest } from './paidLog';
import type { Spending } from './spending';

/** Where in a text its parts lie. */
type Stretches = Array<{ start: number; end: number }>;

/** One create call: what is kept of it, for this attempt and the next. */
export class PaidRecord {
	constructor(
		private readonly log: PaidLog,
		private readonly spending: Spending,
		readonly key: string,
	) {}

	/** What this attempt, or an earlier one, has left. */
	get left(): PaidRequest | undefined {
		return this.log.find(this.key);
	}

	/** Right before the call goes out: from now on the service may have accepted it. */
	markSent(request: PaidRequest): void {
		this.spending.countSent();
		this.keep(request);
	}

	keep(request: PaidRequest): void {
		this.log.keep(this.key, request);
	}

	/** The service has surely not accepted the call: the next attempt has to send it again. */
	markRefused(): void {
		this.spending.countRefused();
		this.forget();
	}

	forget(): void {
		this.log.erase([this.key]);
	}
}

/** What one input item pays for. */
export class Payments {
	/** In the order of its parts. */
	records: PaidRecord[] = [];

	constructor(
		readonly log: PaidLog,
		private readonly spending: Spending,
		private readonly index: number,
		/** Of the whole item. */
		readonly key: string,
	) {}

	/**
	 * Plans the item's create calls: one, or one for each of the stretches that its text is cut into.
	 * What an earlier attempt has left is named in a failure also if the run ends before their turn.
	 */
	plan(parameters: NodeParameters, stretches: Stretches = []): PaidRecord[] {
		const { key, log, spending } = this;
		const keys =
			stretches.length < 2 ? [key] : stretches.map(({ start, end }) => `${key}/${start}-${end}`);
		this.records = keys.map((each) => new PaidRecord(log, spending, each));
		const limit = parameters.numberOption(maxPaid);
		// Those of which nothing is paid, or what was paid for is gone.
		const unpaid = this.records.filter(
			({ left }) => !left || (left.state === 'task' && left.isGone),
		);
		if (limit > 0) spending.plan(this.index, unpaid.length, limit);
		return this.records;
	}

	/** What is kept of its calls. */
	left(): PaidRequest[] {
		return this.records.flatMap(({ left }) => left ?? []);
	}

	/** The tasks that are paid for and can be collected. */
	tasks(): string[] {
		return this.left().flatMap((one) => (one.state === 'task' && !one.isGone ? [one.taskId] : []));
	}
}
