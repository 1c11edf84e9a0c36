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
import type { GenerationOrder, GenerationRecord } from './generationRecord';
import type { ItemContext } from './itemContext';

/** The signals also abort when the time of the item, or of the call, is up. */
export interface StreamLimits extends CallSignals {
	/** Milliseconds of silence after which the stream counts as lost. */
	idleMs: number;
}

/** How long a stream is read on after an error of one of several videos, or of all, in ms. */
const AFTER_ERROR_MS = 30_000;
/** How long an answer may say nothing until the call counts as accepted, in ms. */
const FIRST_EVENT_MS = 1000;
/** What fails since too much is in flight mostly does so sooner, in ms. */
const ALIVE_MS = 4000;

/**
 * Sends a create call and reads its stream to the end. Throws a Failure when it is refused or fails, or
 * when `stopStarting` aborts.
 */
export async function requestStream(
	item: ItemContext,
	order: GenerationOrder,
	record: GenerationRecord,
	limits: StreamLimits,
): Promise<StreamResult> {
	const fill = await order.body(limits.stopStarting);
	return await new GenerationCall(item, order, record, limits, fill).send();
}

/** One create call, which may have to be sent again, and its stream. */
class GenerationCall {
	private state: 'unanswered' | 'accepted' = 'unanswered';
	private readonly closing = new AbortController();
	private readonly body: { bytes?: Buffer; release?(): void } = {};

	constructor(
		private readonly item: ItemContext,
		private readonly order: GenerationOrder,
		private readonly record: GenerationRecord,
		private readonly limits: StreamLimits,
		private readonly fill: Awaited<ReturnType<GenerationOrder['body']>>,
	) {}

	/** To be called once. */
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
				if (!mayBeUnderWay(error)) throw error;
				return { files: [], interruptedBecause: 'the service did not respond in time' };
			})
			.finally(() => {
				this.close();
				this.freeBody();
			});
	}

	/** Reads an answer to its end. Some services accept every call, and refuse by the first event. */
	private async read(
		parts: AsyncIterable<Uint8Array>,
		onAccepted: () => void,
	): Promise<StreamResult> {
		const { stopStarting } = this.limits;
		void whenAborted(stopStarting).then(() => this.close());
		const outcome = await this.outcomeOf(parts, onAccepted);
		const refusal = this.state === 'unanswered' && refusalOf(outcome);
		if (refusal) throw refusal;
		onAccepted();
		if (stopStarting.aborted) throw abortReason(stopStarting).withDefaults({ mayBeCharged: true });
		if (outcome instanceof Failure) throw outcome;
		return outcome;
	}

	/**
	 * Reads a stream to its outcome, to a silence, or until it is closed. Calls `onSign` once it has said
	 * something, or taken longer than a service needs to refuse.
	 */
	private async outcomeOf(
		parts: AsyncIterable<Uint8Array>,
		onSign: () => void,
	): Promise<StreamResult | Failure> {
		const { idleMs } = this.limits;
		const { api, concurrency } = this.item;
		const onProgress = (status: string, id?: string) => {
			onSign();
			this.record.showProgress(status, id);
		};
		const events = new GenerationEvents(api.credential, onProgress, this.order.requestedCount);
		const finished = new AbortController();
		const after = async (ms: number, action: () => void) => {
			await sleep(ms, finished.signal);
			if (!finished.signal.aborted) action();
		};
		void after(FIRST_EVENT_MS, onSign);
		void after(ALIVE_MS, () => concurrency.onAlive());
		let lastHeard = monotonicNow();
		let reason: string | undefined;
		const silenceMs = () => (events.isFailing ? Math.min(idleMs, AFTER_ERROR_MS) : idleMs);
		void watchIdle(
			() => lastHeard + silenceMs(),
			finished.signal,
			() => {
				reason = `nothing was heard for ${silenceMs() / 1000} s`;
				this.close();
			},
		);
		try {
			for await (const part of parts) {
				const { eventCount } = events;
				const outcome = events.push(part);
				if (outcome) return outcome;
				if (events.eventCount > eventCount) lastHeard = monotonicNow();
			}
			return events.markEnded();
		} catch {
			return events.markBroken(reason);
		} finally {
			finished.abort(SILENT_ABORT);
		}
	}

	/** It is not sent again, and no longer counts as a call. */
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

	private close(): void {
		this.closing.abort(SILENT_ABORT);
	}
}

/** Why a service that answers with a stream has not accepted the call, if its first event says so. */
function refusalOf(outcome: StreamResult | Failure): Failure | undefined {
	if (!(outcome instanceof Failure)) return undefined;
	const { facts } = outcome;
	if (isTransient(outcome)) return new Failure('rateLimited', facts);
	return facts.means === 'token' ? new Failure('tokenRefused', facts) : undefined;
}

/** How an edge says that the service did not answer. */
const NO_ANSWER_STATUSES = [504, 520, 524];

/** A create call that was never answered, or not in time, may still have started a generation. */
const mayBeUnderWay = (error: unknown): boolean =>
	error instanceof Failure &&
	error.facts.mayBeCharged === true &&
	(['noResponse', 'timedOut'].includes(error.kind) ||
		NO_ANSWER_STATUSES.includes(error.facts.status ?? 0));
