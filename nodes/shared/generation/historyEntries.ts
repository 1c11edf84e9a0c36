import type { ServiceRecord } from '../contract';
import { asId, asText, asTime } from '../parsing/values';
import { isFailedGeneration, statesFinalReason } from '../parsing/errors';
import { idOf, pathIdentifiersOf, readGeneratedFiles } from '../parsing/responses';

/** An entry of the history (§2.3), with the ids and URLs that identify it. */
export type HistoryEntry = ReturnType<typeof toHistoryEntries>[number];

/**
 * Returns how many files the entries have. An entry without a file counts as one, because its file may still come, or
 * has failed.
 */
export const countFiles = (entries: HistoryEntry[]): number =>
	entries.reduce((sum, { files }) => sum + Math.max(1, files.length), 0);

/**
 * Converts the records of the history, newest first, to entries, oldest first. Relative URLs are resolved against
 * `baseUrl`. Pure.
 */
export function toHistoryEntries(history: ServiceRecord[], baseUrl: string) {
	const filesByIndex = history.map((record) => readGeneratedFiles(record, baseUrl));
	const entryCountByPath = new Map<string, number>();
	for (const files of filesByIndex) {
		for (const path of new Set(files.flatMap(({ fileUrl }) => pathIdentifiersOf(fileUrl))))
			entryCountByPath.set(path, (entryCountByPath.get(path) ?? 0) + 1);
	}
	// If several entries have the same path, only the queries tell their files apart.
	const uniquePathsOf = (fileUrl: string) =>
		pathIdentifiersOf(fileUrl).filter((path) => entryCountByPath.get(path) === 1);
	const entries = history.map((record, index) => {
		const files = filesByIndex[index]!;
		const id = idOf(record);
		return {
			/** The JSON object of the entry, as the service sent it. */
			record,
			id,
			/** The prompt without surrounding white space; '' if there is none. */
			prompt: asText(record.prompt) ?? '',
			/**
			 * When the entry was created, in ms since 1970; NaN if unknown. The time is by our clock if the entry comes from
			 * `readHistorySince`, otherwise by the service's clock.
			 */
			createdAt: asTime(record.created_at),
			files,
			/** True if the entry has no file, and the service says that the generation has failed. */
			hasFailed: files.length === 0 && (isFailedGeneration(record) || statesFinalReason(record)),
			/** The ids and URLs of the entry and its files. */
			identifiers: [
				id,
				asId(record.task_id),
				...files.flatMap((file) => [file.id, file.fileUrl, ...uniquePathsOf(file.fileUrl)]),
			].filter((identifier) => identifier !== undefined),
		};
	});
	return entries.reverse();
}

/** Sorts `entries` in place, oldest first, and returns them; entries without a time come last. */
export function sortOldestFirst<Entry extends HistoryEntry>(entries: Entry[]): Entry[] {
	const timeOf = ({ createdAt }: HistoryEntry) => (Number.isNaN(createdAt) ? Infinity : createdAt);
	return entries.sort((a, b) => timeOf(a) - timeOf(b));
}
