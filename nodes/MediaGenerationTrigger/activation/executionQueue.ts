import { createHash } from 'node:crypto';
import type {
	IBinaryKeyData,
	IDataObject,
	INodeExecutionData,
	IRun,
	ITriggerFunctions,
} from 'n8n-workflow';
import { settledWithin, sleep, withDeadline } from '../../shared/async/deadline';
import { Semaphore } from '../../shared/async/semaphore';
import { Failure } from '../../shared/failure';
import { wordingOf } from '../../shared/n8n/messages';
import type { Redactor } from '../../shared/parsing/redaction';
import type { EventStore } from './eventStore';

/** How many executions may run at once. */
const MAX_AT_ONCE = 20;
/** How long to wait for an execution before the next one may start, in ms. */
const MAX_EXECUTION_MS = 60_000;
/** How long fetching the files of one item may take, in ms. */
const DOWNLOAD_MS = 3_600_000;
/** How many times an event is emitted if n8n can't start its execution. */
const MAX_ATTEMPTS = 10;
/** The pause before the second attempt, in ms; doubles up to the longest, about four minutes in total. */
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;
/** How many progress events may wait; beyond that the oldest is dropped. */
const MAX_PROGRESS = 1000;
const LATE_MS = 60_000;

/** One event that is to start one execution. */
export interface Emission {
	/** Id of the task, video or image; the events of one are emitted in order. */
	about: string;
	/** The same for the same event, also after a restart. */
	name: string;
	/** Progress may be dropped when too much of it waits; an end never is. */
	isProgress: boolean;
	/** What `store` knows it by. */
	key: string;
	store: Pick<EventStore<never>, 'emitted' | 'end' | 'save'>;
	/**
	 * Asked when its turn comes: how deep in a chain of executions it is, undefined if it is to start
	 * nothing after all. Never rejects.
	 */
	depth(): Promise<number | undefined>;
	/** What is put out. */
	json: IDataObject;
	/** Fetches its files. If that fails, the `error` of what is put out says why there are none. */
	fetchFiles?(signal: AbortSignal): Promise<IBinaryKeyData>;
	/** It is not emitted before this resolves, though its files are fetched. */
	after?: Promise<unknown>;
	/** Called right before it is emitted; `over` resolves when the execution has ended. */
	begin(depth: number, over: Promise<IRun | undefined>): void;
}

/** Starts executions: those about one thing one after another, and not too many at once. */
export class ExecutionQueue {
	private readonly slots = new Semaphore(MAX_AT_ONCE);
	/**
	 * By what they are about: those that wait while another one is being emitted, and what to call when one
	 * has been dealt with.
	 */
	private readonly queues = new Map<string, Map<Emission, () => void>>();
	/** What was not emitted yet, the oldest first. */
	private readonly waiting = new Set<Emission>();
	private isLate = false;

	/** `scope` identifies this trigger and service. */
	constructor(
		private readonly context: ITriggerFunctions,
		private readonly redact: Redactor,
		private readonly scope: string,
		private readonly signal: AbortSignal,
	) {}

	/**
	 * Resolves when the execution is over, has taken too long, or will not start. Never rejects. What
	 * can't be emitted because the trigger was closed is left to the next one.
	 */
	async add(emission: Emission): Promise<void> {
		const { about, isProgress } = emission;
		if (this.waiting.size === 0) this.isLate = false;
		this.waiting.add(emission);
		const end = new Promise<void>((onOver) => {
			const queue = this.queues.get(about);
			if (queue) queue.set(emission, onOver);
			else void this.work(about, new Map([[emission, onOver]]));
		});
		if (isProgress) this.leaveOutOldest();
		void this.warnIfLate(emission, end);
		await end;
	}

	private async work(about: string, queue: Map<Emission, () => void>): Promise<void> {
		this.queues.set(about, queue);
		for (const [emission, onOver] of queue) {
			queue.delete(emission);
			// If this fails, the trigger was closed, or else the next event must not suffer from it.
			await this.start(emission).catch(() => {});
			this.waiting.delete(emission);
			onOver();
		}
		this.queues.delete(about);
	}

	/** Emits until n8n has started the execution, and waits for its end. */
	private async start(emission: Emission): Promise<void> {
		const depth = await emission.depth();
		if (depth === undefined) return emission.store.end(emission.key);
		for (let attempt = 1; ; attempt++) {
			const release = await this.slots.acquire(1, this.signal);
			this.waiting.delete(emission);
			try {
				const item = await this.itemOf(emission);
				await emission.after;
				if (this.signal.aborted || (await this.isStarted(emission, item, depth))) return;
			} finally {
				release();
			}
			this.waiting.add(emission);
			this.note(emission, false);
			const event = `the event '${emission.name}' of ${emission.about}`;
			if (attempt === MAX_ATTEMPTS) return this.log('error', `n8n did not start ${event}`);
			if (attempt === 1) this.log('warn', `n8n could not start ${event}, trying again`);
			const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
			await sleep(pauseMs, this.signal);
		}
	}

	private async itemOf({ json, fetchFiles }: Emission): Promise<INodeExecutionData> {
		const { redact } = this;
		if (!fetchFiles) return { json: redact.value(json) };
		return await withDeadline(DOWNLOAD_MS, this.signal, fetchFiles).then(
			(binary) => ({ json: redact.value(json), binary }),
			(error: unknown) => {
				const failure = error instanceof Failure ? error : new Failure('badFile');
				return { json: redact.value({ ...json, error: wordingOf(failure).message }) };
			},
		);
	}

	/** Progress is not kept. */
	private note({ isProgress, key, store }: Emission, isEmitted: boolean): void {
		if (!isProgress) store.emitted(key, isEmitted);
	}

	/** Tells n8n. False if it could not start the execution; true once that is over or takes too long. */
	private async isStarted(
		emission: Emission,
		item: INodeExecutionData,
		depth: number,
	): Promise<boolean> {
		const { store, key, isProgress } = emission;
		const done = this.context.helpers.createDeferredPromise<IRun>();
		const outcome = done.promise.then(
			(run) => ({ run, isRefused: false }),
			(error: unknown) => ({ run: undefined, isRefused: this.isRefusal(error) }),
		);
		const over = outcome.then(({ run }) => run);
		this.note(emission, true);
		store.save();
		emission.begin(depth, over);
		try {
			this.context.emit([[item]], undefined, done, this.deduplicationKey(emission));
		} catch {
			done.reject(new Error('cancelled'));
			return false;
		}
		const first = await settledWithin(MAX_EXECUTION_MS, this.signal, outcome);
		if (first?.isRefused) return false;
		if (!isProgress) store.end(key);
		// A database can be busy for longer than the wait for an execution.
		if (!first) {
			void outcome.then(({ isRefused }) => {
				if (!isRefused) return;
				this.note(emission, false);
				if (!this.signal.aborted) void this.add(emission);
			});
		}
		return true;
	}

	/**
	 * n8n rejects the promise of an execution that it could not start just as that of a canceled one. An
	 * n8n that does not drop duplicates only ever does the latter.
	 */
	private isRefusal(error: unknown): boolean {
		const hasBegun = /cancell?ed|stalled|no active execution/i.test(String(error));
		return dropsDuplicates(this.context) && !hasBegun;
	}

	/** Drops the oldest progress event that is not being emitted, when too many wait: nothing of it is kept. */
	private leaveOutOldest(): void {
		if (this.waiting.size <= MAX_PROGRESS) return;
		const progress = [...this.waiting].filter(({ isProgress }) => isProgress);
		if (progress.length <= MAX_PROGRESS) return;
		const oldest = progress.find((emission) => this.queues.get(emission.about)?.has(emission));
		if (!oldest) return;
		const queue = this.queues.get(oldest.about);
		queue?.get(oldest)?.();
		queue?.delete(oldest);
		this.waiting.delete(oldest);
	}

	/** Logs once when events have waited for long, until none waits any more. */
	private async warnIfLate(emission: Emission, end: Promise<void>): Promise<void> {
		await settledWithin(LATE_MS, this.signal, end);
		if (this.signal.aborted || this.isLate || !this.waiting.has(emission)) return;
		this.isLate = true;
		const events = `${this.waiting.size} event${this.waiting.size === 1 ? '' : 's'}`;
		this.log(
			'warn',
			`${events} waiting for more than a minute: at most ${MAX_AT_ONCE} executions run at once`,
		);
	}

	private log(level: 'warn' | 'error', text: string): void {
		this.context.logger[level](this.redact.text(`Media Generation Trigger: ${text}`));
	}

	/** n8n starts no second execution with a key it knows; a key may have 255 characters. */
	private deduplicationKey({ about, name }: Emission): string {
		const digest = createHash('sha256').update([this.scope, about, name].join('\n')).digest('hex');
		return `media-generation:${digest}`;
	}
}

/** True when this n8n drops a second execution with the same key. */
export const dropsDuplicates = (context: ITriggerFunctions): boolean => context.emit.length >= 4;
