import { createHash } from 'node:crypto';
import type { Api } from '../api/api';
import {
	abortReason,
	anyOf,
	NO_REASON,
	sleep,
	steadyNow,
	throwIfAborted,
	watchSilence,
} from '../async/deadline';
import { type GeneratedFile, GENERATIONS, type Generation } from '../contract';
import { Failure } from '../failure';
import { closeAtEnd } from '../http/bodies';
import type { ByteStream } from '../http/request';
import {
	GenerationEvents,
	type GenerationOutcome,
	type GenerationProgress,
} from '../parsing/generationEvents';
import { askedOf } from './claims';
import type { Claim, SentRequest } from './historyMatching';

export interface GenerationBody {
	bytes: Buffer;
	/** Called once the service has taken the body and its memory is free again. */
	release?(): void;
}

/** Told how a generation goes. */
export interface GenerationListener {
	/** Called right before each create call, and when more is known of the request. */
	onAsked(asked: SentRequest): void;
	/** The service has definitely not accepted the call. */
	onRefused(): void;
	/** `asked` is given when the stream has named another id. */
	onProgress(progress: GenerationProgress, asked?: SentRequest): void;
	/** The stream is lost and the search in the history begins. */
	onLost(reason: string): void;
}

export interface GenerationOrder {
	generation: Generation;
	/** As sent, '' when none is; the history is searched by it. */
	prompt: string;
	/** Files asked for. */
	expected: number;
	aspectRatio?: string;
	/** Makes the request's body; called once, right before it is sent. */
	body(signal: AbortSignal): Promise<GenerationBody>;
	/** Deadline and cancel of the item. */
	signal: AbortSignal;
	/** Ends a create call under way. Another item's failure does not: its answer says what was paid for. */
	creating: AbortSignal;
	/** Cancel of all items. */
	shared: AbortSignal;
	/** Milliseconds of silence after which the stream counts as lost. */
	idleMs: number;
	/** What an earlier attempt of this node asked for, and its files: it is not asked for again. */
	earlier?: { asked: SentRequest; files?: GeneratedFile[] };
	listener: GenerationListener;
}

/**
 * Sends the create call of `claim` and reads its stream to the outcome. Throws a Failure when it surely
 * started nothing, or when the order's signal aborts.
 */
export async function requestStream(
	api: Api,
	order: GenerationOrder,
	claim: Claim,
): Promise<GenerationOutcome> {
	const closing = new AbortController();
	const close = () => closing.abort(NO_REASON);
	const creating = anyOf(order.creating, closing.signal);
	const opened = await openStream(api, order, claim, creating).catch((error: unknown) => {
		close();
		if (!mayBeUnderWay(error)) throw error;
	});
	if (!opened) return { kind: 'lost', text: 'the service did not respond' };
	const hear = (progress: GenerationProgress) => {
		const { id } = progress;
		const isNamed = id !== undefined && !claim.ids.has(id);
		if (isNamed) claim.ids.add(id);
		order.listener.onProgress(progress, isNamed ? askedOf(claim) : undefined);
	};
	const events = new GenerationEvents(api.credential, hear, order.expected);
	const ended = api.pace.markUnderWay();
	return await readStream(opened, events, order, close).finally(ended);
}

/**
 * Sends the create call of `claim`, and returns its stream. A function of its own, so that the body, which
 * may be large, is freed once the stream is open.
 */
async function openStream(
	api: Api,
	order: GenerationOrder,
	claim: Claim,
	signal: AbortSignal,
): Promise<ByteStream> {
	const { listener } = order;
	const { bytes, release } = await order.body(order.signal);
	try {
		claim.digest = await requestDigest(order, bytes);
		const answer = await api.openStream(order.generation, bytes, {
			signal,
			begin: order.signal,
			limitMs: order.idleMs,
			onSend() {
				claim.began = Date.now();
				listener.onAsked(askedOf(claim));
			},
			onRefused() {
				// Until it is sent again, no entry can belong to it.
				claim.began = Infinity;
				listener.onRefused();
			},
		});
		claim.clockOffsetMs = answer.clockOffsetMs;
		listener.onAsked(askedOf(claim));
		return answer.body;
	} finally {
		release?.();
	}
}

/** Reads a stream to its outcome, or to a silence. Throws the signal's reason when that aborts. */
async function readStream(
	stream: ByteStream,
	events: GenerationEvents,
	order: GenerationOrder,
	close: () => void,
): Promise<GenerationOutcome> {
	const over = new AbortController();
	const { signal, idleMs } = order;
	let lastHeard = steadyNow();
	let why: string | undefined;
	const onSilence = () => {
		why = `nothing was heard for ${idleMs / 1000} s`;
		close();
	};
	void watchSilence(() => lastHeard, idleMs, over.signal, onSilence);
	signal.addEventListener('abort', close, { once: true });
	try {
		throwIfAborted(signal);
		for await (const part of stream.iterator({ destroyOnReturn: false })) {
			lastHeard = steadyNow();
			const outcome = events.push(part);
			if (!outcome) continue;
			void closeAtEnd(stream, close, order.shared);
			return outcome;
		}
		close();
		return events.end();
	} catch {
		close();
		const outcome = events.broken(why);
		if (!signal.aborted) return outcome;
		const reason = abortReason(signal);
		// What has come in time must not be lost with what has not.
		if (reason.kind === 'timedOut' && outcome.kind === 'complete') return outcome;
		throw reason.with({ maybeAccepted: true });
	} finally {
		signal.removeEventListener('abort', close);
		over.abort(NO_REASON);
	}
}

/** How an edge says that the service did not answer. */
const NO_ANSWER_STATUSES = [504, 520, 524];

/** A create call that was never answered may still have started a generation. */
const mayBeUnderWay = (error: unknown): error is Failure =>
	error instanceof Failure &&
	(error.kind === 'noAnswer' || NO_ANSWER_STATUSES.includes(error.facts.status ?? 0));

/** Bytes hashed at a time: n8n can do other things in between. */
const HASHED_BYTES = 8 * 1024 * 1024;

/** Equal for requests whose files are interchangeable, however many are asked for. */
async function requestDigest(
	{ generation, aspectRatio, prompt }: GenerationOrder,
	bytes: Buffer,
): Promise<string> {
	const hash = createHash('sha256');
	hash.update(JSON.stringify([generation, aspectRatio, prompt.trim()]));
	const images = GENERATIONS[generation].withImages ? bytes : bytes.subarray(0, 0);
	for (let at = 0; at < images.length; at += HASHED_BYTES) {
		if (at > 0) await sleep(0);
		hash.update(images.subarray(at, at + HASHED_BYTES));
	}
	return hash.digest('hex').slice(0, 32);
}
