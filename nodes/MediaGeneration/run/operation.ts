import type { INodeProperties, INodePropertyOptions } from 'n8n-workflow';
import type { Item } from './item';
import type { Job } from './job';

/** One operation: how n8n offers it, and what it does. */
export interface Operation {
	/** Its entry in the menu; saved workflows hold `value`. */
	option: INodePropertyOptions & { value: string; action: string };
	fields: INodeProperties[];
	/** Reads and checks the fields of an item, and returns its work. */
	prepare(item: Item): Job;
}
