import type { IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';
import { accountOf } from '../shared/account';
import { readCredential, type Credential } from '../shared/http/credential';
import { withoutToken } from '../shared/parsing/redaction';
import { claimsOf, type Claims } from '../shared/generation/claims';
import type { ServiceRecord } from '../shared/contract';
import { Failure } from '../shared/failure';
import { HistoryReader } from '../shared/generation/historyRecovery';
import { CREDENTIAL_TYPE, egressCheckOf } from '../shared/http/request';
import { subscribe, type Subscription } from '../shared/speech/notifications';
import { rateLimitOf } from '../shared/pace/rateLimit';
import { saysNothing } from '../shared/parsing/errorText';
import { Api } from '../shared/api/api';
import { Semaphore } from '../shared/async/semaphore';
import { MAX_PAID } from '../shared/n8n/descriptions';
import { NodeParameters } from '../shared/n8n/parameters';
import { Concurrency } from './concurrency';
import { contextOf, Resume } from './resume';
import { Spending } from './spending';
import { PaidSummary } from './paid';

/** Bytes of large request bodies that may be in memory at once. */
const BODY_BYTES = 256 * 1024 * 1024;

/**
 * Whether a model calls the node. `isToolExecution` says so to agents up to version 2; from version
 * 3 on they let the engine run their tools as ordinary nodes, whose type alone differs.
 */
export const isToolRun = (context: IExecuteFunctions): boolean =>
	context.isToolExecution?.() === true || context.getNode().type.endsWith('Tool');

/** What all items of one run of the node share. */
export class Run {
	readonly api: Api;
	/** Whether a model calls the node. */
	readonly isTool: boolean;
	readonly resume: Resume;
	readonly spending: Spending;
	readonly concurrency: Concurrency;
	/** Encoded images in memory at once. */
	readonly bodies = new Semaphore(BODY_BYTES);
	/** Looks into the history, shared by all items whose stream was lost. */
	readonly history: HistoryReader;
	/** Aborts when n8n cancels the execution. */
	readonly canceled: AbortSignal;
	/**
	 * Aborts when n8n cancels the execution, or another item's failure ends the node. A create call under
	 * way ends with `canceled` only: its answer says what was paid for.
	 */
	readonly stopped: AbortSignal;
	readonly paid = new PaidSummary();
	private known: Claims | undefined;
	private readonly stopping = new AbortController();
	private socket: Subscription | undefined;
	/** Ends this run's use of what the account shares. */
	private readonly leave: () => void;
	private readonly hints = new Map<string, { message: string; items: number[] }>();

	private constructor(
		readonly context: IExecuteFunctions,
		readonly credential: Credential,
	) {
		this.leave = accountOf(credential).use();
		this.concurrency = new Concurrency(rateLimitOf(credential));
		this.api = new Api(context, credential, this.concurrency);
		this.isTool = isToolRun(context);
		this.resume = new Resume(context, this.isTool, credential);
		const executionId = context.getExecutionId();
		// Without an execution each call of a model stands for itself.
		const store = executionId === undefined ? {} : contextOf(context, this.isTool);
		this.spending = new Spending(store, executionId ?? '');
		this.history = new HistoryReader(this.api);
		this.canceled = context.getExecutionCancelSignal() ?? new AbortController().signal;
		this.stopped = AbortSignal.any([this.canceled, this.stopping.signal]);
	}

	/** Throws a Failure of kind invalidInput that names the credential's field at fault. */
	static async start(context: IExecuteFunctions): Promise<Run> {
		return new Run(context, readCredential(await context.getCredentials(CREDENTIAL_TYPE)));
	}

	/** Ends the waits of all items at once, and their create calls when they are answered. */
	stop(): void {
		this.stopping.abort(new Failure('canceled'));
	}

	/** All items have ended: nothing may go on in the background, nor what they shared. */
	end(): void {
		this.stopping.abort(new Failure('canceled'));
		this.spending.settle();
		this.resume.release();
		this.leave();
		// The next round of a loop, or the next execution, may be about to begin.
		this.socket?.release(this.canceled.aborted ? undefined : 'soon');
	}

	/**
	 * Whose file is whose. What earlier tries of this node asked for and got, in whatever process, is
	 * known before the first search.
	 */
	get claims(): Claims {
		if (!this.known) {
			this.known = claimsOf(this.credential);
			for (const { asked, files, madeAt } of this.resume.list()) {
				if (asked) this.known.recall(asked, files, madeAt);
			}
		}
		return this.known;
	}

	/** A share of the account's socket, which stays open until the run ends. */
	subscribe(): Subscription {
		this.socket ??= this.share();
		return this.share();
	}

	private share(): Subscription {
		return subscribe(this.credential, egressCheckOf(this.context));
	}

	/** Shown with the output after the run, once per `about`, with the items that it concerns. */
	hint(about: string, message: string, index: number): void {
		const hint = this.hints.get(about) ?? { message, items: [] };
		hint.items.push(index);
		this.hints.set(about, hint);
	}

	showHints(): void {
		for (const { message, items } of this.hints.values()) {
			const shown = items.sort((a, b) => a - b).slice(0, 5);
			const more = items.length > shown.length ? ` and ${items.length - shown.length} more` : '';
			this.context.addExecutionHints({
				message: withoutToken(
					`${message} (item ${shown.join(', ')}${more})`,
					this.credential.apiToken,
				),
				location: 'outputPane',
			});
		}
	}
}

/** One input item at work. */
export class Item {
	readonly parameters: NodeParameters;

	constructor(
		readonly run: Run,
		readonly index: number,
	) {
		// A model gets text only: a file can't cross to it, its address can.
		this.parameters = new NodeParameters(
			(name, fallback) => run.context.getNodeParameter(name, index, fallback as never),
			!run.isTool,
		);
	}

	get api(): Api {
		return this.run.api;
	}

	/** Counts paid requests that the item is about to send, unless an earlier try has sent them. */
	planPaid(requests = 1): void {
		const limit = this.parameters.numberOption(
			'maxPaidPerExecution',
			'Max Paid Requests per Execution',
			MAX_PAID,
		);
		if (limit === 0) return;
		const earlier = this.run.resume.find(this.run.resume.requestKey(this.index));
		const isPaid = earlier !== undefined && !earlier.doubtful;
		this.run.spending.plan(isPaid ? 0 : requests, limit);
	}

	/** Progress for the person who runs the workflow by hand: it appears in the browser's console. */
	tell(text: string): string {
		const message = withoutToken(`Item ${this.index}: ${text}`, this.run.credential.apiToken);
		this.run.context.sendMessageToUI(message);
		return message;
	}

	/** The same, and a line in n8n's log, which costs some 50 µs whether it is written or not. */
	report(text: string, level: 'debug' | 'info' = 'debug'): void {
		this.run.context.logger[level](`Media Generation, ${this.tell(text)}`);
	}

	hint(about: string, message: string): void {
		this.run.hint(about, message, this.index);
	}

	/** One output item that belongs to this input item. */
	output(json: ServiceRecord, binary?: INodeExecutionData['binary']): INodeExecutionData {
		// n8n takes a field named `error` for a failed item, and under Retry On Fail runs the node again.
		if (saysNothing(json.error)) delete json.error;
		return {
			json: withoutToken(json, this.run.credential.apiToken) as INodeExecutionData['json'],
			...(binary ? { binary } : {}),
			pairedItem: { item: this.index },
		};
	}
}

/** An output item, or why one of several could not be made. */
export type Made = INodeExecutionData | Failure;

/** What one of several parts comes to: its output item, or why it could not be made. */
export const partly = async (work: Promise<INodeExecutionData>): Promise<Made> =>
	await work.catch((error: unknown) => {
		if (!(error instanceof Failure)) throw error;
		return error;
	});

/** The work of one item whose fields are already read and found good. */
export type Job = () => Promise<Made[]>;

/** One operation: reads and checks the fields of an item, and returns its work. */
export type Operation = (item: Item) => Job;
