import { randomUUID } from 'node:crypto';
import { accountOf } from '../account';
import type { Credential } from '../http/credential';
import type { GeneratedFile } from '../contract';
import { isKnown, type HistoryEntry } from './historyEntries';
import type { Reach } from './historyReader';
import { dropOldest } from '../limits';
import { unsigned } from '../parsing/coerce';
import { marksOf } from '../parsing/responses';
import {
	CLOCK_TOLERANCE_MS,
	matchHistory,
	type SentRequest,
	type Claim,
	type Verdict,
} from './historyMatching';

type Order = Pick<SentRequest, 'prompt' | 'began' | 'expected' | 'kind'> & Partial<SentRequest>;

/** How long after it was given up a generation may still finish. */
const LINGERS_MS = 30 * 60 * 1000;
const REMEMBERED_MS = 2 * LINGERS_MS;
const MAX_CLAIMS = 10_000;
const MAX_MARKS = 30_000;
/** How many marks of others' files are kept for a later attempt. */
const MAX_OTHERS = 60;

/** What a later attempt needs to know of a claim. */
export const askedOf = ({ ids, lost, until, wants, got, marks, ...asked }: Claim): SentRequest => ({
	...asked,
	told: [...ids],
});

/** Generations and entries taken, of one account in this process. */
export class Claims {
	/** By key: those under way and those that are over, the latter in the order they ended. */
	private readonly claims = new Map<string, Claim>();
	/** Identifiers and addresses of files that somebody has. */
	private readonly taken = new Set<string>();
	/** Executions whose earlier files are among them. */
	private readonly executions = new WeakSet();

	/** Begins a claim, or resumes that of an earlier attempt. */
	begin(order: Order): Claim {
		const { told, key = randomUUID(), ...asked } = order;
		this.take(order.others ?? []);
		const claim: Claim = {
			digest: '',
			withImages: false,
			...asked,
			key,
			ids: new Set(told),
			lost: false,
			until: Infinity,
			wants: order.expected,
			got: 0,
			marks: new Set(),
		};
		this.claims.delete(key);
		this.claims.set(key, claim);
		return claim;
	}

	/** What an earlier attempt, perhaps in another process, asked for, and the files it got at `madeAt`. */
	recall(asked: SentRequest, files?: GeneratedFile[], madeAt = Date.now()): void {
		if (files) this.take(marksOf(files));
		if (this.claims.has(asked.key)) return;
		const claim = this.begin(asked);
		if (files) this.end(claim, files, madeAt);
		else this.close(claim, Date.now() + LINGERS_MS);
	}

	/** An execution that perhaps began in another process: what it has put out so far belongs to nobody else. */
	recallFiles(execution: object, filesBefore: () => GeneratedFile[]): void {
		if (this.executions.has(execution)) return;
		this.executions.add(execution);
		this.take(marksOf(filesBefore()));
	}

	/** Notes the files that a claim has so far. */
	receive(claim: Claim, files: GeneratedFile[]): void {
		claim.marks = new Set(marksOf(files));
		claim.got = files.length;
		for (const { id } of files) if (id !== undefined) claim.ids.add(id);
	}

	/** Ends a claim, which gets no more files unless its stream was cut. */
	end(claim: Claim, files: GeneratedFile[], madeAt = Date.now()): void {
		this.receive(claim, files);
		this.take(marksOf(files));
		const mayLack = claim.cutAt !== undefined && files.length < claim.expected;
		if (!mayLack) claim.wants = files.length;
		this.close(claim, madeAt + (mayLack ? LINGERS_MS : CLOCK_TOLERANCE_MS));
	}

	/** Gives up a claim whose files may still appear. */
	leave(claim: Claim): void {
		// A later attempt, perhaps in another process, can't know who else has got what.
		const beside = this.sharing(claim).filter(
			(other) => other !== claim && other.until >= claim.began,
		);
		const marks = [...(claim.others ?? []), ...beside.flatMap(({ marks }) => [...marks])];
		claim.others = [...new Set(marks)].slice(-MAX_OTHERS);
		this.close(claim, Date.now() + LINGERS_MS);
	}

	private close(claim: Claim, until: number): void {
		claim.lost = true;
		claim.until = until;
		this.claims.delete(claim.key);
		// A request that was never sent has no entries.
		if (claim.began < Infinity) this.claims.set(claim.key, claim);
		const outdated = Date.now() - REMEMBERED_MS;
		for (const [key, old] of this.claims) {
			if (old.until === Infinity) continue;
			if (old.until > outdated && this.claims.size <= MAX_CLAIMS) break;
			this.claims.delete(key);
		}
	}

	private take(marks: string[]): void {
		for (const mark of marks) this.taken.add(mark);
		dropOldest(this.taken, MAX_MARKS);
	}

	/** How far back `claim`, which may be one that is no longer remembered, needs the history. */
	reach(claim: Pick<Claim, 'prompt' | 'began' | 'clockOffsetMs'>): Reach {
		const reach = { ours: Infinity, service: Infinity };
		const others = this.sharing(claim).filter(({ until }) => until >= claim.began);
		for (const { began, clockOffsetMs } of [claim, ...others]) {
			const clock = clockOffsetMs === undefined ? 'ours' : 'service';
			const since = began + (clockOffsetMs ?? 0) - CLOCK_TOLERANCE_MS;
			reach[clock] = Math.min(reach[clock], since);
		}
		return reach;
	}

	/** All claims of the same prompt, itself among them. */
	private sharing({ prompt }: Pick<Claim, 'prompt'>): Claim[] {
		return [...this.claims.values()].filter((other) => other.prompt.trim() === prompt.trim());
	}

	/** What of a look into the history, the oldest first, belongs to `claim`. */
	judge(claim: Claim, all: HistoryEntry[]): Verdict {
		return matchHistory(claim, all, [...this.claims.values()], this.taken);
	}

	/** The files of `claim` in a look into the history besides `got`, those that it has. */
	rest(claim: Claim, got: GeneratedFile[], all: HistoryEntry[]): GeneratedFile[] {
		const { marks } = claim;
		return this.judge(claim, all).own.flatMap((entry) => {
			if (!isKnown(entry, marks)) return entry.files;
			// Of several files in one entry, events may have named some.
			const had = got.filter(({ id }) => id !== undefined && id === entry.id).length;
			return entry.files
				.filter(({ fileUrl }) => !marks.has(fileUrl) && !marks.has(unsigned(fileUrl)))
				.slice(0, entry.files.length - Math.max(1, had));
		});
	}
}

/** The claims of an account in this process. */
export const claimsOf = (credential: Credential): Claims => accountOf(credential).shared(Claims);
