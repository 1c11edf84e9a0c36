import type { GeneratedFile } from '../../shared/contract';
import { Failure, isFailure, withDefaultFacts } from '../../shared/failure';
import { MAX_FILES } from '../../shared/limits';
import {
	finalFields,
	ledgerOf,
	type MediaRequest,
	newRequest,
	searchEnd,
} from '../../shared/generation/requestLedger';
import type { StreamResult } from '../../shared/parsing/generationEvents';
import { describeFailedAttempt, type JournalEntry } from '../paid/journal';
import { digestOf } from '../paid/idempotencyKey';
import { type GenerationOrder, hasHiddenInputs } from './generationOrder';
import type { ItemContext } from './operation';

/**
 * How long the result of a create call is searched for, in ms, if the service most likely generates nothing:
 *
 * - `notAccepted`: after words of refusal, a server error or a response of another server, it most likely did not accept
 *   the call. The history is read at once and once more, because it may list a result some seconds late.
 * - `emptyList`: it has ended the stream with an empty list, so it has most likely filtered the content.
 */
const SEARCH_MS = { notAccepted: 10_000, emptyList: 60_000 };

/**
 * The state of the create call of one generation. It is written to the journal for the next attempt. The request is
 * also in the account's request ledger, so that a search in the history does not give one file to two requests.
 */
export class GenerationCall {
	/** The request that this attempt or an earlier one has sent, or that may be sent. */
	readonly request: MediaRequest;
	/** Undefined until the call is sent; `accepted` once the service has begun to generate, so that it is charged. */
	private state: 'sent' | 'accepted' | undefined;
	/** Why the first attempt has failed, in words. */
	private firstFailure: string | undefined;
	/** True if the stream ended too early. Missing files may then still appear in the history. */
	private isStreamLost = false;

	constructor(
		private readonly item: ItemContext,
		private readonly entry: JournalEntry,
		private readonly order: GenerationOrder,
	) {
		const { value: previous } = entry;
		if (previous && 'request' in previous) {
			({ state: this.state, firstFailure: this.firstFailure } = previous);
			this.request = previous.request;
			// An entry of an earlier version may not tell this.
			this.request.hasHiddenInputs ??= hasHiddenInputs(order);
			return;
		}
		const prompt = order.fields.prompt?.trim() ?? '';
		// The number of files is left out of the digest. Two requests that differ only in this number can swap their
		// files.
		const content = { ...order.fields, prompt, number_of_videos: undefined };
		this.request = newRequest({
			accountKey: item.credential.accountKey,
			prompt,
			kind: this.kind,
			aspectRatio: order.fields.aspect_ratio,
			contentDigest: digestOf(order.generation.path, content),
			hasHiddenInputs: hasHiddenInputs(order),
			requestedCount: this.orderedCount,
			creator: item.creator,
			sentAt: Date.now(),
		});
	}

	/**
	 * Returns what earlier attempts have written to the journal, as if it were the result of a stream. If that includes
	 * files, shows a hint. Returns undefined if no earlier attempt has sent the request.
	 */
	readPreviousResult(): StreamResult | undefined {
		if (!this.state) return undefined;
		const { accountKey, files, reason, failedIds } = this.request;
		if (files.length > 0) this.item.report.hint(this.entry.collectedHint);
		const isOwn = accountKey === this.item.credential.accountKey;
		const tokenReason = !isOwn && 'it was requested with another token';
		const interruption = [tokenReason, this.firstFailure].filter(Boolean).join('; ');
		let failure: Failure | undefined;
		if (reason !== undefined) failure = new Failure('generationFailed', { reason });
		else if (this.state === 'sent' && this.firstFailure !== undefined)
			failure = new Failure('indeterminate', { reason: interruption });
		const interruptionReason = interruption || 'an earlier attempt ended without a result';
		return { files, interruptionReason, reason, failedIds, failure };
	}

	/**
	 * Writes to journal and ledger that the call was sent. Call it right before each attempt to send: from then
	 * on the service may have accepted the call.
	 */
	markSent(): void {
		this.state = 'sent';
		this.request.sentAt = Date.now();
		this.ledger.add(this.request);
		this.entry.setSent({ state: 'sent', request: this.request });
		this.item.report.progress(`requesting the ${this.kind}`);
	}

	/** Undoes `markSent`. Call it only when the service has surely not accepted the call. */
	markNotAccepted(): void {
		this.state = undefined;
		this.ledger.remove(this.request);
		this.entry.setNotAccepted();
	}

	/**
	 * Shows a status that the service has sent, and writes to the journal that the service has accepted the call. `id`
	 * is that of the file that the status is about, if known, and `files` are those that have arrived.
	 */
	markProgress(status: string, files: GeneratedFile[], id?: string): void {
		this.writeAccepted({ files }, id);
		this.item.report.progress(`${this.kind} ${status}`);
	}

	/**
	 * Writes to the journal which files have arrived and which have failed. Call it when the stream has ended with fewer
	 * files than requested.
	 */
	writeResult({ files, reason, failure, failedIds }: StreamResult): void {
		// Without a failure and without a file, the reason is about one of several files. It is not kept, because the
		// others may still come.
		const isFinal = failure !== undefined || files.length > 0;
		const knownFields = { reason: isFinal ? reason : undefined, failedIds };
		if (files.length > 0) this.writeAccepted({ files, ...knownFields });
		else this.updateRequest(knownFields);
	}

	/**
	 * Prepares the search for the missing files in the history: does what `writeResult` does, and writes to the journal
	 * until when to search.
	 */
	markIncomplete(result: StreamResult): void {
		const { files, interruptionReason, refusal } = result;
		const { ledger, item } = this;
		const hasEndedNormally = interruptionReason === undefined;
		const searchMs = hasEndedNormally ? 0 : refusal && SEARCH_MS[refusal];
		this.request.searchUntil = searchEnd(this.request, searchMs);
		this.writeResult(result);
		// The ledger also needs the other requests of this node. Otherwise the search could give one of their files to
		// this request.
		for (const request of this.entry.requestsOfAccount) ledger.restore(request);
		if (hasEndedNormally) return;
		this.isStreamLost = true;
		item.report.log(`${interruptionReason}; looking for the ${this.kind} in the history`);
		const subject = files.length > 0 ? 'Part of the result' : 'The result';
		item.report.hint(
			`${subject} did not arrive, so the node searched the history instead of requesting it again`,
		);
	}

	/** Writes the final `files` to journal and ledger. If some are missing, shows hints about them. */
	markFinished(files: GeneratedFile[]): void {
		const finalChange = this.isStreamLost ? {} : finalFields(this.request, files);
		this.writeAccepted({ files, ...finalChange });
		// A data: URL contains the whole file, which the ledger does not need.
		const ledgerFiles = files.map(({ id, fileUrl }) => {
			return { id, fileUrl: fileUrl.replace(/^data:.*/s, 'data:'), raw: {} };
		});
		const attributableCount = this.orderedCount;
		this.ledger.addFinished({ ...this.request, attributableCount, files: ledgerFiles });
		if (files.length < this.orderedCount) this.hintAtMissingFiles(files);
		this.item.report.log(`${this.kind} done`);
	}

	/** Shows hints about the files that were requested but are not among `files`. */
	private hintAtMissingFiles(files: GeneratedFile[]): void {
		const { orderedCount } = this;
		const { announcedIds, failedIds, reason } = this.request;
		const { report } = this.item;
		const arrivedIds = files.map(({ id }) => id);
		const missingIds = announcedIds.filter((id) => !arrivedIds.includes(id));
		const idsSuffix = missingIds.length > 0 ? ` (known IDs: ${missingIds.join(', ')})` : '';
		const mayMoreArrive = this.isStreamLost && files.length + failedIds.length < orderedCount;
		report.hint(
			mayMoreArrive
				? `Found only ${files.length} of ${orderedCount} files. The rest may have been charged, too, and may still appear in History → Get Many${idsSuffix}`
				: 'The service generated fewer files than requested',
		);
		if (reason) report.hint(`Reason for the missing files: ${reason}`);
	}

	/**
	 * Call this when there is no file to return. Returns the error to throw, which is `cause` with more facts. If no
	 * result can come any more, deletes the journal's entry, so that the next attempt sends the request again.
	 */
	markFailed(cause: unknown): unknown {
		const { request } = this;
		const error = withDefaultFacts(cause, { mediaKind: this.kind });
		const mayStillCome =
			!(error instanceof Failure) ||
			error.facts.mayBeCharged ||
			isFailure(error, 'streamLost', 'indeterminate');
		if (!this.state || !mayStillCome) {
			Object.assign(request, finalFields(request, request.files));
			this.entry.deleteEverywhere();
			return error;
		}
		const isProbablyNotAccepted = isFailure(error, 'unavailable', 'foreignServer');
		this.firstFailure ??= describeFailedAttempt(error);
		this.updateRequest({
			searchUntil: searchEnd(request, isProbablyNotAccepted ? SEARCH_MS.notAccepted : undefined),
		});
		return withDefaultFacts(error, {
			announcedIds: request.announcedIds,
			mayBeCharged: this.state === 'sent' || undefined,
		});
	}

	/**
	 * Writes `change` to the journal, and that the service has begun to generate. The first time, logs the charge.
	 * `newId` is an id that the service has just announced.
	 */
	private writeAccepted(
		change: Partial<MediaRequest> & { files: GeneratedFile[] },
		newId?: string,
	): void {
		const ids = [...this.request.announcedIds, newId, ...change.files.map(({ id }) => id)];
		const uniqueIds = new Set(ids.filter((id) => id !== undefined));
		const announcedIds = [...uniqueIds].slice(0, MAX_FILES);
		if (this.state === 'sent') {
			this.item.report.logCharge(
				this.kind,
				announcedIds.length > 0 ? { ids: announcedIds.join() } : {},
			);
		}
		this.state = 'accepted';
		this.updateRequest({ ...change, announcedIds });
	}

	/** Changes the request, which this attempt or an earlier one has sent, and writes it to the journal. */
	private updateRequest(change: Partial<MediaRequest>): void {
		Object.assign(this.request, change);
		const { state, firstFailure, request } = this;
		this.entry.write({ state: state!, firstFailure, request });
	}

	/** How many files the order requests. */
	get orderedCount(): number {
		return this.order.fields.number_of_videos ?? 1;
	}

	private get kind() {
		return this.order.generation.kind;
	}

	private get ledger() {
		return ledgerOf(this.item.credential);
	}
}
