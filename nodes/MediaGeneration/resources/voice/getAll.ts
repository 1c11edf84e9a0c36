import {
	updateDisplayOptions,
	type INodeProperties,
	type INodePropertyOptions,
} from 'n8n-workflow';
import { options, returnAllAndLimit } from '../../../shared/n8n/descriptions';
import { readAllPages } from '../../../shared/api/pagination';
import { asText } from '../../../shared/parsing/coerce';
import type { Item } from '../../item';
import type { Job } from '../../made';

const ANY: INodePropertyOptions = { name: 'Any', value: '' };

const choice = (
	displayName: string,
	name: string,
	description: string,
	...values: INodePropertyOptions[]
): INodeProperties => ({
	displayName,
	name,
	type: 'options',
	options: values,
	default: '',
	description,
});

const text = (
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
	age: choice(
		'Age',
		'age',
		'Only voices of this age',
		ANY,
		{ name: 'Young', value: 'young' },
		{ name: 'Middle Aged', value: 'middle_aged' },
		{ name: 'Old', value: 'old' },
	),
	category: choice(
		'Category',
		'category',
		'Only voices of this category',
		ANY,
		{ name: 'Cloned', value: 'cloned' },
		{ name: 'Generated', value: 'generated' },
		{ name: 'High Quality', value: 'high_quality' },
		{ name: 'Premade', value: 'premade' },
		{ name: 'Professional', value: 'professional' },
	),
	gender: choice(
		'Gender',
		'gender',
		'Only voices of this gender',
		ANY,
		{ name: 'Female', value: 'female' },
		{ name: 'Male', value: 'male' },
		{ name: 'Neutral', value: 'neutral' },
	),
	language: text('Language', 'language', 'en', 'Only voices of this language, by its code'),
	search: text('Search', 'search', 'warm narrator', 'Only voices that match this text'),
	sort: choice(
		'Sort',
		'sort',
		'How to sort the voices',
		{ name: 'Any', value: '', description: "The service's own order" },
		{ name: 'Name', value: 'name' },
	),
	use_cases: text('Use Cases', 'useCases', 'audiobook', 'Only voices suited to this use'),
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
