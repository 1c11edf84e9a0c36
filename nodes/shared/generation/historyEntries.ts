import type { GeneratedFile, ServiceRecord } from '../contract';
import { asText, asTime } from '../parsing/values';
import { isFailureWord, saysWhy } from '../parsing/errors';
import { idOf, identifiersOf, readGeneratedFiles } from '../parsing/responses';

/** An entry of the history (§2.3), and how it is recognised. Pure. */
export interface HistoryEntry {
	record: ServiceRecord;
	id?: string;
	/** Trimmed; '' when it has none. */
	prompt: string;
	/** In ms since 1970 by the service's clock; NaN if unknown. */
	createdAt: number;
	files: GeneratedFile[];
	/** The service says that it failed. */
	failed: boolean;
	/** Its id and addresses. */
	identifiers: string[];
}

/** The number of files that entries hold or will hold. */
export const countFiles = (entries: HistoryEntry[]): number =>
	entries.reduce((sum, { files }) => sum + Math.max(1, files.length), 0);

/** Whether `entry` has one of `identifiers`. */
export const hasOneOf = (entry: HistoryEntry, identifiers: ReadonlySet<string>): boolean =>
	entry.identifiers.some((identifier) => identifiers.has(identifier));

/** `history`, newest first, as entries, its last in front; `baseUrl` resolves relative addresses. */
export function readHistory(history: ServiceRecord[], baseUrl: string): HistoryEntry[] {
	const entries = history.map((record): HistoryEntry => {
		const files = readGeneratedFiles(record, baseUrl);
		const id = idOf(record);
		return {
			record,
			id,
			prompt: asText(record.prompt) ?? '',
			createdAt: asTime(record.created_at),
			files,
			failed: files.length === 0 && (isFailureWord(record.status) || saysWhy(record)),
			identifiers: [...(id === undefined ? [] : [id]), ...identifiersOf(files)],
		};
	});
	return entries.reverse();
}

/** Sorts entries: the oldest first, those of one second in their order, those without a time last. */
export function oldestFirst<Entry extends HistoryEntry>(entries: Entry[]): Entry[] {
	const time = ({ createdAt }: HistoryEntry) => (Number.isNaN(createdAt) ? Infinity : createdAt);
	return entries.sort((a, b) => time(a) - time(b));
}
