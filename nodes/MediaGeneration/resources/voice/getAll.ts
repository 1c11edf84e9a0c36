import { updateDisplayOptions, type INodeProperties } from 'n8n-workflow';
import { options, returnAllAndLimit } from '../../../shared/n8n/descriptions';
import { readAllPages } from '../../../shared/api/pagination';
import { asText } from '../../../shared/parsing/coerce';
import type { Item } from '../../item';
import type { Job } from '../../run';

const filter = (
	displayName: string,
	name: string,
	example: string,
	description: string,
): INodeProperties => ({
	displayName,
	name,
	type: 'string',
	default: '',
	placeholder: `e.g. ${example}`,
	description,
});

/** The service's filters (§4.4), by its own names for them. */
const FILTERS = {
	age: filter('Age', 'age', 'young', 'Only voices of this age'),
	category: filter('Category', 'category', 'premade', 'Only voices of this category'),
	gender: filter('Gender', 'gender', 'female', 'Only voices of this gender'),
	language: filter('Language', 'language', 'en', 'Only voices of this language'),
	search: filter('Search', 'search', 'warm narrator', 'Only voices that match this text'),
	sort: filter('Sort', 'sort', 'name', 'What the service is to sort the voices by'),
	use_cases: filter('Use Cases', 'useCases', 'audiobook', 'Only voices meant for this use'),
};

export const getAllVoicesDescription = updateDisplayOptions(
	{ show: { resource: ['voice'], operation: ['getAll'] } },
	[...returnAllAndLimit, options(...Object.values(FILTERS))],
);

/** Voice → Get Many (§4.4). */
export function getAllVoices(item: Item): Job {
	const { parameters, api, run } = item;
	const limit = parameters.limit();
	const query: Record<string, string> = {};
	for (const [parameter, { name }] of Object.entries(FILTERS)) {
		const value = asText(parameters.options[name]);
		if (value !== undefined) query[parameter] = value;
	}

	return async () => {
		const voices = await readAllPages({
			first: 0,
			limit,
			idField: 'voice_id',
			fetch: async (page, pageSize) =>
				await api.listVoices({ ...query, page, page_size: pageSize }, run.stopped),
		});
		return voices.map((voice) => item.output(voice));
	};
}
