import type { IDataObject } from 'n8n-workflow';
import type { HistoryEntry } from '../../shared/generation/historyEntries';
import { readReason, saysNothing } from '../../shared/parsing/errors';

/** The event of an entry that has its file, or has failed. */
export function eventOf({ record, id, files, failed }: HistoryEntry): IDataObject {
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
