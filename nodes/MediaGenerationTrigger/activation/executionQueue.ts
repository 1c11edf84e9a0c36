import { createHash } from 'node:crypto';
import type { INodeExecutionData, IRun, ITriggerFunctions } from 'n8n-workflow';
import { Semaphore } from '../../shared/async/semaphore';
import { settledWithin, sleep, steadyNow } from '../../shared/async/deadline';

/** How many executions of this trigger may run at once. */
const MAX_AT_ONCE = 20;
/** How long to wait for an execution before the next one may start, in ms. */
const MAX_EXECUTION_MS = 60_000;
/** How many times an event is emitted if n8n can't start its execution. */
const MAX_ATTEMPTS = 10;
/** The pause before the second attempt, in ms; doubles up to the longest, about four minutes in total. */
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;
/** How many progress events may wait; beyond that the oldest is dropped. */
const MAX_PROGRESS = 1000;
/** An event that waits longer than this is worth a line in the log, in ms. */
const LATE_MS = 60_000;

/** One event that is to start one execution. */
export interface Emission {
	/** Id of the task, video or image; the events of one are emitted in order. */
	about: string;
	/** The same for the same event, also after a restart. */
	name: string;
	/** Progress may be dropped when too much of it waits; an end never is. */
	isProgress: boolean;
	/** Asked when its turn comes: false if it is to start nothing after all. */
	isWanted(): Promise<boolean>;
	/** Makes the item. */
	make(): Promise<INodeExecutionData>;
	/** Called right before it is emitted; `over` resolves when the execution has ended, with its run if known. */
	onEmit(over: Promise<IRun | undefined>): void;
	/** Called when n8n could not start the execution. */
	onRefused(): void;
	/** Called when the execution is over, or has taken too long to wait for. */
	onDone(): void;
}

interface Waiting {
	emission: Emission;
	/** In ms since 1970. */
	since: number;
	/** Called when it has been dealt with. */
	onOver(): void;
}

/**
 * Starts executions, those about one thing one after another and not too many at once, so that a burst of
 * messages does not flood n8n.
 */
export class ExecutionQueue {
	private readonly slots = new Semaphore(MAX_AT_ONCE);
	/** By what they are about: the events that wait while another one is being emitted. */
	private readonly queues = new Map<string, Waiting[]>();
	/** Everything that was not emitted yet, the oldest first. */
	private readonly waiting = new Set<Waiting>();
	private isLookingForLate = false;

	/** `scope` identifies this trigger and service. */
	constructor(
		private readonly context: ITriggerFunctions,
		private readonly scope: string,
		private readonly signal: AbortSignal,
	) {}

	/**
	 * Resolves when the execution is over, has taken too long, or will not start. Never rejects. What
	 * can't be emitted because the trigger was closed is left to the next one.
	 */
	async add(emission: Emission): Promise<void> {
		await new Promise<void>((onOver) => {
			const entry = { emission, since: steadyNow(), onOver };
			this.waiting.add(entry);
			const queue = this.queues.get(emission.about);
			if (queue) queue.push(entry);
			else void this.work(entry);
			if (emission.isProgress) this.leaveOutOldest();
			if (!this.isLookingForLate) void this.lookForLate();
		});
	}

	private async work(first: Waiting): Promise<void> {
		const { about } = first.emission;
		const queue: Waiting[] = [];
		this.queues.set(about, queue);
		for (let entry: Waiting | undefined = first; entry; entry = queue.shift()) {
			// If this fails, the trigger was closed, or else the next event must not suffer from it.
			await this.start(entry).catch(() => {});
			this.waiting.delete(entry);
			entry.onOver();
		}
		this.queues.delete(about);
	}

	/** Emits until n8n has started the execution, and waits for its end. */
	private async start(entry: Waiting): Promise<void> {
		const { emission } = entry;
		if (!(await emission.isWanted())) return;
		for (let attempt = 1; ; attempt++) {
			const release = await this.slots.acquire(1, this.signal);
			this.waiting.delete(entry);
			try {
				const item = await emission.make();
				if (this.signal.aborted || (await this.isStarted(emission, item))) return;
			} finally {
				release();
			}
			this.waiting.add(entry);
			emission.onRefused();
			const event = `the event '${emission.name}' of ${emission.about}`;
			if (attempt === MAX_ATTEMPTS) return this.log('error', `n8n did not start ${event}`);
			if (attempt === 1) this.log('warn', `n8n could not start ${event}, trying again`);
			const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
			await sleep(pauseMs, this.signal);
		}
	}

	/** Tells n8n. False if it could not start the execution; true once that is over or takes too long. */
	private async isStarted(emission: Emission, item: INodeExecutionData): Promise<boolean> {
		const done = this.context.helpers.createDeferredPromise<IRun>();
		const outcome = done.promise.then(
			(run) => ({ run, isRefused: false }),
			(error: unknown) => ({ run: undefined, isRefused: this.isRefusal(error) }),
		);
		emission.onEmit(outcome.then(({ run }) => run));
		try {
			this.context.emit([[item]], undefined, done, this.deduplicationKey(emission));
		} catch {
			done.reject(new Error('cancelled'));
			return false;
		}
		const first = await settledWithin(MAX_EXECUTION_MS, this.signal, outcome);
		if (first?.isRefused) return false;
		emission.onDone();
		// A database can be busy for longer than the wait for an execution.
		if (!first) {
			void outcome.then(({ isRefused }) => {
				if (!isRefused) return;
				if (this.signal.aborted) emission.onRefused();
				else void this.add(emission);
			});
		}
		return true;
	}

	/**
	 * n8n rejects the promise of an execution that it could not start just as that of a canceled one.
	 * An n8n that does not drop duplicates only ever does the latter, and would start the execution
	 * again.
	 */
	private isRefusal(error: unknown): boolean {
		const hasBegun = /cancell?ed|stalled|no active execution/i.test(String(error));
		return dropsDuplicates(this.context) && !hasBegun;
	}

	/** Drops the oldest progress event that is not being emitted, when too many wait. */
	private leaveOutOldest(): void {
		const progress = [...this.waiting].filter(({ emission }) => emission.isProgress);
		if (progress.length <= MAX_PROGRESS) return;
		const queueOf = ({ emission }: Waiting) => this.queues.get(emission.about)!;
		const oldest = progress.find((entry) => queueOf(entry).includes(entry));
		if (!oldest) return;
		queueOf(oldest).splice(queueOf(oldest).indexOf(oldest), 1);
		this.waiting.delete(oldest);
		oldest.onOver();
	}

	/** Logs once when events have waited for long, until none waits any more. */
	private async lookForLate(): Promise<void> {
		this.isLookingForLate = true;
		let isSaid = false;
		for (let [oldest] = this.waiting; oldest && !this.signal.aborted; [oldest] = this.waiting) {
			const restMs = oldest.since + LATE_MS - steadyNow();
			if (restMs <= 0 && !isSaid) {
				isSaid = true;
				const events = `${this.waiting.size} event${this.waiting.size === 1 ? '' : 's'}`;
				this.log(
					'warn',
					`${events} waiting for more than a minute: at most ${MAX_AT_ONCE} executions run at once`,
				);
			}
			await sleep(restMs > 0 ? restMs : LATE_MS, this.signal);
		}
		this.isLookingForLate = false;
	}

	private log(level: 'warn' | 'error', text: string): void {
		this.context.logger[level](`Media Generation Trigger: ${text}`);
	}

	/** n8n starts no second execution with a key it knows; a key may have 255 characters. */
	private deduplicationKey({ about, name }: Emission): string {
		const digest = createHash('sha256').update([this.scope, about, name].join('\n')).digest('hex');
		return `media-generation:${digest}`;
	}
}

/** True when this n8n drops a second execution with the same key. */
export const dropsDuplicates = (context: ITriggerFunctions): boolean => context.emit.length >= 4;
