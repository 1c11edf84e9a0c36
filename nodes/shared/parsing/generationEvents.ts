import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { TERMINAL_EVENTS, type GeneratedFile } from '../contract';
import { Failure } from '../failure';
import { MAX_EVENT_CHARS, MAX_FILES, MAX_REASON_CHARS } from '../limits';
import { asText, truncate, isRecord, looksLikeHtml, parseJson, withoutQuery } from './values';
import { failureOfAnswer, isFailed, isFailureWord, saysRefused, saysWhy } from './errors';
import { idOf, readGeneratedFiles, type ReaderContext } from './responses';

/** From the bytes of a generation stream to its outcome (§6.1; docs/contract.md, “Streams”). Pure. */

/** What a stream has told. */
export interface StreamResult {
	files: GeneratedFile[];
	/** Why it ended before all files were there, unless the service has ended it. */
	interruptedBecause?: string;
	/** Why some have failed, as the service says. */
	reason?: string;
	/** The service has ended it with an empty list: hardly anything was made. */
	isEmpty?: boolean;
	/** How the generation has failed, if nothing more is found: its last error may be about all. */
	failure?: Failure;
}

/** It is in progress, also where a completion lists it. */
const isUnderWay = (entry: unknown): boolean =>
	/^(?:media_generation_status_)?(?:pending|active|processing)$/i.test(
		asText(isRecord(entry) ? entry.status : entry) ?? '',
	);

/** True for an empty list, also within a record, but not with an id. */
const isEmptyList = (value: unknown): boolean => /^(?!.*"id":).*\[\]/s.test(JSON.stringify(value));

/** The value in an event's data: JSON (also JSON inside a JSON string), or a bare text. */
function readData(data: string): unknown {
	const parsed = parseJson(data);
	const value = parsed === undefined ? data.trim() : parsed;
	const isInner = typeof value === 'string' && /^\s*[[{]/.test(value);
	return (isInner ? parseJson(value) : undefined) ?? value;
}

/**
 * Reads a stream part by part. The outcome is known once as many files have come as were asked for, in
 * one completion or several, or an event says that no more will come: what was heard, or a Failure. It
 * is transient where too much was under way and nothing was begun.
 */
export class GenerationEvents {
	outcome: StreamResult | Failure | undefined;
	/** How many events have come; comments are none. */
	eventCount = 0;
	/** The last was an error that names no video: of one of several, or of all. */
	isFailing = false;
	private readonly decoder = new TextDecoder('utf-8');
	/** Some deployments answer with plain JSON instead of a stream; edges answer with a page. */
	private mode: 'events' | 'plain' | undefined;
	private plain = '';
	/** The files, each once, in the order they were first named. */
	private readonly files = new Map<string, GeneratedFile>();
	/** The ids of those that have failed, and how one of them did. */
	private readonly failed = new Set<string>();
	private failure: Failure | undefined;
	/** The ids of those that were told to be in progress. */
	private readonly announced = new Set<string>();
	/** What is known of the end if nothing more comes. */
	private defaultInterruption = 'the stream was empty';
	private lastValue: unknown;
	private readonly parser = createParser({
		maxBufferSize: MAX_EVENT_CHARS,
		onEvent: (event) => this.onEvent(event),
	});

	constructor(
		private readonly source: ReaderContext,
		/** Hears of status words, and of the id of an item in the making. */
		private readonly onProgress: (status: string, id?: string) => void = () => {},
		/** Files asked for. */
		private readonly expected = 1,
	) {}

	/** Takes the next part, cut anywhere. Returns the outcome once there is one. */
	push(part: Uint8Array): StreamResult | Failure | undefined {
		const decoded = this.decoder.decode(part, { stream: true });
		// Leading white space means nothing, however much there is.
		const text = this.mode ? decoded : decoded.trimStart();
		if (this.outcome || text === '') return this.outcome;
		this.mode ??= /^[[{<]/.test(text) ? 'plain' : 'events';
		if (this.mode === 'events') this.feed(text);
		else this.plain += text;
		if (this.plain.length > MAX_EVENT_CHARS) this.end('the answer was larger than any result');
		return this.outcome;
	}

	/** The parser throws once an event is too large. Told of errors, it makes one with a stack for each odd line. */
	private feed(text: string): void {
		try {
			this.parser.feed(text);
		} catch {
			this.end('an event was larger than any result');
		}
	}

	/** The stream ended by itself. */
	markEnded(): StreamResult | Failure {
		// The last event counts even without the blank line that should follow it.
		this.push(Buffer.from('\n\n'));
		if (this.mode === 'plain' && !this.outcome) this.readPlain();
		if (!this.outcome && !this.failure && saysWhy(this.lastValue)) this.fail(this.lastValue);
		this.end(undefined, this.isFailing && !this.isAlive ? this.failure : undefined);
		return this.outcome!;
	}

	/** It broke, or was given up for `reason`: an event that is cut in two does not count. */
	markBroken(reason?: string): StreamResult | Failure {
		this.end(reason ?? this.defaultInterruption);
		return this.outcome!;
	}

	private readPlain(): void {
		const value = parseJson(this.plain);
		const isPage = looksLikeHtml(this.plain);
		if (isPage) this.end('', new Failure('foreignServer', { mayBeCharged: true }));
		else if (value === undefined) this.end('the answer broke off');
		else this.read(value, 'the answer named no file');
	}

	private onEvent({ event = '', data }: EventSourceMessage): void {
		if (this.outcome) return;
		this.eventCount++;
		this.isFailing = false;
		this.defaultInterruption = 'the stream ended while it was in progress';
		const value = readData(data);
		this.lastValue = value;
		const isEnd = TERMINAL_EVENTS.complete.test(event);
		if (TERMINAL_EVENTS.failed.test(event)) this.fail(value);
		else this.read(value, isEnd ? 'the completion named no file' : undefined);
		if (this.files.size + this.failed.size >= this.expected) this.end(undefined, this.failure);
	}

	/** `missingResultReason`: what a result lacks that names no file; undefined for what may be progress. */
	private read(value: unknown, missingResultReason?: string): void {
		const { baseUrl, redact } = this.source;
		const files = readGeneratedFiles(value, baseUrl);
		if (files.length > MAX_FILES) return this.end(`the completion named ${files.length} files`);
		for (const file of files) {
			// A later completion may sign the address anew: that is valid longest.
			const { id, fileUrl } = file;
			// The service may have made it after all.
			if (id !== undefined) this.failed.delete(id);
			this.files.set(id === undefined ? fileUrl : `${id} ${withoutQuery(fileUrl)}`, file);
			// The others may take minutes longer.
			if (files.length < this.expected) this.onProgress('completed in part', id);
		}
		const isResult = missingResultReason !== undefined;
		for (const entry of [value].flat().slice(0, MAX_FILES)) {
			if (files.length > 0 && readGeneratedFiles(entry, baseUrl).length > 0) continue;
			if (isFailed(entry) || isFailureWord(entry) || (isResult && saysWhy(entry))) {
				this.fail(entry);
				missingResultReason = undefined;
			} else {
				if (isUnderWay(entry)) missingResultReason = undefined;
				const id = idOf(entry);
				if (id !== undefined) this.announced.add(id);
				const { status, message = undefined } = isRecord(entry) ? entry : { status: entry };
				const word = asText(status) ?? asText(message) ?? (id && 'working');
				// An id proves which entry of the history is the result.
				if (word) this.onProgress(truncate(redact.text(word), MAX_REASON_CHARS), id);
			}
		}
		if (missingResultReason !== undefined && files.length === 0)
			this.end(missingResultReason, undefined, isEmptyList(value));
	}

	/** `error`: of the video that it names, else of one of several, or of all if nothing else is told. */
	private fail(error: unknown): void {
		const { kind, facts } = failureOfAnswer(this.source.redact.value(error));
		const { means } = facts;
		const isBare = isFailureWord(facts.text) && means === undefined;
		const text = isBare ? undefined : facts.text;
		const transient = saysRefused(error) || undefined;
		const ownKind = kind === 'outOfCredit' ? kind : 'generationFailed';
		const failure = new Failure(ownKind, { ...facts, text, transient });
		if (text || !this.failure) this.failure = failure;
		const isOfAccount = transient || means === 'credit' || means === 'token';
		const id = idOf(error);
		const isOfAll = isOfAccount && id === undefined && this.eventCount < 2;
		if (this.expected === 1 || isOfAll) this.end(undefined, failure);
		this.isFailing = id === undefined;
		if (id === undefined || this.outcome) return;
		this.failed.add(id);
		this.onProgress('failed', id);
	}

	/** One was told to be in progress, and not to have failed. */
	private get isAlive(): boolean {
		return [...this.announced].some((id) => !this.failed.has(id));
	}

	/** Nothing more is heard, because of `interruptedBecause` unless it was the service that ended it. */
	private end(interruptedBecause?: string, failure?: Failure, isEmpty?: boolean): void {
		const files = [...this.files.values()];
		const isAll = files.length + Math.max(this.failed.size, this.failure ? 1 : 0) >= this.expected;
		const reason = this.failure?.facts.text;
		// Files that have come are paid for, whatever follows.
		if (files.length > 0)
			this.outcome ??= {
				files,
				interruptedBecause: isAll ? undefined : interruptedBecause,
				reason,
			};
		else {
			const last = this.isAlive && !this.isFailing ? undefined : this.failure;
			this.outcome ??= failure ?? {
				files,
				interruptedBecause: interruptedBecause ?? this.defaultInterruption,
				isEmpty,
				reason,
				failure: last,
			};
		}
	}
}
