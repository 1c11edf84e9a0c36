import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { COMPLETION_EVENT, type GeneratedFile, type MediaKind } from '../contract';
import { Failure } from '../failure';
import { MAX_EVENT_CHARS, MAX_FILES, MAX_REASON_CHARS } from '../limits';
import { asText, truncate, isRecord, looksLikeHtml, parseJson } from './values';
import { isMediaFile } from './fileType';
import {
	failureOfReport,
	isErrorAnswer,
	isFailedGeneration,
	isThrottledAnswer,
	refusesInWords,
	statesFinalReason,
	statusOf,
	wordsBesideNoResult,
} from './errors';
import { ListedFiles } from './listedFiles';
import {
	idOf,
	isInProgress,
	listedEntries,
	readGeneratedFiles,
	type ReaderContext,
} from './responses';
import { statusKind } from './statusKind';

/* Reads the bytes of a generation stream (§6.1; docs/contract.md, “Streams”) into its outcome. */

/** The files that a stream has delivered, and why others are missing. */
export interface StreamResult {
	/** The files that have arrived. */
	files: GeneratedFile[];
	/** Why the stream ended too early; undefined if it did not. */
	interruptionReason?: string;
	/** Why files have failed, in the service's words. */
	reason?: string;
	/** The ids of the files that have failed; null for one whose id is unknown. */
	failedIds: Array<string | null>;
	/**
	 * How the service has shown that it probably generates nothing: it has sent an empty list as the result, or nothing but
	 * words of refusal.
	 */
	refusal?: 'emptyList' | 'notAccepted';
	/** The Failure to report if there is no file in the history either. */
	failure?: Failure;
}

/** True for a value that contains an empty list, at any depth, but no field `id`. */
const hasEmptyList = (value: unknown): boolean =>
	/^(?!.*"id":).*\[(?:null)?\]/s.test(JSON.stringify(value));

/**
 * Returns the value in the data of an event, which is JSON, JSON inside a JSON string, or plain text. `npm run check`
 * uses it, too.
 *
 * @public
 */
export function parseEventData(data: string): unknown {
	const parsed = parseJson(data);
	const value = parsed === undefined ? data.trim() : parsed;
	const isJsonText = typeof value === 'string' && /^\s*[[{]/.test(value);
	return (isJsonText ? parseJson(value) : undefined) ?? value;
}

/**
 * Returns what the answer to a create call is, judged by its text so far: a stream of `events`, `lines` of JSON that are
 * events (NDJSON), or `plain` JSON or a web page. `npm run check` uses it, too.
 *
 * @public
 */
export const formOf = (text: string): 'events' | 'lines' | 'plain' =>
	/^\s*\{[^\n]*\}[^\S\n]*\n\s*\{/.test(text)
		? 'lines'
		: /^\s*[[{<"]/.test(text)
			? 'plain'
			: 'events';

/**
 * Reads a generation stream chunk by chunk. Call `push` for each chunk until it returns an outcome, and `finish` or
 * `finishBroken` once at the end of the stream.
 */
export class GenerationEvents {
	/** The outcome, once it is known. */
	outcome: StreamResult | Failure | undefined;
	/** How many events have been read, or pieces of a file in place of events. */
	eventCount = 0;
	/** True if the last event reported an error without an id, which may be about one video or about all. */
	lastEventIsUnattributedError = false;
	private readonly decoder = new TextDecoder('utf-8');
	/** What the answer is; `file` if it is the file itself, and undefined until its first text has arrived. */
	private mode: ReturnType<typeof formOf> | 'file' | undefined;
	/** How much of an answer in mode `plain` was read: only its second line shows whether each line is an event. */
	private plainLines: 'first' | 'first and its end' | 'second' = 'first';
	/**
	 * The text of an answer that is no event stream. In mode `lines`, it is only the last line, which may be incomplete;
	 * in mode `file`, it is the bytes as Latin-1.
	 */
	private plainAnswer = '';
	/** The files that have arrived. */
	private readonly listedFiles = new ListedFiles();
	/** How many files the last event with files has contained. */
	private lastListLength = 0;
	/** True if an event had both files and entries in progress, so that the ids of these are ids of files. */
	private hasIdsBesideFiles = false;
	/** The failures that were reported, by the id of the file; null for those without an id. */
	private readonly reportedFailures = new Map<string | null, Failure>();
	/** The ids of entries that came with neither a file nor an error. */
	private readonly idsInProgress = new Set<string>();
	/** True if something but words of refusal was told about a file. */
	private hasProgress = false;
	/** The data of the last event, or a JSON answer. */
	private lastEventData: unknown;
	/** True if the stream broke or was closed by us, so that further events may have been missed. */
	private isBroken = false;
	private readonly parser = createParser({
		maxBufferSize: MAX_EVENT_CHARS,
		onEvent: (event) => this.onEvent(event),
		onError: ({ type }) => {
			if (type === 'max-buffer-size-exceeded')
				this.setOutcome('a message from the service was too large');
		},
	});

	constructor(
		private readonly context: ReaderContext,
		/** The kind of media that the request has asked for. */
		private readonly kind: MediaKind,
		/** Is called with a status word or message, and with the id that it is about, if known. */
		private readonly onProgress: (status: string, id?: string) => void = () => {},
		/** How many files the request has asked for. */
		private readonly requestedCount = 1,
	) {}

	/** Reads the next chunk, which may end anywhere, even within a character. Returns the outcome once it is known. */
	push(chunk: Uint8Array): StreamResult | Failure | undefined {
		if (!this.mode && isMediaFile(chunk)) this.mode = 'file';
		const decoded =
			this.mode === 'file'
				? Buffer.from(chunk).toString('latin1')
				: this.decoder.decode(chunk, { stream: true });
		// White space before the first event or the JSON is ignored.
		const text = this.mode ? decoded : decoded.trimStart();
		if (this.outcome || text === '') return this.outcome;
		this.mode ??= formOf(text);
		if (this.mode === 'events') this.parser.feed(text);
		else this.plainAnswer += text;
		if (this.mode === 'file') this.eventCount++;
		if (this.mode === 'plain') this.checkSecondLine(text);
		else if (this.mode === 'lines' && text.includes('\n')) this.readLines();
		if (this.plainAnswer.length > MAX_EVENT_CHARS) this.setOutcome('the response was too large');
		return this.outcome;
	}

	/**
	 * Sets the mode once the second line has begun, and reads the first line if it is an event. `text` is the newest part
	 * of the answer.
	 */
	private checkSecondLine(text: string): void {
		if (this.plainLines === 'second') return;
		const lineEnd = this.plainLines === 'first' ? text.indexOf('\n') : 0;
		if (lineEnd < 0) return;
		this.plainLines = 'first and its end';
		if (!/\S/.test(text.slice(lineEnd))) return;
		this.plainLines = 'second';
		this.mode = formOf(this.plainAnswer);
		if (this.mode === 'lines') this.readLines();
	}

	/** Reads the lines of JSON that have ended. */
	private readLines(): void {
		const lines = this.plainAnswer.split('\n');
		this.plainAnswer = lines.pop()!;
		for (const data of lines) if (data.trim() !== '') this.onEvent({ data });
	}

	/** Call this when the service has ended the stream. Returns the outcome. */
	finish(): StreamResult | Failure {
		if (this.outcome) return this.outcome;
		// The last event counts even if the blank line after it is missing.
		if (this.mode !== 'file') this.push(Buffer.from('\n\n'));
		else this.readResult(`data:;base64,${btoa(this.plainAnswer)}`);
		if (this.mode === 'plain') this.readPlainAnswer();
		if (!this.reportedFailure && statesFinalReason(this.lastEventData))
			this.readError(this.lastEventData);
		this.setOutcome(
			this.mayMoreFilesArrive ? this.defaultInterruption : undefined,
			this.lastEventIsUnattributedError && !this.isAnyFileInProgress
				? this.reportedFailure
				: undefined,
		);
		return this.outcome!;
	}

	/** Call this when the connection broke, or was closed by us for `reason`. Returns the outcome. */
	finishBroken(reason?: string): StreamResult | Failure {
		this.isBroken = true;
		this.setOutcome(reason ?? this.defaultInterruption);
		return this.outcome!;
	}

	private readPlainAnswer(): void {
		const value = parseJson(this.plainAnswer);
		this.lastEventData = value;
		const isHtml = looksLikeHtml(this.plainAnswer);
		const { kind, facts } = failureOfReport(this.context.redact.value(value));
		const isOfGeneration = idOf(value) !== undefined || this.filesIn(value).length > 0;
		const isRefusal = !isOfGeneration && isErrorAnswer(value);
		if (isHtml) this.outcome ??= new Failure('foreignServer', { mayBeCharged: true });
		else if (value === undefined) this.setOutcome('the response was cut off');
		else if (isRefusal && kind === 'unavailable')
			this.outcome ??= new Failure('unavailable', { ...facts, mayBeCharged: true });
		else this.readResult(value, 'the response contained no file');
	}

	private onEvent({ event = '', data }: EventSourceMessage): void {
		// The mark by which many services end a stream tells nothing.
		if (this.outcome || data.trim() === '[DONE]') return;
		this.eventCount++;
		this.lastEventIsUnattributedError = false;
		const value = parseEventData(data);
		this.lastEventData = value;
		const isCompletionEvent = COMPLETION_EVENT.test(event);
		if (statusKind(event) === 'failed') {
			this.readError(value);
			this.readResult(this.listIn(value));
		} else
			this.readResult(value, isCompletionEvent ? 'the last message contained no file' : undefined);
	}

	/**
	 * Reads a JSON answer, the data of an event, or the list in an error. `missingResultReason` is the reason to report
	 * if this data is final but has no file; it is undefined if more events may follow.
	 */
	private readResult(value: unknown, missingResultReason?: string): void {
		const files = this.filesIn(value);
		if (files.length > 0) this.lastListLength = files.length;
		this.listedFiles.add(files);
		const { data, task, output, response } = files.length === 0 && isRecord(value) ? value : {};
		// Beside a refusal, details without an id are no progress of anything. Beside progress, their failure is that of an
		// earlier attempt.
		const isDecided = isFailedGeneration(value) || isInProgress(value);
		const enveloped = [data, task, output, response].filter(
			(inner) => isRecord(inner) && (idOf(inner) !== undefined || !isDecided),
		);
		const mayHaveIds = files.length === 0 && !isFailedGeneration(value);
		const ids = isRecord(value) && mayHaveIds ? [value.ids].flat() : [];
		const entries: unknown[] = Array.isArray(value)
			? value
			: [value, ...enveloped, ...this.listIn(value), ...ids.map((id) => ({ id }))];
		const isFinalData = missingResultReason !== undefined && !entries.some(isInProgress);
		for (const entry of entries.slice(0, MAX_FILES)) {
			if (this.filesIn(entry).length > 0) continue;
			if (isFailedGeneration(entry) || (isFinalData && statesFinalReason(entry))) {
				this.readError(entry);
				missingResultReason = undefined;
			} else {
				if (isInProgress(entry)) missingResultReason = undefined;
				const id = idOf(entry);
				if (id !== undefined) {
					this.idsInProgress.add(id);
					this.hasIdsBesideFiles ||= files.length > 0;
				}
				const message = isRecord(entry) ? entry.message : undefined;
				const statusText = asText(statusOf(entry)) ?? asText(message) ?? (id && 'working');
				if (statusText && !refusesInWords(entry)) {
					this.hasProgress = true;
					// The id is passed on, because it proves later which history entry is the result.
					this.onProgress(truncate(this.context.redact.text(statusText), MAX_REASON_CHARS), id);
				}
			}
		}
		// An error beside entries in progress is not about all of them.
		if (entries.some(isInProgress)) this.lastEventIsUnattributedError = false;
		// No more events are needed once each requested file has arrived or failed.
		const settledCount = this.listedFiles.minCount + this.failedIds.length;
		if (settledCount >= this.requestedCount) this.setOutcome(undefined, this.reportedFailure);
		// The other files may take minutes longer, so the user sees the progress.
		else for (const { id } of files) this.onProgress('partially completed', id);
		if (missingResultReason !== undefined && files.length === 0)
			this.setOutcome(missingResultReason, undefined, hasEmptyList(value));
	}

	private filesIn(data: unknown): GeneratedFile[] {
		return readGeneratedFiles(data, this.context.baseUrl, this.kind).slice(0, MAX_FILES);
	}

	private listIn(data: unknown): unknown[] {
		return listedEntries(data, this.context.baseUrl, this.kind);
	}

	/** Reads an error. An error without an id may be about one file, or about all of them. */
	private readError(error: unknown): void {
		const { kind, facts } = failureOfReport(this.context.redact.value(error));
		const failureKind = kind === 'outOfCredit' ? kind : 'generationFailed';
		const transient = (kind !== 'outOfCredit' && isThrottledAnswer(error)) || undefined;
		// A code in an event is not the status of the response: a 401 may be about a token of the service itself.
		const status = this.mode === 'plain' ? facts.status : undefined;
		const failure = new Failure(failureKind, { ...facts, status, transient });
		const listed = this.listIn(error);
		// The id beside a list is that of the whole job, whose failure is that of an entry.
		const id = idOf(listed.length > 0 ? listed.find(isFailedGeneration) : error);
		const { reportedFailures } = this;
		// A file that has arrived does not fail later, so its id is that of the job, and another file has failed.
		const failedId = this.files.some((file) => file.id === id) ? null : (id ?? null);
		if (facts.reason || !reportedFailures.has(failedId)) reportedFailures.set(failedId, failure);
		if (this.requestedCount === 1) this.setOutcome(undefined, failure);
		this.lastEventIsUnattributedError = id === undefined;
		if (id !== undefined && !this.outcome) this.onProgress('failed', id);
	}

	/** The `interruptionReason` of the outcome if the stream ends now. */
	private get defaultInterruption(): string {
		return this.mode ? 'the response ended early' : 'the response was empty';
	}

	/**
	 * The failures that are still true, as in `reportedFailures`. A video that has a file now has not failed after all. If
	 * several files have the id, it is that of the job, so another video has failed.
	 */
	private get failures(): Map<string | null, Failure> {
		const failures = [...this.reportedFailures].flatMap(([id, failure]) => {
			const fileCount = id === null ? 0 : this.files.filter((file) => file.id === id).length;
			return fileCount === 1 ? [] : [[fileCount > 1 ? null : id, failure] as const];
		});
		return new Map(failures);
	}

	/** The ids of the files that have failed. */
	private get failedIds(): string[] {
		return [...this.failures.keys()].filter((id) => id !== null);
	}

	/** The last failure that has a reason; if none has one, the first failure. */
	private get reportedFailure(): Failure | undefined {
		const failures = [...this.failures.values()];
		return failures.filter(({ facts }) => facts.reason).at(-1) ?? failures[0];
	}

	/** The files that have arrived, each once. */
	get files(): GeneratedFile[] {
		return this.listedFiles.all;
	}

	/**
	 * True if the service may have ended the stream while it still generates some of several files: files that it has
	 * announced are missing, or it has sent each file by itself and never a list of all that have arrived.
	 */
	private get mayMoreFilesArrive(): boolean {
		const { files, idsInProgress, failedIds } = this;
		if (this.reportedFailure && failedIds.length === 0) return false;
		// Otherwise the announced id may be that of the whole job.
		const areIdsOfFiles =
			this.hasIdsBesideFiles || files.some(({ id = '' }) => idsInProgress.has(id));
		const hasNoList = !this.failures.has(null) && this.lastListLength < files.length;
		return hasNoList || (areIdsOfFiles && this.isAnyFileInProgress);
	}

	private get isAnyFileInProgress(): boolean {
		const settledIds = new Set([...this.failedIds, ...this.files.map(({ id }) => id)]);
		return [...this.idsInProgress].some((id) => !settledIds.has(id));
	}

	/** Sets the outcome; later calls change nothing. `failure` becomes the outcome if no file has arrived. */
	private setOutcome(interruptionReason?: string, failure?: Failure, isEmpty?: boolean): void {
		const { files, failedIds, reportedFailure } = this;
		const failedCount = Math.max(failedIds.length, reportedFailure ? 1 : 0);
		const isComplete = files.length + failedCount >= this.requestedCount;
		const isFailureFinal = reportedFailure !== undefined && !reportedFailure.facts.transient;
		const result = {
			files,
			reason: reportedFailure?.facts.reason,
			failedIds: failedIds.length === 0 && isFailureFinal ? [null] : failedIds,
		};
		// The files that have arrived are charged, so they are the result even if other files have failed.
		if (files.length > 0)
			this.outcome ??= {
				...result,
				interruptionReason: isComplete ? undefined : interruptionReason,
			};
		else {
			// An error without an id may be about one file, too, unless it is the end of the stream.
			const isCutOff = this.isBroken || isInProgress(this.lastEventData);
			// The credit is that of the account.
			const isOneRefused =
				(isCutOff || failedIds.length > 0) && reportedFailure?.kind !== 'outOfCredit';
			const mayOthersCome =
				(this.isAnyFileInProgress || isOneRefused) &&
				(isCutOff || !this.lastEventIsUnattributedError);
			const isRefusedInWords =
				!this.isBroken && !this.hasProgress && refusesInWords(this.lastEventData);
			const lastWords = wordsBesideNoResult(this.context.redact.value(this.lastEventData));
			const reasons = [interruptionReason ?? this.defaultInterruption, lastWords];
			this.outcome ??= failure ?? {
				...result,
				interruptionReason: reasons.filter(Boolean).join(': '),
				refusal: isEmpty ? 'emptyList' : isRefusedInWords ? 'notAccepted' : undefined,
				failure: mayOthersCome ? undefined : reportedFailure,
			};
		}
	}
}
