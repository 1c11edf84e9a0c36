/* Prepares exchanges for a recording: everything that may identify somebody is replaced. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { join } from 'node:path';
import type { Exchange, Piece } from './wire.mts';
import { shared } from './shared.mts';

/** What came of an operation of the node. */
export interface Outcome {
	operation: string;
	/** What a user would notice, such as `items: 1` or `error: …`. */
	lines: string[];
}

export interface Recording {
	format: 1;
	/** When the check began, as an ISO 8601 time. */
	made: string;
	/** The stand-in for the voice that the node used. */
	voice?: string;
	/** The outcomes of the node's operations, in order. */
	outcomes: Outcome[];
	exchanges: Exchange[];
}

/** A task id that no service has given. */
export const MISSING_TASK = '999999999999';
/** Matches a time or a date as services write it. */
export const TIME =
	/\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d (?:GMT|UTC|[+-]\d{4})/;
/** Matches what replaces the rest of a file within an answer, with its size in characters. */
export const OMITTED = /<(\d+) more>/g;

const wordsOf = (text: string) => text.toLowerCase().match(/\p{L}[\p{L}\p{N}]*/gu) ?? [];
/** Words that identify nobody: those of this package's sources and pages, of HTTP, and some about media files. */
const VOCABULARY = new Set(
	['nodes', 'docs']
		.map((folder) => join(import.meta.dirname, '..', folder))
		.flatMap((folder) =>
			readdirSync(folder, { recursive: true, encoding: 'utf8' })
				.filter((file) => /\.(?:ts|md)$/.test(file))
				.flatMap((file) => wordsOf(readFileSync(join(folder, file), 'utf8'))),
		)
		.concat(wordsOf(Object.values(STATUS_CODES).join(' ')))
		.concat(wordsOf('artifact asset charset clip eta label link media meta mov phase src stage')),
);

/** Matches keys whose values are words or sentences of the service. */
const WORDS_KEY =
	/errors?$|messages?$|msg$|details?$|reasons?$|^(?:status|state|type|kind|event|model(?:_id)?|format|mime_type|content_type|code|language|gender|age|accent|category|use_cases|aspect_ratio)$/;
/** Matches keys whose values are IDs, even if they are short. Only the last word of a key counts. */
const ID_KEY =
	/(?:^|_)(?:u?ids?|uuid|guid|keys?|ref|number|account|owner|user|author|customer|tenant|phone|by|card)$/;
/** Matches keys whose numbers are measurements, and kept however long they are. Only the last word counts. */
const MEASURE_KEY =
	/(?:^|_)(?:percent(?:age)?|progress|total|page|(?:file)?size|count|amount|cost|price|balance|quota|credit|used|left|limit|remain(?:ing)?|reset|duration|length|char(?:acter)?|expires_in|ms|second|width|height|byte)s?$/;
const TIME_KEY = /^date$|(?:^|_)(?:at|time|(?:time)?stamp|ts|created|updated|expir(?:es|y)|until)$/;
const URL_PATTERN = /((?:https?|wss?):\\?\/\\?\/[^\s"'<>]+)/;
/** Matches quoted text in a sentence, without its quotation marks. */
const QUOTED = /(?<=(?:^|[\s:(=])(["'“‘«]))[^"'“”‘’«»]+(?=["'”’»](?:$|[\s.,;:)]))/g;
/** Matches at least seven digits, even with spaces or signs in between, such as a phone number or a date. */
const LONG_NUMBER = /\d(?:[ ()./+-]{0,2}\d){6,}/g;
/** Matches a word, with the digits and signs in it, such as an e-mail address. */
const WORD = /[\p{L}\p{N}](?:[^\s"'“”‘’«»,;()[\]{}<>]*[\p{L}\p{N}])?/gu;
/** Matches the path of a call that the contract documents. */
const CONTRACT_CALL = new RegExp(
	`(?:/v1/(?:labs/(?:voices|task/[^/?]+)|video/(?:me|histories))|${shared.PAID_OPERATIONS.map(({ path }) => path).join('|')}|/ws)(?=$|\\?)`,
);
const KEPT_HEADERS =
	/^(?:content-(?:type|encoding)|retry-after|date|location|x-ratelimit-(?:limit|remaining|reset))$/;
/** Minimal files whose duration can be read: a WAV header, two MP3 frames, and what follows the type of an MP4. */
const WAV =
	'RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\0\0\0\0';
const MP3 = '\xff\xf3\x10\xc0'.padEnd(26, '\0').repeat(2);
const MP4 = `\0\0\0\x74moov\0\0\0\x6cmvhd${'\0'.repeat(12)}\0\0\x03\xe8\0\0\x03\xe8`;
/** What replaces the first bytes of a file, so that only its type is kept. The last row matches any file. */
const FILES: Array<[file: RegExp, standIn: string]> = [
	[/^RIFF.{4}WAVE.*/s, WAV],
	[/^(?:ID3|\xff[\xe2\xe3\xea\xeb\xf2\xf3\xfa\xfb]).*/s, MP3],
	[/^.{4}ftyp(.{4}).*/s, `\0\0\0\x10ftyp$1\0\0\0\0${MP4}`],
	[/^(\xff[\xd8\xf0\xf1\xf8\xf9].|\x89PNG|GIF8|RIFF.{4}WEBP|OggS|fLaC|\x1aE\xdf\xa3)?.*/s, '$1'],
];
/** Matches the file extensions that are kept. Any other extension may be part of a name. */
const FILE_EXTENSION =
	/\.(?:mp[34]|m4a|wav|ogg|opus|flac|aac|pcm|webm|mov|png|jpe?g|gif|webp|avif|srt|vtt|json|txt)$/i;

/** Returns a redactor of the token: as text, in hex and in base64, there also behind a user name. */
export const redactorOf = (token: string) => {
	const inBase64 = [0, 1, 2].map((shift) =>
		Buffer.from('\0'.repeat(shift) + token)
			.toString('base64url')
			.slice(shift && shift + 1),
	);
	const older = inBase64.map((form) => form.replaceAll('-', '+').replaceAll('_', '/'));
	const forms = [token, Buffer.from(token).toString('hex'), ...inBase64, ...older];
	return shared.combineRedactors(forms.map(shared.redactor));
};
/** Changes `createdAt` to `created_at`. */
const snakeCase = (key: string) => key.replace(/(?<=[\p{Ll}\d])(?=\p{Lu})/gu, '_').toLowerCase();
const isTime = (text: string) => TIME.exec(text)?.[0] === text;

/** Replaces whatever may identify somebody by stand-ins. The same value always gets the same stand-in. */
export class StandIns {
	/** For each kind of value, the stand-ins by the values that they replace. */
	readonly #standInsByKind = new Map<string, Map<string, string>>();
	/** All stand-ins that were given. */
	readonly #allStandIns = new Set<string>();
	readonly #redact;
	readonly #ownTexts: string[];
	readonly #vocabulary;
	/** The scheme of the current exchange, such as `https:`, for URLs that begin with `//`. */
	#scheme = '';

	/** `ownTexts`: the texts that the check itself sends. They are kept. */
	constructor(token: string, ownTexts: string[]) {
		this.#redact = redactorOf(token);
		this.#ownTexts = ownTexts;
		this.#vocabulary = new Set([...VOCABULARY, ...ownTexts.flatMap(wordsOf)]);
	}

	/** Returns how many different values of each kind were replaced, such as `3 × ID`. */
	counts = () => [...this.#standInsByKind].map(([kind, values]) => `${values.size} × ${kind}`);

	#standIn(kind: string, value: string, make: (number: number) => string): string {
		// Texts are processed more than once, so the value may already be a stand-in.
		if (this.#allStandIns.has(value) || value === MISSING_TASK || value.trim() === '') return value;
		const values = this.#standInsByKind.get(kind) ?? new Map<string, string>();
		this.#standInsByKind.set(kind, values);
		const known = values.get(value) ?? make(values.size + 1);
		values.set(value, known);
		this.#allStandIns.add(known);
		return known;
	}

	#text = (value: string) =>
		this.#ownTexts.includes(value.trim())
			? value
			: this.#standIn('text', value, (n) => `text-${n}`);

	id = (value: string): string =>
		this.#standIn('ID', value, (number) =>
			Number.isNaN(Number(value)) ? `id-${number}` : String(10 ** 5 + number),
		);

	/**
	 * Replaces the ids in a path of the contract, and all values of its query except page numbers and sizes. Any other
	 * path is that of a file, and is replaced but for its extension.
	 */
	#path(path: string): string {
		const [file = '', query] = path.split('?');
		const call = CONTRACT_CALL.exec(path)?.[0];
		if (call !== undefined) {
			const known = call.replace(/(?<=\/task\/).+/, (id) => this.id(decodeURIComponent(id)));
			const values = query?.replace(/(?<=(\w+)=)[^&]+/g, (value, name: string) =>
				/^page(?:_size)?$/.test(name) ? value : encodeURIComponent(this.id(value)),
			);
			return known + (values === undefined ? '' : `?${values}`);
		}
		const ending = FILE_EXTENSION.exec(file)?.[0] ?? '';
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

	/**
	 * True if a word can identify nobody: it is very short, or each of its parts is in the vocabulary or has at most
	 * two digits.
	 */
	#isHarmless(word: string): boolean {
		if (/^(?:\d{1,4}(?:\.\d{1,2})?|[a-z]{1,2})$/i.test(word)) return true;
		if (/\d\.\d+\.\d/.test(word)) return false;
		return word.split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u).every((part) => {
			const plain = part.toLowerCase();
			const stem = plain.replace(/(?:e?[sd]|ly|ing)$/, '');
			return this.#vocabulary.has(plain) || this.#vocabulary.has(stem) || /^\d{0,2}$/.test(part);
		});
	}

	/** Replaces each word of a media type by `x` unless it is harmless. */
	#mediaType = (text: string) =>
		text.replace(/[\p{L}\p{N}]+/gu, (word) => (this.#isHarmless(word) ? word : 'x'));

	/** Returns the stand-in that a word or a host already has. A harmless word may mean something else. */
	#known(word: string): string | undefined {
		const get = (kind: string, value: string) => this.#standInsByKind.get(kind)?.get(value);
		const id = get('ID', word);
		if (id && word.length > 4) return id;
		if (this.#isHarmless(word)) return undefined;
		const host = get('host', `https://${word}`) ?? get('host', `http://${word}`);
		return id ?? get('text', word) ?? host?.replace('http://', '');
	}

	#quoted = (text: string) =>
		/^[A-Za-z_./-]*$/.test(text) && this.#isHarmless(text) ? text : this.#text(text);

	/** Replaces the words of a sentence that are not harmless. Text that `quotes` matches is replaced as a whole. */
	#sentence(text: string, quotes = QUOTED): string {
		const word = (chunk: string): string => {
			const known = this.#known(chunk);
			if (known ?? this.#isHarmless(chunk)) return known ?? chunk;
			// The node finds some meanings in a part of a word, also of another language, such as `rechargez`.
			if (/^\p{L}+$/u.test(chunk) && shared.meaningOf(chunk) !== undefined) return chunk;
			// The node may recognize one word of several that are joined, as in a status, so each is judged alone.
			const isJoined = /^\p{L}+(?:[_.-]\p{L}+)+$/u.test(chunk);
			if (isJoined) return chunk.replace(/\p{L}+/gu, word);
			// The node outputs some words in another letter case, so case must not matter.
			return this.#standIn('word', chunk.toLowerCase(), (n) => `word-${n}`);
		};
		const parts = this.#redact.text(text).split(URL_PATTERN);
		return parts
			.map((part, index) => {
				if (index % 2 === 1) return this.#url(part);
				return part
					.replace(quotes, this.#quoted)
					.replace(/(?<=\btask )\w+/g, (id) => this.#standInsByKind.get('ID')?.get(id) ?? id)
					.replace(LONG_NUMBER, this.id)
					.replace(WORD, word);
			})
			.join('');
	}

	/**
	 * Replaces what may identify somebody in a line of an outcome. The node quotes names of fields, so quoted words are
	 * judged one by one, like the others.
	 */
	line = (text: string): string => {
		if (/^(?:error|hint): /.test(text)) return this.#sentence(text, /$^/);
		if (!text.startsWith('fields: ')) return text;
		const name = (field: string) =>
			field.includes('"') ? this.#sentence(field, /$^/) : this.#field(field);
		const names = this.#redact.text(text).slice(8).split(', ').map(name);
		// The node's outcomes are sorted, so the stand-ins must be, too, or a replay would differ.
		return `fields: ${names.sort().join(', ')}`;
	};

	/** Replaces what may identify somebody in a string. Its key tells what kind of value it is. */
	#string(key: string, value: string): string {
		if (this.#ownTexts.includes(value.trim())) return value;
		if (/^\s*[[{]/.test(value)) return this.#json(value) ?? this.#text(value);
		if (/^data:\w+\/[\w.+-]+;base64,/.test(value)) return this.#embeddedFile(value);
		if (/^(?:(?:https?|wss?):)?\/\/\S+$/.test(value)) return this.#url(value);
		if (WORDS_KEY.test(key)) return this.#sentence(value);
		if (ID_KEY.test(key) || this.#standInsByKind.get('ID')?.has(value)) return this.id(value);
		if (
			/ur[il]|link|result|audio|file|subtitle|href|path/.test(key) &&
			/^\/?[\w-]+[/.]\S+$/.test(value)
		)
			return this.#url(value);
		if (/^-?\d+(?:\.\d+)?%?$/.test(value)) return this.#number(key, value);
		const time = TIME_KEY.test(key) ? shared.asTime(value) : NaN;
		if (!Number.isNaN(time)) return isTime(value) ? value : new Date(time).toISOString();
		return this.#text(value);
	}

	/** Replaces a number if it is an ID by its key, or long and neither a measurement nor a time. */
	#number(key: string, text: string): string {
		const isLong = text.replace(/\D/g, '').length > (WORDS_KEY.test(key) ? 4 : 3);
		const isMeasure = MEASURE_KEY.test(key) || TIME_KEY.test(key);
		return ID_KEY.test(key) || (isLong && !isMeasure) ? this.id(text) : text;
	}

	/** Replaces the first bytes of a file in a data URL, and shortens the rest to its size. */
	#embeddedFile(value: string): string {
		const start = value.indexOf(',') + 1;
		const head = this.#fileHead(Buffer.from(value.slice(start, start + 1368), 'base64'));
		const [more = '', padding = ''] = value.slice(start + head.length).split(/(=+)$/);
		const omitted = more && `<${more.length} more>${padding}`;
		return this.#mediaType(value.slice(0, start)) + head + omitted;
	}

	/** Returns what replaces the first bytes of a file, in base64 and of the same length. */
	#fileHead(bytes: Buffer): string {
		const text = bytes.toString('latin1');
		const [file, standIn] = FILES.find(([each]) => each.test(text))!;
		const head = Buffer.alloc(bytes.length);
		head.write(text.replace(file, standIn), 'latin1');
		return head.toString('base64');
	}

	/** Replaces the key of a field unless its words are harmless: a key may be the name or ID of somebody. */
	#field = (name: string) =>
		/^[\p{L}_-]+\d?$/u.test(name) && this.#isHarmless(name) ? name : this.#text(name);

	#value(value: unknown, name = ''): unknown {
		const key = snakeCase(name);
		if (typeof value === 'number') return Number(this.#number(key, String(value)));
		if (typeof value === 'string') return this.#string(key, value);
		if (Array.isArray(value)) return value.map((entry) => this.#value(entry, key));
		if (!shared.isRecord(value)) return value;
		return Object.fromEntries(
			Object.entries(value).map(([field, entry]) => [
				this.#field(field),
				this.#value(entry, field),
			]),
		);
	}

	/** Replaces what may identify somebody in a JSON text; undefined if the text is not JSON. */
	#json(text: string, key = ''): string | undefined {
		const json = shared.parseJson(text);
		return json === undefined ? undefined : JSON.stringify(this.#value(json, key));
	}

	/** Replaces what may identify somebody in a body, a part of an event stream, or a WebSocket message. */
	#body(text: string): string {
		const json = this.#json(text);
		if (json !== undefined) return json;
		if (shared.looksLikeHtml(text)) return `<html>${this.#text(text)}</html>`;
		if (!/^(?:event|data) ?:/m.test(text)) return this.#notJson(text).slice(0, 1024);
		const oneLine = text.replace(/^(data ?: ?)(.*(?:\r?\ndata ?: ?.*)+)/gm, (whole, name, data) => {
			const joined = data.replace(/\r?\ndata ?: ?/g, '\n');
			return shared.parseJson(joined) === undefined ? whole : name + joined.replaceAll('\n', ' ');
		});
		return oneLine.replace(
			/^(data|event|id|retry|)( ?: ?)(.*)$|^.+$/gm,
			(line: string, field: string | undefined, colon: string, value: string) => {
				if (field === 'data')
					return field + colon + (this.#json(value, 'status') ?? this.#notJson(value));
				if (field === 'event') return field + colon + this.#string(field, value);
				return field === undefined ? this.#text(line) : field + colon + this.#text(value);
			},
		);
	}

	/** Does the same for text that is not JSON, such as torn JSON. Of quoted text, only harmless words are kept. */
	#notJson(text: string): string {
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
			if (isTime(value) || /^\d+$/.test(value)) return value;
			return this.#mediaType(value.match(/^[^;]*|; *charset=[\w-]*/g)!.join(''));
		};
		const piece = ({ ms, text, base64 }: Piece): Piece =>
			text === undefined
				? { ms, base64: this.#fileHead(Buffer.from(base64!, 'base64')) }
				: { ms, text: this.#body(text) };
		this.#scheme = new URL(origin).protocol;
		return {
			...rest,
			origin: this.#origin(origin),
			path: this.#path(path),
			body: body && this.#body(body),
			headers: Object.fromEntries(kept.map(([name, value]) => [name, header(name, String(value))])),
			pieces: pieces.map(piece),
			broke: broke && this.#sentence(broke),
		};
	}

	/**
	 * Returns the exchanges as they are recorded. They are processed twice, because an exchange may show that a text in
	 * an earlier one identifies somebody.
	 */
	exchanges(all: Exchange[]): Exchange[] {
		const redacted = this.#redact.value(all);
		redacted.forEach((each) => this.#exchange(each));
		return redacted.map((each) => this.#exchange(each));
	}
}

/** Returns the text of the recording's file. Throws if it contains the token in any form that `redactorOf` knows. */
export function toJson(recording: Recording, token: string): string {
	const text = `${JSON.stringify(recording, null, '\t')}\n`;
	if (redactorOf(token).text(text) !== text) {
		throw new Error('Nothing was written: the token may be in the recording.');
	}
	return text;
}

/** Returns the name of a recording's file. The host appears as a hash, so that the name does not reveal it. */
export const fileNameOf = (baseUrl: string, madeAt: string) =>
	`${madeAt.slice(0, 19).replace(/[:T]/g, '-')}-${createHash('sha256').update(new URL(baseUrl).host).digest('hex').slice(0, 8)}.json`;
