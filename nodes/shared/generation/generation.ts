import { askedOf, type Claims } from './claims';
import {
	abortReason,
	anyOf,
	NO_REASON,
	steadyNow,
	throwIfAborted,
	watchSilence,
} from '../async/deadline';
import type { GeneratedFile } from '../contract';
import { failureOfText } from '../parsing/errorResponses';
import { Failure } from '../failure';
import {
	GenerationEvents,
	type GenerationOutcome,
	type GenerationProgress,
} from '../parsing/generationEvents';
import type { HistoryReader } from './historyReader';
import { findLost, findRest } from './historyRecovery';
import { closeAtEnd } from '../http/bodies';
import type { ByteStream } from '../http/request';
import type { Api } from '../api/api';
import { GENERATIONS, type Generation } from '../media';
import { requestDigest } from './requestDigest';
import type { SentRequest, Claim } from './historyMatching';

export interface GenerationBody {
	bytes: Buffer;
	/** Called once the service has taken the body and its memory is free again. */
	release?(): void;
}

interface Earlier {
	asked: SentRequest;
	files?: GeneratedFile[];
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
	/** The prompt as sent, '' when none is; the history is searched by it. */
	prompt: string;
	/** Files asked for. */
	expected: number;
	/** As asked for, to tell it from another of the same prompt. */
	aspectRatio?: string;
	/** Makes the request's body; called once, right before it is sent. */
	body(signal: AbortSignal): Promise<GenerationBody>;
	/** Deadline and cancel of the item. */
	signal: AbortSignal;
	/**
	 * Ends a create call under way. Another item's failure does not: its answer says what was paid for.
	 */
	creating: AbortSignal;
	/** Cancel of all items. */
	shared: AbortSignal;
	/** Milliseconds of silence after which the stream counts as lost. */
	idleMs: number;
	/** What an earlier attempt of this node asked for, and its files: it is not asked for again. */
	earlier?: Earlier;
	listener: GenerationListener;
}

/**
 * Reads a generation stream to its outcome. Ends it, with the connection, a moment after the first
 * terminal event, after `idleMs` of silence, or when `signal` aborts (then throws its reason).
 */
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

/** False when a failed generation was definitely not accepted, or has failed by the service's word. */
export function mayStillCome(error: unknown): boolean {
	if (!(error instanceof Failure)) return true;
	return error.facts.maybeAccepted === true || error.kind === 'streamLost';
}

/**
 * Generates files: one create call, its stream, and, if that ends too early, the history, since the
 * generation goes on and is paid for. Throws a Failure; never creates twice.
 */
export async function generate(
	api: Api,
	history: HistoryReader,
	claims: Claims,
	order: GenerationOrder,
): Promise<GeneratedFile[]> {
	const { signal, shared, earlier, prompt, expected, aspectRatio, listener } = order;
	const { makes: kind, withImages } = GENERATIONS[order.generation];
	// Until it is sent, no entry can belong to it.
	const asked = { prompt, expected, kind, aspectRatio, withImages, began: Infinity };
	const claim = claims.begin(earlier?.asked ?? asked);
	const search = { claim, claims, signal, shared };
	/** Some files are missing, and may still come: a later attempt waits for them. */
	const noteCut = () => {
		claim.cutAt ??= Date.now();
		listener.onAsked(askedOf(claim));
	};
	const make = async () => {
		const outcome = earlier ? outcomeOf(earlier) : await stream(api, order, claim);
		switch (outcome.kind) {
			case 'page':
				throw new Failure('notTheService', { maybeAccepted: true });
			case 'failed':
				throw failureOf(outcome.text);
			case 'lost': {
				listener.onLost(outcome.text);
				const found = await findLost(api, history, { ...search, reason: outcome.text });
				if (found.length < expected && signal.aborted) noteCut();
				return found;
			}
			case 'complete': {
				const { files, cut } = outcome;
				if (files.length >= expected) return files;
				if (cut === undefined) return await findRest(history, search, files);
				noteCut();
				if (!signal.aborted) listener.onLost(cut);
				return await findLost(api, history, { ...search, reason: cut }, files);
			}
		}
	};
	return await make().then(
		(files) => {
			claims.end(claim, files);
			return files;
		},
		(error: unknown) => {
			if (mayStillCome(error)) {
				claims.leave(claim);
				if (claim.others?.length) listener.onAsked(askedOf(claim));
			} else claims.end(claim, []);
			throw error;
		},
	);
}

function outcomeOf({ asked, files }: Earlier): GenerationOutcome {
	const text = 'an earlier attempt of this node lost the stream';
	if (!files) return { kind: 'lost', text };
	return { kind: 'complete', files, cut: asked.cutAt === undefined ? undefined : text };
}

async function stream(api: Api, order: GenerationOrder, claim: Claim): Promise<GenerationOutcome> {
	const closing = new AbortController();
	const close = () => closing.abort(NO_REASON);
	const signal = anyOf(order.creating, closing.signal);
	const hear = (progress: GenerationProgress) => {
		const { id } = progress;
		const isNamed = id !== undefined && !claim.ids.has(id);
		if (isNamed) claim.ids.add(id);
		order.listener.onProgress(progress, isNamed ? askedOf(claim) : undefined);
	};
	const events = new GenerationEvents(api.credential, hear, order.expected);
	// A function of its own, so that the body, which may be large, is freed once the stream is open.
	const open = async () => {
		const { bytes, release } = await order.body(order.signal);
		try {
			claim.digest = await requestDigest(order, bytes);
			const onSend = () => {
				claim.began = Date.now();
				order.listener.onAsked(askedOf(claim));
			};
			const onRefused = () => {
				// Until it is sent again, no entry can belong to it.
				claim.began = Infinity;
				order.listener.onRefused();
			};
			const limits = { signal, begin: order.signal, limitMs: order.idleMs, onSend, onRefused };
			const answer = await api.openStream(order.generation, bytes, limits);
			claim.clockOffsetMs = answer.clockOffsetMs;
			order.listener.onAsked(askedOf(claim));
			return answer.body;
		} finally {
			release?.();
		}
	};
	const opened = await open().catch((error: unknown) => {
		close();
		if (!mayBeUnderWay(error)) throw error;
	});
	if (!opened) return { kind: 'lost', text: 'the service did not respond' };
	const ended = api.rateLimit.begin('stream');
	return await readStream(opened, events, order, close).finally(ended);
}

/** The Failure behind the service's words for a failed generation. */
function failureOf(text: string | undefined): Failure {
	const failure = failureOfText(text);
	return failure.kind === 'rejected' || failure.kind === 'invalidVoice'
		? new Failure('generationFailed', { text })
		: failure;
}
