import type { INodeExecutionData } from 'n8n-workflow';
import { download, type FileContext } from '../http/download';
import type { Credential } from '../http/credential';
import { asWebUrl } from '../parsing/values';
import { declaredKind } from '../parsing/fileType';
import type { GeneratedFile } from '../contract';
import type { HistoryEntry } from './historyEntries';

/**
 * The names of files: their ids, or the last part of their addresses, if they lie at one. Several of one
 * element share its id; saved to disk, none may overwrite another.
 */
export function fileNames(files: GeneratedFile[]): string[] {
	const preferred = files.map(({ id, fileUrl }) => {
		const last = asWebUrl(fileUrl)?.pathname.split('/').pop() ?? 'file';
		return id ?? last.replace(/\.\w{1,5}$/, '');
	});
	return preferred.map((name, index) => {
		const number = preferred.slice(0, index).filter((other) => other === name).length + 1;
		return number === 1 ? name : `${name}-${number}`;
	});
}

/**
 * Fetches the files of an entry of the history: the first into `field`, the further ones into the same
 * with a number. Throws a Failure when one of them can't be had.
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
		const file = { url, kind: declaredKind(record, url) ?? 'video', id: names[index]! };
		const name = index === 0 ? field : `${field}${index + 1}`;
		binary[name] = await download(context, credential, file, signal);
	}
	return binary;
}
