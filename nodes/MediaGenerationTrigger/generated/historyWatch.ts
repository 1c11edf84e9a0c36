import { accountOf } from '../../shared/account';
import { passes, requireToken } from '../../shared/api/tokenCheck';
import { sleep, steadyNow, withDeadline } from '../../shared/async/deadline';
import { Failure } from '../../shared/failure';
import { HistoryPages } from '../../shared/generation/historyReader';
import { wordingOf } from '../../shared/n8n/messages';
import type { Activation } from '../activation/activation';
import { EntryEvents } from './entryEvents';
import type { EntryStore, Found, Outcome } from './entryStore';
import { Look } from './look';

/** How long an activation waits for the first look, in ms; it is made again later. */
const FIRST_LOOK_MS = 20_000;
/** How often, at least, the newest entry is looked for while a person waits for it, in ms. */
const BY_HAND_MS = 10_000;
/** A page that another trigger has read is taken unless it is older than this part of the interval. */
const FRESH = 0.5;
/** How many entries of one look are emitted at most: the newest. */
const MAX_EMITTED = 500;

/** Reads the history of an account every so often, and emits what is new in it. */
export class HistoryWatch {
	private readonly pages: HistoryPages;
	private readonly events: EntryEvents;
	private reach = 1;
	/** When the first page was last read, in ms since 1970. */
	private readAt = 0;
	private isInTrouble = false;
	private hasLostTrack = false;

	constructor(
		private readonly activation: Activation,
		readonly store: EntryStore,
	) {
		const { credential } = activation.api;
		this.pages = accountOf(credential).shared(HistoryPages);
		this.events = new EntryEvents(activation, store);
	}

	/**
	 * Notes what is there at first, or catches up with what came since the last time; then goes on by
	 * itself. Throws a Failure when it makes no sense to go on.
	 */
	async start(): Promise<void> {
		const { api, closing, isManual, settings } = this.activation;
		// With speech tasks, their watch checks the token.
		if (!settings.ofTasks) await requireToken(api, isManual, closing);
		if (closing.aborted) return;
		const look = async (signal: AbortSignal) => await this.look(0, signal);
		await withDeadline(FIRST_LOOK_MS, closing, look).catch((error: unknown) => this.refuse(error));
		if (!closing.aborted) void this.goOn();
	}

	private get intervalMs(): number {
		const { isManual, settings } = this.activation;
		return isManual ? Math.min(BY_HAND_MS, settings.checkIntervalMs) : settings.checkIntervalMs;
	}

	private async goOn(): Promise<void> {
		const { closing } = this.activation;
		for (;;) {
			// Triggers that share a reading are due together from then on.
			const dueAt = this.readAt + this.intervalMs;
			await sleep(Math.min(this.intervalMs, Math.max(0, dueAt - steadyNow())), closing);
			if (closing.aborted) return;
			this.readAt = steadyNow();
			await this.look(this.intervalMs * FRESH, closing).then(
				() => (this.isInTrouble = false),
				(error: unknown) => this.report(error),
			);
		}
	}

	/** Reads as many pages as there may be news on, the first at most `maxAgeMs` old. */
	private async look(maxAgeMs: number, signal: AbortSignal): Promise<void> {
		const { api, isManual, closing } = this.activation;
		const look = new Look(this.store, api.credential.baseUrl, this.reach);
		for (let number = 1, isWanted = true; isWanted; number++) {
			const { page, readAt } = await this.pages.read(api, number, maxAgeMs, signal);
			if (number === 1) this.readAt = readAt;
			isWanted = look.add(page) && !isManual;
		}
		const outcome = look.outcome();
		if (closing.aborted) return;
		if (isManual) return this.showNewest(outcome);
		this.reach = outcome.reach;
		this.take(outcome);
	}

	/** By hand the newest entry is shown, whatever was there before. */
	private showNewest({ passed }: Outcome): void {
		const newest = passed.filter(({ entry }) => !entry.failed).at(-1);
		if (!newest) return;
		this.store.see(newest);
		this.events.emit(newest);
	}

	private take(outcome: Outcome): void {
		const { store } = this;
		const { settings, warn } = this.activation;
		store.note(outcome);
		if (outcome.hasLostTrack && !this.hasLostTrack) {
			warn('the history holds nothing that was there before, so everything in it now is skipped');
		}
		this.hasLostTrack = outcome.hasLostTrack;
		const { ready, failed } = outcome;
		const emitsFailed = settings.events.has('failed');
		for (const found of failed) {
			if (emitsFailed && found.entry.id !== undefined) this.emit(found);
			else store.markOver(found.mark);
		}
		const left = ready.slice(0, -MAX_EMITTED);
		for (const { mark } of left) store.markOver(mark);
		if (left.length > 0 || (outcome.isCut && ready.length > 0)) {
			warn(
				`more than ${MAX_EMITTED} new videos and images at once: only the newest start an execution`,
			);
		}
		for (const found of ready.slice(-MAX_EMITTED)) this.emit(found);
		store.save();
	}

	private emit(found: Found): void {
		if (this.store.queue(found)) {
			this.activation.warn(
				'too many videos and images wait for an execution: the oldest is dropped',
			);
		}
		this.events.emit(found);
	}

	/** Throws what keeps an activation from making sense; the rest passes, or is worth a line in the log. */
	private refuse(trouble: unknown): void {
		const { isManual, settings, closing } = this.activation;
		if (closing.aborted) return;
		const { kind, facts = {} }: Partial<Failure> = trouble instanceof Failure ? trouble : {};
		const isAbsent = kind === 'notFound' && !facts.isEdge;
		const isAway = passes(trouble) || (kind === 'notFound' && !(isAbsent && this.store.isEmpty));
		const isFatal = kind === 'tokenRefused' || isManual || !(settings.ofTasks || isAway);
		if (isFatal) throw isAbsent ? new Failure('noHistory', { status: facts.status }) : trouble;
		this.report(trouble);
	}

	private report(trouble: unknown): void {
		const { closing, warn, onFatal } = this.activation;
		if (closing.aborted) return;
		const failure = trouble instanceof Failure ? trouble : new Failure('noAnswer');
		if (failure.kind === 'tokenRefused') return onFatal(failure);
		if (this.isInTrouble) return;
		this.isInTrouble = true;
		const { message } = wordingOf(failure);
		warn(`the history can't be read, trying again every ${this.intervalMs / 1000} s: ${message}`);
	}
}
