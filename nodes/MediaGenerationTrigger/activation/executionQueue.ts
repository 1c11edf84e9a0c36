import { createHash } from 'node:crypto';
import type {
	IBinaryKeyData,
	IDataObject,
	INodeExecutionData,
	IRun,
	ITriggerFunctions,
} from 'n8n-workflow';
import { settledWithin, sleep, withDeadline } from '../../shared/async/deadline';
import { Semaphore } from '../../shared/async/queue';
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

/** One event that is to start one execution. */
export interface Emission {
	/** What `store` knows it by; the events of one are emitted in order. */
	about: string;
	/** The same for the same event, also after a restart. */
	name: string;
	/** A newer percentage takes the place of an older one that waits; an end always starts an execution. */
	isProgress: boolean;
	store: Pick<EventStore<never, never>, 'markEmitted' | 'markOver' | 'save'>;
	/** Asked when its turn comes: false if it is to start nothing after all. Never rejects. */
	isWanted(): Promise<boolean>;
	/** What is put out. */
	json: IDataObject;
	/** Fetches its files. If that fails, the `error` of what is put out says why there are none. */
	fetchFiles?(signal: AbortSignal): Promise<IBinaryKeyData>;
}

/** The events about one thing. */
interface Line {
	/** Resolves when all of them have been dealt with. */
	end: Promise<void>;
	/** The percentage that waits behind an earlier event. */
	progress?: Emission;
}

/** Starts executions: those about one thing one after another, and not too many at once. */
export class ExecutionQueue {
	private readonly slots = new Semaphore(MAX_AT_ONCE);
	private readonly lines = new Map<string, Line>();

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
		const line = this.lines.get(about);
		if (line && isProgress) line.progress = emission;
		const start = async () => {
			if (line && isProgress && line.progress !== emission) return;
			// If it fails, the trigger was closed, or else the next event must not suffer from it.
			await this.start(emission).catch(() => {});
		};
		const end = line ? line.end.then(start) : start();
		if (line) line.end = end;
		else this.lines.set(about, { end });
		await end;
		if (this.lines.get(about)?.end === end) this.lines.delete(about);
	}

	/** Emits until n8n has started the execution, and waits for its end. */
	private async start(emission: Emission): Promise<void> {
		const { store, isProgress, about, name } = emission;
		if (!(await emission.isWanted())) return store.markOver(about);
		for (let attempt = 1; ; attempt++) {
			const release = await this.slots.acquire(1, this.signal);
			try {
				const item = await this.itemOf(emission);
				if (this.signal.aborted || (await this.isStarted(emission, item))) return;
			} finally {
				release();
			}
			if (!isProgress) store.markEmitted(about, false);
			const event = `the event '${name}' of ${about}`;
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

	/** Tells n8n. False if it could not start the execution; true once that is over or takes too long. */
	private async isStarted(emission: Emission, item: INodeExecutionData): Promise<boolean> {
		const { store, about, isProgress } = emission;
		const done = this.context.helpers.createDeferredPromise<IRun>();
		const refused = done.promise.then(
			() => false,
			(error: unknown) => this.isRefusal(error),
		);
		if (!isProgress) store.markEmitted(about, true);
		store.save();
		try {
			this.context.emit([[item]], undefined, done, this.deduplicationKey(emission));
		} catch {
			done.reject(new Error('cancelled'));
			return false;
		}
		if (await settledWithin(MAX_EXECUTION_MS, this.signal, refused)) return false;
		if (!isProgress) store.markOver(about);
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
