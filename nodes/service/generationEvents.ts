import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { GeneratedFile } from './contract';
import {
	asText,
	isRecord,
	looksLikeHtml,
	parseJson,
	readGeneratedFiles,
	readReason,
} from './readers';

/** Bytes of a generation stream → its outcome (§6.1, field notes "Streams"). Pure. */

export type GenerationOutcome =
	| { kind: 'complete'; files: GeneratedFile[] }
	/** The service says that it failed. */
	| { kind: 'failed'; text?: string }
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

/** Longest line, event or plain answer, in characters: beyond it the stream is ended. */
const MAX_BUFFER = 8 * 1024 * 1024;

/** The value in an event's data: JSON (also JSON inside a JSON string), or a bare text. */
function readData(data: string): unknown {
	const value = parseJson(data);
	if (value === undefined) return data.trim();
	if (typeof value !== 'string') return value;
	const inner = /^\s*[[{]/.test(value) ? parseJson(value) : undefined;
	return inner ?? value;
}

function progressOf(value: unknown): GenerationProgress | undefined {
	if (!isRecord(value)) {
		const status = asText(value);
		return status === undefined ? undefined : { status };
	}
	const status = asText(value.status) ?? asText(value.message) ?? asText(value.stage);
	const id = asText(value.id) ?? asText(value.task_id);
	return status === undefined && id === undefined ? undefined : { status: status ?? 'working', id };
}

/** Feeds on a stream part by part; the first terminal event wins. */
export class GenerationEvents {
	outcome: GenerationOutcome | undefined;
	private readonly decoder = new TextDecoder('utf-8');
	private mode: 'unknown' | 'events' | 'plain' = 'unknown';
	private plain = '';
	private heard = false;
	private readonly parser = createParser({
		onEvent: (event) => this.onEvent(event),
		onError: (error) => {
			if (error.type === 'max-buffer-size-exceeded') {
				this.finish({ kind: 'lost', text: 'an event was larger than any result' });
			}
		},
		maxBufferSize: MAX_BUFFER,
	});

	constructor(
		private readonly baseUrl: string,
		private readonly onProgress: (progress: GenerationProgress) => void = () => {},
	) {}

	/** Takes the next part, cut anywhere. Returns the outcome once there is one. */
	push(part: Uint8Array): GenerationOutcome | undefined {
		return this.feed(this.decoder.decode(part, { stream: true }));
	}

	/** The stream ended by itself. Returns the outcome. */
	end(): GenerationOutcome {
		this.feed(this.decoder.decode());
		// The last event counts also without the blank line that should follow it.
		if (this.mode === 'events' && !this.outcome) this.parser.feed('\n\n');
		if (this.mode === 'plain' && !this.outcome) this.readPlain();
		return this.outcome ?? this.broken();
	}

	/** The stream broke: an event that is cut in two does not count. Returns the outcome. */
	broken(): GenerationOutcome {
		const text = this.heard ? 'the stream ended while it was in progress' : 'the stream was empty';
		return this.outcome ?? { kind: 'lost', text };
	}

	private feed(text: string): GenerationOutcome | undefined {
		if (this.outcome || text === '') return this.outcome;
		if (this.mode === 'unknown') {
			this.plain += text;
			const start = this.plain.trimStart();
			if (start === '') {
				if (this.plain.length > MAX_BUFFER) this.plain = '';
				return undefined;
			}
			this.mode = /^[[{<]/.test(start) ? 'plain' : 'events';
			if (this.mode === 'events') this.parser.feed(this.plain);
			return this.outcome;
		}
		if (this.mode === 'events') {
			this.parser.feed(text);
			return this.outcome;
		}
		this.plain += text;
		if (this.plain.length > MAX_BUFFER) {
			this.finish({ kind: 'lost', text: 'the answer was larger than any result' });
			this.plain = '';
		}
		return this.outcome;
	}

	/** Some deployments answer with plain JSON instead of a stream, edges with a page. */
	private readPlain(): void {
		if (looksLikeHtml(this.plain)) {
			return this.finish({ kind: 'page' });
		}
		const value = parseJson(this.plain);
		if (value === undefined) {
			return this.finish({ kind: 'lost', text: 'the answer broke off' });
		}
		const files = readGeneratedFiles(value, this.baseUrl);
		if (files.length > 0) this.finish({ kind: 'complete', files });
		else if (isRecord(value) && value.error) this.fail(value);
		else this.withoutFile(value, 'the answer named no file');
	}

	private onEvent(event: EventSourceMessage): void {
		if (this.outcome) return;
		this.heard = true;
		const value = readData(event.data);
		if (event.event === 'error') return this.fail(value);
		const files = readGeneratedFiles(value, this.baseUrl);
		if (files.length > 0) return this.finish({ kind: 'complete', files });
		if (isRecord(value) && value.error) return this.fail(value);
		if (event.event?.endsWith('_complete')) {
			return this.withoutFile(value, 'the completion named no file');
		}
		const progress = progressOf(value);
		if (progress) this.onProgress(progress);
	}

	/** The ids, if there are any, prove which entries of the history are the result. */
	private withoutFile(value: unknown, text: string): void {
		for (const entry of Array.isArray(value) ? value : [value]) {
			const progress = isRecord(entry) ? progressOf(entry) : undefined;
			if (progress) this.onProgress(progress);
		}
		this.finish({ kind: 'lost', text });
	}

	private fail(value: unknown): void {
		this.finish({ kind: 'failed', text: readReason(value) });
	}

	private finish(outcome: GenerationOutcome): void {
		this.outcome ??= outcome;
	}
}
