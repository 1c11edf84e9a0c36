import type { Api } from '../api/api';
import { abortReason, remainingMs, monotonicNow, withDeadline } from '../async/deadline';
import { pollUntil, type Reading } from '../async/pollUntil';
import type { GeneratedFile, GenerationRequest } from '../contract';
import { Failure, isFailure, withDefaultFacts, type FailureFacts } from '../failure';
import { MAX_FILES } from '../limits';
import { asText } from '../parsing/values';
import { failureOfAnswer } from '../parsing/errors';
import { identifiersOf } from '../parsing/responses';
import { hasOneOf } from './historyEntries';
import { isOpenBeside, matchesById, matchHistory, earliestEntryTime } from './historyMatching';
import { readHistorySince } from './historyReader';
import { requestsOf } from './requestLedger';

/** Milliseconds between looks into the history; all items that search share one look. */
const SEARCH_INTERVAL_MS = 10_000;
/** How long the last look may take, in ms. */
const LAST_SEARCH_MS = 15_000;
/** How long a new address is looked for, and how long others may take one from that look, in ms. */
const RENEWAL_MS = 60_000;

/**
 * The files of a generation whose stream has told too little: those that had come, and what the history
 * has or will have by the request's `searchUntil`; it is looked into once at least. Throws a Failure if
 * there are none: `streamFailure` with the entries that may be its own, generationFailed, or the signal's reason.
 * Never creates anything.
 */
export async function findInHistory(
	api: Api,
	request: GenerationRequest,
	streamFailure: Failure,
	signal: AbortSignal,
): Promise<GeneratedFile[]> {
	const { files: received, requestedCount, searchUntil = 0 } = request;
	const remainingSearchMs = () => searchUntil - Date.now();
	let found = received;
	let candidates: FailureFacts['candidates'];

	const wait = async (deadline: AbortSignal) =>
		await pollUntil({
			read: async (reading) => await search(reading, remainingMs(deadline)),
			signal: deadline,
			pollMs: SEARCH_INTERVAL_MS,
			readFirst: true,
		});
	const limitMs = Math.max(0, remainingSearchMs()) + LAST_SEARCH_MS;
	return await withDeadline(limitMs, signal, wait).catch((error: unknown) => {
		// A part of the files is better than nothing.
		if (found.length > 0) return found;
		if (isFailure(error, 'generationFailed')) throw error;
		// If the history can't be read, the generation is still paid for.
		if (!isFailure(error, 'timedOut', 'streamLost'))
			throw withDefaultFacts(error, { mayBeCharged: true });
		// One was refused, and the item's time was up before the history could tell of the others.
		const isEarly = signal.aborted && isFailure(streamFailure, 'generationFailed');
		const failure = isEarly
			? abortReason(signal).withDefaults({ mayBeCharged: true })
			: streamFailure;
		// One was refused, and another may have been made: that nobody can tell.
		const isUnknown = candidates && candidates.length > 0 && isFailure(failure, 'generationFailed');
		const { text } = failure.facts;
		throw (isUnknown ? new Failure('streamLost', { text }) : failure).withDefaults({ candidates });
	});

	async function search(signal: AbortSignal, remainsMs: number): Promise<Reading<GeneratedFile[]>> {
		// Others may have looked some seconds ago.
		const isLast = Math.min(remainingSearchMs(), remainsMs) < SEARCH_INTERVAL_MS;
		const requests = requestsOf(api.credential);
		requests.add(request);
		const alike = requests.withPrompt(request);
		const open = [request, ...alike.filter(isOpenBeside(request))];
		const since = Math.min(...open.map(earliestEntryTime));
		const asOf = isLast ? monotonicNow() - 1000 : undefined;
		const entries = await readHistorySince(api, since, signal, asOf).catch((error: unknown) => {
			if (remainingSearchMs() <= 0) throw new Failure('streamLost');
			// A replica that lags behind may answer so for minutes.
			throw isFailure(error, 'notFound') ? error.withDefaults({ transient: true }) : error;
		});
		const match = matchHistory(request, alike, entries);
		const failed = match.matched.filter((entry) => entry.failed);
		const had = new Set(identifiersOf(received));
		const further = match.matched.filter((entry) => !hasOneOf(entry, had));
		// Without a time an entry may be that of any request with its prompt.
		const undated = entries.filter(
			({ prompt, createdAt }) => prompt === request.prompt && Number.isNaN(createdAt),
		);
		candidates = [...match.candidates, ...undated].map(({ id = '', record }) => {
			return { id, createdAt: asText(record.created_at) };
		});
		found = [...received, ...further.flatMap(({ files }) => files)].slice(0, MAX_FILES);
		if (found.length + failed.length >= requestedCount) {
			if (found.length > 0) return { done: true, value: found };
			const { facts } = failureOfAnswer(api.credential.redact.value(failed[0]!.record));
			throw new Failure('generationFailed', { text: facts.text, means: facts.means });
		}
		if (remainingSearchMs() <= 0) throw new Failure('streamLost');
		// Those that are there are still to be downloaded.
		if (found.length > 0 && remainsMs < SEARCH_INTERVAL_MS) return { done: true, value: found };
		return { done: false };
	}
}

/**
 * `file` of a request as the history has it now, since signed addresses expire. It is found by its id, or
 * by those told for the request; it stays as it is if that takes more than a minute. Never rejects.
 */
export async function findRenewed(
	api: Api,
	request: GenerationRequest,
	file: GeneratedFile,
	signal: AbortSignal,
): Promise<GeneratedFile> {
	const isSame = ({ id }: GeneratedFile) => file.id === undefined || id === file.id;
	const index = request.files.filter(isSame).indexOf(file);
	const search = async (deadline: AbortSignal) => {
		for (const asOf of [monotonicNow() - RENEWAL_MS, undefined]) {
			const entries = await readHistorySince(api, earliestEntryTime(request), deadline, asOf);
			const files = entries.filter(matchesById(request)).flatMap((entry) => entry.files);
			const found = files.filter(isSame)[index];
			if (found && found.fileUrl !== file.fileUrl) return found;
		}
		return file;
	};
	return await withDeadline(RENEWAL_MS, signal, search).catch(() => file);
}
