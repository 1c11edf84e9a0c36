import { processContainer } from '../../shared/account';
import { throwIfAborted, whenAborted } from '../../shared/async/deadline';
import { Failure, isFailure } from '../../shared/failure';
import { maxPaid } from '../../shared/n8n/descriptions';
import { wordingOf } from '../../shared/n8n/messages';
import type { NodeParameters } from '../../shared/n8n/parameters';
import { LiveCalls, type Journal, type JournalValue } from './journal';

/** What an attempt met that got no clear answer, and when, for the next one. */
export function describeAttempt(error: unknown): string {
	const failure = error instanceof Failure ? error : new Failure('noResponse');
	return `${wordingOf(failure).message} at ${new Date().toISOString()}`;
}

/** One create call: what is kept of it, for this attempt and the next. */
export class JournalEntry {
	constructor(
		private readonly journal: Journal,
		private readonly key: string,
	) {}

	/** What this attempt, or an earlier one, has left. */
	get previous(): JournalValue | undefined {
		return this.journal.entries[this.key];
	}

	/**
	 * What `create` comes to, or the same call that another run has in flight, such as a model's repeated one.
	 * Where only that run was canceled or out of time, `create` goes on from what it has left.
	 */
	async once<T>(signal: AbortSignal, create: () => Promise<T>): Promise<T> {
		const live = processContainer.get(LiveCalls, []).of(this.journal.entries);
		for (let other = live.get(this.key); other; other = live.get(this.key)) {
			const result = await Promise.race([other, whenAborted(signal)]).catch((error: unknown) => {
				if (!isFailure(error, 'canceled', 'timedOut')) throw error;
			});
			throwIfAborted(signal);
			if (result !== undefined) return result as T;
		}
		const call = create().finally(() => live.delete(this.key));
		live.set(this.key, call);
		return await call;
	}

	/** Right before the call goes out: from now on the service may have accepted it. */
	setSent(request: JournalValue): void {
		this.journal.budget.countSent();
		this.write(request);
	}

	write(request: JournalValue): void {
		const { entries, redact } = this.journal;
		entries[this.key] = { ...redact.value(request), keptAt: Date.now() };
	}

	/** Its task has failed, or the service does not know it. */
	setDead(): void {
		const { previous } = this;
		if (previous && 'taskId' in previous) this.write({ ...previous, state: 'gone' });
	}

	/** The service has surely not accepted the call: the next attempt has to send it again. */
	setNotAccepted(): void {
		this.journal.budget.countRefused();
		this.delete();
	}

	delete(): void {
		delete this.journal.entries[this.key];
	}
}

/** What one input item pays for. */
export class Payments {
	/** In the order of its parts. */
	entries: JournalEntry[] = [];
	/** How many paid requests it is about to send. */
	pendingCharges = 0;
	/** How many the node may send in one execution. */
	limit = Infinity;

	constructor(
		readonly journal: Journal,
		/** Of the whole item: its account, `/`, and what it asks for. */
		readonly key: string,
	) {}

	/**
	 * Plans the item's create calls: one, or one for each of the stretches that its text is cut into.
	 * What an earlier attempt has left is named in a failure also if the run ends before their turn.
	 */
	entriesFor(
		parameters: NodeParameters,
		ranges: Array<{ start: number; end: number }> = [],
	): JournalEntry[] {
		const { key, journal } = this;
		const keys =
			ranges.length < 2 ? [key] : ranges.map(({ start, end }) => `${key}/${start}-${end}`);
		this.entries = keys.map((each) => new JournalEntry(journal, each));
		this.limit = parameters.numberOption(maxPaid) || Infinity;
		this.pendingCharges = this.entries.filter(
			({ previous }) => !previous || previous.state === 'gone',
		).length;
		return this.entries;
	}

	/** What is kept of its calls. */
	previousValues(): JournalValue[] {
		return this.entries.flatMap(({ previous }) => previous ?? []);
	}

	/** The tasks that are paid for and can be collected. */
	collectableTasks(): string[] {
		return this.previousValues().flatMap((one) => (one.state === 'task' ? [one.taskId] : []));
	}
}
