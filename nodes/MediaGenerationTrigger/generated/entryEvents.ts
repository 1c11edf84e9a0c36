import type { IDataObject } from 'n8n-workflow';
import { sleep } from '../../shared/async/deadline';
import { fetchEntryFiles } from '../../shared/generation/entryFiles';
import type { HistoryEntry } from '../../shared/generation/historyEntries';
import { readReason, saysNothing } from '../../shared/parsing/errors';
import type { Activation } from '../activation/activation';
import type { EntryStore, Found } from './entryStore';

/**
 * How long the next event waits for the end of an execution, in ms: n8n may store executions that begin
 * at the same time in another order.
 */
const PAUSE_MS = 1000;

/** Makes events of entries of the history, and hands them to the queue: files together, events in order. */
export class EntryEvents {
	/** Resolves when the last one was emitted and the next may follow, or when it will not be emitted. */
	private before: Promise<void> = Promise.resolve();

	constructor(
		private readonly activation: Activation,
		private readonly entryStore: EntryStore,
	) {}

	/** An entry has its file, or has failed. */
	emit({ mark, entry }: Found): void {
		const { activation, entryStore } = this;
		const { context, api, settings, executionQueue, closing } = activation;
		const fetchFiles = async (signal: AbortSignal) =>
			await fetchEntryFiles(context, api.credential, entry, settings.outputField, signal);
		let passOn = () => {};
		const emitted = new Promise<void>((resolve) => (passOn = resolve));
		const over = executionQueue.add({
			about: entry.id ?? mark,
			name: entry.failed ? 'generation failed' : 'generated',
			isProgress: false,
			key: mark,
			store: entryStore,
			isWanted: async () => entryStore.isOpen(mark) && !(await activation.isOwnWork(entry.marks)),
			json: eventOf(entry),
			fetchFiles: settings.download && !entry.failed ? fetchFiles : undefined,
			after: this.before,
			begin: (ended) => void Promise.race([ended, sleep(PAUSE_MS, closing)]).then(passOn),
		});
		this.before = Promise.race([emitted, over]);
	}
}

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
