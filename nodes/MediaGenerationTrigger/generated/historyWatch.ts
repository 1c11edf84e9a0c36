import type { IDataObject } from 'n8n-workflow';
import { MAX_PAGE_SIZE } from '../../shared/api/pagination';
import { isTransientOrOutOfCredit } from '../../shared/api/tokenCheck';
import { sleep, monotonicNow, withDeadline } from '../../shared/async/deadline';
import { MAX_SHARED_READ_AGE_MS } from '../../shared/async/coalescedReads';
import { errorKindOf, Failure, toFailure, toNoResponse } from '../../shared/failure';
import { fetchEntryFiles } from '../../shared/generation/entryFiles';
import type { HistoryEntry } from '../../shared/generation/historyEntries';
import { wordingOf } from '../../shared/n8n/messages';
import { noteListedRequests } from '../../shared/n8n/requestCreator';
import type { EventKind } from '../../shared/n8n/triggerEvents';
import { failureOfAnswer, isEmptyError } from '../../shared/parsing/errors';
import type { Redactor } from '../../shared/parsing/redaction';
import type { Activation } from '../activation/activation';
import { ExecutionQueue } from '../activation/executionQueue';
import {
	findEndedEntries,
	readRecentEntries,
	type HistoryOutbox,
	type FingerprintedEntry,
} from './newEntries';

/** Time limit of the first poll, in ms. It is short, because publishing the workflow waits for that poll. */
const FIRST_POLL_TIMEOUT_MS = 20_000;

/** The pause between the events of two entries, in ms. */
const EMISSION_SPACING_MS = 100;

/** Polls the history of an account, and emits events about its new entries. */
export class HistoryWatch {
	/** True if the log contains a warning that polling has failed, and no poll has succeeded since. */
	private hasWarned = false;
	private readonly executionQueue: ExecutionQueue;

	constructor(
		private readonly activation: Activation,
		readonly outbox: HistoryOutbox,
	) {
		this.executionQueue = new ExecutionQueue(activation, outbox);
	}

	/**
	 * Polls once, and goes on polling in the background until the trigger is closed, even if the first poll fails. Call
	 * it once. Throws a Failure if the first poll fails for a reason that is not transient, or in a manual test for any
	 * reason.
	 */
	async start(): Promise<void> {
		const { closing, isManual } = this.activation;
		const firstPoll = async (signal: AbortSignal) => await this.poll(signal);
		await withDeadline(FIRST_POLL_TIMEOUT_MS, closing, firstPoll)
			.catch((reason: unknown) => {
				const error = toNoResponse(reason);
				if (isManual || !isTransientOrOutOfCredit(error)) throw error;
				this.reportFailure(error);
			})
			.finally(() => void this.pollLoop());
	}

	private async pollLoop(): Promise<void> {
		const { closing, settings } = this.activation;
		while (!closing.aborted) {
			// All triggers of this process poll at the same moments, so that they share the reads.
			const msSinceMoment = performance.now() % settings.checkIntervalMs;
			await sleep(Math.ceil(settings.checkIntervalMs - msSinceMoment), closing);
			await this.poll(closing).then(
				() => (this.hasWarned = false),
				(error: unknown) => this.reportFailure(error),
			);
		}
	}

	/** Reads the newest part of the history, and emits events about entries that have ended since the last poll. */
	private async poll(signal: AbortSignal): Promise<void> {
		const { outbox } = this;
		const { api, closing, settings, isManual } = this.activation;
		const { coalescedReads } = api;
		const { accountKey, baseUrl } = api.credential;
		const pollStartedAt = monotonicNow();
		const read = async (pageNumber: number) => {
			// Page 1 may be a recent read of another trigger. An older page 2 could miss what page 1 no longer has.
			const startedAfter = pollStartedAt - (pageNumber === 1 ? MAX_SHARED_READ_AGE_MS : 0);
			const fetchPage = async (sharedSignal: AbortSignal) =>
				await api.listHistory({ page: pageNumber, page_size: MAX_PAGE_SIZE }, sharedSignal);
			return await coalescedReads.share(`history ${pageNumber}`, startedAfter, signal, fetchPage);
		};
		const listedEntries = await readRecentEntries(read, outbox, baseUrl);
		// A manual test emits the newest entry with a file at once, although it is not new.
		const emitsNewest = isManual && !outbox.cursor;
		noteListedRequests(api.credential, listedEntries);
		const { endedEntries, nextState } = findEndedEntries(listedEntries, outbox, accountKey);
		Object.assign(outbox, nextState);
		if (emitsNewest)
			endedEntries.push(...listedEntries.filter(({ files }) => files.length > 0).slice(-1));
		for (const entry of endedEntries) {
			const event = entry.hasFailed ? 'failed' : 'generated';
			if (!settings.events.has(event)) outbox.setState(entry.fingerprint, 'done');
			else this.emit(entry, event);
			// Without this pause, n8n (2.41) starts some of the executions in another order.
			await sleep(EMISSION_SPACING_MS, closing);
		}
		outbox.save();
	}

	private emit(entry: FingerprintedEntry, event: EventKind): void {
		const { context, api, settings } = this.activation;
		const files = entry.files.filter(({ fileUrl }) => settings.wantsFile(fileUrl));
		const fetchFiles = async (signal: AbortSignal) =>
			await fetchEntryFiles(
				context,
				api.credential,
				{ ...entry, files },
				settings.fileField,
				signal,
			);
		void this.executionQueue.emitUntilStarted({
			outboxKey: entry.fingerprint,
			name: event,
			isFinal: true,
			subject: entry,
			json: eventOf(entry, api.credential.redact),
			fetchFiles: files.length > 0 ? fetchFiles : undefined,
		});
	}

	/** Passes a refused token to `onFatal`. Of other failures in a row, only the first is logged. */
	private reportFailure(error: unknown): void {
		const { closing, settings, warn, onFatal } = this.activation;
		if (closing.aborted) return;
		const failure = toFailure(error);
		if (failure.kind === 'tokenRefused') return onFatal(failure);
		if (this.hasWarned) return;
		this.hasWarned = true;
		const { message } = wordingOf(failure);
		const seconds = settings.checkIntervalMs / 1000;
		warn(`the history can't be read; trying again every ${seconds} s: ${message}`);
	}
}

/** Returns the json of an event about an entry that has a file, or has failed. */
function eventOf({ record, id, files, hasFailed }: HistoryEntry, redact: Redactor): IDataObject {
	if (hasFailed) {
		// The record is redacted before its reason is truncated, because a truncated token might not be recognized.
		const { facts } = failureOfAnswer(redact.value(record));
		const error = facts.reason ?? 'The service gave no reason';
		const error_kind = errorKindOf(new Failure('generationFailed', facts));
		return { ...record, id, event: 'failed', error, error_kind } as IDataObject;
	}
	const event = { ...record, id, event: 'generated', file_url: files[0]!.fileUrl } as IDataObject;
	// An `error` in this event means that a download has failed, so an empty one from the service is removed.
	if (isEmptyError(record.error)) delete event.error;
	return event;
}
