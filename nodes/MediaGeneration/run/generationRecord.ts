import type { GeneratedFile, Generation, GenerationRequest } from '../../shared/contract';
import { Failure, isFailure, withDefaultFacts } from '../../shared/failure';
import { MAX_FILES } from '../../shared/limits';
import { creatorOf } from '../../shared/n8n/creatorRegistry';
import {
	endRequest,
	newRequest,
	requestsOf,
	startSearch,
} from '../../shared/generation/requestLedger';
import { describeAttempt, type JournalEntry } from '../paid/payments';
import type { ItemContext } from './itemContext';

/** What is asked for. */
export interface GenerationOrder {
	generation: Generation;
	/** As sent, '' when none is; the history is searched by it. */
	prompt: string;
	/** Files asked for. */
	requestedCount: number;
	aspectRatio?: string;
	/** Checks the content, and returns what fills a body with it; `release` gives back its room in memory. */
	body(
		signal: AbortSignal,
	): Promise<(body: { bytes?: Buffer; release?(): void }, signal: AbortSignal) => Promise<unknown>>;
}

/** How long to search for what was answered with an error, in ms: hardly any such request was accepted. */
const UNLIKELY_MS = 10_000;
/** … and for what ended with an empty list: it was most likely filtered. */
const EMPTY_MS = 60_000;

/** What this attempt, or an earlier one, has sent for an item, and what came of it. */
export class GenerationRecord {
	/** What was sent last, perhaps by an earlier attempt; undefined if nothing was. */
	request: GenerationRequest | undefined;
	/** What the attempt met that sent it and got no clear answer. */
	indeterminateBecause: string | undefined;
	/** Once the service has said that it has begun. */
	private state: 'sent' | 'accepted' = 'sent';
	/** Its stream was lost: what the history lacks may still come. */
	private isLost = false;

	constructor(
		private readonly item: ItemContext,
		private readonly entry: JournalEntry,
		private readonly order: GenerationOrder,
	) {
		const { previous } = entry;
		if (!previous || 'taskId' in previous) return;
		({
			state: this.state,
			indeterminateBecause: this.indeterminateBecause,
			request: this.request,
		} = previous);
		if (this.request?.files.length) {
			item.report.hint('Returned the result of an earlier attempt, at no extra charge');
		}
	}

	/** Right before each create call. */
	markSent(): void {
		const { generation, prompt, requestedCount, aspectRatio } = this.order;
		const { makes: kind, withImages } = generation;
		const request = newRequest({
			...{ prompt: prompt.trim(), kind, aspectRatio, requestedCount, withImages },
			...{ creator: creatorOf(this.item.context), sentAt: Date.now() },
		});
		this.request = request;
		this.requests.add(request);
		this.entry.setSent({ state: 'sent', request });
		this.item.report.progress(`requesting the ${kind}`);
	}

	/** The service has surely not accepted the call. */
	markRefused(): void {
		this.requests.remove(this.request!);
		this.entry.setNotAccepted();
	}

	showProgress(status: string, id?: string): void {
		this.receive(this.request!.files, id);
		this.item.report.progress(`${this.kind} ${status}`);
	}

	/** Only `files` have come. `interruptedBecause`: what cut the stream, unless the service has ended it, perhaps with none. */
	markIncomplete(
		files: GeneratedFile[],
		interruptedBecause: string | undefined,
		isEmpty = false,
	): void {
		const { request, requests, item } = this;
		startSearch(request!, interruptedBecause === undefined ? 0 : isEmpty ? EMPTY_MS : undefined);
		if (files.length > 0) this.receive(files);
		// What this node asked for and got for its other items, also in earlier attempts, is no other's.
		const [account] = item.payments.key.split('/', 1);
		for (const [key, previous] of Object.entries(item.payments.journal.entries)) {
			if (key.startsWith(account!) && 'request' in previous && previous.request)
				requests.restore(previous.request);
		}
		if (interruptedBecause === undefined) return;
		this.isLost = true;
		item.report.log(`${interruptedBecause}; looking for the ${this.kind} in the history`);
		item.report.hint(
			'The service stopped reporting. The result was looked up in the history. It was not requested a second time',
		);
	}

	/** Its files are there, as many as asked for or fewer. */
	markMade(files: GeneratedFile[]): void {
		const { requestedCount } = this.order;
		this.receive(files);
		if (!this.isLost) endRequest(this.request!);
		this.keepState();
		// The others need only what the files are recognised by, and one within an answer may be large.
		const marked = files.map(({ id, fileUrl }) => {
			return { id, fileUrl: fileUrl.replace(/^data:.*/s, 'data:'), raw: {} };
		});
		this.requests.add({ ...this.request!, files: marked });
		if (files.length < requestedCount) {
			const hint = this.isLost
				? `Found ${files.length} of ${requestedCount} files: reporting stopped. The others are charged and may still come: see History → Get Many`
				: 'The service generated fewer files than requested';
			const { reason } = this.request!;
			this.item.report.hint(hint);
			if (reason) this.item.report.hint(`Why some were not generated: ${reason}`);
		}
		this.item.report.log(`${this.kind} done`);
	}

	/** It has failed with `error`; returns that with what is known of the generation. */
	markFailed(error: unknown): unknown {
		const { request } = this;
		const mayStillCome =
			!(error instanceof Failure) ||
			error.facts.mayBeCharged ||
			isFailure(error, 'streamLost', 'indeterminate');
		if (!request || !mayStillCome) {
			// The next attempt has to ask for it again.
			if (request) endRequest(request);
			this.entry.delete();
			return error;
		}
		const isUnlikely = isFailure(error, 'unavailable', 'foreignServer');
		startSearch(request, isUnlikely ? UNLIKELY_MS : undefined);
		const isUnclear = this.state === 'sent';
		if (isUnclear && !this.isLost) this.indeterminateBecause = describeAttempt(error);
		this.keepState();
		return withDefaultFacts(error, {
			ids: request.announcedIds,
			mayBeCharged: isUnclear || undefined,
		});
	}

	/** Keeps what the service has told: it has begun, so it is paid. */
	private receive(files: GeneratedFile[], ...newIds: Array<string | undefined>): void {
		const request = this.request!;
		request.files = files;
		newIds.push(...files.map(({ id }) => id));
		const ids = new Set([...request.announcedIds, ...newIds].filter((id) => id !== undefined));
		request.announcedIds = [...ids].slice(0, MAX_FILES);
		if (this.state === 'sent') {
			const facts = ids.size > 0 && { ids: request.announcedIds.join() };
			this.item.report.recordPayment({ kind: this.kind, ...facts });
		}
		this.state = 'accepted';
		this.keepState();
	}

	private keepState(): void {
		const { state, indeterminateBecause, request } = this;
		this.entry.write({ state, indeterminateBecause, request });
	}

	private get kind() {
		return this.order.generation.makes;
	}

	private get requests() {
		return requestsOf(this.item.credential);
	}
}
