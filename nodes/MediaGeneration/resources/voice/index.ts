import { updateDisplayOptions, type INodeProperties } from 'n8n-workflow';
import { options, returnAllAndLimit } from '../../../shared/n8n/descriptions';

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

export const voiceDescription: INodeProperties[] = [
	{
		displayName: 'Operation',
		name: 'operation',
		type: 'options',
		noDataExpression: true,
		displayOptions: { show: { resource: ['voice'] } },
		options: [
			{
				name: 'Get Many',
				value: 'getAll',
				description: 'List the voices that can speak',
				action: 'Get many voices',
			},
		],
		default: 'getAll',
	},
	...updateDisplayOptions({ show: { resource: ['voice'], operation: ['getAll'] } }, [
		...returnAllAndLimit,
		options(
			filter('Age', 'age', 'young', 'Only voices of this age'),
			filter('Category', 'category', 'premade', 'Only voices of this category'),
			filter('Gender', 'gender', 'female', 'Only voices of this gender'),
			filter('Language', 'language', 'en', 'Only voices of this language'),
			filter('Search', 'search', 'warm narrator', 'Only voices that match this text'),
			filter('Sort', 'sort', 'name', 'What the service is to sort the voices by'),
			filter('Use Cases', 'useCases', 'audiobook', 'Only voices meant for this use'),
		),
	]),
];
