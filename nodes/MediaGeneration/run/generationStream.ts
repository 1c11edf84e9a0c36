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

/** What limits a create call. `stopStarting` and `abortInFlight` also abort when its time is up. */
export interface StreamLimits extends CallSignals {
	/** Milliseconds of silence after which the stream counts as lost. */
	idleMs: number;
}

/**
 * How long a stream may be silent after an error event that names no file, in ms. The error may be about one of
 * several videos, so others may still come.
 */
const AFTER_ERROR_MS = 30_000;
/** A call counts as accepted if its stream is open for this time, in ms, even if it has sent no event. */
const FIRST_EVENT_MS = 1000;
/**
 * How long the service may take to end a stream after the outcome, in ms. Ending it from here would take a third of
 * the processor time of a video.
 */
const ENDING_MS = 50;
/** If too many calls are in flight, most of them fail before this time, in ms. */
const ALIVE_MS = 4000;

/**
 * Sends a create call and reads its event stream to the end. Resolves with what the stream has told, which may
 * be less than was requested, for example because the stream was lost. Throws a Failure if the service refuses
 * the call or says that the generation failed, or if `stopStarting` aborts.
 */
export async function requestStream(
	item: ItemContext,
	order: GenerationOrder,
	record: GenerationRecord,
	limits: StreamLimits,
): Promise<StreamResult> {
	const fill = (await order.body?.(order.fields, limits.stopStarting)) ?? fillJson(order);
	return await new GenerationCall(item, order, record, limits, fill).send();
}

const fillJson =
	({ fields }: GenerationOrder): FillBody =>
	async (body) =>
		(body.bytes = Buffer.from(JSON.stringify(fields)));

/** One create call and its stream. The call is sent again while the service surely refuses it for rate or load. */
class GenerationCall {
	private state: 'unanswered' | 'accepted' = 'unanswered';
	/** Closes the stream. */
	private readonly closing = new AbortController();
	/** The request body, from right before it is sent until the service has accepted or refused it. */
	private readonly body: { bytes?: Buffer; release?(): void } = {};

	constructor(
		private readonly item: ItemContext,
		private readonly order: GenerationOrder,
		private readonly record: GenerationRecord,
		private readonly limits: StreamLimits,
		private readonly fill: FillBody,
	) {}

	/** Sends the call and reads its stream, as `requestStream` says. Call it once. */
	async send(): Promise<StreamResult> {
		const { body, order, record } = this;
		const { stopStarting, abortInFlight, idleMs } = this.limits;
		const call = {
			body,
			stopStarting,
			abortInFlight: anySignal(abortInFlight, this.closing.signal),
			attemptTimeoutMs: idleMs,
			onSend: async () => {
				await this.fill(body, stopStarting);
				throwIfAborted(stopStarting);
				throwIfAborted(abortInFlight);
				record.markSent();
			},
			onRefused: () => {
				this.freeBody();
				record.markRefused();
			},
		};
		const read: ResponseReader<StreamResult> = async (answer, _, accept) =>
			await this.read(answer.body, () => this.markAccepted(accept));
		return await this.item.api
			.generate(order.generation, call, read)
			.catch((error: unknown) => {
				if (!mayHaveStarted(error)) throw error;
				return { files: [], interruptedBecause: 'the service did not respond in time' };
			})
			.finally(() => {
				this.close();
				this.freeBody();
			});
	}

	/**
	 * Reads the stream to its end. Throws a Failure if the first event refuses the call: some services answer every
	 * call with status 200. Calls `onAccepted` when the service has accepted the call, perhaps several times.
	 */
	private async read(
		parts: AsyncIterable<Uint8Array>,
		onAccepted: () => void,
	): Promise<StreamResult> {
		const { stopStarting } = this.limits;
		void whenAborted(stopStarting).then(() => this.closeIfFindable());
		const outcome = await this.outcomeOf(parts, onAccepted);
		const refusal = this.state === 'unanswered' && refusalOf(outcome);
		if (refusal) throw refusal;
		onAccepted();
		if (outcome instanceof Failure) throw outcome;
		if (stopStarting.aborted && outcome.interruptedBecause !== undefined)
			throw abortReason(stopStarting).withDefaults({ mayBeCharged: true });
		return outcome;
	}

	/**
	 * Reads the stream until it tells the outcome, is silent for too long, or is closed. Calls `onAccepted` for
	 * each progress event, and when the stream has been open for FIRST_EVENT_MS. Never rejects.
	 */
	private async outcomeOf(
		parts: AsyncIterable<Uint8Array>,
		onAccepted: () => void,
	): Promise<StreamResult | Failure> {
		const { idleMs } = this.limits;
		const { api, concurrency } = this.item;
		const onProgress = (status: string, id?: string) => {
			onAccepted();
			this.record.showProgress(status, id);
			if (this.limits.stopStarting.aborted) this.closeIfFindable();
		};
		const events = new GenerationEvents(api.credential, onProgress, this.record.requestedCount);
		const finished = new AbortController();
		const after = async (ms: number, action: () => void) => {
			await sleep(ms, finished.signal);
			if (!finished.signal.aborted) action();
		};
		void after(FIRST_EVENT_MS, onAccepted);
		void after(ALIVE_MS, () => concurrency.onAlive());
		let lastEventAt = monotonicNow();
		let reason: string | undefined;
		let outcome: StreamResult | Failure | undefined;
		const silenceMs = () => (events.isFailing ? Math.min(idleMs, AFTER_ERROR_MS) : idleMs);
		void watchIdle(
			() => lastEventAt + silenceMs(),
			finished.signal,
			() => {
				reason = `no message for ${silenceMs() / 1000} s`;
				this.close();
			},
		);
		try {
			for await (const part of parts) {
				if (outcome) continue;
				const { eventCount } = events;
				outcome = events.push(part);
				if (outcome) void after(ENDING_MS, () => this.close());
				if (events.eventCount > eventCount) lastEventAt = monotonicNow();
			}
			return outcome ?? events.markEnded();
		} catch {
			return outcome ?? events.markBroken(reason);
		} finally {
			finished.abort(SILENT_ABORT);
		}
	}

	/** From now on the call is not sent again. Frees the body's memory. `accept` tells the throttle. */
	private markAccepted(accept: () => void): void {
		this.state = 'accepted';
		this.freeBody();
		accept();
	}

	private freeBody(): void {
		this.body.release?.();
		delete this.body.release;
		delete this.body.bytes;
	}

	/**
	 * Closes the stream if the history will show which result is its own. With images, only an id that was announced
	 * shows that, so the stream goes on until then: what it makes is charged.
	 */
	private closeIfFindable(): void {
		const { announcedIds, requestedCount, withImages } = this.record.request;
		if (!withImages || announcedIds.length >= requestedCount) this.close();
	}

	private close(): void {
		this.closing.abort(SILENT_ABORT);
	}
}

/** The Failure to throw if the first event of a stream says that the service has refused the call. */
function refusalOf(outcome: StreamResult | Failure): Failure | undefined {
	if (!(outcome instanceof Failure)) return undefined;
	const { facts } = outcome;
	if (isTransient(outcome)) return new Failure('rateLimited', facts);
	return facts.means === 'token' ? new Failure('tokenRefused', facts) : undefined;
}

/** Statuses with which a proxy says that the service did not answer in time. */
const NO_ANSWER_STATUSES = [504, 520, 524];

/** True if a create call failed without an answer, so that it may have started a generation all the same. */
const mayHaveStarted = (error: unknown): boolean =>
	error instanceof Failure &&
	error.facts.mayBeCharged === true &&
	(['noResponse', 'timedOut'].includes(error.kind) ||
		NO_ANSWER_STATUSES.includes(error.facts.status ?? 0));
