import type { ITriggerFunctions } from 'n8n-workflow';
import { accountOf } from '../../shared/account';
import { Api } from '../../shared/api/api';
import { passes, requireToken } from '../../shared/api/tokenCheck';
import { sleep, startDeadline } from '../../shared/async/deadline';
import { Failure } from '../../shared/failure';
import type { HistoryEntry } from '../../shared/generation/historyEntries';
import { historyPagesOf, type HistoryPages } from '../../shared/generation/historyPages';
import type { Credential } from '../../shared/http/credential';
import { wordingOf } from '../../shared/n8n/messages';
import { unsigned } from '../../shared/parsing/coerce';
import { generationOriginsOf, type Origins } from '../../shared/speech/origins';
import type { ExecutionQueue } from '../executionQueue';
import type { Settings } from '../settings';
import { SelfStarts } from '../watch/selfStarts';
import { EntryEvents } from './entryEvents';
import { EntryStore } from './entryStore';
import { Look, type Found, type Outcome } from './look';

/** How long an activation waits for the first look, in ms; it is made again later. */
const FIRST_LOOK_MS = 20_000;
/** A person who waits for the newest entry has it looked for at least this often, in ms. */
const BY_HAND_MS = 10_000;
/** A page that another trigger has read is taken unless it is older than this part of the interval. */
const FRESH = 0.5;
/** So many entries of one look are told of: the newest. */
const MOST_TOLD = 500;

export interface HistoryWatchParts {
	context: ITriggerFunctions;
	credential: Credential;
	settings: Settings;
	entryStore: EntryStore;
	executionQueue: ExecutionQueue;
	/** Tells this trigger and service from all others in this process; none by hand. */
	scope: string | undefined;
	/** A person listens for one event, and is told of everything that stands in its way. */
	isManual: boolean;
	/** Aborts when the trigger is closed. */
	closing: AbortSignal;
	/** Called when it makes no sense to go on: the token is refused, say. */
	onFatal(failure: Failure): void;
}

/** Reads the history of an account every so often, and tells of what is new in it. */
export class HistoryWatch {
	private readonly api: Api;
	private readonly pages: HistoryPages;
	private readonly origins: Origins;
	private readonly selfStarts: SelfStarts;
	private readonly events: EntryEvents;
	private reach = 1;
	/** When the first page was last read, in ms since 1970. */
	private readAt = 0;
	private isInTrouble = false;

	constructor(private readonly parts: HistoryWatchParts) {
		const { context, credential, settings, scope } = parts;
		this.api = new Api(context, credential);
		this.pages = historyPagesOf(credential);
		this.origins = generationOriginsOf(credential);
		const { includeOwnTasks } = settings;
		this.selfStarts = new SelfStarts(context, this.origins, includeOwnTasks, scope, 'media');
		this.events = new EntryEvents({ ...parts, api: this.api, selfStarts: this.selfStarts });
	}

	/**
	 * Notes what is there at first, or catches up with what came since the last time; then goes on by
	 * itself. Throws a Failure when it makes no sense to go on.
	 */
	async start(): Promise<void> {
		const { closing, credential, isManual, settings } = this.parts;
		// Beside speech tasks, whose listener checks it.
		if (!settings.ofTasks) await requireToken(this.api, isManual, closing);
		if (closing.aborted) return;
		const leave = accountOf(credential).use();
		closing.addEventListener('abort', leave, { once: true });
		this.selfStarts.warn();
		const limit = startDeadline(FIRST_LOOK_MS, closing);
		const trouble = await this.look(0, limit.signal).then(
			() => undefined,
			(error: unknown) => error,
		);
		limit.stop();
		if (closing.aborted) return;
		if (trouble !== undefined) this.refuse(trouble);
		void this.goOn();
	}

	private get intervalMs(): number {
		const { isManual, settings } = this.parts;
		return isManual ? Math.min(BY_HAND_MS, settings.checkIntervalMs) : settings.checkIntervalMs;
	}

	private async goOn(): Promise<void> {
		const { closing } = this.parts;
		for (;;) {
			// Triggers that share a reading are due together from then on.
			const dueAt = this.readAt + this.intervalMs;
			await sleep(Math.min(this.intervalMs, Math.max(0, dueAt - Date.now())), closing);
			if (closing.aborted) return;
			this.readAt = Date.now();
			await this.look(this.intervalMs * FRESH, closing).then(
				() => (this.isInTrouble = false),
				(error: unknown) => this.report(error),
			);
		}
	}

	/** Reads as many pages as there may be news on, the first at most `maxAgeMs` old. */
	private async look(maxAgeMs: number, signal: AbortSignal): Promise<void> {
		const { entryStore, isManual } = this.parts;
		const look = new Look(entryStore, this.api.credential.baseUrl, this.reach);
		for (let number = 1, isWanted = true; isWanted; number++) {
			const { page, readAt } = await this.pages.read(this.api, number, maxAgeMs, signal);
			if (number === 1) this.readAt = readAt;
			isWanted = look.add(page) && !isManual;
		}
		const outcome = look.outcome();
		if (this.parts.closing.aborted) return;
		if (isManual) return this.showNewest(outcome);
		this.reach = outcome.reach;
		this.take(outcome);
	}

	/** By hand the newest entry is shown, whatever was there before. */
	private showNewest({ passed }: Outcome): void {
		const { entryStore } = this.parts;
		const newest = passed.filter(({ entry }) => !entry.failed).at(-1);
		if (!newest) return;
		entryStore.reopen(newest);
		this.events.tell(newest, this.nameOf(newest.entry, []));
	}

	private take(outcome: Outcome): void {
		const { entryStore, settings } = this.parts;
		entryStore.note(outcome);
		if (outcome.hasLostTrack) {
			this.warn('nothing in the history is known from before, what is in it now is passed over');
		}
		const { ready, failed, making } = outcome;
		const all = [...ready, ...failed, ...making].map(({ entry }) => entry);
		for (const { entry } of making) this.see(this.nameOf(entry, all));
		const tellsFailed = settings.events.has('failed');
		for (const found of failed) {
			if (tellsFailed && found.entry.id !== undefined) this.tell(found, all);
			else entryStore.end(found.mark);
		}
		const left = ready.slice(0, -MOST_TOLD);
		for (const { mark } of left) entryStore.end(mark);
		if (left.length > 0 || (outcome.isCut && ready.length > 0)) {
			this.warn(
				`more than ${MOST_TOLD} new videos and images at once, only the newest start an execution`,
			);
		}
		for (const found of ready.slice(-MOST_TOLD)) this.tell(found, all);
		entryStore.save();
	}

	private tell(found: Found, all: HistoryEntry[]): void {
		const { entryStore } = this.parts;
		const name = this.nameOf(found.entry, all);
		if (!this.see(name)) return entryStore.end(found.mark);
		// The next look knows whose it is.
		if (this.selfStarts.isAwaited(found.entry.prompt)) return;
		if (entryStore.queue(found) !== undefined) {
			this.warn('too many videos and images wait for an execution, the oldest is left out');
		}
		this.events.tell(found, name);
	}

	/** False for one that the trigger is to pass over. */
	private see(name: string): boolean {
		return this.selfStarts.see(name, this.intervalMs);
	}

	/** The name by which the origin of an entry is known, or would be. */
	private nameOf(entry: HistoryEntry, all: HistoryEntry[]): string {
		const { id, files, prompt } = entry;
		const plain = files.map(({ fileUrl }) => unsigned(fileUrl));
		const isOfAnother = (address: string) =>
			all.some(
				(other) => other !== entry && other.files.some((f) => unsigned(f.fileUrl) === address),
			);
		const names = [id, ...files.map(({ fileUrl }) => fileUrl)].filter((name) => name !== undefined);
		const known = [...names, ...plain].find((name) => this.origins.of(name) !== undefined);
		const isSure = known !== undefined && (names.includes(known) || !isOfAnother(known));
		return isSure ? known : (names[0] ?? prompt);
	}

	/** Throws what keeps an activation from making sense; the rest passes, or is worth a line in the log. */
	private refuse(trouble: unknown): void {
		const { isManual, settings, entryStore } = this.parts;
		const kind = trouble instanceof Failure ? trouble.kind : undefined;
		const isAbsent = kind === 'notFound' && !(trouble as Failure).facts.isEdge;
		const isAway = passes(trouble) || (kind === 'notFound' && !(isAbsent && entryStore.isEmpty));
		const isNeeded = isManual || !settings.ofTasks;
		const isFatal = kind === 'tokenRefused' || (isNeeded && (isManual || !isAway));
		const { status } = trouble instanceof Failure ? trouble.facts : {};
		if (isFatal) throw isAbsent ? new Failure('noHistory', { status }) : trouble;
		this.report(trouble);
	}

	private report(trouble: unknown): void {
		const { closing, onFatal } = this.parts;
		if (closing.aborted) return;
		const failure = trouble instanceof Failure ? trouble : new Failure('noAnswer');
		if (failure.kind === 'tokenRefused') return onFatal(failure);
		if (this.isInTrouble) return;
		this.isInTrouble = true;
		const { message } = wordingOf(failure);
		this.warn(
			`the history can't be read, trying again every ${this.intervalMs / 1000} s: ${message}`,
		);
	}

	private warn(text: string): void {
		const { context, credential } = this.parts;
		const message = `Media Generation Trigger: ${text}`;
		context.logger.warn(credential.redact.text(message));
	}
}
