import type { GeneratedFile, ServiceRecord } from '../contract';
import { readGeneratedFiles } from '../parsing/responses';
import { isFailureWord } from '../parsing/errorText';
import { asId, asText, asTime, unsigned } from '../parsing/coerce';

/** An entry of the history (§2.3), and what it is known again by. Pure. */
export interface HistoryEntry {
	record: ServiceRecord;
	id?: string;
	/** Trimmed; '' when it has none. */
	prompt: string;
	/** Milliseconds since 1970 by the service's clock; NaN when it does not say. */
	createdAt: number;
	files: GeneratedFile[];
	/** It has come to nothing. */
	failed: boolean;
	/** Its place in the history, 0 first. */
	place: number;
}

/** What files are known by: identifiers and addresses, also without their signatures. */
export const marksOf = (files: GeneratedFile[]): string[] =>
	files
		.flatMap(({ id, fileUrl }) => [id, fileUrl, unsigned(fileUrl)])
		.filter((mark) => mark !== undefined);

/** Where an entry of the history stands: its files once there are some. */
export function entryState(
	entry: ServiceRecord,
	baseUrl: string,
): { files: GeneratedFile[]; failed: boolean } {
	const files = readGeneratedFiles(entry, baseUrl);
	return { files, failed: files.length === 0 && isFailureWord(entry.status) };
}

/** Files that entries hold or will hold. */
export const countFiles = (entries: HistoryEntry[]): number =>
	entries.reduce((sum, { files }) => sum + Math.max(1, files.length), 0);

/** Reads entries once each, however many look at them; `baseUrl` resolves relative addresses. */
export class HistoryEntries {
	private readonly known = new WeakMap<ServiceRecord, HistoryEntry>();

	constructor(private readonly baseUrl: string) {}

	/** `history`, newest first, as entries: the oldest first, those of one second in their order. */
	read(history: ServiceRecord[]): HistoryEntry[] {
		const time = ({ createdAt }: HistoryEntry) => (Number.isNaN(createdAt) ? Infinity : createdAt);
		return history
			.map((record, place) => Object.assign(this.entryOf(record), { place }))
			.sort((a, b) => time(a) - time(b) || b.place - a.place);
	}

	private entryOf(record: ServiceRecord): HistoryEntry {
		const entry = this.known.get(record) ?? {
			record,
			id: asId(record.id) ?? asId(record.task_id),
			prompt: asText(record.prompt) ?? '',
			createdAt: asTime(record.created_at),
			...entryState(record, this.baseUrl),
			place: 0,
		};
		this.known.set(record, entry);
		return entry;
	}
}

/**
 * Whether `entry` is one of those that `marks` tell of. An address without its signature says nothing
 * where other entries of the same look have it as well.
 */
export function isKnown(
	entry: HistoryEntry,
	marks: ReadonlySet<string>,
	all: HistoryEntry[],
): boolean {
	if (marks.size === 0) return false;
	if (entry.id !== undefined && marks.has(entry.id)) return true;
	return entry.files.some(({ fileUrl }) => {
		const plain = unsigned(fileUrl);
		if (marks.has(fileUrl)) return true;
		if (!marks.has(plain)) return false;
		const isOfAnother = (other: HistoryEntry) =>
			other !== entry && other.files.some((file) => unsigned(file.fileUrl) === plain);
		return !all.some(isOfAnother);
	});
}
