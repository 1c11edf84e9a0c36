import type { IDataObject } from 'n8n-workflow';
import { MAX_PAGE_SIZE } from '../../shared/api/pagination';
import { isTemporary } from '../../shared/api/tokenCheck';
import { sleep, monotonicNow, withDeadline } from '../../shared/async/deadline';
import { RECENT_MS } from '../../shared/async/sharedReadings';
import { errorKindOf, Failure, isFailure } from '../../shared/failure';
import { fetchEntryFiles } from '../../shared/generation/entryFiles';
import type { HistoryEntry } from '../../shared/generation/historyEntries';
import { wordingOf } from '../../shared/n8n/messages';
import { failureOfAnswer, saysNothing } from '../../shared/parsing/errors';
import { withTypes } from '../../shared/parsing/responses';
import type { Activation } from '../activation/activation';
import { ExecutionQueue } from '../activation/executionQueue';
import { newEntries, readListed, type HistoryStore, type FingerprintedEntry } from './newEntries';

/** How long an activation waits for the first look, in ms; it is made again later. */
const FIRST_POLL_MS = 20_000;

/** The time between the events of two entries, in ms. */
const EMISSION_SPACING_MS = 100;

/** Reads the history of an account every so often, and emits what is new in it. */
export class HistoryWatch {
	private isInTrouble = false;
	private readonly executionQueue: ExecutionQueue;

	constructor(
		private readonly activation: Activation,
		readonly store: HistoryStore,
	) {
		this.executionQueue = new ExecutionQueue(activation, store);
	}

	/**
	 * Notes what is there at first, or catches up with what came since the last time; then goes on by
	 * itself, also where it throws a Failure for what a person must mend.
	 */
	async start(): Promise<void> {
		const { closing, isManual } = this.activation;
		const look = async (signal: AbortSignal) => await this.poll(signal);
		await withDeadline(FIRST_POLL_MS, closing, look)
			.catch((trouble: unknown) => {
				if (isFailure(trouble, 'notFound')) {
					throw new Failure('noHistory', { status: trouble.facts.status });
				}
				if (isManual || !isTemporary(trouble)) throw trouble;
				this.report(trouble);
			})
			.finally(() => void this.pollLoop());
	}

	private async pollLoop(): Promise<void> {
		const { closing, settings } = this.activation;
		for (;;) {
			await sleep(settings.checkIntervalMs, closing);
			if (closing.aborted) return;
			await this.poll(closing).then(
				() => (this.isInTrouble = false),
				(error: unknown) => this.report(error),
			);
		}
	}

	/** Reads as much of the history as there may be news in, and has it emitted. */
	private async poll(signal: AbortSignal): Promise<void> {
		const { store } = this;
		const { api, closing, settings, isManual } = this.activation;
		const { readings, backgroundQueue } = api.throttle;
		const { accountKey, baseUrl } = api.credential;
		const began = monotonicNow();
		const read = async (page: number) => {
			// A later page from before the first one lacks what has moved on to it since.
			const since = page === 1 && !isManual ? began - RECENT_MS : began;
			const list = async (shared: AbortSignal) =>
				await api.listHistory({ page, page_size: MAX_PAGE_SIZE }, shared);
			return await readings.share(`history ${page}`, since, signal, list, backgroundQueue);
		};
		const listed = await readListed(read, store, baseUrl);
		// By hand the newest entry is shown, whatever was there before.
		const isShown = isManual && !store.cursor;
		const { ended, next } = newEntries(listed, store, accountKey);
		Object.assign(store, next);
		if (isShown) ended.push(...listed.filter(({ files }) => files.length > 0).slice(-1));
		if (closing.aborted) return;
		for (const entry of ended) {
			if (entry.failed && !settings.events.has('failed')) store.setState(entry.fingerprint, 'done');
			else this.emit(entry);
			// n8n may store executions that begin at the same time in another order.
			await sleep(EMISSION_SPACING_MS, closing);
		}
		store.save();
	}

	private emit(entry: FingerprintedEntry): void {
		const { context, api, settings } = this.activation;
		const { fingerprint, failed } = entry;
		const fetchFiles = async (signal: AbortSignal) =>
			await fetchEntryFiles(context, api.credential, entry, settings.outputField, signal);
		void this.executionQueue.add({
			eventId: fingerprint,
			name: failed ? 'generation failed' : 'generated',
			product: entry,
			json: eventOf(entry),
			fetchFiles: settings.download && !failed ? fetchFiles : undefined,
		});
	}

	/** Writes one line to the log until a look has gone well again. */
	private report(error: unknown): void {
		const { closing, settings, warn, onFatal } = this.activation;
		if (closing.aborted) return;
		const failure = error instanceof Failure ? error : new Failure('noResponse');
		if (failure.kind === 'tokenRefused') return onFatal(failure);
		if (this.isInTrouble) return;
		this.isInTrouble = true;
		const { message } = wordingOf(failure);
		const seconds = settings.checkIntervalMs / 1000;
		warn(`the history can't be read, trying again every ${seconds} s: ${message}`);
	}
}

/** The event of an entry that has its file, or has failed. */
function eventOf({ record, id, files, failed }: HistoryEntry): IDataObject {
	const named = withTypes(id === undefined ? record : { ...record, id });
	if (failed) {
		const { facts } = failureOfAnswer(record);
		const error = facts.text ?? 'The service gave no reason';
		const error_kind = errorKindOf(new Failure('generationFailed', facts));
		return { ...named, event: 'failed', error, error_kind } as IDataObject;
	}
	const event = { ...named, event: 'generated', file_url: files[0]!.fileUrl } as IDataObject;
	// In an event, an `error` says that the file could not be fetched.
	if (saysNothing(record.error)) delete event.error;
	return event;
}
