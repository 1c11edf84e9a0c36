import type { GeneratedFile, Generation, GenerationRequest } from '../../shared/contract';
import { Failure, isFailure, withDefaultFacts } from '../../shared/failure';
import { MAX_FILES } from '../../shared/limits';
import { creatorOf } from '../../shared/n8n/creatorRegistry';
import { endOf, newRequest, requestsOf, searchEnd } from '../../shared/generation/requestLedger';
import type { StreamResult } from '../../shared/parsing/generationEvents';
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

/** The request of an item, which this attempt or an earlier one has sent, and what came of it. */
export class GenerationRecord {
	readonly request: GenerationRequest;
	private isSent = false;
	/** 'accepted' once the service has said that it has begun, so that it is charged. */
	private state: 'sent' | 'accepted' = 'sent';
	/** What the attempt met that sent it and got no clear answer. */
	private indeterminateBecause: string | undefined;
	/** Its stream was lost: what the history lacks may still come. */
	private isLost = false;

	constructor(
		private readonly item: ItemContext,
		private readonly entry: JournalEntry,
		private readonly order: GenerationOrder,
	) {
		const { previous } = entry;
		if (previous && 'request' in previous && previous.request) {
			this.isSent = true;
			({ state: this.state, indeterminateBecause: this.indeterminateBecause } = previous);
			this.request = previous.request;
			if (this.request.files.length > 0) {
				item.report.hint(entry.collectedHint);
			}
			return;
		}
		const { generation, prompt, requestedCount, aspectRatio } = order;
		const { makes: kind, withImages } = generation;
		this.request = newRequest({
			...{ prompt: prompt.trim(), kind, aspectRatio, requestedCount, withImages },
			...{ creator: creatorOf(item.context), sentAt: 0 },
		});
	}

	/** What an earlier attempt has heard, if it has sent the request. */
	get previousResult(): StreamResult | undefined {
		if (!this.isSent) return undefined;
		const { files, reason } = this.request;
		const text = this.indeterminateBecause;
		const isIndeterminate = reason === undefined && text !== undefined;
		const failure = isIndeterminate ? new Failure('indeterminate', { text }) : undefined;
		const interruptedBecause = text ?? 'an earlier attempt of this node lost the stream';
		return { files, interruptedBecause, reason, failure };
	}

	/** Right before each create call. */
	markSent(): void {
		this.isSent = true;
		this.request.sentAt = Date.now();
		this.requests.add(this.request);
		this.entry.setSent({ state: 'sent', request: this.request });
		this.item.report.progress(`requesting the ${this.kind}`);
	}

	/** The service has surely not accepted the call. */
	markRefused(): void {
		this.isSent = false;
		this.requests.remove(this.request);
		this.entry.setNotAccepted();
	}

	showProgress(status: string, id?: string): void {
		this.receive({ files: this.request.files }, id);
		this.item.report.progress(`${this.kind} ${status}`);
	}

	/** Only some files have come, or none. */
	markIncomplete({ files, interruptedBecause, reason, isEmpty }: StreamResult): void {
		const { requests, item } = this;
		const isEnded = interruptedBecause === undefined;
		const searchMs = isEnded ? 0 : isEmpty ? EMPTY_MS : undefined;
		const known = { reason, searchUntil: searchEnd(this.request, searchMs) };
		if (files.length > 0) this.receive({ files, ...known });
		else this.update(known);
		// What this node asked for and got for its other items, also in earlier attempts, is no other's.
		const [account] = item.payments.key.split('/', 1);
		for (const [key, previous] of Object.entries(item.payments.journal.entries)) {
			if (key.startsWith(account!) && 'request' in previous && previous.request)
				requests.restore(previous.request);
		}
		if (isEnded) return;
		this.isLost = true;
		item.report.log(`${interruptedBecause}; looking for the ${this.kind} in the history`);
		item.report.hint(
			'The service stopped reporting. The result was looked up in the history. It was not requested a second time',
		);
	}

	/** Its files are there, as many as asked for or fewer. */
	markMade(files: GeneratedFile[]): void {
		const { requestedCount } = this.order;
		this.receive({ files, ...(!this.isLost && endOf(this.request, files)) });
		// The others need only what the files are recognised by, and one within an answer may be large.
		const marked = files.map(({ id, fileUrl }) => {
			return { id, fileUrl: fileUrl.replace(/^data:.*/s, 'data:'), raw: {} };
		});
		this.requests.add({ ...this.request, files: marked });
		if (files.length < requestedCount) {
			const hint = this.isLost
				? `Found ${files.length} of ${requestedCount} files: reporting stopped. The others are charged and may still come: see History → Get Many`
				: 'The service generated fewer files than requested';
			const { reason } = this.request;
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
		if (!this.isSent || !mayStillCome) {
			// The next attempt has to ask for it again.
			Object.assign(request, endOf(request, request.files));
			this.entry.delete();
			return error;
		}
		const isUnlikely = isFailure(error, 'unavailable', 'foreignServer');
		const isUnclear = this.state === 'sent';
		if (isUnclear && !this.isLost) this.indeterminateBecause = describeAttempt(error);
		this.update({ searchUntil: searchEnd(request, isUnlikely ? UNLIKELY_MS : undefined) });
		return withDefaultFacts(error, {
			ids: request.announcedIds,
			mayBeCharged: isUnclear || undefined,
		});
	}

	/** The service has told something: it has begun, so it is charged. */
	private receive(
		change: Partial<GenerationRequest> & { files: GeneratedFile[] },
		newId?: string,
	): void {
		const { announcedIds } = this.request;
		const all = [...announcedIds, newId, ...change.files.map(({ id }) => id)];
		const ids = [...new Set(all.filter((id) => id !== undefined))].slice(0, MAX_FILES);
		if (this.state === 'sent') {
			const facts = ids.length > 0 && { ids: ids.join() };
			this.item.report.recordPayment({ kind: this.kind, ...facts });
		}
		this.state = 'accepted';
		this.update({ ...change, announcedIds: ids });
	}

	/** Every change is kept for the next attempt. The request is the one that all who search know. */
	private update(change: Partial<GenerationRequest>): void {
		Object.assign(this.request, change);
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
