import type { INodeExecutionData } from 'n8n-workflow';
import { download, type FileContext } from '../http/download';
import type { Credential } from '../http/credential';
import { asWebUrl } from '../parsing/values';
import { declaredKind } from '../parsing/fileType';
import type { GeneratedFile } from '../contract';
import type { HistoryEntry } from './historyEntries';

/**
 * A name without extension for each file: its id, or else the last segment of its URL, or “file” for a `data:` URL
 * without an id. If several files would get the same name, for example because they share an id, all but the first get
 * the suffixes `-2`, `-3` and so on. So no file overwrites another when a workflow saves them to disk.
 */
export function fileNames(files: GeneratedFile[]): string[] {
	const baseNames = files.map(({ id, fileUrl }) => {
		const lastSegment = asWebUrl(fileUrl)?.pathname.split('/').pop() ?? 'file';
		return id ?? lastSegment.replace(/\.\w{1,5}$/, '');
	});
	return baseNames.map((name, index) => {
		const occurrence = baseNames.slice(0, index).filter((other) => other === name).length + 1;
		return occurrence === 1 ? name : `${name}-${occurrence}`;
	});
}

/**
 * Downloads the files of a history entry. Resolves with n8n's binary data: the first file is in `field`, the others
 * are in `field` with the numbers 2, 3 and so on. Throws a Failure if one of them cannot be downloaded.
 */
export async function fetchEntryFiles(
	context: FileContext,
	credential: Credential,
	{ record, files }: Pick<HistoryEntry, 'record' | 'files'>,
	field: string,
	signal: AbortSignal,
): Promise<NonNullable<INodeExecutionData['binary']>> {
	const names = fileNames(files);
	const binary: NonNullable<INodeExecutionData['binary']> = {};
	for (const [index, { fileUrl: url }] of files.entries()) {
		// If neither the entry nor the URL tells the kind, `video` is the likelier one: the history is part of the
		// video API (§4.9). The kind then decides only the prefix of the file's name, and the type if bytes and headers
		// do not tell.
		const file = { url, kind: declaredKind(record, url) ?? 'video', id: names[index]! };
		const name = index === 0 ? field : `${field}${index + 1}`;
		binary[name] = await download(context, credential, file, signal);
	}
	return binary;
}
