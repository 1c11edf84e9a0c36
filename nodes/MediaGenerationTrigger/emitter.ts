import { createHash } from 'node:crypto';
import type { INodeExecutionData, IRun, ITriggerFunctions } from 'n8n-workflow';
import { Budget } from '../service/budget';
import { pause } from '../service/clock';

/** Executions of this trigger under way at once. */
const MOST_AT_ONCE = 20;
/** How long an execution is waited for before the next may start all the same, in ms. */
const LONGEST_EXECUTION_MS = 60_000;

/** One event that is to start one execution. */
export interface Emission {
	taskId: string;
	/** The same for the same event, also after a restart. */
	name: string;
	/** Makes the item, when its turn has come. */
	make(): Promise<INodeExecutionData>;
	/** Called right before n8n is told. */
	onEmit(): void;
	/** Called when the execution is over, or has taken too long to wait for. */
	onDone(): void;
}

/**
 * Starts executions: those of one task one after another, in order, and not too many at once, so that
 * a burst of messages does not flood n8n.
 */
export class Emitter {
	private readonly slots = new Budget(MOST_AT_ONCE);
	/** The last emission of each task that is not yet done. */
	private readonly last = new Map<string, Promise<void>>();

	/** `scope` tells this trigger and service from all others. */
	constructor(
		private readonly context: ITriggerFunctions,
		private readonly scope: string,
		private readonly signal: AbortSignal,
	) {}

	/** Never rejects; what can't be emitted because the trigger was closed is left to the next one. */
	async emit(emission: Emission): Promise<void> {
		const { taskId } = emission;
		const before = this.last.get(taskId) ?? Promise.resolve();
		const work = before.then(async () => await this.emitNow(emission)).catch(() => {});
		this.last.set(taskId, work);
		await work;
		if (this.last.get(taskId) === work) this.last.delete(taskId);
	}

	private async emitNow(emission: Emission): Promise<void> {
		const release = await this.slots.reserve(1, this.signal);
		const over = new AbortController();
		try {
			const item = await emission.make();
			if (this.signal.aborted) return;
			emission.onEmit();
			const done = this.context.helpers.createDeferredPromise<IRun>();
			this.context.emit([[item]], undefined, done, this.keyOf(emission));
			const ended = done.promise.then(
				() => undefined,
				() => undefined,
			);
			const bounded = AbortSignal.any([this.signal, over.signal]);
			await Promise.race([ended, pause(LONGEST_EXECUTION_MS, bounded)]);
			emission.onDone();
		} finally {
			over.abort();
			release();
		}
	}

	/** n8n starts no second execution with a key it knows (n8n notes C3); at most 255 characters. */
	private keyOf({ taskId, name }: Emission): string {
		const digest = createHash('sha256').update([this.scope, taskId, name].join('\n')).digest('hex');
		return `media-generation:${digest}`;
	}
}

/** True when this n8n drops a second execution with the same key. */
export const dropsDuplicates = (context: ITriggerFunctions): boolean => context.emit.length >= 4;
