import { randomUUID } from 'node:crypto';
import { type GeneratedFile, GENERATIONS, type SentRequest } from '../../shared/contract';
import { Failure, isFailure, withFacts } from '../../shared/failure';
import { claimsOf } from '../../shared/generation/claims';
import type {
	GenerationListener,
	GenerationOrder,
	Heard,
} from '../../shared/generation/generationStream';
import type { Claim } from '../../shared/generation/historyMatching';
import type { GenerationProgress } from '../../shared/parsing/generationEvents';
import { encounterOf } from '../paid/paidLog';
import type { PaidRecord } from '../paid/payments';
import type { Work } from './work';

/** How many ids are named for one generation: it makes four files at most (§8). */
const MAX_IDS = 8;

/** What this attempt, or an earlier one, has sent for an item, and what came of it. */
export class GenerationRecord implements GenerationListener {
	/** What was sent; undefined unless the service may have accepted it. */
	claim: Claim | undefined;
	/** What an earlier attempt has heard. */
	readonly earlier: Heard | undefined;
	/** What the attempt met that sent it and got no clear answer. */
	private why: string | undefined;
	/** The service has said that it has begun. */
	private isAccepted = false;
	/** Its stream was lost: what the history lacks may still come. */
	private isLost = false;

	constructor(
		private readonly work: Work,
		private readonly paid: PaidRecord,
		private readonly order: GenerationOrder,
	) {
		const { left } = paid;
		if (!left || left.state === 'task' || !left.asked) return;
		if (left.state === 'sent') this.why = left.why;
		else this.isAccepted = true;
		const files = left.state === 'made' ? left.files : [];
		const isCut = files.length === 0 || left.asked.cutAt !== undefined;
		const cut = this.why ?? 'an earlier attempt of this node lost the stream';
		this.earlier = { files, cut: isCut ? cut : undefined };
		if (left.state === 'made') {
			work.report.hint('resumed', 'Returned the result of an earlier attempt, at no extra charge');
		}
		this.claim = this.claims.open(left.asked);
		this.claim.state = 'lost';
		this.claims.receive(this.claim, files);
	}

	markSent(): void {
		const { generation, prompt, expected, aspectRatio } = this.order;
		const { makes: kind, withImages } = GENERATIONS[generation];
		const asked = { prompt, expected, kind, aspectRatio, withImages, told: [] };
		const request: SentRequest = { ...asked, key: randomUUID(), sentAt: Date.now() };
		this.claim = this.claims.open(request);
		this.paid.markSent({ state: 'sent', sentAt: request.sentAt, asked: request });
		this.work.report.progress(`requesting the ${kind}`);
	}

	markRefused(): void {
		if (this.claim) this.claims.drop(this.claim);
		this.claim = undefined;
		this.paid.markRefused();
	}

	markAnswered(clockOffsetMs: number | undefined): void {
		this.claim!.request.clockOffsetMs = clockOffsetMs;
		const { concurrency } = this.work;
		// It has said something by now, or is one that takes its time to begin.
		if (concurrency.recordAccepted()) concurrency.recordAlive();
		this.keepState();
	}

	showProgress({ status, id }: GenerationProgress): void {
		if (this.noteId(id)) this.keepState();
		this.markAccepted();
		this.work.report.progress(`${this.kind} ${status}`);
	}

	/** Only `files` have come; what `cut` the stream, unless the service has ended it. */
	markIncomplete(files: GeneratedFile[], cut: string | undefined): void {
		const { claim, claims, work, kind } = this;
		if (files.length > 0) {
			claims.receive(claim!, files);
			// A later attempt waits for the others.
			if (cut !== undefined) claim!.request.cutAt ??= Date.now();
			this.markAccepted();
			this.keepState();
		}
		if (cut === undefined) return;
		this.isLost = true;
		work.report.milestone(`${cut}; looking for the ${kind} in the history`);
		work.report.hint(
			'lost',
			'The service stopped reporting. The result was looked up in the history. It was not requested a second time',
		);
	}

	/** Its files are there, as many as asked for or fewer. */
	markMade(files: GeneratedFile[]): void {
		const { request: asked } = this.claim!;
		const { report } = this.work;
		if (files.length < asked.expected) {
			// A later attempt waits for the others.
			if (this.isLost) asked.cutAt ??= Date.now();
			const found = `${files.length} of ${asked.expected} files`;
			const hint =
				asked.cutAt === undefined
					? 'The service generated fewer files than requested'
					: `Found ${found}: reporting stopped. The others are charged and may still come: see History → Get Many`;
			report.hint(hint, hint);
		}
		for (const { id } of files) this.noteId(id);
		this.markAccepted();
		this.claims.settle(this.claim!, files);
		this.paid.keep({ state: 'made', asked, files, madeAt: Date.now() });
		report.milestone(`${this.kind} done`);
	}

	/** It has failed with `error`; returns that with what is known of the generation. */
	markFailed(error: unknown): unknown {
		const mayStillCome =
			!(error instanceof Failure) ||
			error.facts.maybeAccepted ||
			isFailure(error, 'streamLost', 'unclear');
		if (!this.claim || !mayStillCome) {
			// The next attempt has to ask for it again.
			if (this.claim) this.claims.settle(this.claim, []);
			this.paid.forget();
			return error;
		}
		const { request } = this.claim;
		this.claims.giveUp(this.claim);
		if (!this.isAccepted && !this.isLost) {
			this.why = encounterOf(error, this.work.context);
			request.isUnlikely = isFailure(error, 'unavailable', 'notTheService');
			this.keepState();
		}
		return withFacts(error, {
			ids: request.told,
			maybeAccepted: this.isAccepted ? undefined : true,
		});
	}

	/** The service has begun it, so it is paid. */
	private markAccepted(): void {
		if (this.isAccepted) return;
		this.isAccepted = true;
		const ids = this.claim!.request.told.join();
		this.work.report.recordPayment({ kind: this.kind, ...(ids && { ids }) });
		this.keepState();
	}

	private noteId(id: string | undefined): boolean {
		const { told } = this.claim!.request;
		const isNews = id !== undefined && !told.includes(id) && told.length < MAX_IDS;
		if (isNews) told.push(id);
		return isNews;
	}

	private keepState(): void {
		const { request: asked } = this.claim!;
		if (this.isAccepted) this.paid.keep({ state: 'accepted', asked });
		else this.paid.keep({ state: 'sent', sentAt: asked.sentAt, why: this.why, asked });
	}

	private get kind() {
		return GENERATIONS[this.order.generation].makes;
	}

	private get claims() {
		return claimsOf(this.work.credential);
	}
}
