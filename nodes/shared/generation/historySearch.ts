import { accountOf } from '../account';
import type { Api } from '../api/api';
import { remainingMs, steadyNow, withDeadline } from '../async/deadline';
import { pollUntil, type Reading } from '../async/pollUntil';
import type { GeneratedFile, SentRequest } from '../contract';
import { Failure, isFailure, withFacts } from '../failure';
import { MAX_FILES } from '../limits';
import { asText, unsigned } from '../parsing/coerce';
import { readReason } from '../parsing/errors';
import { marksOf } from '../parsing/responses';
import { claimsOf } from './claims';
import { isKnown, type HistoryEntry } from './historyEntries';
import type { Claim } from './historyMatching';
import { HistoryReader } from './historyReader';

/** Milliseconds between looks into the history; all items that search share one look. */
const LOOK_MS = 10_000;
/** How long to look for a lost generation, in ms. */
const SEARCH_MS = 600_000;
/** How long one look may take, in ms, where only a few are worth it, or the time above is over. */
const LONGEST_LOOK_MS = 15_000;
/** How many looks are worth it where the service has hardly accepted the request. */
const UNLIKELY_LOOKS = 2;
/**
 * How many looks without a change make a part of the files count as all, since videos end one by one, and
 * take what only the prompt speaks for though an id was told.
 */
const SETTLED_LOOKS = 9;

const readerOf = ({ credential }: Api) => accountOf(credential).shared(HistoryReader);

/**
 * The files of a generation whose stream has told too little: those that had come, and what the history
 * has or will have within ten minutes, or in one look if nothing `cut` the stream and the service has ended
 * it. Throws a Failure if there are none: with the entries that may be its own, generationFailed, or
 * the signal's reason. Never creates anything.
 */
export async function findInHistory(
	api: Api,
	claim: Claim,
	cut: string | undefined,
	signal: AbortSignal,
): Promise<GeneratedFile[]> {
	const claims = claimsOf(api.credential);
	const { files: got, request } = claim;
	const { cutAt = Date.now(), isUnlikely = false } = request;
	const mostLooks = cut === undefined ? 1 : isUnlikely ? UNLIKELY_LOOKS : Infinity;
	const leftMs = Math.max(LONGEST_LOOK_MS, cutAt + SEARCH_MS - Date.now());
	// Those just lost share a look of some seconds ago.
	const notBefore = cut === undefined || claim.state === 'lost' ? steadyNow() : 0;
	let found = got;
	let candidates: HistoryEntry[] = [];
	let looks = 0;
	let lastSeen = '';
	/** How many looks in a row have found the same further files. */
	let unchanged = 0;

	claim.state = 'lost';
	const limitMs = Math.min(leftMs, mostLooks * LONGEST_LOOK_MS);
	const wait = async (over: AbortSignal) =>
		await pollUntil({
			read: async (reading) => await look(reading, remainingMs(over) < LOOK_MS),
			signal: over,
			pollMs: LOOK_MS,
			readFirst: true,
		});
	return await withDeadline(limitMs, signal, wait).catch((error: unknown) => {
		const isOver = isFailure(error, 'timedOut', 'streamLost');
		// A part of the files is better than nothing.
		if ((isOver || got.length > 0) && found.length > 0) return found;
		if (isFailure(error, 'generationFailed')) throw error;
		// If the history can't be read, the generation is still paid for.
		if (!isOver) throw withFacts(error, { maybeAccepted: true });
		const named = candidates.map(({ record }) => ({
			id: asText(record.id) ?? '',
			createdAt: asText(record.created_at),
		}));
		throw new Failure(isUnlikely ? 'unclear' : 'streamLost', { text: cut, candidates: named });
	});

	async function look(reading: AbortSignal, isLast: boolean): Promise<Reading<GeneratedFile[]>> {
		const isEnough = ++looks >= mostLooks;
		const asOf = isLast ? steadyNow() - 1000 : notBefore;
		const { entries, clockOffsetMs } = await readerOf(api)
			.look(api, claims.related(request), reading, asOf)
			.catch((error: unknown) => {
				if (isEnough) throw new Failure('streamLost');
				// A replica that lags behind, or an edge, may answer so for minutes.
				throw isFailure(error, 'notFound') ? error.with({ transient: true }) : error;
			});
		const verdict = claims.match(claim, entries, clockOffsetMs);
		const failed = verdict.own.filter((entry) => entry.failed);
		candidates = verdict.candidates;
		found = [...got, ...furtherFiles(claim, verdict.own)].slice(0, MAX_FILES);
		const seen = verdict.own.map(({ id, prompt }) => id ?? prompt).join('\n');
		const hasNews = found.length > got.length || failed.length > 0;
		unchanged = hasNews && seen === lastSeen ? unchanged + 1 : 0;
		lastSeen = seen;
		const isAll = found.length + failed.length >= request.expected;
		if ((isAll && verdict.isCertain) || unchanged >= SETTLED_LOOKS) {
			if (found.length > 0) return { done: true, value: found };
			const text = readReason(api.credential.redact.value(failed[0]!.record));
			throw new Failure('generationFailed', { text });
		}
		if (verdict.isHopeless || isEnough) throw new Failure('streamLost');
		return { done: false };
	}
}

/** The files of `own` entries that the request does not have, no more than it lacks. */
function furtherFiles({ request, files: had, marks }: Claim, own: HistoryEntry[]): GeneratedFile[] {
	const further = own.flatMap((entry) => {
		if (!isKnown(entry, marks)) return entry.files;
		// Of several files in one entry, events may have named some, perhaps at other addresses.
		const named = had.filter(({ id }) => id !== undefined && id === entry.id).length;
		return entry.files
			.filter(({ fileUrl }) => !marks.has(unsigned(fileUrl)))
			.slice(0, entry.files.length - Math.max(1, named));
	});
	return had.length === 0 ? further : further.slice(0, request.expected - had.length);
}

/**
 * A file that an earlier attempt got for `request`, at its address of now: the old one may have expired.
 * Undefined if the history has none, or the same. Takes one look.
 */
export async function findAgain(
	api: Api,
	request: SentRequest,
	file: GeneratedFile,
	signal: AbortSignal,
): Promise<GeneratedFile | undefined> {
	const looking = readerOf(api).look(api, [request], signal);
	const { entries } = await looking.catch(() => ({ entries: [] }));
	const marks = new Set(marksOf([file]));
	const found = entries.filter((entry) => isKnown(entry, marks)).flatMap(({ files }) => files);
	const same = found.find(({ fileUrl }) => unsigned(fileUrl) === unsigned(file.fileUrl));
	const renewed = same ?? (found.length === 1 ? found[0] : undefined);
	return renewed?.fileUrl === file.fileUrl ? undefined : renewed;
}
