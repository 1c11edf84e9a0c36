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
	addFiles(files: GeneratedFile[]): void {
		for (const file of files) {
			// A later completion may sign the address anew: that is valid longest.
			const { id, fileUrl } = file;
			this.named.set(id === undefined ? fileUrl : `${id} ${unsigned(fileUrl)}`, file);
			if (id !== undefined) this.fileless.delete(id);
		}
	}

	addFileless(entry: unknown): void {
		const id = isRecord(entry) ? (asId(entry.id) ?? asId(entry.task_id)) : undefined;
		this.fileless.add(id ?? `entry ${this.fileless.size}`);
	}
}

/** The entries of a completion, no more than there can be files. */
export const entriesOf = (value: unknown): unknown[] =>
	Array.isArray(value) ? value.slice(0, MAX_FILES) : [value];

/** True for an entry whose file is still to come, or that was cut off. */
export const isCutOff = (entry: unknown): boolean =>
	isRecord(entry)
		? !isFailed(entry) && asId(entry.id) !== undefined
		: typeof entry === 'string' && /^[[{]/.test(entry);
