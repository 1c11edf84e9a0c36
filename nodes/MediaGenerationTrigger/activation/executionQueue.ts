import { createHash } from 'node:crypto';
import type {
	IBinaryKeyData,
	IDataObject,
	INodeExecutionData,
	IRun,
	ITriggerFunctions,
} from 'n8n-workflow';
import { backOffMs, raceTimeout, sleep, withDeadline } from '../../shared/async/deadline';
import { Semaphore } from '../../shared/async/semaphore';
import { errorKindOf, Failure } from '../../shared/failure';
import { wordingOf } from '../../shared/n8n/messages';
import type { Activation } from './activation';
import type { Outbox } from './outbox';

/** How many executions may run at once. */
const MAX_AT_ONCE = 20;
/** How long to wait for an execution before the next one may start, in ms. */
const MAX_EXECUTION_MS = 60_000;
/** How long fetching the files of one item may take, in ms. */
const DOWNLOAD_MS = 3_600_000;
/** How many times an event is emitted if n8n can't start its execution. */
const MAX_ATTEMPTS = 10;
/** The longest pause before it is emitted again, in ms; about three minutes in total. */
const MAX_PAUSE_MS = 60_000;

/** One event that is to start one execution. */
export interface Emission {
	/** What `store` knows it by. */
	eventId: string;
	/** The same for the same event, also after a restart. */
	name: string;
	/** Only of progress: true once a newer percentage, or the task's end, makes it worthless. */
	isOutdated?(): boolean;
	/** If a sub-workflow called after the trigger has created it, it starts nothing. */
	product: Parameters<Activation['isOwnWork']>[0];
	/** What is put out. */
	json: IDataObject;
	/** Fetches its files. If that fails, the `error` of what is put out says why there are none. */
	fetchFiles?(signal: AbortSignal): Promise<IBinaryKeyData>;
}

/** Starts a watch's executions, not too many at once. */
export class ExecutionQueue {
	private readonly slots = new Semaphore(MAX_AT_ONCE);

	constructor(
		private readonly activation: Activation,
		private readonly store: Pick<Outbox, 'setState' | 'save'>,
	) {}

	/**
	 * Emits until n8n has started the execution; resolves when that is over, has taken too long, or will not
	 * start. Never rejects. What can't be emitted because the trigger was closed is left to the next one.
	 */
	async add(emission: Emission): Promise<void> {
		const { isOwnWork, closing, warn } = this.activation;
		const { eventId, name } = emission;
		if (await isOwnWork(emission.product)) return this.store.setState(eventId, 'done');
		for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
			const release = await this.slots.acquire(1, closing).catch(() => undefined);
			if (!release) return;
			const isDone = await this.emit(emission).finally(release);
			if (isDone) return;
			await sleep(backOffMs(attempt, MAX_PAUSE_MS), closing);
		}
		warn(`n8n did not start the event '${name}' of ${eventId}`);
	}

	/** Tells n8n. False if it could not start the execution; true once that is over or takes too long. */
	private async emit(emission: Emission): Promise<boolean> {
		const { context, closing } = this.activation;
		if (emission.isOutdated?.()) return true;
		const item = await this.itemOf(emission);
		if (closing.aborted) return true;
		const done = context.helpers.createDeferredPromise<IRun>();
		const refused = done.promise.then(
			() => false,
			(error: unknown) => this.failedToStart(error),
		);
		this.setState(emission, 'emitted');
		this.store.save();
		context.emit([[item]], undefined, done, this.deduplicationKey(emission));
		const isRefused = await raceTimeout(MAX_EXECUTION_MS, closing, refused);
		// The next activation emits it again, under the same key.
		if (closing.aborted && isRefused === undefined) return true;
		this.setState(emission, isRefused ? 'pending' : 'done');
		return !isRefused;
	}

	private setState({ eventId, isOutdated }: Emission, state: 'pending' | 'emitted' | 'done'): void {
		if (!isOutdated) this.store.setState(eventId, state);
	}

	private async itemOf({ json, fetchFiles }: Emission): Promise<INodeExecutionData> {
		const { api, closing } = this.activation;
		const { redact } = api.credential;
		if (!fetchFiles) return { json: redact.value(json) };
		return await withDeadline(DOWNLOAD_MS, closing, fetchFiles).then(
			(binary) => ({ json: redact.value(json), binary }),
			(error: unknown) => {
				const failure = error instanceof Failure ? error : new Failure('downloadFailed');
				const { message } = wordingOf(failure);
				const withError = { ...json, error: message, error_kind: errorKindOf(failure) };
				return { json: redact.value(withError) };
			},
		);
	}

	/**
	 * n8n rejects the promise of an execution that it could not start just as that of a canceled one. An
	 * n8n that does not drop duplicates only ever does the latter.
	 */
	private failedToStart(error: unknown): boolean {
		const hasBegun = /cancell?ed|stalled|no active execution/i.test(String(error));
		return supportsDeduplication(this.activation.context) && !hasBegun;
	}

	/** n8n starts no second execution with a key it knows; a key may have 255 characters. */
	private deduplicationKey({ eventId, name }: Emission): string {
		const parts = [this.activation.identityKey, eventId, name];
		const digest = createHash('sha256').update(parts.join('\n')).digest('hex');
		return `media-generation:${digest}`;
	}
}

/** True when this n8n drops a second execution with the same key. */
export const supportsDeduplication = (context: ITriggerFunctions): boolean =>
	context.emit.length >= 4;
