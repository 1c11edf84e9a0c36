import { createHash } from 'node:crypto';
import type { IExecuteFunctions } from 'n8n-workflow';
import { withoutToken } from '../service/address';
import type { GeneratedFile } from '../service/contract';
import { isRecord } from '../service/values';
import type { Asked } from '../service/verdict';

/** What is remembered of a create call that was accepted, and so paid. */
export interface Remembered {
	/** Speech: the task. */
	taskId?: string;
	/** The service said that the task has failed, or that it knows none. */
	doubtful?: boolean;
	/** Speech: when a create call was sent whose outcome is not known, in ms since 1970. */
	sentAt?: number;
	/** Video, image: what was sent, and may be paid. */
	asked?: Asked;
	/** Video, image: the files made. */
	files?: GeneratedFile[];
	/** When all of `files` were there, in ms since 1970. */
	madeAt?: number;
}

const FIELD = 'mediaGenerationCreated';

/**
 * What stands for the token, as it is and percent-encoded, in what is stored: an address with the
 * token in it must still work. No token has such characters.
 */
const TOKEN = '«§»';
const ENCODED_TOKEN = '«§§»';

/** `value` with every text in it replaced. */
function replaceTexts<T>(value: T, replace: (text: string) => string): T {
	return JSON.parse(JSON.stringify(value), (_, part: unknown) =>
		typeof part === 'string' ? replace(part) : part,
	) as T;
}

/**
 * What this node created in this execution. It lives in the node's context, which n8n keeps for
 * Retry On Fail and for "Retry execution": the next try collects what was paid for instead of
 * creating it again. Stored in clear with the execution, so ids, addresses and prompts only.
 */
export class Memory {
	/** The keys of this run's own items. */
	private readonly own = new Set<string>();
	/** The same for all items; n8n keeps what each evaluation needs in memory. */
	private round: string | undefined;

	constructor(
		private readonly context: IExecuteFunctions,
		/** Whether a model calls the node: each call, and each further try of one, is a round of its own. */
		private readonly isTool: boolean,
		private readonly apiToken: string,
	) {}

	private get entries(): Record<string, Remembered> {
		const store = this.context.getContext('node');
		if (!isRecord(store[FIELD])) store[FIELD] = {};
		return store[FIELD] as Record<string, Remembered>;
	}

	/**
	 * The key of one item's request. A loop's next round is another request; a model that asks for the
	 * same once more after a failure wants what is already paid for.
	 */
	keyOf(index: number, request: unknown): string {
		this.round ??= this.isTool
			? 'tool'
			: String(this.context.evaluateExpression('{{ $runIndex }}', index) ?? 0);
		const digest = createHash('sha256').update(JSON.stringify(request)).digest('hex');
		const key = `${this.round}:${index}:${digest.slice(0, 32)}`;
		this.own.add(key);
		return key;
	}

	recall(key: string): Remembered | undefined {
		const stored = this.entries[key];
		return stored && this.withToken(stored);
	}

	/** What is remembered of all items and rounds of the node. */
	all(): Remembered[] {
		return Object.values(this.entries).map((stored) => this.withToken(stored));
	}

	private withToken(stored: Remembered): Remembered {
		return replaceTexts(stored, (text) =>
			text.replaceAll(TOKEN, this.apiToken).replaceAll(ENCODED_TOKEN, this.encodedToken),
		);
	}

	keep(key: string, remembered: Remembered): void {
		const marked = replaceTexts(remembered, (text) =>
			text.replaceAll(this.apiToken, TOKEN).replaceAll(this.encodedToken, ENCODED_TOKEN),
		);
		this.entries[key] = withoutToken(marked, this.apiToken);
	}

	forget(key: string): void {
		delete this.entries[key];
	}

	/**
	 * All items of this run succeeded: nothing of theirs is left that a retry would have to collect.
	 * Other calls of a model may be under way beside it.
	 */
	clear(): void {
		for (const key of this.own) this.forget(key);
		if (Object.keys(this.entries).length === 0) delete this.context.getContext('node')[FIELD];
	}

	private get encodedToken(): string {
		return encodeURIComponent(this.apiToken);
	}
}
