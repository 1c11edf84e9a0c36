import type { INodeProperties, INodePropertyOptions } from 'n8n-workflow';
import type { ItemContext } from './itemContext';
import type { ItemTask } from './itemTask';

/** One operation: how n8n shows it, and what it does. */
export interface Operation {
	/** The operation's entry in n8n's menu. Saved workflows contain `value`, so it must not change. */
	option: INodePropertyOptions & { value: string; action: string };
	fields: INodeProperties[];
	/**
	 * Reads and checks the fields of an item without sending anything, and returns the task that does the rest. Throws
	 * a Failure if a field is invalid, or n8n's error if an expression cannot be resolved.
	 */
	prepare(item: ItemContext): ItemTask;
}
