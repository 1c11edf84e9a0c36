import { claimsOf, type Claim } from './claims';
import { abortReason, pause } from './clock';
import type { GeneratedFile } from './contract';
import { failureOfText } from './answers';
import { Failure } from './failure';
import {
	GenerationEvents,
	type GenerationOutcome,
	type GenerationProgress,
} from './generationEvents';
import { findLost, type HistoryWatch } from './history';
import type { ByteStream } from './http';
import type { Generation, Requests } from './requests';

export interface GenerationBody {
	bytes: Buffer;
	/** Called once the service has taken the body and its memory is free again. */
	release?(): void;
}

export interface GenerationOrder {
	generation: Generation;
	/** The prompt as sent, '' when none is; the history is searched by it. */
	prompt: string;
	/** Files asked for. */
	expected: number;
	kind: 'video' | 'image';
	/** As asked for, to tell it from another of the same prompt. */
	aspectRatio?: string;
	/** Makes the request's body; called once, right before it is sent. */
	body(signal: AbortSignal): Promise<GenerationBody>;
	/** Deadline and cancel of the item. */
	signal: AbortSignal;
	/** Cancel of all items. */
	shared: AbortSignal;
	/** Milliseconds of silence after which the stream counts as lost. */
	idleMs: number;
	/** When an earlier try of this node sent the create call, in ms since 1970: it is not repeated. */
	earlier?: number;
	/** Right before the create call is sent. */
	onSend(began: number): void;
	onProgress(progress: GenerationProgress): void;
	/** The stream is lost; the search in the history begins. */
	onLost(reason: string): void;
}

/**
 * Reads a generation stream to its outcome. Ends it, with the connection, at the first terminal
 * event, after `idleMs` of silence, or when `signal` aborts (then throws its reason).
 */
async function readStream(
	stream: ByteStream,
	events: GenerationEvents,
	order: GenerationOrder,
	close: () => void,
): Promise<GenerationOutcome> {
	const over = new AbortController();
	let lastHeard = Date.now();
	let silent = false;
	const watch = async () => {
		while (!over.signal.aborted) {
			const restMs = lastHeard + order.idleMs - Date.now();
			if (restMs <= 0) {
				silent = true;
				return close();
			}
			await pause(restMs, over.signal);
		}
	};
	void watch();
	try {
		for await (const part of stream) {
			lastHeard = Date.now();
			const outcome = events.push(part);
			if (outcome) return outcome;
		}
		return events.end();
	} catch {
		if (order.signal.aborted) throw abortReason(order.signal).with({ maybeAccepted: true });
		return events.broken(silent ? `nothing was heard for ${order.idleMs / 1000} s` : undefined);
	} finally {
		over.abort();
		close();
	}
}

/** How an edge says that the service did not answer it: in time, or at all. */
const NO_ANSWER_STATUSES = [504, 520, 524];

/** A create call whose answer never came may have started a generation all the same. */
const mayBeUnderWay = (error: unknown): error is Failure =>
	error instanceof Failure &&
	(error.kind === 'noAnswer' || NO_ANSWER_STATUSES.includes(error.facts.status ?? 0));

/**
 * Makes videos or an image: one create call, its stream, and, where the stream ends without a
 * result, the history (the generation goes on and is paid). Throws a Failure; never creates twice.
 */
export async function generate(
	requests: Requests,
	watch: HistoryWatch,
	order: GenerationOrder,
): Promise<GeneratedFile[]> {
	const { signal, shared, earlier } = order;
	const claims = claimsOf(requests.address);
	const claim = claims.begin({ ...order, began: earlier ?? Date.now() });
	let files: GeneratedFile[] = [];
	try {
		const outcome: GenerationOutcome =
			earlier === undefined
				? await stream(requests, order, claim)
				: { kind: 'lost', text: 'an earlier try of this node lost the stream' };
		if (outcome.kind === 'page') throw new Failure('notTheService', { maybeAccepted: true });
		if (outcome.kind === 'failed') throw failureOf(outcome.text);
		if (outcome.kind === 'complete') {
			files = outcome.files;
		} else {
			order.onLost(outcome.text);
			const lost = { claim, claims, signal, shared, reason: outcome.text };
			files = await findLost(requests, watch, lost);
		}
		return files;
	} finally {
		claims.end(claim, files);
	}
}

async function stream(
	requests: Requests,
	order: GenerationOrder,
	claim: Claim,
): Promise<GenerationOutcome> {
	const closing = new AbortController();
	const signal = AbortSignal.any([order.signal, closing.signal]);
	const events = new GenerationEvents(requests.address.baseUrl, (progress) => {
		if (progress.id !== undefined) claim.ids.add(progress.id);
		order.onProgress(progress);
	});
	// A function of its own: the body, which may be large, is free again once the stream is open.
	const open = async () => {
		const { bytes, release } = await order.body(signal);
		try {
			claim.began = Date.now();
			order.onSend(claim.began);
			return await requests.openStream(order.generation, bytes, signal, order.idleMs);
		} finally {
			release?.();
		}
	};
	const opened = await open().catch((error: unknown) => {
		if (!mayBeUnderWay(error)) throw error;
	});
	if (!opened) return { kind: 'lost', text: 'the service did not answer' };
	return await readStream(opened, events, order, () => closing.abort());
}

/** The service's own words for a failed generation, told apart from credit and token. */
function failureOf(text: string | undefined): Failure {
	const failure = failureOfText(text);
	return failure.kind === 'rejected' || failure.kind === 'invalidVoice'
		? new Failure('generationFailed', { text })
		: failure;
}
