import type { INodeExecutionData } from 'n8n-workflow';
import { download, type FileContext } from '../http/download';
import type { Credential } from '../http/credential';
import { asWebUrl } from '../parsing/values';
import { apparentKind } from '../parsing/fileType';
import type { GeneratedFile } from '../contract';
import type { HistoryEntry } from './historyEntries';

/**
 * Returns a file name without extension for each file, from the file's id or URL. Repeated names get the suffixes `-2`,
 * `-3` and so on, because a workflow may save the files to one folder.
 */
export function fileNames(files: GeneratedFile[]): string[] {
	const baseNames = files.map(({ id, fileUrl }) => {
		const lastSegment = asWebUrl(fileUrl)?.pathname.split('/').pop() ?? 'file';
		return id ?? lastSegment.replace(/\.\w{1,5}$/, '');
	});
	const names = new Set<string>();
	for (const baseName of baseNames) {
		let name = baseName;
		for (let occurrence = 2; names.has(name); occurrence++) name = `${baseName}-${occurrence}`;
		names.add(name);
	}
	return [...names];
}

/**
 * Downloads the files of a history entry. The first file gets the binary field `field`; the others get `field` with the
 * number 2, 3 and so on appended. Throws a Failure if a file cannot be downloaded.
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
		// The history is part of the video API (§4.9), so a file of unknown kind is most likely a video.
		const file = { url, kind: apparentKind(record, url) ?? 'video', id: names[index]! };
		const fieldName = index === 0 ? field : `${field}${index + 1}`;
		binary[fieldName] = await download(context, credential, file, signal);
	}
	return binary;
}
