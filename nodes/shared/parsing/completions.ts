import type { GeneratedFile } from '../contract';
import { MAX_FILES } from '../limits';
import { asId, isRecord, unsigned } from './coerce';
import { isFailureWord, saysFailure } from './errorText';

/** What the completions of one stream have named so far. Pure. */
export class Completions {
	private readonly named = new Map<string, GeneratedFile>();
	/** Entries that have named no file, by their ids. */
	private readonly fileless = new Set<string>();

	/** The files, each once, in the order they were first named. */
	get files(): GeneratedFile[] {
		return [...this.named.values()];
	}

	/** Files and entries that will hold, or would have held, one. */
	get count(): number {
		return this.named.size + this.fileless.size;
	}

	/** Takes the files of one completion, which may repeat those before it. */
	add(files: GeneratedFile[]): void {
		const before = new Map<string, number>();
		for (const file of files) {
			const key = keyOf(file);
			const place = before.get(key) ?? 0;
			before.set(key, place + 1);
			// The address that was signed last is good for longest.
			this.named.set(`${key} ${place}`, file);
			if (file.id !== undefined) this.fileless.delete(file.id);
		}
	}

	/** Takes an entry without a file. */
	addFileless(entry: unknown): void {
		const id = isRecord(entry) ? (asId(entry.id) ?? asId(entry.task_id)) : undefined;
		this.fileless.add(id ?? `entry ${this.fileless.size}`);
	}
}

/**
 * What a file is known by in a later completion, where its address may be signed anew. Without an id
 * only the whole address tells it from another.
 */
const keyOf = ({ id, fileUrl }: GeneratedFile): string =>
	JSON.stringify(id === undefined ? [fileUrl] : [id, unsigned(fileUrl)]);

/** The entries of a completion: more than there can be files say nothing. */
export const entriesOf = (value: unknown): unknown[] =>
	Array.isArray(value) ? value.slice(0, MAX_FILES) : [value];

/** True for an entry that comes to nothing. */
export const isFailed = (entry: unknown): boolean =>
	saysFailure(entry) || (isRecord(entry) && isFailureWord(entry.status));

/** True for an entry without a file whose file is still to come: in the making, or broken off. */
export const isCutOff = (entry: unknown): boolean =>
	isRecord(entry)
		? !isFailed(entry) && asId(entry.id) !== undefined
		: typeof entry === 'string' && /^[[{]/.test(entry);
