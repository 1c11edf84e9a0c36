import type { IExecuteFunctions } from 'n8n-workflow';
import { accountOf } from '../../shared/account';
import type { Credential } from '../../shared/http/credential';
import { claimsOf, type Claims } from '../../shared/generation/claims';
import { Failure } from '../../shared/failure';
import { HistoryReader } from '../../shared/generation/historyReader';
import { egressCheckOf } from '../../shared/http/request';
import { subscribe, type Subscription } from '../../shared/speech/notifications';
import { rateLimitOf } from '../../shared/pace/rateLimit';
import { isOverload } from '../../shared/parsing/errorResponses';
import { Api } from '../../shared/api/api';
import { steadyNow } from '../../shared/async/deadline';
import { Semaphore } from '../../shared/async/semaphore';
import { toNodeError } from '../../shared/n8n/nodeErrors';
import { Concurrency, forEachConcurrently } from './concurrency';
import { NotMade, withOtherFiles, type Job, type Made } from './job';
import { executionOf, filesBefore } from '../paid/filesBefore';
import { contextOf, Resume } from '../paid/resume';
import { Spending } from '../paid/spending';
import { costHint, firstOf, paidWords } from '../paid/summary';

/** Bytes of encoded images, and of sounds to join, that may be in memory at once. */
const MEMORY_BYTES = 256 * 1024 * 1024;

/**
 * Whether a model calls the node. `isToolExecution` tells agents up to version 2; later ones have the
 * engine run their tools as ordinary nodes of another type.
 */
export const isToolRun = (context: IExecuteFunctions): boolean =>
	context.isToolExecution?.() === true || context.getNode().type.endsWith('Tool');

/** What all items of one run of the node share. */
export class Run {
	readonly api: Api;
	readonly isTool: boolean;
	readonly resume: Resume;
	readonly spending: Spending;
	readonly concurrency: Concurrency;
	readonly memory = new Semaphore(MEMORY_BYTES);
	readonly history: HistoryReader;
	/** Aborts when n8n cancels the execution. */
	readonly canceled: AbortSignal;
	/**
	 * The same, or when an item's failure ends the node. A create call under way only ends with
	 * `canceled`, since its answer says what was paid for.
	 */
	readonly stopped: AbortSignal;
	private knownClaims: Claims | undefined;
	private readonly stopping = new AbortController();
	private socket: Subscription | undefined;
	private readonly leave: () => void;
	/** For n8n's tracing: paid requests, failed items, the longest wait, the size of all files. */
	readonly traced = { paid: 0, failed: 0, waited_ms: 0, bytes: 0 };
	/** Items that cost something in this run. */
	readonly charged = new Set<number>();
	private readonly hints = new Map<string, { message: string; items: Set<number> }>();
	/** The item whose failure ends the run. */
	private firstFailed: { error: unknown; itemIndex?: number } | undefined;

	constructor(
		readonly context: IExecuteFunctions,
		readonly credential: Credential,
		/** True when one item's failure does not end the node. */
		private readonly goesOn: boolean,
	) {
		this.leave = accountOf(credential).use();
		this.concurrency = new Concurrency(rateLimitOf(credential));
		this.api = new Api(context, credential, this.concurrency);
		this.isTool = isToolRun(context);
		this.resume = new Resume(context, this.isTool, credential);
		const executionId = context.getExecutionId();
		// Without an execution each call of a model counts by itself.
		const store = executionId === undefined ? {} : contextOf(context, this.isTool);
		this.spending = new Spending(store, executionId ?? '');
		this.history = new HistoryReader(this.api);
		this.canceled = context.getExecutionCancelSignal() ?? new AbortController().signal;
		this.stopped = AbortSignal.any([this.canceled, this.stopping.signal]);
	}

	/**
	 * Does the jobs and returns what became of each. Unless the run goes on, the first failure ends the
	 * others, and nothing is sent if a job is missing. Ends the run. Neither a job nor this rejects.
	 */
	async all(jobs: Array<Job | NotMade>): Promise<Made[][]> {
		const outcomes = jobs.map((job): Made[] => (job instanceof NotMade ? [job] : []));
		outcomes.forEach((parts, index) => this.noteFailure(parts, index));
		if (!this.firstFailed) {
			await forEachConcurrently(jobs.length, this.concurrency, async (index) => {
				const job = jobs[index];
				if (!job || job instanceof NotMade || this.stopped.aborted) return false;
				const began = steadyNow();
				const parts = await job();
				outcomes[index] = parts;
				if (parts.some((part) => part instanceof NotMade && isOverload(part.error))) {
					this.concurrency.refused(began);
				}
				return !this.noteFailure(parts, index);
			});
		}
		this.noteCost(outcomes);
		this.end();
		return outcomes;
	}

	private noteCost(outcomes: Made[][]): void {
		const failed = outcomes.map((parts) => parts.some((part) => part instanceof NotMade));
		const resumed = [...(this.hints.get('resumed')?.items ?? [])];
		const collected = resumed.filter((index) => !failed[index] && !this.charged.has(index));
		const failures = failed.filter(Boolean).length;
		const text = costHint(outcomes.length, collected.length, failures, this.traced.paid);
		if (text !== undefined) this.hints.set('cost', { message: text, items: new Set() });
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

	/** All items have ended: stops what still runs in the background, and releases what they shared. */
	private end(): void {
		this.stopping.abort(new Failure('canceled'));
		this.spending.settle();
		this.resume.release();
		this.leave();
		// The next round of a loop, or another execution, may be about to begin.
		this.socket?.release(this.canceled.aborted ? undefined : 'soon');
		const named = Object.entries(this.traced).map(([key, value]) => [`media.${key}`, value]);
		this.context.setMetadata({ tracing: Object.fromEntries(named) });
	}

	/** Throws the error of a run that was canceled, or that one item's failure has ended. */
	throwIfEnded(): void {
		// A canceled run is not a failed item: "continue on fail" must not swallow it.
		const isCanceled = this.canceled.aborted;
		if (!isCanceled) this.showHints();
		const end: typeof this.firstFailed = isCanceled
			? { error: new Failure('canceled') }
			: this.firstFailed;
		if (!end) return;
		const { error, itemIndex } = end;
		const { redact } = this.credential;
		const note = paidWords(this.resume.ofRun(), redact, itemIndex);
		const thrown = toNodeError(error, { node: this.context.getNode(), itemIndex, redact, note });
		// n8n may have closed a canceled execution before receiving the error.
		if (isCanceled && note) {
			this.context.logger.warn(`Media Generation: ${thrown.message}. ${note}`);
		}
		throw thrown;
	}

	/**
	 * Which file belongs to which request. Knows from the start what earlier attempts of this node, in any
	 * process, asked for and got, and what nodes of this execution have put out.
	 */
	get claims(): Claims {
		if (!this.knownClaims) {
			this.knownClaims = claimsOf(this.credential);
			for (const { asked, files, madeAt } of this.resume.list()) {
				if (asked) this.knownClaims.recall(asked, files, madeAt);
			}
			this.knownClaims.recallFiles(executionOf(this.context), () => filesBefore(this.context));
		}
		return this.knownClaims;
	}

	/** A share of the account's socket, which stays open until the run ends. */
	subscribe(): Subscription {
		const share = () => subscribe(this.credential, egressCheckOf(this.context));
		this.socket ??= share();
		return share();
	}

	/** A hint shown with the output, once per `about`, with the items it concerns. */
	hint(about: string, message: string, index: number): void {
		const hint = this.hints.get(about) ?? { message, items: new Set() };
		hint.items.add(index);
		this.hints.set(about, hint);
	}

	private showHints(): void {
		for (const { message, items } of this.hints.values()) {
			const numbers = [...items].sort((a, b) => a - b).map(String);
			const which = numbers.length > 0 ? ` (item ${firstOf(numbers, ', ')})` : '';
			const text = this.credential.redact.text(message + which);
			this.context.addExecutionHints({ message: text, location: 'outputPane' });
		}
	}
}
