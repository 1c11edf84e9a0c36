import { createRequire } from 'node:module';
import type { INodeProperties, INodePropertyOptions } from 'n8n-workflow';

/* The operations of the built node. Tests derive their lists from them, so that a new operation is tested, too. */

const load = createRequire(import.meta.url);
const from = (name: string): unknown => load(`../../dist/nodes/${name}.js`);
export const { MEDIA, PAID_OPERATIONS } = from(
	'shared/contract',
) as typeof import('../../nodes/shared/contract.ts');
const { operationFields, resourceField } = from(
	'MediaGeneration/resources/index',
) as typeof import('../../nodes/MediaGeneration/resources/index.ts');

/** An operation, as `resource:operation`. */
export type Operation = `${string}:${string}`;

const shown = ({ displayOptions }: INodeProperties, by: string) =>
	(displayOptions?.show?.[by] ?? []) as string[];

/** The names of the operations in the docs, such as `Speech → Get`. */
const NAMES = new Map(
	operationFields
		.filter(({ name }) => name === 'operation')
		.flatMap((field) => {
			const [resource] = shown(field, 'resource');
			const resources = resourceField.options as INodePropertyOptions[];
			const { name: group } = resources.find(({ value }) => value === resource)!;
			return (field.options as INodePropertyOptions[]).map(({ name, value }) => {
				const title = name.includes(group) ? name : `${group} → ${name}`;
				return [`${resource}:${value}` as Operation, title] as const;
			});
		}),
);
export const nameOf = (operation: Operation): string => NAMES.get(operation)!;

/** Every operation of the node. */
export const OPERATIONS = [...NAMES.keys()];

/** Returns the row of an operation in PAID_OPERATIONS; undefined if it is free. */
export const paidRow = (which: Operation) =>
	PAID_OPERATIONS.find(({ resource, operation }) => which === `${resource}:${operation}`);
export const isPaid = (operation: Operation): boolean => paidRow(operation) !== undefined;

/** Returns the fields of an operation, and the fields in its Options. */
export const fieldsOf = (which: string): INodeProperties[] =>
	operationFields
		.filter((field) => {
			const [resource, operation] = which.split(':') as [string, string];
			return (
				shown(field, 'resource').includes(resource) && shown(field, 'operation').includes(operation)
			);
		})
		.flatMap((field) => [field, ...(field.name === 'options' ? (field.options as []) : [])]);
export const hasField = (operation: Operation, field: string): boolean =>
	fieldsOf(operation).some(({ name }) => name === field);
/** True if the operation takes input images, which the history does not show. */
export const takesImages = (operation: Operation): boolean =>
	hasField(operation, 'binaryPropertyName');
