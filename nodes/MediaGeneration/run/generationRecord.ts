import type { GeneratedFile, MediaKind } from '../../shared/contract';
import { withFacts } from '../../shared/failure';
import { mayStillCome } from '../../shared/generation/generation';
import type { GenerationListener } from '../../shared/generation/generationStream';
import type { SentRequest } from '../../shared/generation/historyMatching';
import type { GenerationProgress } from '../../shared/parsing/generationEvents';
import type { PaidRecord } from '../paid/payments';
import type { Work } from './work';

/** How many different status words are shown for one generation: the service has four. */
const MAX_WORDS = 50;
/** How many ids are named for one generation: it makes four files at most (§8). */
const MAX_IDS = 8;

/** What an earlier attempt asked for, and its files. */
interface Earlier {
	asked: SentRequest;
	files?: GeneratedFile[];
}

/** Notes how one generation goes: for a retry, for the summary of what was paid, in the log, on screen. */
export class GenerationRecord implements GenerationListener {
	/** What an earlier attempt has left. */
	readonly earlier: Earlier | undefined;
	/** What was sent and not refused. */
	private sent: SentRequest | undefined;
	private isAccepted: boolean;
	/** Its stream was lost: what the history lacks may still come. */
	private isLost = false;
	private readonly said = new Set<string>();

	constructor(
		private readonly work: Work,
		private readonly paid: PaidRecord,
		private readonly kind: MediaKind,
	) {
		const { left } = paid;
		this.isAccepted = left !== undefined && left.state !== 'sent';
		if (left && left.state !== 'task' && left.asked) this.earlier = { ...left, asked: left.asked };
		this.sent = this.earlier?.asked;
		if (left?.state === 'made') {
			work.report.hint('resumed', 'Returned the result of an earlier attempt, at no extra charge');
			work.report.note({ channel: 'kept' });
		}
	}

	onAsked(now: SentRequest): void {
		const isFirst = this.sent === undefined;
		this.sent = now;
		if (isFirst) {
			this.work.report.noteAttempt();
			this.work.report.note({ channel: 'stream' });
			this.paid.markSent({ state: 'sent', sentAt: Date.now(), asked: now });
		} else this.save();
		this.say(`requesting the ${this.kind}`);
	}

	onRefused(): void {
		this.sent = undefined;
		this.paid.markRefused();
	}

	onProgress({ status }: GenerationProgress, asked?: SentRequest): void {
		this.sent = asked ?? this.sent;
		this.accept(asked !== undefined);
		this.say(`${this.kind} ${status}`);
	}

	onLost(reason: string): void {
		this.isLost = true;
		this.work.report.note({ channel: 'history' });
		this.work.report.milestone(`${reason}; looking for the ${this.kind} in the history`);
		this.work.report.hint(
			'lost',
			`The service stopped reporting (${reason}), so the result was looked up in the history. It was not requested a second time`,
		);
	}

	/** It has failed with `error`; returns that with what is known of the generation. */
	failed(error: unknown): unknown {
		if (mayStillCome(error)) return withFacts(error, { ids: this.idsWith([]) });
		// What was definitely not accepted, or has failed, has to be asked for again by the next attempt.
		this.paid.forget();
		return error;
	}

	/** Its files are there, `expected` of them or fewer. */
	done(files: GeneratedFile[], expected: number): void {
		this.accept(false, files);
		if (this.sent) this.paid.keep({ state: 'made', asked: this.sent, files, madeAt: Date.now() });
		if (files.length < expected) this.hintOnMissing(`${files.length} of ${expected} files`);
		this.work.report.milestone(`${this.kind} done`);
	}

	private hintOnMissing(ofThese: string): void {
		if (!this.isLost && this.sent?.cutAt === undefined) {
			return this.work.report.hint('fewer', 'The service generated fewer files than requested');
		}
		this.work.report.hint(
			`cut: ${ofThese}`,
			`Found ${ofThese}: the service stopped reporting before all were ready. The others have been charged and may still come: see History → Get Many`,
		);
	}

	private accept(hasNews: boolean, files: GeneratedFile[] = []): void {
		this.work.report.note({ ids: this.idsWith(files).join() || undefined });
		const isFirst = !this.isAccepted;
		this.isAccepted = true;
		if (isFirst) this.work.report.recordPayment(this.kind);
		if (isFirst || hasNews) this.save();
	}

	/** The ids that the service has told, and those of the files. */
	private idsWith(files: GeneratedFile[]): string[] {
		const told = this.sent?.told.slice(0, MAX_IDS) ?? [];
		return [...new Set([...told, ...files.map(({ id }) => id)])].filter((id) => id !== undefined);
	}

	private save(): void {
		const { sent: asked, isAccepted } = this;
		if (asked && isAccepted) this.paid.keep({ state: 'accepted', asked });
		else this.paid.keep({ state: 'sent', sentAt: Date.now(), asked });
	}

	/** Each word once. */
	private say(text: string): void {
		if (this.said.has(text) || this.said.size >= MAX_WORDS) return;
		this.said.add(text);
		this.work.report.progress(text);
	}
}
