import { readAllPages } from '../../../shared/api/pagination';
import { asText } from '../../../shared/parsing/coerce';
import type { Item, Job } from '../../run';

/** The service's filters, by option name. */
const FILTERS: Record<string, string> = {
	age: 'age',
	category: 'category',
	gender: 'gender',
	language: 'language',
	search: 'search',
	sort: 'sort',
	useCases: 'use_cases',
};

/** Voice → Get Many (§4.4). */
export function getAllVoices(item: Item): Job {
	const { fields, requests, run } = item;
	const limit = fields.limit();
	const query: Record<string, string> = {};
	for (const [option, parameter] of Object.entries(FILTERS)) {
		const value = asText(fields.options[option]);
		if (value !== undefined) query[parameter] = value;
	}

	return async () => {
		const voices = await readAllPages({
			first: 0,
			limit,
			idField: 'voice_id',
			fetch: async (page, pageSize) =>
				await requests.voices({ ...query, page, page_size: pageSize }, run.stopped),
		});
		return voices.map((voice) => item.output(voice));
	};
}
