import type {
	AssignmentCollectionValue,
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	INodeProperties,
	INodeType,
} from 'n8n-workflow';

/*
 * Stand-ins for the few nodes of n8n-nodes-base that the workflows of demo and tests use, because that package is
 * large. They support only the parameters that these workflows set, and do with them what the real nodes do. `npm run
 * n8n` and `npm run test:n8n` use the real nodes.
 */

type Execute = (this: IExecuteFunctions) => Promise<INodeExecutionData[][]>;

/** Creates a node. `fields` are its parameters, each with its name, type and default value. */
function standIn(
	name: string,
	execute: Execute,
	fields: Array<[name: string, type: INodeProperties['type'], value: INodeProperties['default']]>,
	outputs: INodeType['description']['outputs'] = ['main'],
): INodeType {
	const isTrigger = name.endsWith('Trigger');
	return {
		description: {
			displayName: name,
			name,
			group: [isTrigger ? 'trigger' : 'transform'],
			version: [1, 2, 3, 3.1, 3.2, 3.3, 3.4],
			description: `Stand-in for ${name}`,
			defaults: { name },
			inputs: isTrigger ? [] : ['main'],
			outputs,
			properties: fields.map(([field, type, value]) => ({
				displayName: field,
				name: field,
				type,
				default: value,
			})),
		},
		execute,
	};
}

/** Gives a node several inputs. As in Merge, items at one of them suffice for a run. */
function withInputs(inputs: INodeType['description']['inputs'], node: INodeType): INodeType {
	return { ...node, description: { ...node.description, inputs, requiredInputs: 1 } };
}

const pairedWith = (item: number, json: IDataObject): INodeExecutionData => ({
	json,
	pairedItem: { item },
});

async function passItemsOn(this: IExecuteFunctions) {
	return [this.getInputData()];
}

/**
 * Edit Fields in the mode "Manual Mapping": outputs the fields that are set and, if Include Other Fields is on, the
 * other fields of the item.
 */
async function editFields(this: IExecuteFunctions) {
	const output = this.getInputData().map((item, index) => {
		const { assignments } = this.getNodeParameter(
			'assignments',
			index,
		) as AssignmentCollectionValue;
		const assigned = assignments.map(
			({ name, type, value }) => [name, parseAssigned(value, type)] as const,
		);
		const others = this.getNodeParameter('includeOtherFields', index) ? item.json : {};
		return pairedWith(index, { ...others, ...Object.fromEntries(assigned) } as IDataObject);
	});
	return [output];
}

function parseAssigned(value: unknown, type = 'string'): unknown {
	if (typeof value !== 'string' || type === 'string') return value;
	return JSON.parse(value);
}

/** Split Out of one field: outputs one item for each value of the field, without the other fields. */
async function splitOut(this: IExecuteFunctions) {
	const output = this.getInputData().flatMap((item, index) => {
		const name = this.getNodeParameter('fieldToSplitOut', index) as string;
		return [item.json[name]].flat().map((part) => pairedWith(index, asRecord(name, part)));
	});
	return [output];
}

const asRecord = (name: string, part: unknown) =>
	(typeof part === 'object' && part !== null ? part : { [name]: part }) as IDataObject;

/** Aggregate of one field: outputs one item with the values of all items. */
async function aggregate(this: IExecuteFunctions) {
	const [field] = this.getNodeParameter('fieldsToAggregate.fieldToAggregate', 0) as IDataObject[];
	const name = field!.fieldToAggregate as string;
	const items = this.getInputData();
	const pairedItem = items.map((_, item) => ({ item }));
	return [[{ json: { [name]: items.map(({ json }) => json[name]) }, pairedItem }]];
}

/**
 * Loop Over Items: each run outputs the next items at the output `loop`, the second one. Once no item remains, each run
 * outputs all items that came back, at the output `done`, the first one.
 */
async function loopOverItems(this: IExecuteFunctions) {
	const context = this.getContext('node') as {
		remainingItems?: INodeExecutionData[];
		processedItems?: INodeExecutionData[];
	};
	if (context.remainingItems === undefined) context.remainingItems = this.getInputData().slice();
	else (context.processedItems ??= []).push(...this.getInputData());
	const next = context.remainingItems.splice(0, this.getNodeParameter('batchSize', 0) as number);
	if (next.length === 0) return [context.processedItems ?? [], []];
	return [[], next.map(({ json, binary }, item) => ({ json, binary, pairedItem: { item } }))];
}

/** Merge of two inputs in the mode Append: outputs the items of both. */
async function merge(this: IExecuteFunctions) {
	return [[...this.getInputData(0), ...this.getInputData(1)]];
}

const STAND_INS = [
	standIn('manualTrigger', passItemsOn, []),
	standIn('stickyNote', passItemsOn, []),
	standIn('set', editFields, [
		['assignments', 'assignmentCollection', {}],
		['includeOtherFields', 'boolean', false],
	]),
	standIn('splitOut', splitOut, [['fieldToSplitOut', 'string', '']]),
	standIn('aggregate', aggregate, [['fieldsToAggregate', 'json', {}]]),
	standIn('splitInBatches', loopOverItems, [['batchSize', 'number', 1]], ['main', 'main']),
	withInputs(['main', 'main'], standIn('merge', merge, [])),
];

/** The stand-ins, by the type names of the real nodes. */
export const standIns = Object.fromEntries(
	STAND_INS.map((node) => [`n8n-nodes-base.${node.description.name}`, node]),
);
