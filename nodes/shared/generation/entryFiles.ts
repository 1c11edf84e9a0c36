import type { INodeExecutionData } from 'n8n-workflow';
import { download, type FileContext } from '../http/download';
import type { Credential } from '../http/credential';
import { asText } from '../parsing/coerce';
import { kindSaid } from '../parsing/fileType';
import type { HistoryEntry } from './historyEntries';

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
	const id = asText(record.id) ?? 'entry';
	const binary: NonNullable<INodeExecutionData['binary']> = {};
	for (const [index, { fileUrl: url }] of files.entries()) {
		const suffix = index === 0 ? '' : String(index + 1);
		const kind = kindSaid(record, url) ?? 'video';
		const file = { url, kind, id: suffix ? `${id}-${suffix}` : id };
		binary[field + suffix] = await download(context, credential, file, signal);
	}
	return binary;
}
