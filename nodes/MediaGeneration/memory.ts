import { createHash } from 'node:crypto';
import type { IExecuteFunctions } from 'n8n-workflow';
import type { GeneratedFile } from '../service/contract';
import { isRecord } from '../service/readers';

/** What is remembered of a create call that was accepted, and so paid. */
export interface Remembered {
	/** Speech: the task. */
	taskId?: string;
	/** When a create call was sent whose outcome is not known, in ms since 1970. */
	sentAt?: number;
	/** Video, image: the files made. */
	files?: GeneratedFile[];
}

const FIELD = 'mediaGenerationCreated';

/**
 * What this node created in this execution. It lives in the node's context, which n8n keeps for
 * Retry On Fail and for "Retry execution": the next try collects what was paid for instead of
 * creating it again. Stored in clear with the execution, so ids and addresses only.
 */
export class Memory {
	constructor(private readonly context: IExecuteFunctions) {}

	private get entries(): Record<string, Remembered> {
		const store = this.context.getContext('node');
		if (!isRecord(store[FIELD])) store[FIELD] = {};
		return store[FIELD] as Record<string, Remembered>;
	}

	/** The key of one item's request; a loop's next round is another request. */
	keyOf(index: number, request: unknown): string {
		const round = String(this.context.evaluateExpression('{{ $runIndex }}', index) ?? 0);
		const digest = createHash('sha256').update(JSON.stringify(request)).digest('hex');
		return `${round}:${index}:${digest.slice(0, 32)}`;
	}

	recall(key: string): Remembered | undefined {
		return this.entries[key];
	}

	keep(key: string, remembered: Remembered): void {
		this.entries[key] = remembered;
	}

	forget(key: string): void {
		delete this.entries[key];
	}

	/** All items succeeded: nothing is left that a retry would have to collect. */
	clear(): void {
		delete this.context.getContext('node')[FIELD];
	}
}
