import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { STREAM_ENDS, type GeneratedFile, type ServiceRecord } from '../contract';
import { MAX_EVENT_CHARS, MAX_FILES, MAX_WORD_CHARS } from '../limits';
import type { Redactor } from './redaction';
import { readGeneratedFiles, type Source } from './responses';
import { asId, asText, clip, isRecord, looksLikeHtml, parseJson, unsigned } from './coerce';
import { isFailed, isFailureWord, readReason, saysFailure, saysRefused } from './errors';

/** From the bytes of a generation stream to its outcome (§6.1; docs/contract.md, “Streams”). Pure. */

export type GenerationOutcome =
	/** `cut`: why it ended before all files were there, unless the service ended it. */
	| { kind: 'complete'; files: GeneratedFile[]; cut?: string }
	/** The service says that it failed; `isTooMuch`: because too much is under way, and nothing was begun. */
	| { kind: 'failed'; text?: string; isTooMuch?: boolean }
	/** A web page came instead: an edge answered, not the service. */
	| { kind: 'page' }
	/** It ended without a result: the generation may go on. */
	| { kind: 'lost'; text: string };

export interface GenerationProgress {
	/** The service's status word, or what it says instead. */
	status: string;
	/** Identifier of the item in the making, when an event carries one. */
	id?: string;
}

/** The value in an event's data: JSON (also JSON inside a JSON string), or a bare text. */
function readData(data: string): unknown {
	const parsed = parseJson(data);
	const value = parsed === undefined ? data.trim() : parsed;
	const isInner = typeof value === 'string' && /^\s*[[{]/.test(value);
	return (isInner ? parseJson(value) : undefined) ?? value;
}

function progressOf(value: unknown, redact: Redactor): GenerationProgress | undefined {
	const record: ServiceRecord = isRecord(value) ? value : { status: value };
	const word = asText(record.status) ?? asText(record.message) ?? asText(record.stage);
	const id = asId(record.id) ?? asId(record.task_id);
	if (word === undefined && id === undefined) return undefined;
	return { status: clip(redact.text(word ?? 'working'), MAX_WORD_CHARS), id };
}

/** The entries of a completion, no more than there can be files. */
const entriesOf = (value: unknown): unknown[] =>
	Array.isArray(value) ? value.slice(0, MAX_FILES) : [value];

/** True for an entry whose file is still to come, or that was cut off. */
const isCutOff = (entry: unknown): boolean =>
	isRecord(entry)
		? !isFailed(entry) && asId(entry.id) !== undefined
		: typeof entry === 'string' && /^[[{]/.test(entry);

/**
 * Reads a stream part by part. The outcome is known once as many files have come as were asked for, in
 * one completion or several, or an event says that no more will come.
 */
export class GenerationEvents {
	outcome: GenerationOutcome | undefined;
	private readonly decoder = new TextDecoder('utf-8');
	private mode: 'unknown' | 'events' | 'plain' = 'unknown';
	private plain = '';
	private heard = false;
	/** The files, each once, in the order they were first named. */
	private readonly files = new Map<string, GeneratedFile>();
	/** Entries of completions that named no file, by id. */
	private readonly fileless = new Set<string>();
	/** Why there is no file, after a completion without one. */
	private lack: string | undefined;
	/** The last event, if it reported a failure: it counts unless something comes after it. */
	private failure: unknown;
	/** The last event, if it reported progress: the same event again says nothing new. */
	private last: EventSourceMessage | undefined;
	private readonly ids = new Set<string>();
	private readonly parser = createParser({
		maxBufferSize: MAX_EVENT_CHARS,
		onEvent: (event) => this.onEvent(event),
		onError: ({ type }) => {
			if (type === 'max-buffer-size-exceeded') this.lose('an event was larger than any result');
		},
	});

	constructor(
		private readonly source: Source,
		private readonly onProgress: (progress: GenerationProgress) => void = () => {},
		/** Files asked for. */
		private readonly expected = 1,
	) {}

	/** Takes the next part, cut anywhere. Returns the outcome once there is one. */
	push(part: Uint8Array): GenerationOutcome | undefined {
		return this.feed(this.decoder.decode(part, { stream: true }));
	}

	/** The stream ended by itself. */
	markEnded(): GenerationOutcome {
		this.feed(this.decoder.decode());
		// The last event counts even without the blank line that should follow it.
		if (this.mode === 'events' && !this.outcome) this.parser.feed('\n\n');
		if (this.mode === 'plain' && !this.outcome) this.readPlain();
		return this.outcome ?? this.conclude();
	}

	/** It broke, or was given up for the reason `why`: an event that is cut in two does not count. */
	markBroken(why?: string): GenerationOutcome {
		return this.conclude(true, why);
	}

	private conclude(isCut = false, why?: string): GenerationOutcome {
		if (this.failure !== undefined) this.fail(this.failure);
		const text = this.heard ? 'the stream ended while it was in progress' : 'the stream was empty';
		this.lose(why ?? this.lack ?? text, isCut);
		return this.outcome!;
	}

	private feed(part: string): GenerationOutcome | undefined {
		// Leading white space means nothing, however much there is.
		const text = this.mode === 'unknown' ? part.trimStart() : part;
		if (this.outcome || text === '') return this.outcome;
		if (this.mode === 'unknown') this.mode = /^[[{<]/.test(text) ? 'plain' : 'events';
		if (this.mode === 'events') {
			this.parser.feed(text);
			return this.outcome;
		}
		this.plain += text;
		if (this.plain.length > MAX_EVENT_CHARS) this.lose('the answer was larger than any result');
		return this.outcome;
	}

	/** Some deployments answer with plain JSON instead of a stream; edges answer with a page. */
	private readPlain(): void {
		const value = parseJson(this.plain);
		if (looksLikeHtml(this.plain)) this.finish({ kind: 'page' });
		else if (value === undefined) this.lose('the answer broke off');
		else this.readResult(value, 'the answer named no file');
	}

	private onEvent(event: EventSourceMessage): void {
		if (this.outcome) return;
		this.heard = true;
		if (event.data === this.last?.data && event.event === this.last.event) return;
		this.last = undefined;
		const value = readData(event.data);
		const name = event.event ?? '';
		if (STREAM_ENDS.failed.test(name)) return this.fail(value);
		const isEnd = STREAM_ENDS.complete.test(name);
		if (this.readResult(value, isEnd ? 'the completion named no file' : undefined)) return;
		this.failure = isFailureWord(isRecord(value) ? value.status : value) ? value : undefined;
		this.last = event;
		this.report(value);
	}

	/** True if `value` is a result; `lack`: what it lacks if it names no file and should. */
	private readResult(value: unknown, lack: string | undefined): boolean {
		const files = readGeneratedFiles(value, this.source.baseUrl);
		if (files.length > 0) this.complete(value, files);
		else if (saysFailure(value)) this.fail(value);
		else if (lack !== undefined) this.withoutFile(value, lack);
		else return false;
		return true;
	}

	/** More ids than possible files would only take memory. */
	private report(value: unknown): void {
		const progress = progressOf(value, this.source.redact);
		if (!progress) return;
		const { id, status } = progress;
		if (id !== undefined && this.ids.size < MAX_FILES) this.ids.add(id);
		this.onProgress(id !== undefined && this.ids.has(id) ? progress : { status });
	}

	private complete(value: unknown, files: GeneratedFile[]): void {
		if (files.length > MAX_FILES) return this.lose(`the completion named ${files.length} files`);
		for (const file of files) {
			// A later completion may sign the address anew: that is valid longest.
			const { id, fileUrl } = file;
			this.files.set(id === undefined ? fileUrl : `${id} ${unsigned(fileUrl)}`, file);
			if (id !== undefined) this.fileless.delete(id);
		}
		for (const entry of entriesOf(value).filter(isFailed)) {
			if (readGeneratedFiles(entry, this.source.baseUrl).length === 0) this.noteFileless(entry);
		}
		this.failure = undefined;
		if (this.isAll()) this.conclude();
	}

	/** A completion without a file. Its ids, if any, prove which entries of the history are the result. */
	private withoutFile(value: unknown, text: string): void {
		const entries = entriesOf(value);
		const failed = entries.filter(isFailed);
		this.failure = failed.length > 0 && failed.length === entries.length ? entries : undefined;
		this.lack = text;
		for (const entry of entries.filter(isRecord)) {
			this.noteFileless(entry);
			if (this.failure === undefined) this.report(entry);
		}
		if (!entries.some(isRecord) || this.isAll()) this.conclude(entries.some(isCutOff));
	}

	private noteFileless(entry: unknown): void {
		const id = isRecord(entry) ? (asId(entry.id) ?? asId(entry.task_id)) : undefined;
		this.fileless.add(id ?? `entry ${this.fileless.size}`);
	}

	/** True when as many files have come, or will not come, as were asked for. */
	private isAll(): boolean {
		return this.files.size + this.fileless.size >= this.expected;
	}

	private fail(value: unknown): void {
		const text = readReason(this.source.redact.value(value));
		const isTooMuch = saysRefused(value, text) || undefined;
		this.finish({ kind: 'failed', text: isFailureWord(text) ? undefined : text, isTooMuch });
	}

	/** Nothing more is heard; `isCut` unless it was the service that ended it. */
	private lose(text: string, isCut = true): void {
		const mayLack = isCut && this.files.size < this.expected;
		this.finish({ kind: 'lost', text }, mayLack ? text : undefined);
	}

	/** Files that have come are paid for, whatever follows. */
	private finish(outcome: GenerationOutcome, cut?: string): void {
		const files = [...this.files.values()];
		this.outcome ??= files.length > 0 ? { kind: 'complete', files, cut } : outcome;
	}
}
