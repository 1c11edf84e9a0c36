import type { ResponseReader } from '../../shared/api/retry';
import type { CallSignals } from '../../shared/async/callSignals';
import {
	abortReason,
	anySignal,
	SILENT_ABORT,
	sleep,
	monotonicNow,
	throwIfAborted,
	watchIdle,
	whenAborted,
} from '../../shared/async/deadline';
import { Failure, isTransient } from '../../shared/failure';
import { GenerationEvents, type StreamResult } from '../../shared/parsing/generationEvents';
import type { FillBody, GenerationOrder, GenerationRecord } from './generationRecord';
import type { ItemContext } from './itemContext';

/** The signals that end a create call, and its idle timeout. Both signals may also abort at a deadline. */
export interface StreamOptions extends CallSignals {
	/** Milliseconds of silence after which the stream counts as lost. */
	idleTimeoutMs: number;
}

/**
 * How long a stream may be silent after an error event without an id, in ms. The error may be about one of several
 * videos, so others may still come.
 */
const IDLE_AFTER_ERROR_MS = 30_000;
/** A call counts as accepted once its stream has been open for this time, in ms, even without an event. */
const ACCEPTED_AFTER_MS = 1000;
/**
 * How long the service may take to close a stream after it has sent the outcome, in ms. Then this node closes the
 * stream, which costs more processor time.
 */
const END_GRACE_MS = 50;
/**
 * A call counts as healthy once its stream has been open for this time, in ms. If too many calls are in flight, most of
 * them fail earlier.
 */
const HEALTHY_AFTER_MS = 4000;

/**
 * Sends a create call and reads its event stream to the end. The result may have fewer files than requested. Throws a
 * Failure, for example if the service refuses the call or the generation has failed.
 */
export async function requestStream(
	item: ItemContext,
	order: GenerationOrder,
	record: GenerationRecord,
	streamOptions: StreamOptions,
): Promise<StreamResult> {
	const fillBody =
		(await order.prepareBody?.(order.fields, streamOptions.stopStarting)) ?? jsonBodyFiller(order);
	return await new GenerationCall(item, order, record, streamOptions, fillBody).send();
}

const jsonBodyFiller =
	({ fields }: GenerationOrder): FillBody =>
	async (body) =>
		(body.bytes = Buffer.from(JSON.stringify(fields)));

/**
 * One create call and its stream. The call is sent again only after an attempt that the service has surely not accepted
 * (see `CreateCall`).
 */
class GenerationCall {
	private state: 'unanswered' | 'accepted' = 'unanswered';
	/** Is aborted to close the stream. */
	private readonly closeController = new AbortController();
	/** The request body. It is filled right before each attempt. */
	private readonly body: { bytes?: Buffer; release?(): void } = {};

	constructor(
		private readonly item: ItemContext,
		private readonly order: GenerationOrder,
		private readonly record: GenerationRecord,
		private readonly streamOptions: StreamOptions,
		private readonly fillBody: FillBody,
	) {}

	/** Sends the call and reads its stream, as `requestStream` says. Call it once. */
	async send(): Promise<StreamResult> {
		const { body, order, record } = this;
		const { stopStarting, abortInFlight, idleTimeoutMs } = this.streamOptions;
		const call = {
			body,
			stopStarting,
			abortInFlight: anySignal(abortInFlight, this.closeController.signal),
			attemptTimeoutMs: idleTimeoutMs,
			onSend: async () => {
				await this.fillBody(body, stopStarting);
				throwIfAborted(stopStarting);
				throwIfAborted(abortInFlight);
				record.markSent();
			},
			onNotAccepted: () => {
				this.freeBody();
				record.markNotAccepted();
			},
		};
		const readResponse: ResponseReader<StreamResult> = async (response, _, onAccepted) =>
			await this.readStream(response.body, () => this.markAccepted(onAccepted));
		return await this.item.api
			.generate(order.generation, call, readResponse)
			.catch((error: unknown) => {
				if (!mayHaveStarted(error)) throw error;
				return { files: [], interruptionReason: 'the service did not respond' };
			})
			.finally(() => {
				this.close();
				this.freeBody();
			});
	}

	/**
	 * Reads the stream to its end. Calls `onAccepted`, perhaps several times, when the service has accepted the call.
	 * Throws a Failure, for example if the first event refuses the call, the generation has failed, or the run was
	 * stopped before the outcome came.
	 */
	private async readStream(
		chunks: AsyncIterable<Uint8Array>,
		onAccepted: () => void,
	): Promise<StreamResult> {
		const { stopStarting } = this.streamOptions;
		void whenAborted(stopStarting).then(() => this.closeIfFindable());
		const outcome = await this.readOutcome(chunks, onAccepted);
		const refusal = this.state === 'unanswered' && refusalOf(outcome);
		if (refusal) throw refusal;
		onAccepted();
		if (outcome instanceof Failure) throw outcome;
		if (stopStarting.aborted && outcome.interruptionReason !== undefined) {
			this.record.markStopped(outcome.files);
			throw abortReason(stopStarting).withDefaults({ mayBeCharged: true });
		}
		return outcome;
	}

	/**
	 * Reads the stream until it ends, is silent for too long, or is closed. If the stream breaks, resolves with an
	 * outcome that has the files that have arrived. Calls `onAccepted` at each sign that the service has accepted the
	 * call.
	 */
	private async readOutcome(
		chunks: AsyncIterable<Uint8Array>,
		onAccepted: () => void,
	): Promise<StreamResult | Failure> {
		const { idleTimeoutMs } = this.streamOptions;
		const { api, concurrency } = this.item;
		const onProgress = (status: string, id?: string) => {
			onAccepted();
			this.record.markProgress(status, id);
			if (this.streamOptions.stopStarting.aborted) this.closeIfFindable();
		};
		const events = new GenerationEvents(api.credential, onProgress, this.record.orderedCount);
		const streamEnded = new AbortController();
		const runAfter = async (ms: number, action: () => void) => {
			await sleep(ms, streamEnded.signal);
			if (!streamEnded.signal.aborted) action();
		};
		void runAfter(ACCEPTED_AFTER_MS, onAccepted);
		void runAfter(HEALTHY_AFTER_MS, () => concurrency.onHealthy());
		let lastEventAt = monotonicNow();
		let closeReason: string | undefined;
		let outcome: StreamResult | Failure | undefined;
		const allowedIdleMs = () => {
			if (events.lastEventIsUnattributedError) return Math.min(idleTimeoutMs, IDLE_AFTER_ERROR_MS);
			// A silent stream may still deliver its result, which could not be recognized in the history.
			return this.isFindable ? idleTimeoutMs : Infinity;
		};
		void watchIdle(
			() => lastEventAt + allowedIdleMs(),
			streamEnded.signal,
			() => {
				closeReason = `the service sent nothing for ${allowedIdleMs() / 1000} seconds`;
				this.close();
			},
		);
		try {
			for await (const chunk of chunks) {
				if (outcome) continue;
				const { eventCount } = events;
				outcome = events.push(chunk);
				// A refused call may be sent again, so its stream is closed without an abort of the call.
				if (outcome && this.state === 'unanswered' && refusalOf(outcome)) return outcome;
				if (outcome) void runAfter(END_GRACE_MS, () => this.close());
				if (events.eventCount > eventCount) lastEventAt = monotonicNow();
			}
			return outcome ?? events.finish();
		} catch {
			return outcome ?? events.finishBroken(closeReason);
		} finally {
			streamEnded.abort(SILENT_ABORT);
		}
	}

	/** Call this when the service has accepted the call. The call is not sent again, so its body is freed. */
	private markAccepted(onAccepted: () => void): void {
		this.state = 'accepted';
		this.freeBody();
		onAccepted();
	}

	/** Deletes the request body, and gives back the memory that was reserved for it. */
	private freeBody(): void {
		this.body.release?.();
		delete this.body.release;
		delete this.body.bytes;
	}

	/**
	 * True if the result can be recognized in the history. If images are part of the request, only an announced id
	 * identifies it there.
	 */
	private get isFindable(): boolean {
		const { announcedIds, requestedCount, withImages } = this.record.request;
		return !withImages || announcedIds.length >= requestedCount;
	}

	private closeIfFindable(): void {
		if (this.isFindable) this.close();
	}

	private close(): void {
		this.closeController.abort(SILENT_ABORT);
	}
}

/**
 * Returns the Failure to throw if the first event of a stream says that the service has not accepted the call;
 * otherwise undefined.
 */
function refusalOf(outcome: StreamResult | Failure): Failure | undefined {
	if (!(outcome instanceof Failure)) return undefined;
	const { facts } = outcome;
	if (isTransient(outcome)) return new Failure('rateLimited', facts);
	return facts.meaning === 'token' ? new Failure('tokenRefused', facts) : undefined;
}

/** Statuses with which a proxy says that it got no valid answer from the service, or none in time. */
const NO_ANSWER_STATUSES = [504, 520, 524];

/** True if a create call got no answer from the service, so that it may have started a generation. */
const mayHaveStarted = (error: unknown): boolean =>
	error instanceof Failure &&
	error.facts.mayBeCharged === true &&
	(['noResponse', 'timedOut'].includes(error.kind) ||
		NO_ANSWER_STATUSES.includes(error.facts.status ?? 0));
