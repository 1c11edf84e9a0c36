/* What is kept of an exchange: nothing that is not known to be harmless. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import type { Exchange, Piece } from './wire.mts';
import { isRecord, looksLikeHtml, redactor } from './reading.mts';

export interface Outcome {
	operation: string;
	lines: string[];
}

export interface Recording {
	format: 1;
	made: string;
	/** What the node was made to do, in order. */
	operations: string[];
	voice?: string;
	outcomes: Outcome[];
	exchanges: Exchange[];
}

/** A task that exists nowhere. */
export const MISSING_TASK = '999999999999';

/** Keys whose texts are words or sentences of the service, not of a person. */
const WORDS =
	/^(?:status|state|type|kind|event|code|model(?:_id)?|language|gender|age|accent|category|use_cases|aspect_ratio|format|mime_type|content_type)$|errors?$|messages?$|msg$|details?$|reasons?$/i;
const ID_KEY =
	/(?:^|_)(?:ids?|uuid|guid|key|account|owner|user|phone)$|[a-z](?:Id|ID|Key|Uuid|UUID)s?$/;
/** Keys whose texts name somebody, each word of them. */
const NAME_KEY = /.name|mail|owner|user|account|author|company|org/i;
/** Words of the node are nobody's. */
const NODE_WORDS = new Set(
	readFileSync(new URL('../nodes/shared/n8n/messages.ts', import.meta.url), 'utf8')
		.toLowerCase()
		.match(/[a-z]+/g),
);
const HARMLESS =
	/^(?:|\d+(?:\.\d+)?%?|\d{4}-\d\d-\d\dT[\d:.]*(?:Z|[+-]\d\d:?\d\d)?|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|true|false)$/;
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi;
const EMAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
const ADDRESS = /(?:https?|wss?):\\?\/\\?\/[^\s"'<>]+/g;
const IP = /(?<![\d.-])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])/g;
/** What is quoted in a sentence, unless it is the name of a field. */
const QUOTED = /(?<=(?:^|[\s:(=])(["'“‘«]))(?![a-z_]+["'])[^"'“”‘’«»]+(?=["'”’»](?:$|[\s.,;:)]))/g;
/** Words with figures in them, and long numbers. */
const CODE =
	/(?<![\w.:/-])(?!\d{4}-\d\d-\d\d)(?=(?:[\w.-]*\d){3})(?=[\w.-]*[a-z_]|\d{5})[\w.-]{5,}/gi;
/** Two words that begin like names, and no status of HTTP. */
const NAMES = /\b\p{Lu}\p{Ll}+ \p{Lu}\p{Ll}+\b/gu;
const STATUS_WORDS = new Set(Object.values(STATUS_CODES).join(' ').split(' '));
const CALL = /\/v1\/(?:labs\/(?:voices|task(?:\/[^/?]+)?)|video\/[a-z-]+)(?=$|\?)|\/ws(?=$|\?)/;
const KEPT_HEADERS =
	/^(?:content-(?:type|encoding)|retry-after|date|location|x-ratelimit-(?:limit|remaining|reset))$/;

const { rawJSON, isRawJSON } = JSON as unknown as {
	rawJSON(text: string): object;
	isRawJSON(value: unknown): value is { rawJSON: string };
};

/** Puts stable stand-ins in the place of whatever may be somebody's. */
export class StandIns {
	readonly #known = new Map<string, Map<string, string>>();
	readonly #made = new Set<string>();
	readonly #redact;
	readonly #own: string[];
	/** Other addresses by which an origin is known. */
	readonly #aliases: ReadonlyMap<string, string>;

	constructor(token: string, own: string[], aliases: ReadonlyMap<string, string>) {
		this.#redact = redactor(token);
		this.#own = own;
		this.#aliases = aliases;
	}

	/** How many of each kind were replaced. */
	counts = () =>
		[...this.#known]
			.filter(([kind]) => kind !== 'sentence')
			.map(([kind, values]) => `${values.size} × ${kind}`);

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

	#name = (value: string) => this.#standIn('name', value, (n) => `name-${n}`);

	id = (value: string): string =>
		this.#standIn('ID', value, (number) => {
			if (/^-?\d+(?:\.\d+)?$/.test(value)) return String(10 ** 5 + number);
			if (value.match(UUID)?.[0] !== value) return `id-${number}`;
			return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
		});

	#origin(origin: string): string {
		const real = this.#aliases.get(origin) ?? origin;
		return this.#standIn('host', real, (number) => `http://host-${number}.invalid`);
	}

	/** A path with its query: calls of the contract stay, with stand-ins for ids; others are files. */
	#path(path: string): string {
		const [, query] = path.split('?');
		const call = CALL.exec(path)?.[0];
		if (call !== undefined) {
			const known = call.replace(/(?<=\/task\/).+/, (id) => this.id(decodeURIComponent(id)));
			const values = query?.replace(/(?<=(\w+)=)[^&]+/g, (value, name: string) =>
				/^page(?:_size)?$/.test(name) ? value : encodeURIComponent(this.id(value)),
			);
			return known + (values === undefined ? '' : `?${values}`);
		}
		const file = path.split('?')[0]!;
		const ending = /\.\w{1,5}$/.exec(file)?.[0] ?? '';
		const known =
			file === '/' ? file : this.#standIn('file address', file, (n) => `/files/${n}${ending}`);
		return known + (query ? `?signed=${this.#standIn('signature', query, String)}` : '');
	}

	#url(text: string): string {
		const url = URL.parse(text.replaceAll('\\/', '/'));
		if (!url) return this.#path(text.startsWith('/') ? text : `/${text}`);
		return this.#origin(url.origin) + this.#path(url.pathname + url.search);
	}

	/** A sentence of the service or of the node: without what is known to be somebody's. */
	line(text: string): string {
		let plain = this.#redact.text(text);
		const known = [...this.#known].flatMap(([kind, values]) =>
			[...values].filter(([value]) => {
				return kind === 'text' ? /[^a-z]/.test(value) : value.length > (kind === 'ID' ? 4 : 2);
			}),
		);
		for (const [value, standIn] of known.sort(([a], [b]) => b.length - a.length)) {
			if (!plain.includes(value)) continue;
			const escaped = value.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
			plain = plain.replace(new RegExp(`(?<![^\\W_])${escaped}(?![^\\W_])`, 'g'), () => standIn);
		}
		return plain
			.replace(/(?<=\btask )\w+/g, (id) => this.#known.get('ID')?.get(id) ?? id)
			.replace(ADDRESS, (address) => this.#url(address))
			.replace(EMAIL, (email) => this.#standIn('e-mail', email, (n) => `person-${n}@host.invalid`))
			.replace(IP, '0.0.0.0')
			.replace(UUID, (id) => this.id(id));
	}

	/** A sentence of the service, also without what looks like somebody's. */
	#sentence(text: string): string {
		if (this.#made.has(text)) return text;
		const plain = this.line(text)
			.replace(QUOTED, (quoted) => this.#text(quoted))
			.replace(CODE, (code) => this.id(code))
			.replace(NAMES, (name) =>
				name.split(' ').every((word) => STATUS_WORDS.has(word)) ? name : this.#name(name),
			);
		if (plain !== text) this.#standIn('sentence', text.trim(), () => plain.trim());
		return plain;
	}

	#leaf(key: string, value: string): string {
		if (this.#own.includes(value.trim())) return value;
		if (/^\s*[[{]/.test(value)) return this.#json(value) ?? this.#text(value);
		if (NAME_KEY.test(key) && !WORDS.test(key)) {
			for (const word of value.match(/[\p{L}\d]{3,}/gu) ?? [])
				if (!NODE_WORDS.has(word.toLowerCase())) this.#name(word);
		}
		if (WORDS.test(key)) return this.#sentence(value);
		if (ID_KEY.test(key) || this.#known.get('ID')?.has(value)) return this.id(value);
		if (/^data:/.test(value)) return value.slice(0, 1500);
		if (/^(?:(?:https?|wss?):)?\/\//.test(value)) return this.#url(value);
		if (/url|result|audio|subtitle|href|path/i.test(key) && /^\/?[\w-]+[/.]\S+$/.test(value))
			return this.#url(value);
		return HARMLESS.test(value) ? value : this.#text(value);
	}

	#value(value: unknown, key = ''): unknown {
		if (isRawJSON(value)) return rawJSON(this.id(value.rawJSON));
		if (typeof value === 'string') return this.#leaf(key, value);
		if (Array.isArray(value)) return value.map((entry) => this.#value(entry, key));
		if (!isRecord(value)) return value;
		// Names of fields are words; of a table by id or by e-mail address they are not.
		const name = (field: string) =>
			/^(?!.*\d.*\d)[A-Za-z_][\w-]{0,40}$/.test(field) ? field : this.#text(field);
		return Object.fromEntries(
			Object.entries(value).map(([field, entry]) => [name(field), this.#value(entry, field)]),
		);
	}

	/** The JSON in a text with stand-ins; undefined if it is none. */
	#json(text: string, key = ''): string | undefined {
		try {
			// Ids may be larger than a number can be, so they are taken from the text.
			const revive = (field: string, value: unknown, { source }: { source?: string } = {}) =>
				typeof value === 'number' && ID_KEY.test(field) && source ? rawJSON(source) : value;
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
		return text.replace(
			/^(\w*)( ?: ?)(.*?)(\r?)$/gm,
			(_, field: string, colon: string, data: string, end: string) => {
				if (field === 'data')
					return field + colon + (this.#json(data, 'message') ?? this.#broken(data)) + end;
				return field + colon + (field === 'event' ? this.#sentence(data) : this.#text(data)) + end;
			},
		);
	}

	/** What only resembles JSON, or is a sentence. */
	#broken(text: string): string {
		if (!/^\s*[[{"]|" ?: ?["\d]/.test(text)) return this.#sentence(text);
		const parts = /"(\w+)"(\s*:\s*)|"((?:[^"\\]|\\.)*)("?)|(\d+)/g;
		let key = '';
		return text.replace(
			parts,
			(whole, ...[name, , value, end, number]: Array<string | undefined>) => {
				if (name !== undefined) key = name;
				else if (value !== undefined) return `"${this.#leaf(key, value)}${end}`;
				else if (number && ID_KEY.test(key)) return this.id(number);
				return whole;
			},
		);
	}

	#exchange({ origin, path, body, headers, pieces, broke, ...rest }: Exchange): Exchange {
		const kept = Object.entries(headers).filter(([name]) => KEPT_HEADERS.test(name));
		const header = (name: string, value: string) =>
			name === 'location' ? this.#url(value) : name === 'date' ? value : this.line(value);
		const piece = ({ ms, text, base64 }: Piece): Piece =>
			text === undefined ? { ms, base64 } : { ms, text: this.#body(this.#redact.text(text)) };
		return {
			...rest,
			origin: this.#origin(origin),
			path: this.#path(path),
			...(body !== undefined && { body: this.#body(this.#redact.text(body)) }),
			headers: Object.fromEntries(
				kept.map(([name, value]) => [name, header(name, this.#redact.text(String(value)))]),
			),
			pieces: pieces.map(piece),
			...(broke !== undefined && { broke: this.line(broke) }),
		};
	}

	/** Exchanges as they are kept. What a later one tells to be somebody's is not kept in an earlier one. */
	exchanges(all: Exchange[]): Exchange[] {
		all.forEach((each) => this.#exchange(each));
		this.#known.delete('sentence');
		return all.map((each) => this.#exchange(each));
	}
}

/** The recording as it is written; throws if the token is in it in any form that redaction knows. */
export function written(recording: Recording, token: string): string {
	const text = `${JSON.stringify(recording, null, '\t')}\n`;
	if (redactor(token).text(text) !== text) {
		throw new Error('Nothing was written: the token may be in the recording.');
	}
	return text;
}

/** The name of a recording's file, which tells the service apart and does not name it. */
export const fileNameOf = (baseUrl: string, made: string) =>
	`${made.slice(0, 16).replace(/[:T]/g, '-')}-${createHash('sha256').update(new URL(baseUrl).host).digest('hex').slice(0, 8)}.json`;
