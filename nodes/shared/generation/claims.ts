import { accountOf } from '../account';
import type { GeneratedFile, SentRequest } from '../contract';
import type { Credential } from '../http/credential';
import { marksOf } from '../parsing/responses';
import type { HistoryEntry } from './historyEntries';
import { matchHistory, type Claim, type Verdict } from './historyMatching';

/** How long after it was given up a generation may still finish, and how long it is remembered, in ms. */
const LINGERS_MS = 30 * 60 * 1000;
const REMEMBERED_MS = 60 * 60 * 1000;
const MAX_CLAIMS = 10_000;

/** The requests of an account in this process, until some time after they are over. */
export class Claims {
	/** By the request's key: the open ones, and those that are closed, in the order they were. */
	private readonly claims = new Map<string, Claim>();

	/** A request goes out, or was sent by an earlier attempt. */
	open(request: SentRequest): Claim {
		const nothing = { files: [], marks: new Set<string>() };
		const claim: Claim = { request, state: 'streaming', until: Infinity, ...nothing };
		this.claims.delete(request.key);
		this.claims.set(request.key, claim);
		return claim;
	}

	/** What an earlier attempt, perhaps in another process, has sent, and the files it had by `madeAt`. */
	recall(request: SentRequest, files?: GeneratedFile[], madeAt?: number): void {
		if (this.claims.has(request.key)) return;
		const claim = this.open(request);
		if (files) this.settle(claim, files, madeAt);
		else this.giveUp(claim);
	}

	/** The service has surely not accepted it. */
	drop({ request }: Claim): void {
		this.claims.delete(request.key);
	}

	/** These files of it are there so far. */
	receive(claim: Claim, files: GeneratedFile[]): void {
		claim.files = files;
		claim.marks = new Set(marksOf(files));
	}

	/** These are its files, made by `madeAt`; others may still appear only if its stream was cut. */
	settle(claim: Claim, files: GeneratedFile[], madeAt = Date.now()): void {
		this.receive(claim, files);
		const { cutAt, expected } = claim.request;
		if (cutAt !== undefined && files.length < expected) this.giveUp(claim);
		else this.close(claim, 'over', madeAt);
	}

	/** Nobody waits for it any more, and its files may still appear. */
	giveUp(claim: Claim): void {
		this.close(claim, 'lost', Date.now() + LINGERS_MS);
	}

	private close(claim: Claim, state: Claim['state'], until: number): void {
		Object.assign(claim, { state, until, closedAt: Date.now() });
		this.claims.delete(claim.request.key);
		this.claims.set(claim.request.key, claim);
		const outdated = Date.now() - REMEMBERED_MS;
		for (const [key, old] of this.claims) {
			if (old.closedAt === undefined) continue;
			if (old.closedAt > outdated && this.claims.size <= MAX_CLAIMS) break;
			this.claims.delete(key);
		}
	}

	/** The requests whose entries in the history matter for `request`, itself among them. */
	related(request: SentRequest): SentRequest[] {
		const others = [...this.claims.values()].map((claim) => claim.request);
		return [request, ...others.filter(({ prompt }) => prompt.trim() === request.prompt.trim())];
	}

	/** What of a look into the history, the oldest first, belongs to `claim`. */
	match(claim: Claim, entries: HistoryEntry[], clockOffsetMs: number): Verdict {
		const all = [...this.claims.values()];
		for (const { request } of all) request.clockOffsetMs ??= clockOffsetMs;
		return matchHistory(claim, entries, all, Date.now() + clockOffsetMs);
	}
}

/** The requests of an account in this process. */
export const claimsOf = (credential: Credential): Claims => accountOf(credential).shared(Claims);
