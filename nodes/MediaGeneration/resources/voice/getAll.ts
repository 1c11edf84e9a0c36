import { allVoices } from '../../../shared/api/pagination';
import type { INodeProperties } from 'n8n-workflow';
import { options, returnAllAndLimit } from '../../../shared/n8n/descriptions';
import { asText } from '../../../shared/parsing/coerce';
import type { Operation } from '../../run/work';

/** `middle_aged` → `Middle Aged`. */
const titled = (value: string) =>
	value.replace(
		/(^|_)([a-z])/g,
		(_, gap, letter: string) => (gap ? ' ' : '') + letter.toUpperCase(),
	);

const trait = (name: string, ...values: string[]): INodeProperties => ({
	displayName: titled(name),
	name,
	type: 'options',
	options: [{ name: 'Any', value: '' }, ...values.map((value) => ({ name: titled(value), value }))],
	default: '',
	description: `Only voices of this ${name}`,
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
const FILTERS: Record<string, INodeProperties> = {
	age: trait('age', 'young', 'middle_aged', 'old'),
	category: trait('category', 'cloned', 'generated', 'high_quality', 'premade', 'professional'),
	gender: trait('gender', 'female', 'male', 'neutral'),
	language: text('Language', 'language', 'en', 'Only voices of this language, by its code'),
	search: text('Search', 'search', 'warm narrator', 'Only voices that match this text'),
	sort: {
		displayName: 'Sort',
		name: 'sort',
		type: 'options',
		options: [
			{ name: 'Any', value: '', description: "The service's own order" },
			{ name: 'Name', value: 'name' },
		],
		default: '',
		description: 'How to sort the voices',
	},
	use_cases: text('Use Cases', 'useCases', 'audiobook', 'Only voices suited to this use'),
};

/** Voice → Get Many (§4.4). */
export const getAllVoices: Operation = {
	option: {
		name: 'Get Many',
		value: 'getAll',
		description: 'List the available voices',
		action: 'Get many voices',
	},
	fields: [...returnAllAndLimit, options(...Object.values(FILTERS))],
	prepare({ parameters, api, signal, output }) {
		const limit = parameters.limit();
		const query: Record<string, string> = {};
		for (const [parameter, { name }] of Object.entries(FILTERS)) {
			const value = asText(parameters.options[name]);
			if (value !== undefined) query[parameter] = value;
		}

		return async () => {
			const voices = await allVoices(api, query, limit, signal);
			return voices.map((voice) => output(voice));
		};
	},
};
