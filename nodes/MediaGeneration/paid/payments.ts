import { processContainer } from '../../shared/account';
import type { StopStarting } from '../../shared/async/callSignals';
import { throwIfAborted, whenAborted } from '../../shared/async/deadline';
import { Failure, isFailure } from '../../shared/failure';
import { maxPaid } from '../../shared/n8n/descriptions';
import { wordingOf } from '../../shared/n8n/messages';
import type { NodeParameters } from '../../shared/n8n/parameters';
import type { Redactor } from '../../shared/parsing/redaction';
import type { Budget } from './budget';
import { LiveCalls, type JournalEntries, type JournalValue } from './journal';
import type { RecentRequests } from './recentRequests';

/**
 * The idempotency journal: the create calls of this node in this execution that were charged or may have been.
 * An entry is written before each create call, and again after its answer. n8n keeps the node's context for
 * Retry On Fail and "Retry execution". So the next attempt finds the entry and collects the result instead of
 * paying again. n8n stores the context unencrypted, so entries are redacted.
 */
export interface Journal {
	/** The entries of all items, loop rounds and attempts of the node. */
	entries: JournalEntries;
	/** What earlier manual runs have requested. Set in a manual run only. */
	recent?: RecentRequests;
	redact: Redactor;
	budget: Budget;
}

/** Says in words why it is indeterminate whether a call was accepted, and when it failed (UTC). */
export function describeAttempt(error: unknown): string {
	const failure = error instanceof Failure ? error : new Failure('noResponse');
	return `${wordingOf(failure).message} at ${new Date().toISOString()}`;
}

/** The journal's entry for one create call. */
export class JournalEntry {
	constructor(
		private readonly journal: Journal,
		/** The idempotency key. */
		private readonly key: string,
		/** The key of the same call in `journal.recent`. */
		private readonly recentKey = key,
	) {}

	/** The value that this attempt or an earlier one has written last; undefined if there is none. */
	get previous(): JournalValue | undefined {
		return this.journal.entries[this.key] ?? this.recent;
	}

	/** The value that an earlier manual run has written, if this run may collect it. */
	private get recent(): JournalValue | undefined {
		const { recent } = this.journal;
		return recent?.isCollecting ? recent.get(this.recentKey) : undefined;
	}

	/** A hint for the output panel: the result was requested earlier, and this attempt costs nothing. */
	get collectedHint(): string {
		return this.journal.entries[this.key] || !this.recent
			? 'Collected the result of an earlier attempt, at no extra charge'
			: "Collected from an earlier run, at no extra charge. To generate it again, click 'Execute step' on this node";
	}

	/**
	 * Runs `create`, unless another run of this process has the same call in flight, as when a model repeats a
	 * call. Then it resolves or rejects as that call does. If that call was canceled or timed out, `create` runs
	 * after all: it finds what the other run has written as `previous`. Rejects with the reason of the signal when
	 * that aborts while it waits for another run.
	 */
	async once<T>(stopStarting: StopStarting, create: () => Promise<T>): Promise<T> {
		const live = processContainer.get(LiveCalls, []).of(this.journal.entries);
		for (let other = live.get(this.key); other; other = live.get(this.key)) {
			const result = await Promise.race([other, whenAborted(stopStarting)]).catch(
				(error: unknown) => {
					if (!isFailure(error, 'canceled', 'timedOut')) throw error;
				},
			);
			throwIfAborted(stopStarting);
			if (result !== undefined) return result as T;
		}
		const call = create().finally(() => live.delete(this.key));
		live.set(this.key, call);
		return await call;
	}

	/**
	 * Writes the entry and counts a charge. Call it right before the create call is sent: from then on the
	 * service may have accepted the call, even if n8n stops before the answer.
	 */
	setSent(request: JournalValue): void {
		this.journal.budget.countSent();
		this.write(request);
	}

	/** Overwrites the entry, without secrets. */
	write(request: JournalValue): void {
		const { entries, recent, redact } = this.journal;
		const value = { ...redact.value(request), keptAt: Date.now() };
		entries[this.key] = value;
		recent?.set(this.recentKey, value);
	}

	/** Marks the task of the entry as failed or unknown to the service, so that a retry creates a new one. */
	setDead(): void {
		const { previous } = this;
		if (previous && 'taskId' in previous) this.write({ ...previous, state: 'gone' });
	}

	/** Takes back `setSent`. Call it only when the service has surely not accepted the call. */
	setNotAccepted(): void {
		this.journal.budget.countRefused();
		this.delete();
	}

	/** Deletes the entry everywhere, so that the next attempt or run sends the call again. */
	delete(): void {
		this.close();
		this.journal.recent?.delete(this.recentKey);
	}

	/** Deletes the entry when the run has succeeded. Later manual runs can still collect the result. */
	close(): void {
		delete this.journal.entries[this.key];
	}
}

/** The billable requests of one input item. */
export class Payments {
	/** One entry per create call: one, or one for each part of a split text, in order. */
	entries: JournalEntry[] = [];
	/** Number of create calls that the item still has to send. Each one is charged. */
	pendingCharges = 0;
	/** Most billable requests of the node in one execution (Max Paid Requests per Execution). */
	limit = Infinity;

	constructor(
		readonly journal: Journal,
		/** The idempotency key of the item (see `keyFactory`). */
		readonly key: string,
	) {}

	/**
	 * Returns the journal entries for the item's create calls: one, or one per range of a text that is split.
	 * Call it once, in `prepare`, before any item is started. The run counts the planned charges of all
	 * items first. If it then fails early, its error can name the charges of earlier attempts, also those of
	 * items that it has not started. Throws a Failure if Max Paid Requests per Execution is invalid.
	 */
	entriesFor(
		parameters: NodeParameters,
		ranges: Array<{ start: number; end: number }> = [],
	): JournalEntry[] {
		const { key, journal } = this;
		const keys =
			ranges.length < 2 ? [key] : ranges.map(({ start, end }) => `${key}/${start}-${end}`);
		const recentKey = journal.recent?.keyOf(parameters) ?? '';
		this.entries = keys.map((each) => new JournalEntry(journal, each, recentKey + each));
		this.limit = parameters.numberOption(maxPaid) || Infinity;
		this.pendingCharges = this.entries.filter(
			({ previous }) => !previous || previous.state === 'gone',
		).length;
		return this.entries;
	}

	/** The values of all entries that have one. */
	previousValues(): JournalValue[] {
		return this.entries.flatMap(({ previous }) => previous ?? []);
	}

	/** The ids of speech tasks that have been charged and can be collected. */
	collectableTasks(): string[] {
		return this.previousValues().flatMap((one) => (one.state === 'task' ? [one.taskId] : []));
	}
}
