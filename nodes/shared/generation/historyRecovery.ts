import type { Claims } from './claims';
import { remainingMs, settledWithin, steadyNow, withDeadline } from '../async/deadline';
import type { GeneratedFile } from '../contract';
import { isKnown, type HistoryEntry } from './historyEntries';
import type { HistoryReader } from './historyReader';
import { Failure, isFailure, withFacts } from '../failure';
import { MAX_FILES } from '../limits';
import { asText, unsigned } from '../parsing/coerce';
import { readReason } from '../parsing/errors';
import { marksOf } from '../parsing/responses';
import type { Api } from '../api/api';
import type { Claim, SentRequest } from './historyMatching';
import { pollUntil, type Reading } from '../async/pollUntil';

/** Milliseconds between looks into the history; all items of a run share one look. */
const LOOK_MS = 10_000;
/** How old a look may be right before the deadline, in ms: items with the same deadline share it. */
const LAST_FRESH_MS = 1000;
/** How long to look for a lost generation, in ms. */
const SEARCH_MS = 600_000;
/**
 * How many looks without a change make fewer files than asked for count as all, since videos end one by
 * one, and take what only the prompt speaks for.
 */
const SETTLED_LOOKS = 9;
/** How long one look for the missing files may take, in ms. */
const LAST_LOOK_MS = 15_000;
/** How many "not found" answers in a row, over about a minute, mean that the service has no history. */
const ABSENT_LOOKS = 7;

export interface Search {
	claim: Claim;
	claims: Claims;
	/** Deadline and cancel of the item. */
	signal: AbortSignal;
	/** Cancel of all items: one item's deadline must not end a shared look. */
	shared: AbortSignal;
	/** Why the stream was lost, for the message. */
	reason: string;
}

/** What looks into the history have found of a lost generation. */
class Looks {
	/** What there is so far, in case no more comes. */
	partial: GeneratedFile[];
	candidates: HistoryEntry[] = [];
	private lastFound = '';
	/** How many looks in a row have found the same, and how many no history. */
	private unchanged = 0;
	private absent = 0;

	/** `got` had come before the stream was cut. */
	constructor(
		private readonly api: Api,
		private readonly search: Search,
		private readonly got: GeneratedFile[],
	) {
		this.partial = got;
	}

	/** Reads what a look has found. Throws a Failure when no later one can find more. */
	judge(entries: HistoryEntry[]): Reading<GeneratedFile[]> {
		const { got } = this;
		const { claim, claims } = this.search;
		const isRest = got.length > 0;
		const { own, hopeless, waitMs, candidates } = claims.judge(claim, entries);
		this.candidates = candidates;
		this.absent = 0;
		if (hopeless) {
			this.partial = got;
			throw new Failure('streamLost');
		}
		const files = isRest
			? withRest(claim, got, claims.rest(claim, got, entries))
			: own.flatMap((entry) => entry.files).slice(0, MAX_FILES);
		const failed = own.filter((entry) => entry.failed);
		const hasFailed = files.length === 0 && failed.length === own.length;
		if (failed[0] && hasFailed && waitMs === undefined) {
			const text = readReason(this.api.credential.redact.value(failed[0].record));
			throw new Failure('generationFailed', { text });
		}
		// A file that may be another's is worse than none.
		this.partial = waitMs !== undefined && claim.withImages ? got : files;
		const isAll = files.length > 0 && files.length + failed.length >= claim.expected;
		// Beside files that had come, the others are waited for as long as there is time.
		const isSettled = this.isUnchanged(files) && !isRest;
		// What completes those is hardly another's, unless the prompt says little.
		const isCertain = waitMs === undefined || (isRest && !claim.withImages);
		const isFinal = isSettled || (isAll && isCertain);
		const isDone = isFinal && (waitMs === undefined || ageOf(claim, own[0]!) >= waitMs);
		return isDone ? { done: true, value: files } : { done: false };
	}

	/**
	 * A failed look as the wait should see it. An edge, or a replica that lags behind, may answer 404 for
	 * a while. A service without a history always does.
	 */
	failed(error: unknown): unknown {
		if (!isFailure(error, 'notFound')) {
			this.absent = 0;
			return error;
		}
		if (!error.facts.isEdge) this.absent++;
		return this.absent < ABSENT_LOOKS ? error.with({ transient: true }) : new Failure('streamLost');
	}

	private isUnchanged(files: GeneratedFile[]): boolean {
		// An address may be signed anew for each look; an id stays the same.
		const found = files.map(({ id, fileUrl }) => id ?? fileUrl).join('\n');
		this.unchanged = found !== '' && found === this.lastFound ? this.unchanged + 1 : 0;
		this.lastFound = found;
		return this.unchanged >= SETTLED_LOOKS;
	}
}

/**
 * The files of a generation whose stream was lost: waits until the history holds entries that are
 * provably its own. Throws a Failure: streamLost (with the entries that may be it), generationFailed,
 * or the signal's reason. If some had come before the stream was cut, `got`, it waits for the others
 * and returns what there is, whatever goes wrong. Never creates anything.
 */
export async function findLost(
	api: Api,
	history: HistoryReader,
	search: Search,
	got: GeneratedFile[] = [],
): Promise<GeneratedFile[]> {
	const { claim, claims, signal, shared, reason } = search;
	const isRest = got.length > 0;
	if (isRest) claims.receive(claim, got);
	claim.lost = true;
	const looks = new Looks(api, search, got);
	const look = async (over: AbortSignal) => {
		// The last look must not be one of some seconds ago.
		const isLast = remainingMs(over) < LOOK_MS;
		const asOf = isLast ? steadyNow() - LAST_FRESH_MS : 0;
		const looking = history.newest(claims.reach(claim), shared, asOf);
		return looks.judge(
			await looking.catch((error: unknown) => {
				throw looks.failed(error);
			}),
		);
	};
	const wait = async (over: AbortSignal) =>
		await pollUntil({
			read: async () => await look(over),
			signal: over,
			pollMs: LOOK_MS,
			readFirst: true,
		});
	const spentMs = isRest && claim.cutAt !== undefined ? Date.now() - claim.cutAt : 0;
	const limitMs = Math.max(LAST_LOOK_MS, SEARCH_MS - spentMs);
	return await withDeadline(limitMs, signal, wait).catch((error: unknown) => {
		const isOver = isFailure(error, 'timedOut', 'streamLost');
		// A part of the files is better than nothing.
		if ((isOver || isRest) && looks.partial.length > 0) return looks.partial;
		throw isOver ? notFound(reason, looks.candidates) : withPayment(error);
	});
}

/** Milliseconds since `claim` was sent, by the service's clock, which nobody sets while we wait. */
const ageOf = ({ began, clockOffsetMs }: Claim, look: HistoryEntry) =>
	Date.now() + look.clockOffsetMs - (clockOffsetMs ?? look.clockOffsetMs) - began;

function notFound(text: string, entries: HistoryEntry[]): Failure {
	const candidates = entries.map(({ record }) => ({
		id: asText(record.id) ?? '',
		createdAt: asText(record.created_at),
	}));
	return new Failure('streamLost', { text, candidates });
}

/** `got`, plus the missing files that one look into the history finds. Never rejects. */
export async function findRest(
	history: HistoryReader,
	{ claim, claims, signal, shared }: Omit<Search, 'reason'>,
	got: GeneratedFile[],
): Promise<GeneratedFile[]> {
	if (signal.aborted) return got;
	claims.receive(claim, got);
	claim.lost = true;
	const looking = history.newest(claims.reach(claim), shared, steadyNow()).catch(() => undefined);
	const look = await settledWithin(LAST_LOOK_MS, signal, looking);
	return look ? withRest(claim, got, claims.rest(claim, got, look)) : got;
}

/**
 * A file that an earlier attempt got for `asked`, at its address of now: the old one may have expired.
 * Undefined if the history has none, or the same. Takes one look.
 */
export async function findAgain(
	history: HistoryReader,
	{ claims, asked, shared }: Pick<Search, 'claims' | 'shared'> & { asked: SentRequest },
	file: GeneratedFile,
): Promise<GeneratedFile | undefined> {
	const look = await history.newest(claims.reach(asked), shared).catch(() => []);
	const marks = new Set(marksOf([file]));
	const found = look
		.filter((entry) => entry.prompt === asked.prompt.trim() && isKnown(entry, marks))
		.flatMap(({ files }) => files);
	const place = unsigned(file.fileUrl);
	const same = found.find(({ fileUrl }) => unsigned(fileUrl) === place);
	const renewed = same ?? (found.length === 1 ? found[0] : undefined);
	return renewed?.fileUrl === file.fileUrl ? undefined : renewed;
}

const withRest = ({ expected }: Claim, got: GeneratedFile[], rest: GeneratedFile[]) => [
	...got,
	...rest.slice(0, expected - got.length),
];

/** If the history can't be read, the generation is still paid for. */
const withPayment = (error: unknown): unknown =>
	isFailure(error, 'generationFailed') ? error : withFacts(error, { maybeAccepted: true });
