/* What is kept of an exchange: nothing that is not known to be harmless. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { join } from 'node:path';
import type { Exchange, Piece } from './wire.mts';
import {
	isRecord,
	looksLikeHtml,
	PAID_OPERATIONS,
	parseJson,
	combineRedactors,
	redactor,
} from './reading.mts';

export interface Outcome {
	operation: string;
	lines: string[];
}

export interface Recording {
	format: 1;
	made: string;
	voice?: string;
	/** Of what the node was made to do, in order. */
	outcomes: Outcome[];
	exchanges: Exchange[];
}

/** A task that exists nowhere. */
export const MISSING_TASK = '999999999999';
/** A time as services write it. */
export const TIME =
	/\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d (?:GMT|UTC|[+-]\d{4})/;
/** What stands for the rest of a file within an answer: its size in characters. */
export const REST = /<(\d+) more>/g;

const wordsOf = (text: string) => text.toLowerCase().match(/\p{L}[\p{L}\p{N}]*/gu) ?? [];
/** Words of the package, of its pages, of HTTP, and for files and their making are nobody's. */
const VOCABULARY = new Set(
	['nodes', 'docs']
		.map((folder) => join(import.meta.dirname, '..', folder))
		.flatMap((folder) =>
			readdirSync(folder, { recursive: true, encoding: 'utf8' })
				.filter((file) => /\.(?:ts|md)$/.test(file))
				.flatMap((file) => wordsOf(readFileSync(join(folder, file), 'utf8'))),
		)
		.concat(wordsOf(Object.values(STATUS_CODES).join(' ')))
		.concat(wordsOf('artifact asset clip eta label link media meta mov phase src stage')),
);

/** Keys whose texts are words or sentences of the service. */
const WORDS_KEY =
	/errors?$|messages?$|msg$|details?$|reasons?$|^(?:status|state|type|kind|event|model(?:_id)?|format|mime_type|content_type|code|language|gender|age|accent|category|use_cases|aspect_ratio)$/i;
const ID_KEY =
	/(?:^|_)(?:u?ids?|uuid|guid|keys?|ref|number|account|owner|user|author|customer|tenant|phone|by|card)$|[a-z](?:Id|ID|Key|Uuid|UUID|By|Card)s?$|[Bb]irth/;
/** Keys whose numbers may be long, and are nobody's. */
const MEASURE_KEY =
	/percent|progress|total|page|size|count|amount|balance|quota|credit|used|left|limit|remain|duration|length|seconds|width|height|bytes|time|stamp|creat(?:ed|ion)|expir|updated|until|when|(?:^|_)(?:at|ts|ms|date)$|[a-z](?:At|Ms|Date)$/;
const ADDRESS = /((?:https?|wss?):\\?\/\\?\/[^\s"'<>]+)/;
/** What is quoted in a sentence. */
const QUOTED = /(?<=(?:^|[\s:(=])(["'“‘«]))[^"'“”‘’«»]+(?=["'”’»](?:$|[\s.,;:)]))/g;
/** A word, and what has figures or signs in it. */
const CHUNK = /[\p{L}\p{N}](?:[^\s"'“”‘’«»,;()[\]{}<>]*[\p{L}\p{N}])?/gu;
const CALL = new RegExp(
	`(?:/v1/(?:labs/(?:voices|task/[^/?]+)|video/(?:me|histories))|${PAID_OPERATIONS.map(({ path }) => path).join('|')}|/ws)(?=$|\\?)`,
);
const KEPT_HEADERS =
	/^(?:content-(?:type|encoding)|retry-after|date|location|x-ratelimit-(?:limit|remaining|reset))$/;
/** Text within a file, such as a title or a prompt, behind what tells the file's type; also in UTF-8 and UTF-16. */
const READABLE =
	/(?:[\x20-\x7e]\0?|[\xc2-\xdf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}){6,}|\xff\xfe(?:[^\0][\0-\x7f])+/g;
/** Of a file's name. Other endings may be half a name. */
const ENDING =
	/\.(?:mp[34]|m4a|wav|ogg|opus|flac|aac|pcm|webm|mov|png|jpe?g|gif|webp|avif|srt|vtt|json|txt)$/i;

const { rawJSON, isRawJSON } = JSON as unknown as {
	rawJSON(text: string): object;
	isRawJSON(value: unknown): value is { rawJSON: string };
};
/** Also of the token as programs encode it. */
const redactorOf = (token: string) =>
	combineRedactors([
		redactor(token),
		...(['base64url', 'base64', 'hex'] as const).map((encoding) =>
			redactor(Buffer.from(token).toString(encoding).replace(/=+$/, '')),
		),
	]);
const isTime = (text: string) => TIME.exec(text)?.[0] === text;

/** Puts stable stand-ins in the place of whatever may be somebody's. */
export class StandIns {
	readonly #known = new Map<string, Map<string, string>>();
	readonly #made = new Set<string>();
	readonly #redact;
	readonly #own: string[];
	readonly #words;
	/** Of the exchange that is looked through, for addresses without one. */
	#scheme = '';

	constructor(token: string, own: string[]) {
		this.#redact = redactorOf(token);
		this.#own = own;
		this.#words = new Set([...VOCABULARY, ...own.flatMap(wordsOf)]);
	}

	/** How many of each kind were replaced. */
	counts = () => [...this.#known].map(([kind, values]) => `${values.size} × ${kind}`);

	#standIn(kind: string, value: string, make: (number: number) => string): string {
		// A text is looked through more than once: a stand-in has none of its own.
		if (this.#made.has(value) || value === MISSING_TASK || value.trim() === '') return value;
		const values = this.#known.get(kind) ?? new Map<string, string>();
		this.#known.set(kind, values);
		const known = values.get(value) ?? make(values.size + 1);
		values.set(value, known);
		this.#made.add(known);
		return known;
	}

	#text = (value: string) =>
		this.#own.includes(value.trim()) ? value : this.#standIn('text', value, (n) => `text-${n}`);

	id = (value: string): string =>
		this.#standIn('ID', value, (number) => {
			if (/^-?\d+(?:\.\d+)?$/.test(value)) return String(10 ** 5 + number);
			if (!/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value)) return `id-${number}`;
			return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
		});

	/** A path with its query: calls of the contract stay, with stand-ins for ids; others are files. */
	#path(path: string): string {
		const [file = '', query] = path.split('?');
		const call = CALL.exec(path)?.[0];
		if (call !== undefined) {
			const known = call.replace(/(?<=\/task\/).+/, (id) => this.id(decodeURIComponent(id)));
			const values = query?.replace(/(?<=(\w+)=)[^&]+/g, (value, name: string) =>
				/^page(?:_size)?$/.test(name) ? value : encodeURIComponent(this.id(value)),
			);
			return known + (values === undefined ? '' : `?${values}`);
		}
		const ending = ENDING.exec(file)?.[0] ?? '';
		const known =
			file === '/' ? file : this.#standIn('file address', file, (n) => `/files/${n}${ending}`);
		return known + (query ? `?signed=${this.#standIn('signature', query, String)}` : '');
	}

	#url(text: string): string {
		const plain = text.replaceAll('\\/', '/');
		const whole = plain.startsWith('//') ? this.#scheme + plain : plain;
		const url = URL.parse(whole);
		if (!url) return this.#path(text.startsWith('/') ? text : `/${text}`);
		const path = whole === url.origin ? '' : this.#path(url.pathname + url.search);
		return this.#origin(url.origin) + path;
	}

	#origin = (origin: string) => this.#standIn('host', origin, (n) => `http://host-${n}.invalid`);

	/** Whether each part of a word is known to be nobody's. */
	#isHarmless(word: string): boolean {
		if (isTime(word) || /^(?:\d{1,4}(?:\.\d+)?|[a-z]{1,2})$/i.test(word)) return true;
		if (/\d\.\d+\.\d/.test(word)) return false;
		return word.split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u).every((part) => {
			const plain = part.toLowerCase();
			const stem = plain.replace(/(?:e?[sd]|ly|ing)$/, '');
			return this.#words.has(plain) || this.#words.has(stem) || /^\d{0,2}$/.test(part);
		});
	}

	/** A text without what is known to be somebody's. */
	#plain(text: string): string {
		const isSaid = (kind: string, value: string) =>
			kind === 'ID'
				? value.length > 4
				: value.length > 2 && (/\s/.test(value) || !this.#isHarmless(value));
		const known = [...this.#known].flatMap(([kind, values]) =>
			[...values].filter(([value]) => isSaid(kind, value)),
		);
		let plain = text;
		for (const [value, standIn] of known.sort(([a], [b]) => b.length - a.length)) {
			if (!plain.includes(value)) continue;
			const escaped = value.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
			plain = plain.replace(new RegExp(`(?<![^\\W_])${escaped}(?![^\\W_])`, 'g'), () => standIn);
		}
		return plain.replace(/(?<=\btask )\w+/g, (id) => this.#known.get('ID')?.get(id) ?? id);
	}

	#quoted = (text: string) =>
		/^[A-Za-z_./-]*$/.test(text) && this.#isHarmless(text) ? text : this.#text(text);

	/** A sentence: of its words, those that are nobody's. What the node quotes are names of fields. */
	#sentence(text: string, quotes = QUOTED): string {
		const word = (chunk: string): string => {
			if (this.#isHarmless(chunk)) return chunk;
			// What is said in several words, such as a status, may be read by one of them.
			const isJoined = /^\p{L}+(?:[_.-]\p{L}+)+$/u.test(chunk);
			if (isJoined) return chunk.replace(/\p{L}+/gu, word);
			return this.#standIn('word', chunk, (n) => `word-${n}`);
		};
		const parts = this.#redact.text(text).split(ADDRESS);
		return parts
			.map((part, index) => {
				if (index % 2 === 1) return this.#url(part);
				const quoted = this.#plain(part).replace(quotes, this.#quoted);
				return quoted.replace(CHUNK, word);
			})
			.join('');
	}

	/** What the node has said. */
	line = (text: string) =>
		/^(?:error|hint): /.test(text)
			? this.#sentence(text, /$^/)
			: this.#plain(this.#redact.text(text));

	#leaf(key: string, value: string): string {
		if (this.#own.includes(value.trim())) return value;
		if (/^\s*[[{]/.test(value)) return this.#json(value) ?? this.#text(value);
		if (/^data:[^,]*,/.test(value)) return this.#within(value);
		if (/^(?:(?:https?|wss?):)?\/\/\S+$/.test(value)) return this.#url(value);
		if (WORDS_KEY.test(key)) return this.#sentence(value);
		if (ID_KEY.test(key) || this.#known.get('ID')?.has(value)) return this.id(value);
		if (
			/ur[il]|link|result|audio|file|subtitle|href|path/i.test(key) &&
			/^\/?[\w-]+[/.]\S+$/.test(value)
		)
			return this.#url(value);
		if (/^\d+(?:\.\d+)?%?$/.test(value)) return this.#number(key, value);
		const isCode = /^[A-Z\d]+(?:_[A-Z\d]+)+$/.test(value) && this.#isHarmless(value);
		// A mere day may be somebody's birthday.
		const isMoment = isTime(value) && (value.length > 10 || MEASURE_KEY.test(key));
		return isMoment || isCode ? value : this.#text(value);
	}

	#number = (key: string, text: string) =>
		ID_KEY.test(key) || (/^\d{5,}$/.test(text) && !MEASURE_KEY.test(key)) ? this.id(text) : text;

	/** A file within an answer: its beginning. */
	#within(value: string): string {
		const start = value.indexOf(',') + 1;
		const head = this.#head(Buffer.from(value.slice(start, start + 1368), 'base64'));
		const more = value.length - start - head.length;
		return value.slice(0, start) + head + (more > 0 ? `<${more} more>` : '');
	}

	/** A file's first kilobyte, without what can be read in it. */
	#head(bytes: Buffer): string {
		const text = bytes.toString('latin1');
		const hidden = text.slice(16).replace(READABLE, (run) => 'x'.repeat(run.length));
		return Buffer.from(text.slice(0, 16) + hidden, 'latin1').toString('base64');
	}

	/** The name of a field; one of an object whose names may be somebody's is a word of the package. */
	#field(name: string, isOfFields = false): string {
		const isReplaced = [...this.#known.values()].some((values) => values.has(name));
		return this.#isHarmless(name) || (isOfFields && !isReplaced) ? name : this.#text(name);
	}

	#value(value: unknown, key = ''): unknown {
		if (isRawJSON(value)) return rawJSON(this.#number(key, value.rawJSON));
		if (typeof value === 'string') return this.#leaf(key, value);
		if (Array.isArray(value)) return value.map((entry) => this.#value(entry, key));
		if (!isRecord(value)) return value;
		// A table by name or ID has values of one kind, or names that nobody knows; other names are of fields.
		const names = Object.keys(value);
		const known = names.filter((name) => this.#isHarmless(name));
		const kinds = new Set(Object.values(value).map((each) => Array.isArray(each) || typeof each));
		const isOfFields = kinds.size > 1 && known.length > names.length / 2;
		return Object.fromEntries(
			Object.entries(value).map(([field, entry]) => [
				this.#field(field, isOfFields),
				this.#value(entry, field),
			]),
		);
	}

	/** The JSON in a text with stand-ins; undefined if it is none. */
	#json(text: string, key = ''): string | undefined {
		try {
			// Ids may be larger than a number can be, so numbers are taken from the text.
			const revive = (_: string, value: unknown, { source }: { source?: string } = {}) =>
				typeof value === 'number' && source ? rawJSON(source) : value;
			return JSON.stringify(this.#value(JSON.parse(text, revive as never), key));
		} catch {
			return undefined;
		}
	}

	/** An answer, an event stream's lines, or a message. */
	#body(text: string): string {
		const json = this.#json(text);
		if (json !== undefined) return json;
		if (looksLikeHtml(text)) return `<html>${this.#text(text)}</html>`;
		if (!/^(?:event|data) ?:/m.test(text)) return this.#broken(text).slice(0, 1024);
		const oneLine = text.replace(/^(data ?: ?)(.*(?:\r?\ndata ?: ?.*)+)/gm, (whole, name, data) => {
			const joined = data.replace(/\r?\ndata ?: ?/g, '\n');
			return parseJson(joined) === undefined ? whole : name + joined.replaceAll('\n', ' ');
		});
		return oneLine.replace(
			/^(\w*)( ?: ?)(.*?)(\r?)$/gm,
			(_, field: string, colon: string, data: string, end: string) => {
				const known = {
					data: () => this.#json(data, 'status') ?? this.#broken(data),
					event: () => this.#leaf('event', data),
				}[field];
				return field + colon + (known?.() ?? this.#text(data)) + end;
			},
		);
	}

	/** What only resembles JSON, or is a word or a sentence: without what is quoted, unless it is a known word. */
	#broken(text: string): string {
		const quoted = text.replace(
			/"((?:[^"\\]|\\.)*)("|$)/g,
			(_, inner: string, end: string) => `"${this.#quoted(inner)}${end}`,
		);
		return this.#sentence(quoted);
	}

	#exchange({ origin, path, body, headers, pieces, broke, ...rest }: Exchange): Exchange {
		const kept = Object.entries(headers).filter(([name]) => KEPT_HEADERS.test(name));
		const header = (name: string, value: string) => {
			if (name === 'location') return this.#url(value);
			if (isTime(value)) return value;
			return value.replace(/\p{L}{3,}/gu, (word) => (this.#isHarmless(word) ? word : 'x'));
		};
		const piece = ({ ms, text, base64 }: Piece): Piece =>
			text === undefined
				? { ms, base64: this.#head(Buffer.from(base64!, 'base64')) }
				: { ms, text: this.#body(text) };
		this.#scheme = new URL(origin).protocol;
		return {
			...rest,
			origin: this.#origin(origin),
			path: this.#path(path),
			body: body && this.#body(body),
			headers: Object.fromEntries(kept.map(([name, value]) => [name, header(name, String(value))])),
			pieces: pieces.map(piece),
			broke: broke && this.#plain(broke),
		};
	}

	/** Exchanges as they are kept. What a later one tells to be somebody's is not kept in an earlier one. */
	exchanges(all: Exchange[]): Exchange[] {
		const redacted = this.#redact.value(all);
		redacted.forEach((each) => this.#exchange(each));
		return redacted.map((each) => this.#exchange(each));
	}
}

/** The recording as it is written; throws if the token is in it in any form that redaction knows. */
export function written(recording: Recording, token: string): string {
	const text = `${JSON.stringify(recording, null, '\t')}\n`;
	if (redactorOf(token).text(text) !== text) {
		throw new Error('Nothing was written: the token may be in the recording.');
	}
	return text;
}

/** The name of a recording's file, which tells the service apart and does not name it. */
export const fileNameOf = (baseUrl: string, made: string) =>
	`${made.slice(0, 19).replace(/[:T]/g, '-')}-${createHash('sha256').update(new URL(baseUrl).host).digest('hex').slice(0, 8)}.json`;
