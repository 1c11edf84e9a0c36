import { accountKeyOf, type ServiceAddress } from './address';
import { readGeneratedFiles } from './readers';
import { isFailureWord } from './reasons';
import { asId, asText, asTime } from './values';
import { ASPECT_RATIOS, type GeneratedFile, type ServiceRecord } from './contract';
import { kindSaid } from './fileTypes';

/** Which history entry is whose, when a stream ended without telling. Pure but for the registry. */

/** One generation of this process, from its request to its result. */
export interface Claim {
	/** The prompt exactly as sent; '' when none was sent. */
	prompt: string;
	/** When the request began, ms since 1970 by our clock. */
	began: number;
	/** Files asked for. */
	expected: number;
	kind: 'video' | 'image';
	/** As asked for; undefined when the request has none. */
	aspectRatio?: string;
	/** Identifiers of the item that events carried. */
	ids: Set<string>;
	/** True once its stream is lost: it looks for its entries in the history. */
	lost: boolean;
}

export interface Verdict {
	/** Entries that are surely this claim's. */
	own: ServiceRecord[];
	/** Entries that may be its own, or another's. */
	candidates: ServiceRecord[];
	/** More entries than were asked for: no later look can tell whose they are. */
	hopeless: boolean;
}

/** `created_at` and Date headers are cut to the second. */
const CLOCK_TOLERANCE_MS = 2000;
const REMEMBERED_IDS = 10_000;

const idOf = (entry: ServiceRecord) => asId(entry.id) ?? asId(entry.task_id);

/** Generations under way and entries taken, of one account in this process. */
export class Claims {
	private readonly open = new Set<Claim>();
	/** Identifiers and addresses of files that somebody has. */
	private readonly taken = new Set<string>();

	/** `baseUrl` resolves relative addresses. */
	constructor(private readonly baseUrl = 'https://localhost') {}

	begin(order: Pick<Claim, 'prompt' | 'began' | 'expected' | 'kind' | 'aspectRatio'>): Claim {
		const { prompt, began, expected, kind, aspectRatio } = order;
		const claim = {
			prompt,
			began,
			expected,
			kind,
			aspectRatio,
			ids: new Set<string>(),
			lost: false,
		};
		this.open.add(claim);
		return claim;
	}

	/** Ends a claim; the files it got belong to nobody else from now on. */
	end(claim: Claim, files: GeneratedFile[]): void {
		this.open.delete(claim);
		for (const { id, fileUrl } of files) {
			if (id !== undefined) this.taken.add(id);
			this.taken.add(fileUrl);
		}
		for (const id of this.taken) {
			if (this.taken.size <= REMEMBERED_IDS) break;
			this.taken.delete(id);
		}
	}

	/** Exact prompt, created after the request began, and nothing that speaks against it. */
	private mayOwn(claim: Claim, entry: ServiceRecord, clockOffsetMs: number): boolean {
		return (
			(asText(entry.prompt) ?? '') === claim.prompt.trim() &&
			createdAfter(entry, claim.began + clockOffsetMs) &&
			this.canBe(entry, claim)
		);
	}

	/** False when the entry itself says that it is something else. */
	private canBe(entry: ServiceRecord, claim: Claim): boolean {
		const ratio = ASPECT_RATIOS.find((known) => known === entry.aspect_ratio);
		if (ratio && claim.aspectRatio && ratio !== claim.aspectRatio) return false;
		const [file] = readGeneratedFiles(entry, this.baseUrl);
		return (kindSaid(entry, file?.fileUrl ?? this.baseUrl) ?? claim.kind) === claim.kind;
	}

	/** Files that entries hold or will hold. */
	private count(entries: ServiceRecord[]): number {
		return entries.reduce(
			(sum, entry) => sum + Math.max(1, readGeneratedFiles(entry, this.baseUrl).length),
			0,
		);
	}

	/** The entries that its ids prove to be `claim`'s. */
	private provenOf(claim: Claim, entries: ServiceRecord[]): ServiceRecord[] {
		return entries.filter((entry) => claim.ids.has(idOf(entry) ?? ''));
	}

	/** How many files `claim` lacks when it has those that are proven its own. */
	private lackOf(claim: Claim, entries: ServiceRecord[]): number {
		return Math.max(0, claim.expected - this.count(this.provenOf(claim, entries)));
	}

	/** What of `free` is `claim`'s when all of its rivals get what they lack in the order they began. */
	private shareOf(
		claim: Claim,
		rivals: Array<{ rival: Claim; lack: number }>,
		free: ServiceRecord[],
	): ServiceRecord[] {
		const left = [...free];
		for (const { rival, lack } of rivals.sort((a, b) => a.rival.began - b.rival.began)) {
			const share: ServiceRecord[] = [];
			while (left.length > 0 && this.count(share) < lack) share.push(left.shift()!);
			if (rival === claim) return share;
		}
		return [];
	}

	private isAnothers(entry: ServiceRecord, claim: Claim): boolean {
		const id = idOf(entry) ?? '';
		const addresses = readGeneratedFiles(entry, this.baseUrl).map(({ fileUrl }) => fileUrl);
		return (
			[id, ...addresses].some((mark) => this.taken.has(mark)) ||
			[...this.open].some((other) => other !== claim && other.ids.has(id))
		);
	}

	/**
	 * What of `entries` belongs to `claim`: by id where events told one; else by exact prompt, created
	 * after the request began, and taken by nobody. `clockOffsetMs` is the service's clock minus ours.
	 * Entries that another open generation of the same prompt may equally own are candidates only,
	 * unless there are just as many as these generations asked for: then each gets its share, in order.
	 */
	judge(claim: Claim, entries: ServiceRecord[], clockOffsetMs: number): Verdict {
		const proven = this.provenOf(claim, entries);
		const withShare = (share: ServiceRecord[]): Verdict => {
			const own = [...proven, ...share].sort((a, b) => createdAt(a) - createdAt(b));
			return { own, candidates: [], hopeless: false };
		};
		// Fewer than asked for may be only the part that the events told of.
		if (proven.length > 0 && this.lackOf(claim, entries) === 0) return withShare([]);

		const mine = new Set(proven);
		const free = entries
			.filter((entry) => !mine.has(entry) && !this.isAnothers(entry, claim))
			.filter((entry) => this.mayOwn(claim, entry, clockOffsetMs))
			.sort((a, b) => createdAt(a) - createdAt(b));
		const rivals = [...this.open]
			.filter((other) => other.prompt.trim() === claim.prompt.trim())
			.filter((other) => other === claim || free.some((entry) => this.canBe(entry, other)))
			.map((rival) => ({ rival, lack: this.lackOf(rival, entries) }))
			.filter(({ lack }) => lack > 0);
		const found = this.count(free);
		const lacking = rivals.reduce((sum, { lack }) => sum + lack, 0);
		if (rivals.length === 1 && found <= lacking) return withShare(free);
		const allLost = rivals.every(({ rival }) => rival.lost);
		if (found === lacking && allLost) return withShare(this.shareOf(claim, rivals, free));
		if (proven.length > 0) return withShare([]);
		return { own: [], candidates: free, hopeless: allLost && found > lacking };
	}
}

const createdAt = (entry: ServiceRecord) => asTime(entry.created_at);

const createdAfter = (entry: ServiceRecord, serverBegan: number) =>
	createdAt(entry) >= serverBegan - CLOCK_TOLERANCE_MS;

/** Where an entry of the history stands: its files once there are some. */
export function entryState(
	entry: ServiceRecord,
	baseUrl: string,
): { files: GeneratedFile[]; failed: boolean } {
	const files = readGeneratedFiles(entry, baseUrl);
	return { files, failed: files.length === 0 && isFailureWord(entry.status) };
}

const accounts = new Map<string, Claims>();

/** The claims of an account (a token at an address) in this process. */
export function claimsOf(address: ServiceAddress): Claims {
	const key = accountKeyOf(address);
	const claims = accounts.get(key) ?? new Claims(address.baseUrl);
	accounts.set(key, claims);
	return claims;
}
