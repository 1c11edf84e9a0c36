import type { GeneratedFile } from '../contract';
import { MAX_FILES } from '../limits';
import { asId, isRecord, unsigned } from './coerce';
import { isFailed } from './errors';

/** The files that a stream's completions have named so far. Pure. */
export class Completions {
	private readonly named = new Map<string, GeneratedFile>();
	/** Entries that named no file, by id. */
	private readonly fileless = new Set<string>();

	/** The files, each once, in the order they were first named. */
	get files(): GeneratedFile[] {
		return [...this.named.values()];
	}

	/** The number of files, and of entries that will hold, or would have held, one. */
	get count(): number {
		return this.named.size + this.fileless.size;
	}

	/** Adds the files of one completion, which may repeat earlier ones. */
	add(files: GeneratedFile[]): void {
		const before = new Map<string, number>();
		for (const file of files) {
			const key = keyOf(file);
			const place = before.get(key) ?? 0;
			before.set(key, place + 1);
			// The most recently signed address is valid longest.
			this.named.set(`${key} ${place}`, file);
			if (file.id !== undefined) this.fileless.delete(file.id);
		}
	}

	addFileless(entry: unknown): void {
		const id = isRecord(entry) ? (asId(entry.id) ?? asId(entry.task_id)) : undefined;
		this.fileless.add(id ?? `entry ${this.fileless.size}`);
	}
}

/** How a file is recognised in a later completion, where its address may be signed anew. */
const keyOf = ({ id, fileUrl }: GeneratedFile): string =>
	JSON.stringify(id === undefined ? [fileUrl] : [id, unsigned(fileUrl)]);

/** The entries of a completion, no more than there can be files. */
export const entriesOf = (value: unknown): unknown[] =>
	Array.isArray(value) ? value.slice(0, MAX_FILES) : [value];

/** True for an entry whose file is still to come, or that was cut off. */
export const isCutOff = (entry: unknown): boolean =>
	isRecord(entry)
		? !isFailed(entry) && asId(entry.id) !== undefined
		: typeof entry === 'string' && /^[[{]/.test(entry);
