import { refusalChecked } from '../api/firstEvent';
import type { Api } from '../api/api';
import { abortReason, anyOf, NO_REASON, steadyNow, watchSilence } from '../async/deadline';
import type { Generation } from '../contract';
import { Failure } from '../failure';
import { GenerationEvents, type GenerationProgress, type Heard } from '../parsing/generationEvents';

/** What is asked for. */
export interface GenerationOrder {
	generation: Generation;
	/** As sent, '' when none is; the history is searched by it. */
	prompt: string;
	/** Files asked for. */
	expected: number;
	aspectRatio?: string;
	/** Makes the request's body, right before it is sent; `release` frees its memory. */
	body(signal: AbortSignal): Promise<{ bytes: Buffer; release?(): void }>;
}

/** Told how the create call and its stream go. */
export interface GenerationListener {
	/** Right before each create call. */
	markSent(): void;
	/** The service has surely not accepted the call. */
	markRefused(): void;
	/** It has answered, and said something or taken its time. */
	markAnswered(): void;
	showProgress(progress: GenerationProgress): void;
}

export interface StreamLimits {
	/** Deadline and cancel of the item. */
	signal: AbortSignal;
	/** Ends a create call under way. Another item's failure does not: its answer says what was paid for. */
	creating: AbortSignal;
	/** Milliseconds of silence after which the stream counts as lost. */
	idleMs: number;
}

/**
 * Sends a create call and reads its stream to the end. Throws a Failure when it is refused or fails, or
 * when the limits' signal aborts.
 */
export async function requestStream(
	api: Api,
	order: GenerationOrder,
	listener: GenerationListener,
	{ signal, creating, idleMs }: StreamLimits,
): Promise<Heard> {
	const closing = new AbortController();
	const close = () => closing.abort(NO_REASON);
	const open = async () => {
		const { bytes, release } = await order.body(signal);
		return await api
			.openStream(
				order.generation,
				bytes,
				{
					signal: anyOf(creating, closing.signal),
					begin: signal,
					limitMs: idleMs,
					onSend: () => listener.markSent(),
					onRefused: () => listener.markRefused(),
				},
				async (body) => await refusalChecked(body, api.credential, signal),
			)
			.finally(release);
	};
	const stream = await open().catch((error: unknown) => {
		close();
		if (!mayBeUnderWay(error)) throw error;
	});
	if (!stream) return { files: [], cut: 'the service did not respond' };
	listener.markAnswered();
	const hear = (progress: GenerationProgress) => listener.showProgress(progress);
	const events = new GenerationEvents(api.credential, hear, order.expected);
	const began = steadyNow();
	const ended = api.pace.markUnderWay();
	signal.addEventListener('abort', close, { once: true });
	if (signal.aborted) close();
	try {
		const outcome = await readToOutcome(stream, events, idleMs, close);
		const reason = signal.aborted ? abortReason(signal) : undefined;
		const isFailed = outcome instanceof Failure;
		// What has come in time must not be lost with what has not.
		const isInTime = reason?.kind === 'timedOut' && !isFailed && outcome.files.length > 0;
		if (reason && !isInTime) throw reason.with({ maybeAccepted: true });
		if (!isFailed) return outcome;
		api.pace.noteFailed(outcome, began);
		throw outcome;
	} finally {
		signal.removeEventListener('abort', close);
		close();
		ended();
	}
}

/** Reads a stream to its outcome, to a silence, or until it is closed. */
async function readToOutcome(
	stream: AsyncIterable<Uint8Array>,
	events: GenerationEvents,
	idleMs: number,
	close: () => void,
): Promise<Heard | Failure> {
	const over = new AbortController();
	let lastHeard = steadyNow();
	let why: string | undefined;
	const giveUp = () => {
		why = `nothing was heard for ${idleMs / 1000} s`;
		close();
	};
	void watchSilence(() => lastHeard, idleMs, over.signal, giveUp);
	try {
		for await (const part of stream) {
			lastHeard = steadyNow();
			const outcome = events.push(part);
			if (outcome) return outcome;
		}
		return events.markEnded();
	} catch {
		return events.markBroken(why);
	} finally {
		over.abort(NO_REASON);
	}
}

/** How an edge says that the service did not answer. */
const NO_ANSWER_STATUSES = [504, 520, 524];

/** A create call that was never answered may still have started a generation. */
const mayBeUnderWay = (error: unknown): boolean =>
	error instanceof Failure &&
	(error.kind === 'noAnswer' || NO_ANSWER_STATUSES.includes(error.facts.status ?? 0));
