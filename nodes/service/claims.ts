import type { ServiceAddress } from './address';
import { readGeneratedFiles, asText } from './readers';
import type { GeneratedFile, ServiceRecord } from './contract';

/** Which history entry is whose, when a stream ended without telling. Pure but for the registry. */

/** One generation of this process, from its request to its result. */
export interface Claim {
	/** The prompt exactly as sent; '' when none was sent. */
	prompt: string;
	/** When the request began, ms since 1970 by our clock. */
	began: number;
	/** Files asked for. */
	expected: number;
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

const idOf = (entry: ServiceRecord) => asText(entry.id) ?? asText(entry.task_id);

/** Generations under way and entries taken, of one account in this process. */
export class Claims {
	private readonly open = new Set<Claim>();
	private readonly taken = new Set<string>();

	begin(prompt: string, began: number, expected: number): Claim {
		const claim = { prompt, began, expected, ids: new Set<string>(), lost: false };
		this.open.add(claim);
		return claim;
	}

	/** Ends a claim; the files it got belong to nobody else from now on. */
	end(claim: Claim, files: GeneratedFile[]): void {
		this.open.delete(claim);
		for (const { id } of files) if (id !== undefined) this.taken.add(id);
		for (const id of this.taken) {
			if (this.taken.size <= REMEMBERED_IDS) break;
			this.taken.delete(id);
		}
	}

	/**
	 * What of `entries` belongs to `claim`: by id where events told one; else by exact prompt, created
	 * after the request began, and taken by nobody. `clockOffsetMs` is the service's clock minus ours.
	 * Entries that another open generation of the same prompt may equally own are candidates only,
	 * unless there are just as many as these generations asked for: then each gets its share, in order.
	 */
	judge(claim: Claim, entries: ServiceRecord[], clockOffsetMs: number): Verdict {
		const byId = entries.filter((entry) => claim.ids.has(idOf(entry) ?? ''));
		if (byId.length > 0) return { own: byId, candidates: [], hopeless: false };

		const free = entries
			.filter((entry) => !this.taken.has(idOf(entry) ?? ''))
			.filter((entry) => (asText(entry.prompt) ?? '') === claim.prompt.trim())
			.filter((entry) => createdAfter(entry, claim.began + clockOffsetMs))
			.sort((a, b) => createdAt(a) - createdAt(b));
		const rivals = [...this.open].filter((other) => other.prompt.trim() === claim.prompt.trim());
		const asked = rivals.reduce((sum, rival) => sum + rival.expected, 0);
		if (rivals.length === 1 && free.length <= claim.expected) {
			return { own: free, candidates: [], hopeless: false };
		}
		const allLost = rivals.every((rival) => rival.lost);
		if (free.length === asked && allLost) {
			const ordered = rivals.sort((a, b) => a.began - b.began);
			const before = ordered
				.slice(0, ordered.indexOf(claim))
				.reduce((sum, rival) => sum + rival.expected, 0);
			const own = free.slice(before, before + claim.expected);
			return { own, candidates: [], hopeless: false };
		}
		return { own: [], candidates: free, hopeless: allLost && free.length > asked };
	}
}

const createdAt = (entry: ServiceRecord) => Date.parse(asText(entry.created_at) ?? '');

const createdAfter = (entry: ServiceRecord, serverBegan: number) =>
	createdAt(entry) >= serverBegan - CLOCK_TOLERANCE_MS;

const FAILED = /^(?:error|failed|cancell?ed|media_generation_status_failed)$/i;

/** Where an entry of the history stands: its files once there are some. */
export function entryState(
	entry: ServiceRecord,
	baseUrl: string,
): { files: GeneratedFile[]; failed: boolean } {
	const files = readGeneratedFiles(entry, baseUrl);
	return { files, failed: files.length === 0 && FAILED.test(asText(entry.status) ?? '') };
}

const accounts = new Map<string, Claims>();

/** The claims of an account (a token at an address) in this process. */
export function claimsOf(address: ServiceAddress): Claims {
	const key = `${address.baseUrl} ${address.apiToken}`;
	const claims = accounts.get(key) ?? new Claims();
	accounts.set(key, claims);
	return claims;
}
