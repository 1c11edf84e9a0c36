import type { CallSignals } from '../../shared/async/callSignals';
import {
	abortReason,
	linkedController,
	SILENT_ABORT,
	sleep,
	monotonicNow,
	watchIdle,
	whenAborted,
} from '../../shared/async/deadline';
import { MEDIA } from '../../shared/contract';
import { Failure, isTransient } from '../../shared/failure';
import { isFindable } from '../../shared/generation/requestLedger';
import type { HttpResponse } from '../../shared/http/request';
import { GenerationEvents, type StreamResult } from '../../shared/parsing/generationEvents';
import type { GenerationOrder } from './generationOrder';
import type { GenerationCall } from './generationCall';
import type { ItemContext } from './operation';

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
 * A call counts as healthy once its stream has been open for this share of the kind's default Timeout: ten seconds for a
 * video. If too many calls are in flight, most of them fail earlier.
 */
const HEALTHY_SHARE = 1 / 180;

/**
 * Sends a create call and reads its event stream to the end. The call is sent again only after an attempt that the
 * service has surely not accepted (see `CreateCall`). The result may have fewer files than requested. Throws a Failure,
 * for example if the service refuses the call or the generation has failed.
 *
 * Both signals may also abort at a deadline. The stream counts as lost after `idleTimeoutMs` milliseconds of silence.
 */
export async function requestStream(
	item: ItemContext,
	order: GenerationOrder,
	call: GenerationCall,
	{ stopStarting, abortInFlight }: CallSignals,
	idleTimeoutMs: number,
): Promise<StreamResult> {
	const { api, concurrency } = item;
	const largeBody = await order.prepareBody?.(order.fields, stopStarting);
	/** The request body. It is made right before each attempt. */
	const body: { bytes?: Buffer } = {};
	/** Is aborted to close the stream. */
	const closeController = linkedController(abortInFlight);
	const close = () => closeController.abort(SILENT_ABORT);
	let isAccepted = false;

	const apiCall = {
		body,
		memory: largeBody?.memory,
		stopStarting,
		abortInFlight: closeController.signal,
		attemptTimeoutMs: idleTimeoutMs,
		makeBody: async () => {
			body.bytes = (await largeBody?.make()) ?? Buffer.from(JSON.stringify(order.fields));
		},
		onSend: () => call.markSent(),
		onNotAccepted: (failure?: Failure) => {
			freeBody();
			call.markNotAccepted();
			item.report.showRefusal(failure);
		},
	};
	return await api
		.generate(order.generation, apiCall, readStream)
		.catch((error: unknown) => {
			if (!mayHaveStarted(error)) throw error;
			return { files: [], failedIds: [], interruptionReason: 'the service did not respond' };
		})
		.finally(() => {
			close();
			freeBody();
		});

	/**
	 * Reads the stream to its end. Calls `markAccepted`, perhaps several times, when the service has accepted the call.
	 * Throws a Failure, for example if the first event refuses the call, the generation has failed, or the run was
	 * stopped before the outcome came.
	 */
	async function readStream(
		{ body: chunks }: HttpResponse,
		_: AbortSignal,
		markAccepted: () => void,
	): Promise<StreamResult> {
		void whenAborted(stopStarting).then(closeIfStopping);
		const onAccepted = () => {
			isAccepted = true;
			// The call is not sent again, so its body is not needed any more.
			freeBody();
			markAccepted();
		};
		const outcome = await readOutcome(chunks, onAccepted);
		const refusal = isAccepted ? undefined : refusalOf(outcome);
		if (refusal) throw refusal;
		onAccepted();
		if (outcome instanceof Failure) throw outcome;
		if (stopStarting.aborted && outcome.interruptionReason !== undefined) {
			call.writeResult(outcome);
			throw abortReason(stopStarting).withDefaults({ mayBeCharged: true });
		}
		return outcome;
	}

	/**
	 * Reads the stream until it ends, is silent for too long, or is closed. If the stream breaks, resolves with an
	 * outcome that has the files that have arrived. Calls `onAccepted` at each sign that the service has accepted the
	 * call.
	 */
	async function readOutcome(
		chunks: AsyncIterable<Uint8Array>,
		onAccepted: () => void,
	): Promise<StreamResult | Failure> {
		const onProgress = (status: string, id?: string) => {
			onAccepted();
			call.markProgress(status, events.files, id);
			closeIfStopping();
		};
		const { kind } = order.generation;
		const events = new GenerationEvents(api.credential, kind, onProgress, call.orderedCount);
		const streamEnded = new AbortController();
		const runAfter = async (ms: number, action: () => void) => {
			await sleep(ms, streamEnded.signal);
			if (!streamEnded.signal.aborted) action();
		};
		void runAfter(ACCEPTED_AFTER_MS, () => {
			onAccepted();
			closeIfStopping();
		});
		void runAfter(MEDIA[kind].timeoutSeconds * 1000 * HEALTHY_SHARE, () =>
			concurrency.onHealthy(item),
		);
		let lastEventAt = monotonicNow();
		let closeReason: string | undefined;
		const allowedIdleMs = () => {
			if (events.lastEventIsUnattributedError) return Math.min(idleTimeoutMs, IDLE_AFTER_ERROR_MS);
			// A silent stream may still deliver its result, which could not be recognized in the history.
			return isFindable(call.request) ? idleTimeoutMs : Infinity;
		};
		const onIdle = () => {
			closeReason = `the service sent nothing for ${allowedIdleMs() / 1000} seconds`;
			close();
		};
		void watchIdle(() => lastEventAt + allowedIdleMs(), streamEnded.signal, onIdle);
		try {
			for await (const chunk of chunks) {
				const { eventCount } = events;
				const outcome = events.push(chunk);
				// A refused call may be sent again, so its stream is closed without an abort of the call.
				if (outcome && !isAccepted && refusalOf(outcome)) return outcome;
				if (outcome) void runAfter(END_GRACE_MS, close);
				if (events.eventCount > eventCount) lastEventAt = monotonicNow();
			}
			return events.finish();
		} catch {
			return events.finishBroken(closeReason);
		} finally {
			// Only the first event refuses a call. After any other, the service may have begun to generate.
			if (events.eventCount > 1) onAccepted();
			streamEnded.abort(SILENT_ABORT);
		}
	}

	/** Deletes the bytes of the request body, so that their memory is free. */
	function freeBody(): void {
		delete body.bytes;
	}

	/** After a stop, closes an accepted stream, whose first ids were read, if the history can show its result. */
	function closeIfStopping(): void {
		if (stopStarting.aborted && isAccepted && isFindable(call.request)) close();
	}
}

/**
 * Returns the Failure to throw if the service says in place of a stream, or in its first event, that it has not accepted
 * the call or is not available; otherwise undefined.
 */
function refusalOf(outcome: StreamResult | Failure): Failure | undefined {
	if (!(outcome instanceof Failure)) return undefined;
	if (outcome.kind === 'unavailable') return outcome;
	const { facts } = outcome;
	if (isTransient(outcome)) return new Failure('throttled', facts);
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
