import type { Api } from '../api/api';
import { steadyNow } from '../async/deadline';
import { type GeneratedFile, GENERATIONS } from '../contract';
import { Failure } from '../failure';
import { failureOfText } from '../parsing/errors';
import type { GenerationOutcome } from '../parsing/generationEvents';
import { askedOf, type Claims } from './claims';
import { requestStream, type GenerationOrder } from './generationStream';
import type { HistoryReader } from './historyReader';
import { findLost, findRest } from './historyRecovery';

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
	const began = steadyNow();
	const make = async () => {
		const outcome = earlier ? outcomeOf(earlier) : await requestStream(api, order, claim);
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
			api.pace.noteFailed(error, began, 1);
			if (mayStillCome(error)) {
				claims.leave(claim);
				if (claim.others?.length) listener.onAsked(askedOf(claim));
			} else claims.end(claim, []);
			throw error;
		},
	);
}

function outcomeOf({ asked, files }: NonNullable<GenerationOrder['earlier']>): GenerationOutcome {
	const text = 'an earlier attempt of this node lost the stream';
	if (!files) return { kind: 'lost', text };
	return { kind: 'complete', files, cut: asked.cutAt === undefined ? undefined : text };
}

/** The Failure behind the service's words for a failed generation. */
function failureOf(text: string | undefined): Failure {
	const failure = failureOfText(text);
	return failure.kind === 'rejected' || failure.kind === 'invalidVoice'
		? new Failure('generationFailed', { text })
		: failure;
}
