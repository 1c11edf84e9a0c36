import type { IBinaryData, IExecuteFunctions } from 'n8n-workflow';
import { processContainer } from '../../shared/account';
import { evictOldest } from '../../shared/limits';
import { destinationOf } from '../../shared/n8n/internals';
import type { NodeParameters } from '../../shared/n8n/parameters';
import { isInlineFile } from '../../shared/parsing/responses';
import { digestOf, resolvedParametersInKey } from './idempotencyKey';
import { MEMORY_TTL_MS, type JournalValue, type WrittenValue } from './journalStore';

/** The maximum number of requests that are remembered for all nodes together. One takes about 1 kB. */
const MAX_RECENT_REQUESTS = 5000;

/** True if a value contains a generated file itself, which may take megabytes of memory. */
const hasInlineFile = (value: JournalValue): boolean =>
	'request' in value && value.request.files.some(({ fileUrl }) => isInlineFile(fileUrl));

/**
 * The remembered values of all nodes. If there are more than MAX_RECENT_REQUESTS, `set` evicts the one whose key was
 * added first. A value with an inline file is too large to be remembered. Other retries then find the older value,
 * which is enough to keep them from sending the call again.
 */
class RecentValues extends Map<string, WrittenValue> {
	override set(key: string, value: WrittenValue): this {
		if (hasInlineFile(value)) return this;
		super.set(key, value);
		evictOldest(this, MAX_RECENT_REQUESTS);
		return this;
	}
}

/**
 * Returns what retries have requested in this process, by lineage and idempotency key. If an execution is retried
 * twice, the second retry starts from what n8n saved before the first, and finds the requests of the first only here.
 */
export const valuesOfRetries = (): RecentValues => processContainer.get(RecentValues);

/**
 * What manual runs of one node have requested in this process within the last hour. When a user executes a later node,
 * n8n may run this node again, which then collects those results and is not charged again.
 */
export class RecentRequests {
	private readonly values = processContainer.get(RecentValues);
	/** True if the user executes a later node, not this one. */
	private readonly mayCollect: boolean;

	/** Create an object of this class only for a manual run. */
	constructor(private readonly context: IExecuteFunctions) {
		const destination = destinationOf(context);
		this.mayCollect = destination !== undefined && destination !== context.getNode().name;
	}

	/**
	 * Returns the prefix of an item's keys in this store. It depends on the values of expressions and on the Base URL,
	 * because another service may use the same ids. Throws n8n's error if an expression cannot be resolved.
	 */
	keyPrefixOf(index: number, parameters: NodeParameters, baseUrl: string): string {
		const { context } = this;
		const node = context.getNode();
		// A file in memory has its content in `data`. A stored one has a new `id` each time that the node before runs, so
		// its size stands for it. Older versions of n8n don't note the size in bytes.
		const files = Object.values(context.getInputData()[index]!.binary ?? {}).map((file) => {
			const { bytes, id, data }: Partial<IBinaryData> = file ?? {};
			return id === undefined ? data : (bytes ?? id);
		});
		const values = resolvedParametersInKey(node, parameters);
		return `${context.getWorkflow().id}/${node.id}/${digestOf(values, files, baseUrl)}`;
	}

	/** Returns what was set in the last hour; undefined if that is nothing, or if this run must not collect. */
	get(key: string): WrittenValue | undefined {
		const value = this.mayCollect ? this.values.get(key) : undefined;
		return value && Date.now() - value.writtenAt < MEMORY_TTL_MS ? value : undefined;
	}

	/** Remembers a value. If it contains a file, forgets the older value of this key instead. */
	set(key: string, value: WrittenValue): void {
		this.values.delete(key);
		this.values.set(key, value);
	}

	delete(key: string): void {
		this.values.delete(key);
	}
}
