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
import type { Activation } from './activation';
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
	/** By what a sub-workflow that created it has noted it: then it starts nothing. */
	names: string[];
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

/** Starts a watch's executions: those about one thing one after another, and not too many at once. */
export class ExecutionQueue {
	private readonly slots = new Semaphore(MAX_AT_ONCE);
	private readonly lines = new Map<string, Line>();

	constructor(
		private readonly activation: Activation,
		private readonly store: Pick<EventStore<never, never>, 'markEmitted' | 'markOver' | 'save'>,
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
		const { store } = this;
		const { isOwnWork, closing, warn } = this.activation;
		const { isProgress, about, name } = emission;
		if (await isOwnWork(emission.names)) return store.markOver(about);
		for (let attempt = 1; ; attempt++) {
			const release = await this.slots.acquire(1, closing);
			try {
				const item = await this.itemOf(emission);
				if (closing.aborted || (await this.isStarted(emission, item))) return;
			} finally {
				release();
			}
			if (!isProgress) store.markEmitted(about, false);
			const event = `the event '${name}' of ${about}`;
			if (attempt === MAX_ATTEMPTS) return warn(`n8n did not start ${event}`);
			if (attempt === 1) warn(`n8n could not start ${event}, trying again`);
			const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
			await sleep(pauseMs, closing);
		}
	}

	private async itemOf({ json, fetchFiles }: Emission): Promise<INodeExecutionData> {
		const { api, closing } = this.activation;
		const { redact } = api.credential;
		if (!fetchFiles) return { json: redact.value(json) };
		return await withDeadline(DOWNLOAD_MS, closing, fetchFiles).then(
			(binary) => ({ json: redact.value(json), binary }),
			(error: unknown) => {
				const failure = error instanceof Failure ? error : new Failure('badFile');
				return { json: redact.value({ ...json, error: wordingOf(failure).message }) };
			},
		);
	}

	/** Tells n8n. False if it could not start the execution; true once that is over or takes too long. */
	private async isStarted(emission: Emission, item: INodeExecutionData): Promise<boolean> {
		const { store } = this;
		const { context, closing } = this.activation;
		const { about, isProgress } = emission;
		const done = context.helpers.createDeferredPromise<IRun>();
		const refused = done.promise.then(
			() => false,
			(error: unknown) => this.isRefusal(error),
		);
		if (!isProgress) store.markEmitted(about, true);
		store.save();
		try {
			context.emit([[item]], undefined, done, this.deduplicationKey(emission));
		} catch {
			done.reject(new Error('cancelled'));
			return false;
		}
		if (await settledWithin(MAX_EXECUTION_MS, closing, refused)) return false;
		if (!isProgress) store.markOver(about);
		return true;
	}

	/**
	 * n8n rejects the promise of an execution that it could not start just as that of a canceled one. An
	 * n8n that does not drop duplicates only ever does the latter.
	 */
	private isRefusal(error: unknown): boolean {
		const hasBegun = /cancell?ed|stalled|no active execution/i.test(String(error));
		return dropsDuplicates(this.activation.context) && !hasBegun;
	}

	/** n8n starts no second execution with a key it knows; a key may have 255 characters. */
	private deduplicationKey({ about, name }: Emission): string {
		const parts = [this.activation.scope, about, name];
		const digest = createHash('sha256').update(parts.join('\n')).digest('hex');
		return `media-generation:${digest}`;
	}
}

/** True when this n8n drops a second execution with the same key. */
export const dropsDuplicates = (context: ITriggerFunctions): boolean => context.emit.length >= 4;
