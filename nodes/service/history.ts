import { entryState, type Claim, type Claims } from './claims';
import { startDeadline } from './clock';
import type { GeneratedFile, ServiceRecord } from './contract';
import { Failure } from './failure';
import { MAX_FILES } from './limits';
import { readAllPages } from './paging';
import { asText, asTime } from './values';
import { readReason } from './reasons';
import type { Requests } from './requests';
import { until, type Reading } from './wait';

/** Milliseconds between looks into the history; all items of a run share one look. */
const LOOK_MS = 10_000;
/** A look this fresh serves everyone, in ms. */
const FRESH_MS = 8_000;
/** How long a lost generation is looked for, in seconds. */
const SEARCH_SECONDS = 600;
/** Looks without a change after which fewer files than asked for are taken as all. */
const SETTLED_LOOKS = 3;
/** How far back a look goes at most, in entries. */
const MOST_ENTRIES = 2000;

interface Look {
	items: ServiceRecord[];
	/** The service's clock minus ours, in ms. */
	clockOffsetMs: number;
}

/** Looks into the history (§4.9), shared: however many items wait, one look serves them all. */
export class HistoryWatch {
	private look: Promise<Look> | undefined;
	private lookedAt = 0;
	private reachesBackTo = Infinity;

	constructor(private readonly requests: Requests) {}

	/**
	 * The entries made since `since` (ms since 1970 by our clock), newest first; `signal` is the one of
	 * all items together.
	 */
	async newest(since: number, signal: AbortSignal): Promise<Look> {
		const isFresh = Date.now() - this.lookedAt <= FRESH_MS && this.reachesBackTo <= since;
		if (!this.look || !isFresh) {
			this.lookedAt = Date.now();
			this.reachesBackTo = Math.min(since, this.reachesBackTo);
			this.look = this.readBackTo(this.reachesBackTo, signal);
			this.look.catch(() => (this.look = undefined));
		}
		return await this.look;
	}

	private async readBackTo(since: number, signal: AbortSignal): Promise<Look> {
		let clockOffsetMs = 0;
		const items = await readAllPages({
			first: 1,
			limit: MOST_ENTRIES,
			idField: 'id',
			fetch: async (page, pageSize) => {
				const found = await this.requests.histories({ page, page_size: pageSize }, signal);
				({ clockOffsetMs } = found);
				return found;
			},
			isEnough: (page) => {
				const oldest = asTime(page.items.at(-1)?.created_at);
				return !(oldest >= since + clockOffsetMs);
			},
		});
		return { items, clockOffsetMs };
	}
}

export interface Search {
	claim: Claim;
	claims: Claims;
	/** Deadline and cancel of the item. */
	signal: AbortSignal;
	/** Cancel of all items: a shared look must not end with one item's deadline. */
	shared: AbortSignal;
	/** Why the stream was lost, for the message. */
	reason: string;
}

/**
 * The files of a generation whose stream ended without telling: waits until the history holds the
 * entries that are provably its own. Throws a Failure: streamLost (with the entries that may be it),
 * generationFailed, or the signal's reason. Never creates anything.
 */
export async function findLost(
	requests: Requests,
	watch: HistoryWatch,
	search: Search,
): Promise<GeneratedFile[]> {
	const { claim, claims } = search;
	const { baseUrl } = requests.address;
	let candidates: ServiceRecord[] = [];
	let settled = 0;
	let partial: GeneratedFile[] = [];

	const read = async (): Promise<Reading<GeneratedFile[]>> => {
		const { items, clockOffsetMs } = await watch.newest(claim.began, search.shared);
		const verdict = claims.judge(claim, items, clockOffsetMs);
		candidates = verdict.candidates;
		if (verdict.hopeless) throw new Failure('streamLost');
		const states = verdict.own.map((entry) => entryState(entry, baseUrl));
		const files = states.flatMap((state) => state.files).slice(0, MAX_FILES);
		if (files.length === 0 && states.length > 0 && states.every(({ failed }) => failed)) {
			throw new Failure('generationFailed', { text: readReason(verdict.own[0]) });
		}
		const complete = files.length >= claim.expected;
		settled = files.length > 0 && files.length === partial.length ? settled + 1 : 0;
		partial = files;
		if (complete || settled >= SETTLED_LOOKS) return { done: true, value: files };
		return { done: false };
	};

	claim.lost = true;
	const limit = startDeadline(SEARCH_SECONDS, search.signal);
	const waiting = until({
		read,
		signal: limit.signal,
		pollMs: LOOK_MS,
		holdMs: () => requests.holdMs(),
		readFirst: true,
	});
	try {
		return await waiting.catch((error: unknown) => {
			const isOver = error instanceof Failure && ['timedOut', 'streamLost'].includes(error.kind);
			// What is there by now is better than nothing.
			if (isOver && partial.length > 0) return partial;
			throw isOver ? notFound() : withPayment(error);
		});
	} finally {
		limit.stop();
	}

	function notFound(): Failure {
		const listed = candidates.map((entry) => ({
			id: asText(entry.id) ?? '',
			createdAt: asText(entry.created_at),
		}));
		return new Failure('streamLost', { text: search.reason, candidates: listed });
	}
}

/** A look that can't be had (a refused token, say) leaves the generation as paid as it is. */
const withPayment = (error: unknown): unknown =>
	error instanceof Failure && error.kind !== 'generationFailed'
		? error.with({ maybeAccepted: true })
		: error;
