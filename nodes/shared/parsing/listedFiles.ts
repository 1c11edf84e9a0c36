import type { GeneratedFile } from '../contract';
import { withoutQuery } from './values';

/** What may identify a file. Its `path` is the URL without the query, which a later event may have signed anew. */
type Keys = Record<'idOrPath' | 'path' | 'url', string>;

/** Collects the files that the events of a stream list, and tells which of them are the same. */
export class ListedFiles {
	private readonly listed = new Map<string, Keys & { file: GeneratedFile }>();

	/** Adds the files of one event. Those of them that have the same id, path or URL are different files. */
	add(files: GeneratedFile[]): void {
		const seen: string[] = [];
		const numbered = (key: string) => {
			seen.push(key);
			return `${key} ${seen.filter((other) => other === key).length}`;
		};
		for (const file of files) {
			const path = numbered(`path ${withoutQuery(file.fileUrl)}`);
			const idOrPath = file.id === undefined ? path : numbered(`id ${file.id}`);
			const keys = { idOrPath, path, url: numbered(`URL ${file.fileUrl}`) };
			this.listed.set(Object.values(keys).join('\n'), { file, ...keys });
		}
	}

	/** The files, each once, as the last event had it. */
	get all(): GeneratedFile[] {
		const files = this.distinctBy('url');
		const ids = new Set(files.map(({ id }) => id));
		const paths = new Set(files.map(({ fileUrl }) => withoutQuery(fileUrl)));
		// An id that all files have may be that of the job.
		if (ids.size > 1) return this.distinctBy('url', 'idOrPath');
		// With one path for all files, only the query tells them apart.
		return paths.size > 1 || !ids.has(undefined) ? this.distinctBy('path') : files;
	}

	/** The least number of files there may be: those with one URL, or with one id at two URLs, may be one file. */
	get minCount(): number {
		return this.distinctBy('url', 'idOrPath').length;
	}

	/** The files without those that have the same value of a key as a later one. The keys are compared one by one. */
	private distinctBy(...keys: Array<keyof Keys>): GeneratedFile[] {
		let listed = [...this.listed.values()];
		for (const key of keys) listed = [...new Map(listed.map((one) => [one[key], one])).values()];
		return listed.map(({ file }) => file);
	}
}
