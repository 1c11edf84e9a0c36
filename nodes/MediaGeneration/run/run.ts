import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { accountOf } from '../../shared/account';
import { Api } from '../../shared/api/api';
import { callSignals, type CallSignals } from '../../shared/async/callSignals';
import type { ServiceRecord } from '../../shared/contract';
import { Failure } from '../../shared/failure';
import type { Credential } from '../../shared/http/credential';
import { concurrency } from '../../shared/n8n/descriptions';
import { rowsOf } from '../../shared/n8n/messages';
import { toNodeError } from '../../shared/n8n/nodeErrors';
import { NodeParameters } from '../../shared/n8n/parameters';
import { isEmptyError } from '../../shared/parsing/errors';
import { redactAll, type Redactor } from '../../shared/parsing/redaction';
import { toOutputRecord } from '../../shared/parsing/responses';
import { storeFor, journalEntries } from '../paid/journal';
import { Payments, type Journal } from '../paid/payments';
import { keyFactory } from '../paid/idempotencyKey';
import { Budget } from '../paid/budget';
import { RecentRequests } from '../paid/recentRequests';
import { chargeSummary, type ItemRequest } from '../paid/summary';
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
 * True if a model calls the node as a tool. Agents up to version 2 set `isToolExecution`. Agents from version 3
 * on let the engine run a tool like any node; the name of its node type then ends in "Tool".
 */
export const isToolRun = (context: IExecuteFunctions): boolean =>
	context.isToolExecution?.() === true || context.getNode().type.endsWith('Tool');

/**
 * One run of the node: what its items share, and what ends it. Call `contextFor` for each item, then `all`
 * once, then `throwIfEnded`.
 */
export class Run {
	/** Contexts by index. An item whose options cannot be resolved has none. */
	private readonly items: ItemContext[] = [];
	/** Clients of the API by account key. */
	private readonly apis = new Map<string, Api>();
	/** Removes the tokens of all accounts. */
	readonly redact: Redactor;
	private readonly isTool: boolean;
	private readonly journal: Omit<Journal, 'redact'>;
	private readonly keyOf: ReturnType<typeof keyFactory>;
	private readonly stopping = new AbortController();
	private readonly signals: CallSignals;
	private concurrency: Concurrency | undefined;
	/** The error that ends the run, and the item it is about; no item if the run was canceled. */
	private fatal: { error: unknown; index?: number } | undefined;

	constructor(
		private readonly context: IExecuteFunctions,
		/** The credential of each item, by index. */
		private readonly credentials: Array<Credential | FailedResult>,
		/** True if the other items go on after one has failed. */
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
		// A model may call without an execution. Then each call has a count of its own.
		const budget = new Budget(executionId === undefined ? {} : store, executionId ?? '');
		const isManual = context.getMode() === 'manual' && !this.isTool;
		const recent = isManual ? new RecentRequests(context) : undefined;
		this.journal = { entries: journalEntries(store), budget, recent };
		this.keyOf = keyFactory(context, this.isTool);
		const canceled = context.getExecutionCancelSignal() ?? new AbortController().signal;
		this.signals = callSignals({ canceled, stopping: this.stopping.signal });
	}

	/**
	 * Makes the context of one input item. Call it once per item, before `all`. Throws a Failure if the item's
	 * credential or options are invalid.
	 */
	contextFor(index: number): ItemContext {
		const { context, signals, journal } = this;
		const credential = this.credentials[index]!;
		if (credential instanceof FailedResult) throw credential.error;
		const { accountKey, redact } = credential;
		const api = this.apis.get(accountKey)!;
		const account = this.isTool || this.apis.size > 1 ? accountKey : '';
		// A model reads text only. It gets the URL of a file instead of the file.
		const parameters = new NodeParameters(
			(name, fallback) => context.getNodeParameter(name, index, fallback as never),
			!this.isTool,
		);
		// The first item whose options can be resolved sets the concurrency of the run.
		this.concurrency ??= new Concurrency(parameters.numberOption(concurrency));
		const item: ItemContext = {
			index,
			context,
			credential,
			api,
			parameters,
			...signals,
			concurrency: this.concurrency,
			report: new Report(context, redact, index, this.credentials.length),
			payments: new Payments({ ...journal, redact }, this.keyOf(index, account)),
			output(json: ServiceRecord, binary?: INodeExecutionData['binary']): INodeExecutionData {
				// n8n takes an item with an `error` field for a failed one, and Retry On Fail runs the node again.
				if (isEmptyError(json.error)) delete json.error;
				return {
					json: redact.value(toOutputRecord(json)) as INodeExecutionData['json'],
					...(binary ? { binary } : {}),
					pairedItem: { item: index },
				};
			},
		};
		this.items[index] = item;
		return item;
	}

	/**
	 * Runs the tasks of all items, and resolves with the results of each item, by index. Call it once; it ends the
	 * run. Unless `continueOnFail`, the first failure stops the other items, and nothing is sent if `prepared`
	 * contains a failure. Never rejects: `throwIfEnded` throws the error that ended the run.
	 */
	async all(prepared: Array<ItemTask | FailedResult>): Promise<ItemResult[][]> {
		const jobs = this.withinLimit(prepared);
		const outcomes = jobs.map((job): ItemResult[] => (job instanceof FailedResult ? [job] : []));
		outcomes.forEach((parts, index) => this.endOnFailure(parts, index));
		if (this.fatal) this.fatal.error = mergeSameField(this.fatal.error, jobs);
		await this.concurrency?.forEach(this.items.filter(Boolean), async ({ index }) => {
			const job = jobs[index];
			if (!job || job instanceof FailedResult || this.signals.stopStarting.aborted) return false;
			outcomes[index] = await job().catch((error: unknown) => [new FailedResult(error)]);
			return !this.endOnFailure(outcomes[index], index);
		});
		// Stops what still runs in the background, and releases the accounts.
		this.stopping.abort(new Failure('canceled'));
		this.journal.budget.settle();
		// With Retry On Fail, n8n also runs the node again if an output item has an `error` field. That attempt
		// needs the journal.
		const isFailed = (part: ItemResult) => part instanceof FailedResult || part.json.error;
		if (!outcomes.flat().some(isFailed)) {
			for (const { payments } of this.items) for (const entry of payments.entries) entry.close();
		}
		// Cancellation ends the node with an error, even if On Error says to continue.
		if (this.signals.abortInFlight.aborted) this.fatal = { error: new Failure('canceled') };
		else this.showHints();
		return outcomes;
	}

	/**
	 * Checks Max Paid Requests per Execution for all items together. If they would exceed it, replaces each task
	 * that would be charged with a failure.
	 */
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

	/** Returns whether an item has a failed result. If so, ends the run, unless `continueOnFail`. */
	private endOnFailure(parts: ItemResult[], index: number): boolean {
		const missing = parts.find((part) => part instanceof FailedResult);
		if (missing && !this.continueOnFail) {
			this.fatal ??= { error: withOtherFiles(missing.error, parts), index };
			this.stopping.abort(new Failure('canceled'));
		}
		return missing !== undefined;
	}

	/**
	 * Throws an n8n error if the run was canceled, or ended by the failure of an item. The error also names what
	 * has been charged. Call it after `all`.
	 */
	throwIfEnded(): void {
		if (!this.fatal) return;
		const { error, index } = this.fatal;
		const { redact } = this;
		const requests = this.items.flatMap(({ index, payments }) =>
			payments.previousValues().map((value): ItemRequest => ({ ...value, index })),
		);
		const note = chargeSummary(requests, index === undefined ? undefined : { index, error });
		const itemIndex = this.credentials.length > 1 ? index : undefined;
		const thrown = toNodeError(error, { node: this.context.getNode(), itemIndex, redact, note });
		// n8n may have finished a canceled execution before it receives the error, and then drops the error. So
		// the charges are shown in the browser's console and logged as well.
		if (this.signals.abortInFlight.aborted && note) {
			this.context.sendMessageToUI(`Stopped. ${note}`);
			this.context.logger.warn(`Media Generation: ${thrown.message}. ${note}`);
		}
		throw thrown;
	}

	/** Shows the hints of all items in the output panel. Equal hints become one that names its rows. */
	private showHints(): void {
		const itemsOf = new Map<string, number[]>();
		for (const { index, report } of this.items.filter(Boolean)) {
			for (const hint of report.hints) {
				const items = itemsOf.get(hint) ?? [];
				items.push(index);
				itemsOf.set(hint, items);
			}
		}
		for (const [hint, items] of itemsOf) {
			const rows = this.credentials.length > 1 ? ` (${rowsOf(items)})` : '';
			const message = this.redact.text(hint + rows);
			this.context.addExecutionHints({ message, location: 'outputPane' });
		}
	}
}
