import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { accountOf } from '../../shared/account';
import { Api } from '../../shared/api/api';
import { makeCallSignals, type CallSignals } from '../../shared/async/callSignals';
import type { ServiceRecord } from '../../shared/contract';
import { Failure, withDefaultFacts } from '../../shared/failure';
import type { Credential } from '../../shared/http/credential';
import { concurrencyField, maxPaidField } from '../../shared/n8n/descriptions';
import { callerIdOf } from '../../shared/n8n/internals';
import { rowPrefix } from '../../shared/n8n/messages';
import { toNodeError } from '../../shared/n8n/nodeErrors';
import { NodeParameters } from '../../shared/n8n/parameters';
import { creatorOf, type RequestCreator } from '../../shared/n8n/requestCreator';
import { selfStartFailureOfExecution } from '../../shared/n8n/selfStart';
import { isEmptyError } from '../../shared/parsing/errors';
import { combineRedactors, type Redactor } from '../../shared/parsing/redaction';
import { toOutputRecord, withoutInlineFiles } from '../../shared/parsing/outputRecord';
import { collectableTasks, Journal, type JournalEntry } from '../paid/journal';
import { canceledSummary, chargeSummary, type ItemRequest } from '../paid/summary';
import { ConcurrencyLimiter } from './concurrency';
import { FailedResult, type ItemContext, type ItemResult, type ItemTask } from './operation';
import { Report } from './report';

/** An item whose fields are valid, ready to run. */
interface PreparedItem extends ItemContext {
	/** The journal's entries, one per create call; empty if the operation is free of charge. */
	readonly entries: JournalEntry[];
	run(): Promise<ItemResult[]>;
}

/** One run of the node: what its items share, and what ends it. */
export class Run {
	/** Clients of the API by account key. */
	private readonly apis = new Map<string, Api>();
	/** Masks the tokens of all accounts of this run. */
	readonly redact: Redactor;
	/** True if a model runs the node as a tool. For some agents, only the node's type shows it. */
	private readonly isToolRun: boolean;
	/** True if the run continues with the other items after one has failed. */
	private readonly continueOnFail: boolean;
	private readonly journal: Journal;
	private readonly creator: RequestCreator;
	/** Is aborted to end the run: nothing new may begin, and the accounts are released. */
	private readonly stopController = new AbortController();
	private readonly signals: CallSignals;
	/** The hints for the output panel, each with the indexes of its items. */
	private readonly hints = new Map<string, Set<number>>();
	private concurrency: ConcurrencyLimiter | undefined;
	/** The lowest value of Max Paid Requests among all items. */
	private maxPaid = Infinity;
	/** The error that ends the run, and the index of its item. There is no index if the run was canceled. */
	private fatalFailure: { error: unknown; index?: number; isOfAllItems?: boolean } | undefined;

	constructor(
		private readonly context: IExecuteFunctions,
		/** The credential of each item, by item index. It is a FailedResult if the credential could not be read. */
		private readonly credentials: Array<Credential | FailedResult>,
	) {
		for (const credential of credentials) {
			if (credential instanceof FailedResult || this.apis.has(credential.accountKey)) continue;
			this.apis.set(credential.accountKey, new Api(context, credential));
		}
		this.redact = combineRedactors(
			[...this.apis.values()].map(({ credential }) => credential.redact),
		);
		const { type, onError } = context.getNode();
		this.isToolRun = context.isToolExecution?.() === true || type.endsWith('Tool');
		// Some agents hide a thrown error from the model, so in a tool run a failure is by default an output item.
		this.continueOnFail =
			context.continueOnFail() || (this.isToolRun && onError !== 'stopWorkflow');
		this.journal = new Journal(context, this.isToolRun);
		this.creator = creatorOf(context);
		const cancelSignal = context.getExecutionCancelSignal() ?? new AbortController().signal;
		this.signals = makeCallSignals({ cancelSignal, stopSignal: this.stopController.signal });
	}

	/**
	 * Prepares all items, then runs their tasks. Resolves with the results of each item, by index. Call it once. Throws
	 * an n8n error if the run was canceled, or ended by the failure of an item.
	 */
	async processItems(prepare: (item: ItemContext) => ItemTask): Promise<ItemResult[][]> {
		// The state that an account shares in this process must last until the run ends.
		for (const { credential } of this.apis.values())
			accountOf(credential).retain(this.stopController.signal);
		const preparedItems = this.credentials.map((_, index) => this.prepareItem(index, prepare));
		const items = preparedItems.flatMap((item) => (item instanceof FailedResult ? [] : [item]));
		const resultsByItem = preparedItems.map((item): ItemResult[] =>
			item instanceof FailedResult ? [item] : [],
		);
		this.reserveRequests(items, resultsByItem);
		resultsByItem.forEach((results, index) => this.endOnFailure(results, index));
		if (this.fatalFailure) {
			const { error } = this.fatalFailure;
			const itemIndexes = indexesOfSameFault(error, resultsByItem);
			const itemCount = resultsByItem.length;
			this.fatalFailure.error = withDefaultFacts(error, { itemIndexes, itemCount });
			this.fatalFailure.isOfAllItems = itemIndexes.length === itemCount;
		}
		await this.concurrency?.forEach(items, async ({ index, run, entries }) => {
			if (resultsByItem[index]!.length > 0 || this.signals.stopStarting.aborted) return false;
			const results = await run().catch((error: unknown) => {
				// A model makes the next attempt itself, and only if it is told so.
				const isCollectable = entries.length > 0 && entries.every((entry) => entry.isCollectable);
				const repeatCollects = (this.isToolRun && isCollectable) || undefined;
				return [new FailedResult(withDefaultFacts(error, { repeatCollects }))];
			});
			resultsByItem[index] = results;
			this.endOnFailure(results, index);
			return !results.some((result) => result instanceof FailedResult);
		});
		// Stops what still runs in the background. This abort also releases the accounts.
		this.stopController.abort(new Failure('canceled'));
		this.journal.settle();
		// After a failure, the next attempt needs the journal. Retry On Fail starts a next attempt even without a
		// failure if the first output item has an `error` field.
		const isFailed = (result: ItemResult) => result instanceof FailedResult || result.json.error;
		const isCanceled = this.signals.abortInFlight.aborted;
		if (!isCanceled && !resultsByItem.flat().some(isFailed)) {
			for (const { entries } of items) for (const entry of entries) entry.deleteFromJournal();
		}
		// Cancellation ends the node with an error, even if On Error says to continue.
		if (isCanceled) this.fatalFailure = { error: new Failure('canceled') };
		else this.showHints();
		if (this.fatalFailure) throw this.errorOf(this.fatalFailure, items);
		return resultsByItem;
	}

	/** Returns an item with its task and journal entries, or a FailedResult if it cannot be prepared. */
	private prepareItem(
		index: number,
		prepare: (item: ItemContext) => ItemTask,
	): PreparedItem | FailedResult {
		try {
			const credential = this.credentials[index]!;
			if (credential instanceof FailedResult) return credential;
			const item = this.contextFor(index, credential);
			const task = prepare(item);
			if (typeof task === 'function') return { ...item, entries: [], run: task };
			const entries = this.journal.entriesFor(item, task.callKeys);
			this.maxPaid = Math.min(this.maxPaid, item.parameters.number(maxPaidField) || Infinity);
			return { ...item, entries, run: async () => await task.run(entries) };
		} catch (error) {
			return new FailedResult(error);
		}
	}

	/**
	 * Makes the context of an item. The first success also creates `this.concurrency`. Throws a Failure or n8n's error
	 * if an option is invalid.
	 */
	private contextFor(index: number, credential: Credential): ItemContext {
		const { context, creator, isToolRun } = this;
		const { accountKey, redact } = credential;
		const parameters = new NodeParameters(
			(name, fallback) => context.getNodeParameter(name, index, fallback as never),
			// A model that calls the node as a tool reads only text, so it gets the URL of a file instead of the file.
			!isToolRun,
		);
		// The first item whose option Concurrency is valid sets the concurrency of the whole run.
		this.concurrency ??= new ConcurrencyLimiter(parameters.number(concurrencyField));
		return {
			index,
			context,
			creator,
			credential,
			api: this.apis.get(accountKey)!,
			parameters,
			...this.signals,
			concurrency: this.concurrency,
			report: new Report(context, redact, this.hints, { index, count: this.credentials.length }),
			output(json: ServiceRecord, binary?: INodeExecutionData['binary']): INodeExecutionData {
				// Retry On Fail would run the node again for an `error` field, even an empty one.
				if (isEmptyError(json.error)) delete json.error;
				const record = toOutputRecord(json);
				// An inline file is in the binary data. A model gets no file, and cannot use megabytes of text.
				const hidesFiles = binary !== undefined || isToolRun;
				const outputJson = redact.value(hidesFiles ? withoutInlineFiles(record) : record);
				return {
					json: outputJson as INodeExecutionData['json'],
					pairedItem: { item: index },
					...(binary && { binary }),
				};
			},
		};
	}

	/**
	 * Reserves the billable requests of all items. If Max Paid Requests does not allow all of them, or if the workflow
	 * would start itself, reserves none, and sets a failed result in `resultsByItem` for each item that would be charged.
	 */
	private reserveRequests(items: PreparedItem[], resultsByItem: ItemResult[][]): void {
		const willBeCharged = (entry: JournalEntry) => entry.needsReservation;
		const planned = items.flatMap(({ entries }) => entries.filter(willBeCharged));
		const failure =
			selfStartFailureOfExecution(this.context) ?? this.journal.reserve(planned, this.maxPaid);
		if (!failure) return;
		for (const { index, entries } of items) {
			if (!entries.some(willBeCharged)) continue;
			const error = failure.withDefaults(collectableTasks(entries));
			resultsByItem[index] = [new FailedResult(error)];
			// It is reported before the fault of any item: after a crash, the next retry is charged.
			this.endOnFailure(resultsByItem[index]!, index);
		}
	}

	/** Ends the run if one of an item's results is a failed result, unless `continueOnFail` is true. */
	private endOnFailure(results: ItemResult[], index: number): void {
		const failed = results.find((result) => result instanceof FailedResult);
		if (failed && !this.continueOnFail) {
			this.fatalFailure ??= { error: failed.error, index };
			this.stopController.abort(new Failure('canceled'));
		}
	}

	/** Makes the n8n error that ends the node. If the run was canceled, also shows and logs what was charged. */
	private errorOf(
		{ error, index, isOfAllItems }: NonNullable<Run['fatalFailure']>,
		items: PreparedItem[],
	): Error {
		const { context, redact } = this;
		const requests = items.flatMap((item) =>
			item.entries.flatMap(({ value }): ItemRequest[] =>
				value ? [{ ...value, index: item.index }] : [],
			),
		);
		const node = context.getNode();
		const itemCount = this.credentials.length;
		const execution = {
			isSubWorkflow: callerIdOf(context) !== undefined,
			isRetry: context.getMode() === 'retry',
			isInLoop: isInLoop(context),
			itemCount,
			hasEarlierRequests: this.journal.hasEarlierRequests,
			retriesOnFail: node.retryOnFail,
		};
		const notes =
			index === undefined
				? { after: canceledSummary(requests, execution) }
				: chargeSummary(requests, { index, error }, execution);
		const itemIndex = itemCount > 1 && !isOfAllItems ? index : undefined;
		const nodeError = toNodeError(error, { node, itemIndex, redact, ...notes });
		// n8n may drop the error of a canceled execution, and with it the note about the charges.
		if (this.signals.abortInFlight.aborted && notes.after) {
			// A later manual run finds what this one has paid for, unless it is in a sub-workflow.
			const isReusable = this.journal.recentRequests && !execution.isSubWorkflow;
			// Execute step on a node in the loop runs only the loop's first round.
			const nextNode = execution.isInLoop ? 'the node after the loop, not in it' : 'the next node';
			const howToContinue = isReusable
				? `To continue, click Execute step on ${nextNode} (if there is none, add one) within an hour: only what is missing is charged (not in queue mode). If that can't be done: `
				: '';
			context.sendMessageToUI(`Stopped. ${howToContinue}${notes.after}`);
			context.logger.warn(`Media Generation: ${nodeError.message}. ${notes.after}`);
		}
		return nodeError;
	}

	/** Shows the hints of all items in the output panel, each text once. */
	private showHints(): void {
		for (const [hint, indexes] of this.hints) {
			const rows = [...indexes].sort((a, b) => a - b);
			const prefix = this.credentials.length > 1 ? rowPrefix(rows) : '';
			const message = this.redact.text(prefix + hint);
			this.context.addExecutionHints({ message, location: 'outputPane' });
		}
	}
}

/** Returns a text that two errors share if they are about the same fault, whatever the bad values are. */
const faultOf = (error: unknown): string =>
	error instanceof Failure
		? JSON.stringify([error.kind, { ...error.facts, badValue: undefined }])
		: String(error);

/** Returns the indexes of all items that have failed like `error`. `resultsByItem` has the results of all items. */
function indexesOfSameFault(error: unknown, resultsByItem: ItemResult[][]): number[] {
	const fault = faultOf(error);
	return resultsByItem.flatMap(([result], index) =>
		result instanceof FailedResult && faultOf(result.error) === fault ? [index] : [],
	);
}

/** Returns true if the node is in a loop of the workflow, that is, if a node after it is also before it. */
function isInLoop(context: IExecuteFunctions): boolean {
	const { name } = context.getNode();
	const namesBefore = new Set(context.getParentNodes(name).map((node) => node.name));
	return context.getChildNodes(name).some((node) => namesBefore.has(node.name));
}
