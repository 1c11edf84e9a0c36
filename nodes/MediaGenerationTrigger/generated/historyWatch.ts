import { MAX_PAGE_SIZE } from '../../shared/api/pagination';
import { passes } from '../../shared/api/tokenCheck';
import { sleep, withDeadline } from '../../shared/async/deadline';
import { Failure, isFailure } from '../../shared/failure';
import { fetchEntryFiles } from '../../shared/generation/entryFiles';
import { wordingOf } from '../../shared/n8n/messages';
import type { Activation } from '../activation/activation';
import { eventOf } from './entryEvents';
import type { EntryStore, MarkedEntry } from './entryStore';
import { lookInto } from './look';

/** How long an activation waits for the first look, in ms; it is made again later. */
const FIRST_LOOK_MS = 20_000;
/** How often, at least, the newest entry is looked for while a person waits for it, in ms. */
const BY_HAND_MS = 10_000;
/** How many new entries of one look start an execution, and how many may wait for that: the newest. */
const MAX_NEW = 500;
const MAX_WAITING = 1000;
/**
 * How long the next event waits for the end of an execution, in ms: n8n may store executions that begin
 * at the same time in another order.
 */
const PAUSE_MS = 1000;

/** Reads the history of an account every so often, and emits what is new in it. */
export class HistoryWatch {
	/** Resolves when the last event was emitted and the next may follow, or when it will not be emitted. */
	private before: Promise<void> = Promise.resolve();
	private waiting = 0;
	private isInTrouble = false;

	constructor(
		private readonly activation: Activation,
		readonly store: EntryStore,
	) {}

	/**
	 * Notes what is there at first, or catches up with what came since the last time; then goes on by
	 * itself. Throws a Failure when it makes no sense to go on.
	 */
	async start(): Promise<void> {
		const { closing } = this.activation;
		const look = async (signal: AbortSignal) => await this.look(signal);
		await withDeadline(FIRST_LOOK_MS, closing, look)
			.catch((error: unknown) => this.refuse(error))
			// Where nobody is told of the failure, as after a restart, it goes on trying.
			.finally(() => void this.goOn());
	}

	private get intervalMs(): number {
		const { isManual, settings } = this.activation;
		return isManual ? Math.min(BY_HAND_MS, settings.checkIntervalMs) : settings.checkIntervalMs;
	}

	private async goOn(): Promise<void> {
		const { closing } = this.activation;
		for (;;) {
			await sleep(this.intervalMs, closing);
			if (closing.aborted) return;
			await this.look(closing).then(
				() => (this.isInTrouble = false),
				(error: unknown) => this.report(error),
			);
		}
	}

	/** Reads as much of the history as there may be news in, and has it emitted. */
	private async look(signal: AbortSignal): Promise<void> {
		const { store, activation } = this;
		const { api, closing, isManual, settings, warn } = activation;
		let last = 0;
		const { seen, floor } = await lookInto(store, api.credential.baseUrl, async (page) => {
			last = page;
			await api.pace.turns.watch(signal);
			return await api.listHistory({ page, page_size: MAX_PAGE_SIZE }, signal);
		});
		if (closing.aborted) return;
		const ended = store.remember(seen, floor);
		// By hand the newest entry is shown, whatever was there before.
		const isShown = isManual && floor !== undefined;
		if (isShown) ended.push(...seen.filter(({ files }) => files.length > 0).slice(-1));
		const wanted = ended.filter(({ failed }) => !failed || settings.events.has('failed'));
		const most = Math.min(MAX_NEW, MAX_WAITING - this.waiting);
		const told = new Set(wanted.slice(Math.max(0, wanted.length - most)));
		if (told.size < wanted.length) {
			warn(`more than ${MAX_NEW} new videos and images: only the newest start an execution`);
		}
		for (const entry of ended) {
			if (told.has(entry)) this.emit(entry);
			else store.markOver(entry.mark);
		}
		store.save();
		// A deletion hides an entry that it moves to a page which was already read.
		if (last > 1 && ended.length > 0) await this.look(signal);
	}

	/** Files are fetched together, events are emitted in order. */
	private emit(entry: MarkedEntry): void {
		const { activation, store } = this;
		const { context, api, settings, executionQueue, closing } = activation;
		const { mark, marks, id, failed } = entry;
		const fetchFiles = async (signal: AbortSignal) =>
			await fetchEntryFiles(context, api.credential, entry, settings.outputField, signal);
		let passOn = () => {};
		const emitted = new Promise<void>((resolve) => (passOn = resolve));
		this.waiting++;
		const over = executionQueue.add({
			about: id ?? mark,
			name: failed ? 'generation failed' : 'generated',
			isProgress: false,
			key: mark,
			store,
			isWanted: async () => !(await activation.isOwnWork(marks)),
			json: eventOf(entry),
			fetchFiles: settings.download && !failed ? fetchFiles : undefined,
			after: this.before,
			begin: (ended) => void Promise.race([ended, sleep(PAUSE_MS, closing)]).then(passOn),
		});
		this.before = Promise.race([emitted, over]);
		void this.before.then(() => this.waiting--);
	}

	/** Throws what a person has to mend; the rest passes. */
	private refuse(trouble: unknown): void {
		const { isManual } = this.activation;
		const isAbsent = isFailure(trouble, 'notFound') && !trouble.facts.isEdge;
		if (isAbsent && this.store.isEmpty) {
			throw new Failure('noHistory', { status: trouble.facts.status });
		}
		if (isManual || !(passes(trouble) || isFailure(trouble, 'notFound'))) throw trouble;
		this.report(trouble);
	}

	/** Writes one line to the log until a look has gone well again. */
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
