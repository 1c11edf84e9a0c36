import { refusalChecked } from '../../shared/api/firstEvent';
import type { Api } from '../../shared/api/api';
import {
	abortReason,
	anyOf,
	NO_REASON,
	steadyNow,
	watchSilence,
	whenAborted,
} from '../../shared/async/deadline';
import { Failure } from '../../shared/failure';
import { GenerationEvents, type Heard } from '../../shared/parsing/generationEvents';
import type { GenerationOrder, GenerationRecord } from './generationRecord';

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
	record: GenerationRecord,
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
					onSend: () => record.markSent(),
					onRefused: () => record.markRefused(),
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
	record.markAnswered();
	void whenAborted(signal).then(close);
	const began = steadyNow();
	const ended = api.pace.markUnderWay();
	const outcome = await outcomeOf(stream);
	close();
	ended();
	const reason = signal.aborted ? abortReason(signal) : undefined;
	const isFailed = outcome instanceof Failure;
	// What has come in time must not be lost with what has not.
	const isInTime = reason?.kind === 'timedOut' && !isFailed && outcome.files.length > 0;
	if (reason && !isInTime) throw reason.with({ maybeAccepted: true });
	if (!isFailed) return outcome;
	api.pace.noteFailed(outcome, began);
	throw outcome;

	/** Reads a stream to its outcome, to a silence, or until it is closed. */
	async function outcomeOf(parts: AsyncIterable<Uint8Array>): Promise<Heard | Failure> {
		const events = new GenerationEvents(
			api.credential,
			(progress) => record.showProgress(progress),
			order.expected,
		);
		let lastHeard = steadyNow();
		let why: string | undefined;
		const giveUp = () => {
			why = `nothing was heard for ${idleMs / 1000} s`;
			close();
		};
		void watchSilence(() => lastHeard, idleMs, closing.signal, giveUp);
		try {
			for await (const part of parts) {
				lastHeard = steadyNow();
				const outcome = events.push(part);
				if (outcome) return outcome;
			}
			return events.markEnded();
		} catch {
			return events.markBroken(why);
		}
	}
}

/** How an edge says that the service did not answer. */
const NO_ANSWER_STATUSES = [504, 520, 524];

/** A create call that was never answered may still have started a generation. */
const mayBeUnderWay = (error: unknown): boolean =>
	error instanceof Failure &&
	(error.kind === 'noAnswer' || NO_ANSWER_STATUSES.includes(error.facts.status ?? 0));
