import type { INodeProperties, INodePropertyOptions } from 'n8n-workflow';
import { FIRST_RESOURCE } from '../../shared/n8n/descriptions';
import { accountDescription } from './account';
import { historyDescription } from './history';
import { imageDescription } from './image';
import { speechDescription } from './speech';
import { videoDescription } from './video';
import { voiceDescription } from './voice';

/** What the node makes comes first: n8n's panel lists the actions in this order. */
const RESOURCES = [
	{ name: 'Speech', value: 'speech', properties: speechDescription },
	{ name: 'Video', value: 'video', properties: videoDescription },
	{ name: 'Image', value: 'image', properties: imageDescription },
	{ name: 'Voice', value: 'voice', properties: voiceDescription },
	{ name: 'History', value: 'history', properties: historyDescription },
	{ name: 'Account', value: 'account', properties: accountDescription },
];

const resourceOptions = RESOURCES.map(({ name, value }) => ({ name, value }));

export const resource: INodeProperties = {
	displayName: 'Resource',
	name: 'resource',
	type: 'options',
	noDataExpression: true,
	options: resourceOptions,
	default: FIRST_RESOURCE,
};

/** The operations of all resources, with their fields. */
export const operations: INodeProperties[] = RESOURCES.flatMap(({ properties }) => properties);

const displayNames = RESOURCES.flatMap(({ name, value, properties }) => {
	const { options = [] } = properties.find((property) => property.name === 'operation')!;
	return (options as INodePropertyOptions[]).map((operation) => [
		`${value}:${operation.value}`,
		`${name}: ${operation.name}`,
	]);
});

/** What stands below the node on the canvas. An expression knows no display names, so it brings them. */
export const subtitle = `={{ (${JSON.stringify(Object.fromEntries(displayNames))})[$parameter.resource + ":" + $parameter.operation] }}`;
