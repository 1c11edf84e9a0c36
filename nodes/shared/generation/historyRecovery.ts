import type { Claims } from './claims';
import { startDeadline, whenAborted } from '../async/deadline';
import type { GeneratedFile } from '../contract';
import { readHistory, type HistoryEntry } from './historyEntries';
import { Failure } from '../failure';
import { MAX_FILES } from '../limits';
import { readAllPages } from '../api/pagination';
import { asText, asTime } from '../parsing/coerce';
import { readReason } from '../parsing/errorText';
import type { Api } from '../api/api';
import type { Claim } from './historyMatching';
import { pollUntil, type Reading } from '../async/pollUntil';

/** Milliseconds between looks into the history; all items of a run share one look. */
const LOOK_MS = 10_000;
/** How long a look is fresh enough for everyone, in ms. */
const FRESH_MS = 8_000;
/** How long to look for a lost generation, in ms. */
const SEARCH_MS = 600_000;
/** How many looks without a change make fewer files than asked for count as all. */
const SETTLED_LOOKS = 3;
/** How long one look for the missing files may take, in ms. */
const LAST_LOOK_MS = 15_000;
/** How many "not found" answers in a row, over about a minute, mean that the service has no history. */
const ABSENT_LOOKS = 7;
/** How many entries a look reads at most. */
const MOST_ENTRIES = 2000;

/** Reads the history (§4.9): one look serves all items that wait. */
export class HistoryReader {
	private look: Promise<HistoryEntry[]> | undefined;
	private lookedAt = 0;
	private reachesBackTo = Infinity;

	constructor(private readonly api: Api) {}

	/**
	 * The entries made since `since` (ms since 1970 by our clock), the oldest first, as they were at `asOf`
	 * or later; `signal` is the one of all items together.
	 */
	async newest(since: number, signal: AbortSignal, asOf = 0): Promise<HistoryEntry[]> {
		const oldest = Math.max(asOf, Date.now() - FRESH_MS);
		const isFresh = this.lookedAt >= oldest && this.reachesBackTo <= since;
		if (!this.look || !isFresh) {
			this.lookedAt = Date.now();
			this.reachesBackTo = Math.min(since, this.reachesBackTo);
			this.look = this.readBackTo(this.reachesBackTo, signal);
			this.look.catch(() => (this.look = undefined));
		}
		return await this.look;
	}

	private async readBackTo(since: number, signal: AbortSignal): Promise<HistoryEntry[]> {
		let clockOffsetMs = 0;
		const items = await readAllPages({
			first: 1,
			limit: MOST_ENTRIES,
			idField: 'id',
			fetch: async (page, pageSize) => {
				const found = await this.api.listHistory({ page, page_size: pageSize }, signal);
				({ clockOffsetMs } = found);
				return found;
			},
			isEnough: (page) => {
				const oldest = asTime(page.items.at(-1)?.created_at);
				return !(oldest >= since + clockOffsetMs);
			},
		});
		return readHistory(items, this.api.credential.baseUrl, clockOffsetMs);
	}
}

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
	const { claim, claims } = search;
	const { redact } = api.credential;
	const isRest = got.length > 0;
	let candidates: HistoryEntry[] = [];
	let settled = 0;
	let lastFound = '';
	let partial = got;
	let absent = 0;

	const read = async (): Promise<Reading<GeneratedFile[]>> => {
		const looking = history.newest(claims.reach(claim), search.shared);
		const entries = await looking.catch((error: unknown) => {
			throw ofLook(error);
		});
		absent = 0;
		const verdict = claims.judge(claim, entries);
		const { own, waitMs } = verdict;
		candidates = verdict.candidates;
		if (verdict.hopeless) {
			partial = got;
			throw new Failure('streamLost');
		}
		const files = isRest
			? withRest(claim, got, claims.rest(claim, got, entries))
			: own.flatMap((entry) => entry.files).slice(0, MAX_FILES);
		const failed = own.filter((entry) => entry.failed).length;
		const hasFailed = files.length === 0 && own.length > 0 && failed === own.length;
		if (hasFailed && waitMs === undefined) {
			const text = readReason(redact.value(own[0]!.record));
			throw new Failure('generationFailed', { text });
		}
		// An address may be signed anew for each look; an id stays the same.
		const found = files.map(({ id, fileUrl }) => id ?? fileUrl).join('\n');
		settled = found !== '' && found === lastFound ? settled + 1 : 0;
		lastFound = found;
		// A file that may be another's is worse than none.
		partial = waitMs !== undefined && claim.withImages ? got : files;
		const isSettled = !isRest && settled >= SETTLED_LOOKS;
		const isAll = files.length > 0 && files.length + failed >= claim.expected;
		// What only the prompt speaks for has to stay the same for some looks, or to be all that was missing.
		const isEnough = isRest ? isAll && !claim.withImages : isSettled;
		const isDone =
			waitMs === undefined ? isSettled || isAll : isEnough && Date.now() - claim.began >= waitMs;
		return isDone ? { done: true, value: files } : { done: false };
	};

	if (isRest) claims.receive(claim, got);
	claim.lost = true;
	const spentMs = isRest && claim.cutAt !== undefined ? Date.now() - claim.cutAt : 0;
	const limitMs = Math.max(LAST_LOOK_MS, SEARCH_MS - spentMs);
	const limit = startDeadline(limitMs, search.signal);
	const waiting = pollUntil({
		read,
		signal: limit.signal,
		pollMs: LOOK_MS,
		cooldownMs: () => api.rateLimit.cooldownMs(),
		readFirst: true,
	});
	try {
		return await waiting.catch((error: unknown) => {
			const isOver = error instanceof Failure && ['timedOut', 'streamLost'].includes(error.kind);
			// A part of the files is better than nothing.
			if ((isOver || isRest) && partial.length > 0) return partial;
			throw isOver ? notFound() : withPayment(error);
		});
	} finally {
		limit.stop();
	}

	/**
	 * An edge, or a replica that lags behind, may answer 404 for a while. A service without a history
	 * always does.
	 */
	function ofLook(error: unknown): unknown {
		if (!(error instanceof Failure) || error.kind !== 'notFound') {
			absent = 0;
			return error;
		}
		if (!error.facts.isEdge) absent++;
		return absent < ABSENT_LOOKS ? error.with({ transient: true }) : new Failure('streamLost');
	}

	function notFound(): Failure {
		const listed = candidates.map(({ record }) => ({
			id: asText(record.id) ?? '',
			createdAt: asText(record.created_at),
		}));
		return new Failure('streamLost', { text: search.reason, candidates: listed });
	}
}

/**
 * `got`, plus the missing files that the history already holds. Takes one look; if that fails or
 * takes long, nothing is lost.
 */
export async function findRest(
	history: HistoryReader,
	{ claim, claims, signal, shared }: Omit<Search, 'reason'>,
	got: GeneratedFile[],
): Promise<GeneratedFile[]> {
	if (signal.aborted) return got;
	claims.receive(claim, got);
	claim.lost = true;
	const limit = startDeadline(LAST_LOOK_MS, signal);
	const looking = history.newest(claims.reach(claim), shared, Date.now());
	const look = await Promise.race([
		looking.catch(() => undefined),
		whenAborted(limit.signal).then(() => undefined),
	]);
	limit.stop();
	return look ? withRest(claim, got, claims.rest(claim, got, look)) : got;
}

/** `got` and `rest`, no more than asked for. */
const withRest = ({ expected }: Claim, got: GeneratedFile[], rest: GeneratedFile[]) => [
	...got,
	...rest.slice(0, expected - got.length),
];

/** If the history can't be read, the generation is still paid for. */
const withPayment = (error: unknown): unknown =>
	error instanceof Failure && error.kind !== 'generationFailed'
		? error.with({ maybeAccepted: true })
		: error;
