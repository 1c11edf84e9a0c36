import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { accountOf } from '../../shared/account';
import { Api } from '../../shared/api/api';
import type { ServiceRecord } from '../../shared/contract';
import { Failure } from '../../shared/failure';
import type { Credential } from '../../shared/http/credential';
import { concurrency } from '../../shared/n8n/descriptions';
import { toNodeError } from '../../shared/n8n/nodeErrors';
import { NodeParameters } from '../../shared/n8n/parameters';
import { saysNothing } from '../../shared/parsing/errors';
import { redactAll, type Redactor } from '../../shared/parsing/redaction';
import { withTypes } from '../../shared/parsing/responses';
import { storeFor, journalEntries, type Journal } from '../paid/journal';
import { Payments } from '../paid/payments';
import { keyFactory } from '../paid/idempotencyKey';
import { Budget } from '../paid/budget';
import { firstOf, chargeSummary, type ItemRequest } from '../paid/summary';
import { Concurrency } from './concurrency';
import {
	type ItemTask,
	type ItemResult,
	FailedResult,
	mergeSameField,
	withOtherFiles,
} from './itemTask';
import type { ItemContext } from './itemContext';
import { Report } from './report';

/**
 * Whether a model calls the node. `isToolExecution` tells agents up to version 2; later ones have the
 * engine run their tools as ordinary nodes of another type.
 */
export const isToolRun = (context: IExecuteFunctions): boolean =>
	context.isToolExecution?.() === true || context.getNode().type.endsWith('Tool');

/** One run of the node: what its items share, and what ends it. */
export class Run {
	/** By item; none for an item whose options can't be resolved. */
	private readonly items: ItemContext[] = [];
	/** By account. */
	private readonly apis = new Map<string, Api>();
	/** Takes out the tokens of all accounts. */
	readonly redact: Redactor;
	private readonly isTool: boolean;
	private readonly journal: Omit<Journal, 'redact'>;
	private readonly keyOf: ReturnType<typeof keyFactory>;
	private readonly canceled: AbortSignal;
	private readonly stopping = new AbortController();
	private readonly stopped: AbortSignal;
	private concurrency: Concurrency | undefined;
	/** What ends the run, and of which item, unless it was canceled. */
	private fatal: { error: unknown; itemIndex?: number } | undefined;

	constructor(
		private readonly context: IExecuteFunctions,
		/** By item. */
		private readonly credentials: Array<Credential | FailedResult>,
		/** True when one item's failure does not end the node. */
		private readonly continueOnFail: boolean,
	) {
		for (const one of credentials) {
			if (one instanceof FailedResult || this.apis.has(one.accountKey)) continue;
			this.apis.set(one.accountKey, new Api(context, one));
			this.stopping.signal.addEventListener('abort', accountOf(one).retain(), { once: true });
		}
		this.redact = redactAll([...this.apis.values()].map(({ credential }) => credential.redact));
		this.isTool = isToolRun(context);
		const store = storeFor(context, this.isTool);
		const executionId = context.getExecutionId();
		// Without an execution each call of a model counts by itself.
		const budget = new Budget(executionId === undefined ? {} : store, executionId ?? '');
		this.journal = { entries: journalEntries(store), budget };
		this.keyOf = keyFactory(context, this.isTool);
		this.canceled = context.getExecutionCancelSignal() ?? new AbortController().signal;
		this.stopped = AbortSignal.any([this.canceled, this.stopping.signal]);
	}

	/** What an operation gets of one input item. Throws a Failure when its options are no good. */
	contextFor(index: number): ItemContext {
		const { context, canceled, journal } = this;
		const credential = this.credentials[index]!;
		if (credential instanceof FailedResult) throw credential.error;
		const { accountKey, redact } = credential;
		const api = this.apis.get(accountKey)!;
		const account = this.isTool || this.apis.size > 1 ? accountKey : '';
		// A model takes text only: it can be given a file's address, but not the file.
		const parameters = new NodeParameters(
			(name, fallback) => context.getNodeParameter(name, index, fallback as never),
			!this.isTool,
		);
		// The first item whose options can be resolved decides; one whose options can't be fails alone.
		this.concurrency ??= new Concurrency(parameters.numberOption(concurrency));
		const item: ItemContext = {
			index,
			context,
			credential,
			api,
			parameters,
			signal: this.stopped,
			canceled,
			concurrency: this.concurrency,
			report: new Report(context, redact, index),
			payments: new Payments({ ...journal, redact }, this.keyOf(index, account)),
			output(json: ServiceRecord, binary?: INodeExecutionData['binary']): INodeExecutionData {
				// n8n takes an item with an `error` field for a failed one, and Retry On Fail runs the node again.
				if (saysNothing(json.error)) delete json.error;
				return {
					json: redact.value(withTypes(json)) as INodeExecutionData['json'],
					...(binary ? { binary } : {}),
					pairedItem: { item: index },
				};
			},
		};
		this.items[index] = item;
		return item;
	}

	/**
	 * Does the jobs and returns what became of each. Unless the run goes on, the first failure ends the
	 * others, and nothing is sent if a job is missing. Ends the run. Never rejects.
	 */
	async all(prepared: Array<ItemTask | FailedResult>): Promise<ItemResult[][]> {
		const jobs = this.withinLimit(prepared);
		const outcomes = jobs.map((job): ItemResult[] => (job instanceof FailedResult ? [job] : []));
		outcomes.forEach((parts, index) => this.endOnFailure(parts, index));
		if (this.fatal) this.fatal.error = mergeSameField(this.fatal.error, jobs);
		await this.concurrency?.forEach(this.items.filter(Boolean), async ({ index }) => {
			const job = jobs[index];
			if (!job || job instanceof FailedResult || this.stopped.aborted) return false;
			outcomes[index] = await job().catch((error: unknown) => [new FailedResult(error)]);
			return !this.endOnFailure(outcomes[index], index);
		});
		// Stops what still runs in the background.
		this.stopping.abort(new Failure('canceled'));
		this.journal.budget.settle();
		// With Retry On Fail, n8n runs the node again for any `error` in the output.
		const isFailed = (part: ItemResult) => part instanceof FailedResult || part.json.error;
		if (!outcomes.flat().some(isFailed)) {
			for (const { payments } of this.items) for (const record of payments.entries) record.delete();
		}
		// A canceled run is not a failed item: "continue on fail" must not swallow it.
		if (this.canceled.aborted) this.fatal = { error: new Failure('canceled') };
		else this.showHints();
		return outcomes;
	}

	/** The jobs, without those that have to pay if all together would pay too often. */
	private withinLimit(jobs: Array<ItemTask | FailedResult>): Array<ItemTask | FailedResult> {
		let planned = 0;
		let limit = Infinity;
		for (const { payments } of this.items.filter(Boolean)) {
			planned += payments.pendingCharges;
			limit = Math.min(limit, payments.limit);
		}
		const failure = this.journal.budget.reserve(planned, limit);
		if (!failure) return jobs;
		return jobs.map((job, index) => {
			const paid = this.items[index]?.payments;
			return paid?.pendingCharges
				? new FailedResult(failure.withDefaults({ taskIds: paid.collectableTasks() }))
				: job;
		});
	}

	/** Notes and returns whether something of an item could not be made, which may end the run. */
	private endOnFailure(parts: ItemResult[], itemIndex: number): boolean {
		const missing = parts.find((part) => part instanceof FailedResult);
		if (missing && !this.continueOnFail) {
			this.fatal ??= { error: withOtherFiles(missing.error, parts), itemIndex };
			this.stopping.abort(new Failure('canceled'));
		}
		return missing !== undefined;
	}

	/** Throws the error of a run that was canceled, or that one item's failure has ended. */
	throwIfEnded(): void {
		if (!this.fatal) return;
		const { error, itemIndex } = this.fatal;
		const { redact } = this;
		const requests = this.items.flatMap(({ index, payments }) =>
			payments.previousValues().map((value): ItemRequest => ({ ...value, index })),
		);
		const note = chargeSummary(requests, itemIndex);
		const thrown = toNodeError(error, { node: this.context.getNode(), itemIndex, redact, note });
		// n8n may have closed a canceled execution before receiving the error, and throws its data away.
		if (this.canceled.aborted && note) {
			this.context.sendMessageToUI(`Stopped. ${note}`);
			this.context.logger.warn(`Media Generation: ${thrown.message}. ${note}`);
		}
		throw thrown;
	}

	/** Shows the hints of all items, each once with the items it is about. */
	private showHints(): void {
		const itemsOf = new Map<string, string[]>();
		for (const { index, report } of this.items.filter(Boolean)) {
			for (const hint of report.hints) {
				const items = itemsOf.get(hint) ?? [];
				items.push(String(index));
				itemsOf.set(hint, items);
			}
		}
		for (const [hint, items] of itemsOf) {
			const message = this.redact.text(`${hint} (item ${firstOf(items, ', ')})`);
			this.context.addExecutionHints({ message, location: 'outputPane' });
		}
	}
}
