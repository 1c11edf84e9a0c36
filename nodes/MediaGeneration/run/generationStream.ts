import type { ResponseReader } from '../../shared/api/retry';
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

export interface StreamLimits {
	/** Deadline and cancel of the item. */
	signal: AbortSignal;
	/** Ends a call under way, when its time is up. Another item's failure does not: it may be paid for. */
	creating: AbortSignal;
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
 * when the limits' signal aborts.
 */
export async function requestStream(
	{ api, concurrency }: ItemContext,
	order: GenerationOrder,
	record: GenerationRecord,
	{ signal, creating, idleMs }: StreamLimits,
): Promise<StreamResult> {
	const closing = new AbortController();
	const close = () => closing.abort(SILENT_ABORT);
	const fill = await order.body(signal);
	const body: Parameters<typeof fill>[0] = {};
	const releaseBody = () => {
		body.release?.();
		delete body.release;
		delete body.bytes;
	};
	/** By `monotonicNow`; 0 before it is accepted. */
	let began = 0;
	const call: Parameters<typeof api.generate>[1] = {
		body,
		signal: anySignal(creating, closing.signal),
		stopStarting: signal,
		attemptTimeoutMs: idleMs,
		onSend: async () => {
			await fill(body, signal);
			throwIfAborted(signal);
			throwIfAborted(creating);
			record.markSent();
		},
		onRefused: () => {
			releaseBody();
			record.markRefused();
		},
	};
	const read: ResponseReader<StreamResult> = async (answer, _, accept) => {
		const onAccepted = () => {
			if (began > 0) return;
			began = monotonicNow();
			releaseBody();
			accept();
		};
		void whenAborted(signal).then(close);
		const outcome = await outcomeOf(answer.body, onAccepted);
		// Some services accept every call, and refuse by the first event.
		if (began === 0 && isTransient(outcome)) throw new Failure('rateLimited', outcome.facts);
		if (began === 0 && outcome instanceof Failure && outcome.facts.means === 'token') {
			throw new Failure('tokenRefused', outcome.facts);
		}
		onAccepted();
		if (signal.aborted) throw abortReason(signal).withDefaults({ mayBeCharged: true });
		if (!(outcome instanceof Failure)) return outcome;
		throw outcome;
	};
	return await api
		.generate(order.generation, call, read)
		.catch((error: unknown) => {
			if (!mayBeUnderWay(error)) throw error;
			return { files: [], interruptedBecause: 'the service did not respond in time' };
		})
		.finally(() => {
			close();
			releaseBody();
		});

	/**
	 * Reads a stream to its outcome, to a silence, or until it is closed. Calls `onSign` once it has said
	 * something, or taken longer than a service needs to refuse.
	 */
	async function outcomeOf(
		parts: AsyncIterable<Uint8Array>,
		onSign: () => void,
	): Promise<StreamResult | Failure> {
		const finished = new AbortController();
		const events = new GenerationEvents(
			api.credential,
			(status, id) => {
				onSign();
				record.showProgress(status, id);
			},
			order.requestedCount,
		);
		let lastHeard = monotonicNow();
		const silenceMs = () => (events.isFailing ? Math.min(idleMs, AFTER_ERROR_MS) : idleMs);
		let reason: string | undefined;
		const giveUp = () => {
			reason = `nothing was heard for ${silenceMs() / 1000} s`;
			close();
		};
		void sleep(FIRST_EVENT_MS, finished.signal).then(() => finished.signal.aborted || onSign());
		void sleep(ALIVE_MS, finished.signal).then(
			() => finished.signal.aborted || concurrency.onAlive(),
		);
		void watchIdle(() => lastHeard + silenceMs(), finished.signal, giveUp);
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
}

/** How an edge says that the service did not answer. */
const NO_ANSWER_STATUSES = [504, 520, 524];

/** A create call that was never answered, or not in time, may still have started a generation. */
const mayBeUnderWay = (error: unknown): boolean =>
	error instanceof Failure &&
	error.facts.mayBeCharged === true &&
	(['noResponse', 'timedOut'].includes(error.kind) ||
		NO_ANSWER_STATUSES.includes(error.facts.status ?? 0));
