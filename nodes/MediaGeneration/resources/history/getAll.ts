import type { INodeExecutionData } from 'n8n-workflow';
import type { ServiceRecord } from '../../../shared/contract';
import { throwWithFacts } from '../../../shared/failure';
import { fetchEntryFiles } from '../../../shared/generation/entryFiles';
import {
	concurrencyField,
	downloadOffField,
	limitField,
	optionsField,
	outputField,
	returnAllField,
} from '../../../shared/n8n/descriptions';
import { readAllPages } from '../../../shared/api/pagination';
import { readGeneratedFiles } from '../../../shared/parsing/responses';
import { type ItemResult, type Operation, toItemResult } from '../../run/operation';

/** History → Get Many (§4.9): lists earlier generations, and downloads their files if the user wants them. */
export const getAllHistory: Operation = {
	option: {
		name: 'Get Many',
		value: 'getAll',
		description: "List the videos and images in the account's history, newest first",
		action: 'Get many videos and images from history',
	},
	fields: [
		returnAllField,
		limitField,
		optionsField(concurrencyField, downloadOffField, outputField),
	],
	prepare({ context, credential, api, parameters, stopStarting, output }) {
		const limit = parameters.limit();
		const wantsFile = parameters.wantsFileAt(downloadOffField);
		const fileField = parameters.outputField();

		return async () => {
			const entries = await readAllPages({
				firstPage: 1,
				limit,
				fetch: async (page, pageSize) =>
					await api.listHistory({ page, page_size: pageSize }, stopStarting),
			});
			const results: ItemResult[] = [];
			for (const entry of entries) results.push(await toItemResult(entryOutput(entry)));
			return results;
		};

		/** Makes the output item of one history entry. Throws a Failure if a file cannot be downloaded. */
		async function entryOutput(record: ServiceRecord): Promise<INodeExecutionData> {
			const files = readGeneratedFiles(record, credential.baseUrl);
			const json = files.length > 0 ? { ...record, file_url: files[0]!.fileUrl } : { ...record };
			const wantedFiles = files.filter(({ fileUrl }) => wantsFile(fileUrl));
			if (wantedFiles.length === 0) return output(json);
			const entry = { record, files: wantedFiles };
			const filesPromise = fetchEntryFiles(context, credential, entry, fileField, stopStarting);
			return output(json, await filesPromise.catch(throwWithFacts({ isFree: true })));
		}
	},
};
