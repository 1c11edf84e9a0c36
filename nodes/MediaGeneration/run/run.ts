import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { accountOf } from '../../shared/account';
import { Api } from '../../shared/api/api';
import type { ServiceRecord } from '../../shared/contract';
import { Failure } from '../../shared/failure';
import type { Credential } from '../../shared/http/credential';
import { toNodeError } from '../../shared/n8n/nodeErrors';
import { NodeParameters } from '../../shared/n8n/parameters';
import { paceOf } from '../../shared/pace/pace';
import { saysNothing } from '../../shared/parsing/errors';
import { takeTurn } from '../paid/callTurns';
import { contextOf, PaidLog } from '../paid/paidLog';
import { Payments } from '../paid/payments';
import { keysIn } from '../paid/requestKey';
import { Spending } from '../paid/spending';
import { firstOf, paidWords, type ItemRequest } from '../paid/summary';
import { Concurrency } from './concurrency';
import { type Job, type Made, NotMade, toldTogether, withOtherFiles } from './job';
import type { Work } from './work';
import { Report } from './report';

/**
 * Whether a model calls the node. `isToolExecution` tells agents up to version 2; later ones have the
 * engine run their tools as ordinary nodes of another type.
 */
export const isToolRun = (context: IExecuteFunctions): boolean =>
	context.isToolExecution?.() === true || context.getNode().type.endsWith('Tool');

/** One run of the node: what its items share, and what ends it. */
export class Run {
	readonly concurrency: Concurrency;
	readonly spending: Spending;
	/** By item; none for an item whose options can't be resolved. */
	private readonly works: Work[] = [];
	private readonly api: Api;
	private readonly isTool: boolean;
	private readonly store: IDataObject;
	private readonly log: PaidLog;
	private readonly keyOf: (index: number) => string;
	private readonly canceled: AbortSignal;
	private readonly stopping = new AbortController();
	private readonly stopped: AbortSignal;
	private readonly leave: () => void;
	/** The item whose failure ends the run. */
	private firstFailed: { error: unknown; itemIndex?: number } | undefined;

	constructor(
		private readonly context: IExecuteFunctions,
		private readonly credential: Credential,
		/** True when one item's failure does not end the node. */
		private readonly goesOn: boolean,
	) {
		this.leave = accountOf(credential).use();
		this.isTool = isToolRun(context);
		this.store = contextOf(context, this.isTool);
		this.log = new PaidLog(this.store, credential.redact);
		this.keyOf = keysIn(this.store, context, this.isTool, credential);
		const executionId = context.getExecutionId();
		// Without an execution each call of a model counts by itself.
		this.spending = new Spending(executionId === undefined ? {} : this.store, executionId ?? '');
		this.canceled = context.getExecutionCancelSignal() ?? new AbortController().signal;
		this.stopped = AbortSignal.any([this.canceled, this.stopping.signal]);
		this.concurrency = new Concurrency(paceOf(credential));
		this.api = new Api(context, credential);
	}

	/** What an operation gets of one input item. */
	workOn(index: number): Work {
		const { context, credential, api, canceled, concurrency, log, spending } = this;
		const { redact } = credential;
		const work: Work = {
			index,
			context,
			credential,
			api,
			// A model takes text only: it can be given a file's address, but not the file.
			parameters: new NodeParameters(
				(name, fallback) => context.getNodeParameter(name, index, fallback as never),
				!this.isTool,
			),
			signal: this.stopped,
			canceled,
			concurrency,
			report: new Report(context, redact, index),
			paid: new Payments(log, spending, index, this.keyOf(index)),
			output(json: ServiceRecord, binary?: INodeExecutionData['binary']): INodeExecutionData {
				// n8n takes an item with an `error` field for a failed one, and Retry On Fail runs the node again.
				if (saysNothing(json.error)) delete json.error;
				return {
					json: redact.value(json) as INodeExecutionData['json'],
					...(binary ? { binary } : {}),
					pairedItem: { item: index },
				};
			},
		};
		this.works[index] = work;
		return work;
	}

	/**
	 * Does the jobs and returns what became of each. Unless the run goes on, the first failure ends the
	 * others, and nothing is sent if a job is missing. Ends the run. Never rejects.
	 */
	async all(jobs: Array<Job | NotMade>): Promise<Made[][]> {
		const outcomes = jobs.map((job): Made[] => (job instanceof NotMade ? [job] : []));
		outcomes.forEach((parts, index) => this.noteFailure(parts, index));
		if (this.firstFailed) this.firstFailed.error = toldTogether(this.firstFailed.error, jobs);
		// Equal calls of a model wait for one another, since the later may collect what the first has left.
		const turns = this.works.filter(() => this.isTool);
		const leaveTurns = await Promise.all(
			turns.map(async ({ paid }) => await takeTurn(this.store, paid.key)),
		);
		if (!this.firstFailed) {
			await this.concurrency.forEach(jobs.length, async (index) => {
				const job = jobs[index];
				if (!job || job instanceof NotMade || this.stopped.aborted) return false;
				outcomes[index] = await job().catch((error: unknown) => [new NotMade(error)]);
				return !this.noteFailure(outcomes[index], index);
			});
		}
		// Stops what still runs in the background.
		this.stopping.abort(new Failure('canceled'));
		this.spending.settle();
		this.leave();
		if (!this.canceled.aborted) this.showHints();
		// With Retry On Fail, n8n runs the node again for any `error` in the output.
		const isFailed = (part: Made) => part instanceof NotMade || part.json.error;
		if (!outcomes.flat().some(isFailed)) {
			this.log.erase(this.works.flatMap(({ paid }) => paid.records.map(({ key }) => key)));
		}
		for (const leaveTurn of leaveTurns) leaveTurn();
		return outcomes;
	}

	/** Notes and returns whether something of an item could not be made, which may end the run. */
	private noteFailure(parts: Made[], itemIndex: number): boolean {
		const missing = parts.find((part) => part instanceof NotMade);
		if (missing && !this.goesOn && !this.canceled.aborted) {
			this.firstFailed ??= { error: withOtherFiles(missing.error, parts), itemIndex };
			this.stopping.abort(new Failure('canceled'));
		}
		return missing !== undefined;
	}

	/** Throws the error of a run that was canceled, or that one item's failure has ended. */
	throwIfEnded(): void {
		// A canceled run is not a failed item: "continue on fail" must not swallow it.
		const isCanceled = this.canceled.aborted;
		const end: typeof this.firstFailed = isCanceled
			? { error: new Failure('canceled') }
			: this.firstFailed;
		if (!end) return;
		const { error, itemIndex } = end;
		const { redact } = this.credential;
		const requests = this.works.flatMap(({ index, paid }) =>
			paid.left().map((left): ItemRequest => ({ ...left, index })),
		);
		const note = paidWords(requests, redact, itemIndex);
		const thrown = toNodeError(error, { node: this.context.getNode(), itemIndex, redact, note });
		// n8n may have closed a canceled execution before receiving the error, and throws its data away.
		if (isCanceled && note) {
			this.context.sendMessageToUI(`Stopped. ${note}`);
			this.context.logger.warn(`Media Generation: ${thrown.message}. ${note}`);
		}
		throw thrown;
	}

	/** The tasks that an earlier attempt has paid for of an item. */
	paidTasksOf(index: number): string[] {
		return this.works[index]?.paid.tasks() ?? [];
	}

	/** Shows the hints of all items, each once with the items it is about. */
	private showHints(): void {
		const itemsOf = new Map<string, { message: string; items: number[] }>();
		for (const { index, report } of this.works.filter(Boolean)) {
			for (const [about, message] of report.hints) {
				const known = itemsOf.get(about);
				if (known) known.items.push(index);
				else itemsOf.set(about, { message, items: [index] });
			}
		}
		for (const { message, items } of itemsOf.values()) {
			const text = `${message} (item ${firstOf(items.map(String), ', ')})`;
			const hint = this.credential.redact.text(text);
			this.context.addExecutionHints({ message: hint, location: 'outputPane' });
		}
	}
}
