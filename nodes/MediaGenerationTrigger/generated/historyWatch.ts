import type { IDataObject } from 'n8n-workflow';
import { MAX_PAGE_SIZE } from '../../shared/api/pagination';
import { passes } from '../../shared/api/tokenCheck';
import { sleep, withDeadline } from '../../shared/async/deadline';
import { Failure, isFailure } from '../../shared/failure';
import { fetchEntryFiles } from '../../shared/generation/entryFiles';
import type { HistoryEntry } from '../../shared/generation/historyEntries';
import { wordingOf } from '../../shared/n8n/messages';
import { readReason, saysNothing } from '../../shared/parsing/errors';
import type { Activation } from '../activation/activation';
import { ExecutionQueue } from '../activation/executionQueue';
import type { EntryStore, MarkedEntry } from './entryStore';
import { lookInto } from './look';

/** How long an activation waits for the first look, in ms; it is made again later. */
const FIRST_LOOK_MS = 20_000;
/** How often, at least, the newest entry is looked for while a person waits for it, in ms. */
const BY_HAND_MS = 10_000;

/** The time between the events of two entries, in ms. */
const APART_MS = 100;

/** Reads the history of an account every so often, and emits what is new in it. */
export class HistoryWatch {
	private isInTrouble = false;
	private readonly executionQueue: ExecutionQueue;

	constructor(
		private readonly activation: Activation,
		readonly store: EntryStore,
	) {
		this.executionQueue = new ExecutionQueue(activation, store);
	}

	/**
	 * Notes what is there at first, or catches up with what came since the last time; then goes on by
	 * itself. Throws a Failure when it makes no sense to go on.
	 */
	async start(): Promise<void> {
		const { closing } = this.activation;
		const look = async (signal: AbortSignal) => await this.look(signal);
		await withDeadline(FIRST_LOOK_MS, closing, look)
			.catch((error: unknown) => this.refuse(error))
			// Where nobody is told of the failure, as after a restart, it goes on trying.
			.finally(() => void this.goOn());
	}

	private get intervalMs(): number {
		const { isManual, settings } = this.activation;
		return isManual ? Math.min(BY_HAND_MS, settings.checkIntervalMs) : settings.checkIntervalMs;
	}

	private async goOn(): Promise<void> {
		const { closing } = this.activation;
		for (;;) {
			await sleep(this.intervalMs, closing);
			if (closing.aborted) return;
			await this.look(closing).then(
				() => (this.isInTrouble = false),
				(error: unknown) => this.report(error),
			);
		}
	}

	/** Reads as much of the history as there may be news in, and has it emitted. */
	private async look(signal: AbortSignal): Promise<void> {
		const { store, activation } = this;
		const { api, closing, isManual, settings } = activation;
		const { seen, floor } = await lookInto(store, api.credential.baseUrl, async (page) => {
			await api.pace.turns.watch(signal);
			return await api.listHistory({ page, page_size: MAX_PAGE_SIZE }, signal);
		});
		if (closing.aborted) return;
		const ended = store.remember(seen, floor);
		// By hand the newest entry is shown, whatever was there before.
		const isShown = isManual && floor !== undefined;
		if (isShown) ended.push(...seen.filter(({ files }) => files.length > 0).slice(-1));
		const isWanted = ({ failed }: MarkedEntry) => !failed || settings.events.has('failed');
		for (const { mark } of ended.filter((entry) => !isWanted(entry))) store.markOver(mark);
		store.save();
		void this.emitInOrder(ended.filter(isWanted));
	}

	/** Oldest first; n8n may store executions that begin at the same time in another order. */
	private async emitInOrder(entries: MarkedEntry[]): Promise<void> {
		for (const entry of entries) {
			this.emit(entry);
			await sleep(APART_MS, this.activation.closing);
		}
	}

	private emit(entry: MarkedEntry): void {
		const { context, api, settings } = this.activation;
		const { mark, marks, failed } = entry;
		const fetchFiles = async (signal: AbortSignal) =>
			await fetchEntryFiles(context, api.credential, entry, settings.outputField, signal);
		void this.executionQueue.add({
			about: mark,
			name: failed ? 'generation failed' : 'generated',
			isProgress: false,
			names: marks,
			json: eventOf(entry),
			fetchFiles: settings.download && !failed ? fetchFiles : undefined,
		});
	}

	/** Throws what a person has to mend; the rest passes. */
	private refuse(trouble: unknown): void {
		const { isManual } = this.activation;
		const isAbsent = isFailure(trouble, 'notFound') && !trouble.facts.isEdge;
		if (isAbsent && !this.store.isOfAccount) {
			throw new Failure('noHistory', { status: trouble.facts.status });
		}
		if (isManual || !(passes(trouble) || isFailure(trouble, 'notFound'))) throw trouble;
		this.report(trouble);
	}

	/** Writes one line to the log until a look has gone well again. */
	private report(trouble: unknown): void {
		const { closing, warn, onFatal } = this.activation;
		if (closing.aborted) return;
		const failure = trouble instanceof Failure ? trouble : new Failure('noAnswer');
		if (failure.kind === 'tokenRefused') return onFatal(failure);
		if (this.isInTrouble) return;
		this.isInTrouble = true;
		const { message } = wordingOf(failure);
		warn(`the history can't be read, trying again every ${this.intervalMs / 1000} s: ${message}`);
	}
}

/** The event of an entry that has its file, or has failed. */
function eventOf({ record, id, files, failed }: HistoryEntry): IDataObject {
	const named = id === undefined ? record : { ...record, id };
	if (failed) {
		const error = readReason(record) ?? 'The service gave no reason';
		return { ...named, event: 'failed', error } as IDataObject;
	}
	const event = { ...named, event: 'generated', file_url: files[0]!.fileUrl } as IDataObject;
	// In an event, an `error` says that the file could not be fetched.
	if (saysNothing(record.error)) delete event.error;
	return event;
}
