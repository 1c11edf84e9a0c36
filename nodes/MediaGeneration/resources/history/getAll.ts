import { updateDisplayOptions, type INodeExecutionData } from 'n8n-workflow';
import { startDeadline } from '../../../shared/async/deadline';
import type { ServiceRecord } from '../../../shared/contract';
import { download } from '../../../shared/http/download';
import {
	concurrency,
	downloadIfAsked,
	options,
	outputField,
	returnAllAndLimit,
} from '../../../shared/n8n/descriptions';
import { fileKindOf } from '../../../shared/parsing/fileType';
import { readAllPages } from '../../../shared/api/pagination';
import { readGeneratedFiles } from '../../../shared/parsing/responses';
import { asText } from '../../../shared/parsing/coerce';
import { partly, type Item, type Job, type Made } from '../../run';

/** Longest that the files of one entry may take, in seconds. */
const FILES_SECONDS = 3600;

export const getAllHistoryDescription = updateDisplayOptions(
	{ show: { resource: ['history'], operation: ['getAll'] } },
	[...returnAllAndLimit, options(concurrency, downloadIfAsked, outputField)],
);

/** History → Get Many (§4.9). */
export function getAllHistory(item: Item): Job {
	const { fields, requests, run } = item;
	const limit = fields.limit();
	const downloads = fields.downloadOption();
	const fileField = fields.outputField();

	return async () => {
		const entries = await readAllPages({
			first: 1,
			limit,
			idField: 'id',
			fetch: async (page, pageSize) =>
				await requests.histories({ page, page_size: pageSize }, run.stopped),
		});
		const output: Made[] = [];
		for (const entry of entries) output.push(await partly(entryOutput(entry)));
		return output;
	};

	/** One item per entry; with several files the further ones get numbered fields. */
	async function entryOutput(entry: ServiceRecord): Promise<INodeExecutionData> {
		const files = readGeneratedFiles(entry, requests.address.baseUrl);
		const json = files.length > 0 ? { ...entry, file_url: files[0]!.fileUrl } : { ...entry };
		if (!downloads || files.length === 0) return item.output(json);
		const id = asText(entry.id) ?? 'entry';
		const binary: NonNullable<INodeExecutionData['binary']> = {};
		const deadline = startDeadline(FILES_SECONDS, run.stopped);
		try {
			for (const [index, { fileUrl }] of files.entries()) {
				const suffix = index === 0 ? '' : String(index + 1);
				const kind = fileKindOf(entry, fileUrl);
				const file = { url: fileUrl, kind, id: suffix ? `${id}-${suffix}` : id };
				const { signal } = deadline;
				binary[fileField + suffix] = await download(run.context, requests.address, file, signal);
			}
		} finally {
			deadline.stop();
		}
		return item.output(json, binary);
	}
}
