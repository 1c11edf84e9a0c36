import { updateDisplayOptions, type INodeProperties } from 'n8n-workflow';
import { invalidInput } from '../../shared/failure';
import { getAccount } from './account/get';
import { getAllHistory } from './history/getAll';
import { createImage } from './image/create';
import type { Operation } from '../run/operation';
import { deleteSpeech } from './speech/delete';
import { getSpeech } from './speech/get';
import { speak } from './speech/speak';
import { collectSpeech } from './speech/collectOperation';
import { framesToVideo } from './video/framesToVideo';
import { ingredientsToVideo } from './video/ingredientsToVideo';
import { textToVideo } from './video/textToVideo';
import { getAllVoices } from './voice/getAll';

/** All resources and operations of the node. The first operation of a resource is its default. */
const RESOURCES: Array<{
	name: string;
	value: string;
	/** If this is missing, the description of the resource's first operation is shown. */
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

export const resourceField: INodeProperties = {
	displayName: 'Resource',
	name: 'resource',
	type: 'options',
	noDataExpression: true,
	options: RESOURCES.map(({ name, value, description, operations: [{ option }] }) => ({
		name,
		value,
		// n8n's AI, which builds workflows, chooses a resource by this text.
		description: description ?? option.description,
	})),
	default: 'speech',
};

/** The field Operation of each resource, and the fields of all operations. */
export const operationFields: INodeProperties[] = RESOURCES.flatMap(
	({ value, operations: resourceOperations }) => {
		// n8n's lint accepts only a literal or a plain variable as the default of a field.
		const defaultOperation = resourceOperations[0].option.value;
		return [
			{
				displayName: 'Operation',
				name: 'operation',
				type: 'options',
				noDataExpression: true,
				displayOptions: { show: { resource: [value] } },
				options: resourceOperations.map(({ option }) => option),
				default: defaultOperation,
			},
			...resourceOperations.flatMap(({ option, fields }) =>
				updateDisplayOptions({ show: { resource: [value], operation: [option.value] } }, fields),
			),
		];
	},
);

/**
 * The name of each operation on the canvas, by `resource:operation`. The canvas cuts off long texts, so the resource is
 * named only if the operation's name does not contain it.
 */
const displayNameEntries = RESOURCES.flatMap(({ name, value, operations: resourceOperations }) =>
	resourceOperations.map(({ option }) => {
		const displayName = option.name.includes(name) ? option.name : `${name}: ${option.name}`;
		return [`${value}:${option.value}`, displayName];
	}),
);

/** The text below the node on the canvas. It has a table, because an expression cannot read display names. */
export const subtitle = `={{ (${JSON.stringify(Object.fromEntries(displayNameEntries))})[$parameter.resource + ":" + $parameter.operation] }}`;

/** Returns the chosen operation. Throws a Failure of kind invalidInput if it does not exist. */
export function findOperation(chosenResource: unknown, chosenOperation: unknown): Operation {
	const resourceOperations = RESOURCES.find(({ value }) => value === chosenResource)?.operations;
	const operation = resourceOperations?.find(({ option }) => option.value === chosenOperation);
	if (operation) return operation;
	const reason = `is '${chosenOperation}', which does not exist for '${chosenResource}'`;
	throw invalidInput('Operation', reason);
}
