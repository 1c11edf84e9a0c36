import { createHash } from 'node:crypto';
import { jsonStringify, type IExecuteFunctions } from 'n8n-workflow';
import { processContainer } from '../../shared/account';
import { evictOldest } from '../../shared/limits';
import { paidParameters } from './idempotencyKey';
import type { JournalValue } from './journal';

/** How long a request of a manual run can be collected, in ms. */
const TTL_MS = 3_600_000;
/** Most requests remembered, of all nodes together; one takes about 1 kB. */
const MAX_REQUESTS = 5000;
/** A file inside the answer itself would take megabytes each. */
const hasInlineFile = (value: JournalValue): boolean =>
	'request' in value &&
	value.request?.files.some(({ fileUrl }) => /^data:/i.test(fileUrl)) === true;

class RequestsByKey extends Map<string, JournalValue & { keptAt: number }> {}

/**
 * What manual runs of one node have requested within the last hour, in this process. The editor loses a
 * node's output when the node is edited or the page is reloaded, and then runs it again for a step on a
 * later node (n8n 2.41). Such a run collects what is remembered here; any other manual run requests anew.
 */
export class RecentRequests {
	private readonly all: RequestsByKey = processContainer.get(RequestsByKey);
	/** Whether this run collects. */
	readonly isCollecting: boolean;
	private readonly prefix: string;

	/** For manual runs only. */
	constructor(private readonly context: IExecuteFunctions) {
		const node = context.getNode();
		// n8n tells nowhere else which node a person runs. Before n8n 2, the destination was its name.
		const { runExecutionData } = context as unknown as {
			runExecutionData?: { startData?: { destinationNode?: string | { nodeName: string } } };
		};
		const destination = runExecutionData?.startData?.destinationNode;
		const name = typeof destination === 'object' ? destination.nodeName : destination;
		this.isCollecting = name !== undefined && name !== node.name;
		this.prefix = `${context.getWorkflow().id}/${node.id}`;
	}

	/**
	 * The part of an item's keys here that its journal's key lacks: the values that its paid parameters have now.
	 * Other than in a retry, the nodes that they refer to may have been edited. Throws when an expression can't
	 * be resolved.
	 */
	keyOf(index: number): string {
		const { parameters } = this.context.getNode();
		const resolved = Object.keys(parameters).map((name) => [
			name,
			this.context.getNodeParameter(name, index) as unknown,
		]);
		const paid = paidParameters(Object.fromEntries(resolved) as Record<string, unknown>);
		return `${this.prefix}/${createHash('sha256').update(jsonStringify(paid)).digest('hex')}`;
	}

	get(key: string): JournalValue | undefined {
		const value = this.all.get(key);
		return value && Date.now() - value.keptAt < TTL_MS ? value : undefined;
	}

	set(key: string, value: JournalValue & { keptAt: number }): void {
		this.all.delete(key);
		if (!hasInlineFile(value)) this.all.set(key, value);
		evictOldest(this.all, MAX_REQUESTS);
	}

	delete(key: string): void {
		this.all.delete(key);
	}
}
