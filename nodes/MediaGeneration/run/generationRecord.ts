import { randomUUID } from 'node:crypto';
import type { GeneratedFile, Generation, SentRequest } from '../../shared/contract';
import { Failure, isFailure, withFacts } from '../../shared/failure';
import { MAX_FILES } from '../../shared/limits';
import { creatorOf } from '../../shared/n8n/ownWork';
import { markEnded, markLost, requestsOf } from '../../shared/generation/sentRequests';
import { encounterOf, type PaidRecord } from '../paid/payments';
import type { Work } from './work';

/** What is asked for. */
export interface GenerationOrder {
	generation: Generation;
	/** As sent, '' when none is; the history is searched by it. */
	prompt: string;
	/** Files asked for. */
	expected: number;
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
	request: SentRequest | undefined;
	/** What the attempt met that sent it and got no clear answer. */
	why: string | undefined;
	/** Once the service has said that it has begun. */
	private state: 'sent' | 'accepted' = 'sent';
	/** Its stream was lost: what the history lacks may still come. */
	private isLost = false;

	constructor(
		private readonly work: Work,
		private readonly paid: PaidRecord,
		private readonly order: GenerationOrder,
	) {
		const { left } = paid;
		if (!left || 'taskId' in left) return;
		({ state: this.state, why: this.why, asked: this.request } = left);
		if (this.request?.files.length) {
			work.report.hint('Returned the result of an earlier attempt, at no extra charge');
		}
	}

	/** Right before each create call. */
	markSent(): void {
		const { generation, prompt, expected, aspectRatio } = this.order;
		const { makes: kind, withImages } = generation;
		const sentAt = Date.now();
		const asked = { prompt: prompt.trim(), kind, aspectRatio, expected, withImages, sentAt };
		const creator = creatorOf(this.work.context);
		const request = { ...asked, creator, key: randomUUID(), told: [], files: [] };
		this.request = request;
		this.requests.remember(request);
		this.paid.markSent({ state: 'sent', asked: request });
		this.work.report.progress(`requesting the ${kind}`);
	}

	/** The service has surely not accepted the call. */
	markRefused(): void {
		this.requests.drop(this.request!);
		this.paid.markRefused();
	}

	showProgress(status: string, id?: string): void {
		this.receive(this.request!.files, id);
		this.work.report.progress(`${this.kind} ${status}`);
	}

	/** Only `files` have come; what `cut` the stream, unless the service has ended it, perhaps with none. */
	markIncomplete(files: GeneratedFile[], cut: string | undefined, isEmpty = false): void {
		const { request, requests, work } = this;
		markLost(request!, cut === undefined ? 0 : isEmpty ? EMPTY_MS : undefined);
		if (files.length > 0) this.receive(files);
		// What this node asked for and got for its other items, also in earlier attempts, is no other's.
		const [account] = work.paid.key.split('/', 1);
		for (const [key, left] of Object.entries(work.paid.log.entries)) {
			if (key.startsWith(account!) && 'asked' in left && left.asked) requests.recall(left.asked);
		}
		if (cut === undefined) return;
		this.isLost = true;
		work.report.milestone(`${cut}; looking for the ${this.kind} in the history`);
		work.report.hint(
			'The service stopped reporting. The result was looked up in the history. It was not requested a second time',
		);
	}

	/** Its files are there, as many as asked for or fewer. */
	markMade(files: GeneratedFile[]): void {
		const { expected } = this.order;
		this.receive(files);
		if (!this.isLost) markEnded(this.request!);
		this.keepState();
		// The others need only what the files are recognised by, and one within an answer may be large.
		const marked = files.map(({ id, fileUrl }) => {
			return { id, fileUrl: fileUrl.replace(/^data:.*/s, 'data:'), fields: {} };
		});
		this.requests.remember({ ...this.request!, files: marked });
		if (files.length < expected) {
			const hint = this.isLost
				? `Found ${files.length} of ${expected} files: reporting stopped. The others are charged and may still come: see History → Get Many`
				: 'The service generated fewer files than requested';
			const { reason } = this.request!;
			this.work.report.hint(hint);
			if (reason) this.work.report.hint(`Why some were not generated: ${reason}`);
		}
		this.work.report.milestone(`${this.kind} done`);
	}

	/** It has failed with `error`; returns that with what is known of the generation. */
	markFailed(error: unknown): unknown {
		const { request } = this;
		const mayStillCome =
			!(error instanceof Failure) ||
			error.facts.maybeAccepted ||
			isFailure(error, 'streamLost', 'unclear');
		if (!request || !mayStillCome) {
			// The next attempt has to ask for it again.
			if (request) markEnded(request);
			this.paid.forget();
			return error;
		}
		const isUnlikely = isFailure(error, 'unavailable', 'notTheService');
		markLost(request, isUnlikely ? UNLIKELY_MS : undefined);
		const isUnclear = this.state === 'sent';
		if (isUnclear && !this.isLost) this.why = encounterOf(error);
		this.keepState();
		return withFacts(error, { ids: request.told, maybeAccepted: isUnclear || undefined });
	}

	/** Keeps what the service has told: it has begun, so it is paid. */
	private receive(files: GeneratedFile[], ...ids: Array<string | undefined>): void {
		const request = this.request!;
		request.files = files;
		ids.push(...files.map(({ id }) => id));
		const told = new Set([...request.told, ...ids].filter((id) => id !== undefined));
		request.told = [...told].slice(0, MAX_FILES);
		if (this.state === 'sent') {
			const facts = told.size > 0 && { ids: request.told.join() };
			this.work.report.recordPayment({ kind: this.kind, ...facts });
		}
		this.state = 'accepted';
		this.keepState();
	}

	private keepState(): void {
		const { state, why, request } = this;
		this.paid.keep({ state, why, asked: request });
	}

	private get kind() {
		return this.order.generation.makes;
	}

	private get requests() {
		return requestsOf(this.work.credential);
	}
}
