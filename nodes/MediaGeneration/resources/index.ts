import { updateDisplayOptions, type INodeProperties } from 'n8n-workflow';
import { invalidInput } from '../../shared/failure';
import { getAccount } from './account/get';
import { getAllHistory } from './history/getAll';
import { createImage } from './image/create';
import type { Operation } from '../run/itemContext';
import { deleteSpeech } from './speech/delete';
import { getSpeech } from './speech/get';
import { speak } from './speech/speak';
import { collectSpeech } from './speech/collectOperation';
import { framesToVideo } from './video/framesToVideo';
import { ingredientsToVideo } from './video/ingredientsToVideo';
import { textToVideo } from './video/textToVideo';
import { getAllVoices } from './voice/getAll';

/**
 * All that the node can do; the first operation of each resource is its default. What makes something
 * comes first: n8n's panel lists the actions in this order.
 */
const RESOURCES: Array<{
	name: string;
	value: string;
	/** That of its only operation unless given. */
	description?: string;
	operations: [Operation, ...Operation[]];
}> = [
	{
		name: 'Speech',
		value: 'speech',
		description: 'Convert text to speech, and collect earlier results',
		operations: [speak, collectSpeech, getSpeech, deleteSpeech],
	},
	{
		name: 'Video',
		value: 'video',
		description: 'Generate videos from text or images',
		operations: [textToVideo, ingredientsToVideo, framesToVideo],
	},
	{ name: 'Image', value: 'image', operations: [createImage] },
	{ name: 'Voice', value: 'voice', operations: [getAllVoices] },
	{ name: 'History', value: 'history', operations: [getAllHistory] },
	{ name: 'Account', value: 'account', operations: [getAccount] },
];

export const resource: INodeProperties = {
	displayName: 'Resource',
	name: 'resource',
	type: 'options',
	noDataExpression: true,
	options: RESOURCES.map(({ name, value, description, operations: [{ option }] }) => ({
		name,
		value,
		// Builders are shown this; without it, what `getAll` or `get` says of another resource.
		description: description ?? option.description,
	})),
	default: 'speech',
};

/** The operations of all resources, with their fields. */
export const operations: INodeProperties[] = RESOURCES.flatMap(({ value, operations: offered }) => {
	// n8n's lint wants the default of a field to be a plain name.
	const byDefault = offered[0].option.value;
	return [
		{
			displayName: 'Operation',
			name: 'operation',
			type: 'options',
			noDataExpression: true,
			displayOptions: { show: { resource: [value] } },
			options: offered.map(({ option }) => option),
			default: byDefault,
		},
		...offered.flatMap(({ option, fields }) =>
			updateDisplayOptions({ show: { resource: [value], operation: [option.value] } }, fields),
		),
	];
});

/** Short, since the canvas cuts what is longer than 26 characters. */
const displayNames = RESOURCES.flatMap(({ name, value, operations: offered }) =>
	offered.map(({ option }) => {
		const shown = option.name.includes(name) ? option.name : `${name}: ${option.name}`;
		return [`${value}:${option.value}`, shown];
	}),
);

/** The text below the node on the canvas. An expression knows no display names, so it brings its own. */
export const subtitle = `={{ (${JSON.stringify(Object.fromEntries(displayNames))})[$parameter.resource + ":" + $parameter.operation] }}`;

/** Throws a Failure of kind invalidInput that names an operation that does not exist. */
export function findOperation(chosenResource: unknown, chosen: unknown): Operation {
	const offered = RESOURCES.find(({ value }) => value === chosenResource)?.operations;
	const found = offered?.find(({ option }) => option.value === chosen);
	if (found) return found;
	throw invalidInput('Operation', `is '${chosen}', which does not exist for '${chosenResource}'`);
}
