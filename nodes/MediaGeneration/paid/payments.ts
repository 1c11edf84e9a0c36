import { thisProcess } from '../../shared/account';
import { throwIfAborted, whenAborted } from '../../shared/async/deadline';
import { Failure, isFailure } from '../../shared/failure';
import { maxPaid } from '../../shared/n8n/descriptions';
import { wordingOf } from '../../shared/n8n/messages';
import type { NodeParameters } from '../../shared/n8n/parameters';
import { LiveCalls, type PaidLog, type PaidRequest } from './paidLog';

/** What an attempt met that got no clear answer, and when, for the next one. */
export function encounterOf(error: unknown): string {
	const failure = error instanceof Failure ? error : new Failure('noAnswer');
	return `${wordingOf(failure).message} at ${new Date().toISOString()}`;
}

/** One create call: what is kept of it, for this attempt and the next. */
export class PaidRecord {
	constructor(
		private readonly log: PaidLog,
		private readonly key: string,
	) {}

	/** What this attempt, or an earlier one, has left. */
	get left(): PaidRequest | undefined {
		return this.log.entries[this.key];
	}

	/**
	 * What `create` comes to, or the same call that another run has in flight, such as a model's repeated one.
	 * Where only that run was canceled or out of time, `create` goes on from what it has left.
	 */
	async once<T>(signal: AbortSignal, create: () => Promise<T>): Promise<T> {
		const live = thisProcess.shared(LiveCalls, []).of(this.log.entries);
		for (let other = live.get(this.key); other; other = live.get(this.key)) {
			const made = await Promise.race([other, whenAborted(signal)]).catch((error: unknown) => {
				if (!isFailure(error, 'canceled', 'timedOut')) throw error;
			});
			throwIfAborted(signal);
			if (made !== undefined) return made as T;
		}
		const own = create().finally(() => live.delete(this.key));
		live.set(this.key, own);
		return await own;
	}

	/** Right before the call goes out: from now on the service may have accepted it. */
	markSent(request: PaidRequest): void {
		this.log.spending.countSent();
		this.keep(request);
	}

	keep(request: PaidRequest): void {
		const { entries, redact } = this.log;
		entries[this.key] = { ...redact.value(request), keptAt: Date.now() };
	}

	/** Its task has failed, or the service does not know it. */
	markGone(): void {
		const { left } = this;
		if (left && 'taskId' in left) this.keep({ ...left, state: 'gone' });
	}

	/** The service has surely not accepted the call: the next attempt has to send it again. */
	markRefused(): void {
		this.log.spending.countRefused();
		this.forget();
	}

	forget(): void {
		delete this.log.entries[this.key];
	}
}

/** What one input item pays for. */
export class Payments {
	/** In the order of its parts. */
	records: PaidRecord[] = [];
	/** How many paid requests it is about to send. */
	unpaid = 0;
	/** How many the node may send in one execution. */
	limit = Infinity;

	constructor(
		readonly log: PaidLog,
		/** Of the whole item: its account, `/`, and what it asks for. */
		readonly key: string,
	) {}

	/**
	 * Plans the item's create calls: one, or one for each of the stretches that its text is cut into.
	 * What an earlier attempt has left is named in a failure also if the run ends before their turn.
	 */
	plan(
		parameters: NodeParameters,
		stretches: Array<{ start: number; end: number }> = [],
	): PaidRecord[] {
		const { key, log } = this;
		const keys =
			stretches.length < 2 ? [key] : stretches.map(({ start, end }) => `${key}/${start}-${end}`);
		this.records = keys.map((each) => new PaidRecord(log, each));
		this.limit = parameters.numberOption(maxPaid) || Infinity;
		this.unpaid = this.records.filter(({ left }) => !left || left.state === 'gone').length;
		return this.records;
	}

	/** What is kept of its calls. */
	left(): PaidRequest[] {
		return this.records.flatMap(({ left }) => left ?? []);
	}

	/** The tasks that are paid for and can be collected. */
	tasks(): string[] {
		return this.left().flatMap((one) => (one.state === 'task' ? [one.taskId] : []));
	}
}
