import type { INodeProperties } from 'n8n-workflow';
import { limitField, optionsField, returnAllField } from '../../../shared/n8n/descriptions';
import { asText } from '../../../shared/parsing/values';
import { languageCodesByName, normalizeWords } from '../../listSearch/languages';
import type { Operation } from '../../run/operation';

/** Converts `middle_aged` to `Middle Aged`. */
const titleCase = (value: string) =>
	value.replaceAll('_', ' ').replace(/\b[a-z]/g, (letter) => letter.toUpperCase());

const choiceField = (name: string, ...values: string[]): INodeProperties => ({
	displayName: titleCase(name),
	name,
	type: 'options',
	options: [
		{ name: 'Any', value: '' },
		...values.map((value) => ({ name: titleCase(value), value })),
	],
	default: '',
	description: `Only voices of this ${name}`,
});

const textField = (name: string, example: string, description: string): INodeProperties => ({
	displayName: titleCase(name),
	name,
	type: 'string',
	default: '',
	placeholder: `e.g. ${example}`,
	description,
});

/** The service's filters for voices (§4.4). Apart from `useCases`, they are called as in the query. */
const FILTERS: INodeProperties[] = [
	choiceField('age', 'young', 'middle_aged', 'old'),
	choiceField('category', 'cloned', 'generated', 'high_quality', 'premade', 'professional'),
	choiceField('gender', 'female', 'male', 'neutral'),
	textField('language', 'German', 'Only voices in this language (name or code)'),
	textField('search', 'warm narrator', 'Only voices whose name or description contains this text'),
	{ ...choiceField('sort', 'name'), description: 'How to sort the voices' },
	{ ...textField('use_cases', 'audiobook', 'Only voices for this use'), name: 'useCases' },
];

/** Voice → Get Many (§4.4): lists voices that match the filters. */
export const getAllVoices: Operation = {
	option: {
		name: 'Get Many',
		value: 'getAll',
		description: 'List the available voices',
		action: 'Get many voices',
	},
	fields: [returnAllField, limitField, optionsField(...FILTERS)],
	prepare({ parameters, api, stopStarting, output, report }) {
		const maxResults = parameters.limit();
		const query: Record<string, string> = {};
		for (const { name } of FILTERS) {
			const value = asText(parameters.options[name]);
			if (value !== undefined) query[name === 'useCases' ? 'use_cases' : name] = value;
		}

		return async () => {
			const language = languageCodesByName().get(normalizeWords(query.language ?? ''));
			let voices = language
				? await api.listVoices({ ...query, language }, maxResults, stopStarting)
				: [];
			// Some services filter by a language's name instead of its code, so the user's text is tried as well.
			if (voices.length === 0) voices = await api.listVoices(query, maxResults, stopStarting);
			if (voices.length === 0) {
				report.hint(
					Object.keys(query).length > 0
						? 'No voices match. Change or remove the filters under Options'
						: 'The service lists no voices for this account',
				);
			}
			return voices.map((voice) => output(voice));
		};
	},
};
