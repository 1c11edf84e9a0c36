/* What is kept of an exchange: nothing that is not known to be harmless. */
import { createHash } from 'node:crypto';
import { redactor } from '../nodes/shared/parsing/redaction.ts';
import type { Exchange, Piece } from './wire.mts';

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

/** Keys whose texts are words of the service, not of a person. */
const HARMLESS =
	/^(?:status|state|type|kind|event|code|errors?|message|details?|reason|model(?:_id)?|language|gender|age|accent|category|use_cases|aspect_ratio|format|mime_type|content_type)$/i;
const ID_KEY = /(?:^|_)(?:id|ids|uuid|guid|key)$|Ids?$/;
const HARMLESS_VALUE =
	/^(?:|\d+(?:\.\d+)?%?|\d{4}-\d\d-\d\d[T ]?[\d:.]*(?:Z|[+-]\d\d:?\d\d)?|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|true|false)$/;
const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/gi;
const EMAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
const ADDRESS = /(?:https?|wss?):\\?\/\\?\/[^\s"'<>]+/g;
const KEPT_HEADERS =
	/^(?:content-(?:type|encoding)|retry-after|date|server|via|location|x-ratelimit-.*|cache-control)$/;
const KEPT_TEXT = 1024;

const { rawJSON, isRawJSON } = JSON as unknown as {
	rawJSON(text: string): object;
	isRawJSON(value: unknown): value is { rawJSON: string };
};

/** Puts stable stand-ins in the place of whatever may be somebody's. */
export class StandIns {
	readonly #known = new Map<string, Map<string, string>>();
	readonly #made = new Set<string>();
	readonly #token;
	readonly #own: Set<string>;
	/** Other addresses by which an origin is known. */
	readonly #aliases: ReadonlyMap<string, string>;

	constructor(token: string, own: string[], aliases: ReadonlyMap<string, string>) {
		this.#token = redactor(token);
		this.#own = new Set(own);
		this.#aliases = aliases;
	}

	/** How many of each kind were replaced. */
	counts = () => [...this.#known].map(([kind, values]) => `${values.size} × ${kind}`);

	#standIn(kind: string, value: string, make: (number: number) => string): string {
		const values = this.#known.get(kind) ?? new Map<string, string>();
		this.#known.set(kind, values);
		// A text is looked through more than once: a stand-in has none of its own.
		if (this.#made.has(value)) return value;
		const known = values.get(value) ?? make(values.size + 1);
		values.set(value, known);
		if (kind !== 'ID') this.#made.add(known);
		return known;
	}

	id(value: string): string {
		if (value === MISSING_TASK || value === '') return value;
		return this.#standIn('ID', value, (number) => {
			if (/^\d+$/.test(value)) return String(10 ** 5 + number);
			if (value.match(UUID)?.[0] === value)
				return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
			return `id-${number}`;
		});
	}

	origin(origin: string): string {
		const real = this.#aliases.get(origin) ?? origin;
		return this.#standIn('host', real, (number) => `http://host-${number}.invalid`);
	}

	/** A path with its query: calls of the contract stay, with stand-ins for ids; others are files. */
	path(path: string): string {
		const call = /\/(?:v1\/(?:labs|video)\/|ws(?:$|\?)).*/.exec(path)?.[0];
		if (call !== undefined) {
			const [route = '', query] = call.split('?');
			const known = route.replace(/(?<=\/task\/)[^/]+/, (id) => this.id(decodeURIComponent(id)));
			return query === undefined ? known : `${known}?${this.#token.text(query)}`;
		}
		const [file = '', query] = path.split('?');
		if (file === '/' || file === '') return path;
		const ending = /\.\w{1,5}$/.exec(file)?.[0] ?? '';
		const known = this.#standIn('file address', file, (number) => `/files/${number}${ending}`);
		if (query === undefined) return known;
		return `${known}?signed=${this.#standIn('signature', query, String)}`;
	}

	#url(text: string): string {
		const url = URL.parse(text.replaceAll('\\/', '/'));
		return url ? this.origin(url.origin) + this.path(url.pathname + url.search) : 'address';
	}

	/** A sentence of the service, without the addresses, ids and e-mail addresses in it. */
	sentence(text: string): string {
		let plain = this.#token.text(text).replace(ADDRESS, (address) => this.#url(address));
		for (const [id, known] of this.#known.get('ID') ?? []) {
			if (id.length > 4) plain = plain.replaceAll(id, known);
		}
		for (const origin of this.#known.get('host')?.keys() ?? []) {
			plain = plain.replaceAll(new URL(origin).hostname, 'host.invalid');
		}
		return plain
			.replace(EMAIL, (email) => this.#standIn('e-mail', email, (n) => `person-${n}@host.invalid`))
			.replace(/(?<![\d.-])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])/g, '0.0.0.0')
			.replace(UUID, (id) => (/^0{8}-0000-4000-8000-0/.test(id) ? id : this.id(id)));
	}

	#leaf(key: string, value: string): string {
		if (this.#own.has(value.trim())) return value;
		if (HARMLESS.test(key)) return this.sentence(value);
		if (ID_KEY.test(key)) return this.id(value);
		if (this.#known.get('ID')?.has(value)) return this.id(value);
		if (/^data:/.test(value)) return value.slice(0, 1500);
		if (/^(?:https?|wss?):\/\//.test(value)) return this.#url(value);
		if (/url|result|audio|subtitle|href|path/i.test(key) && /^\/?[\w-]+[/.]\S+$/.test(value))
			return this.path(value);
		if (HARMLESS_VALUE.test(value)) return value;
		if (value.match(UUID)?.[0] === value) return this.id(value);
		return this.#standIn('text', value, (number) => `text-${number}`);
	}

	value(value: unknown, key = ''): unknown {
		if (isRawJSON(value)) return rawJSON(this.id(value.rawJSON));
		if (typeof value === 'string') return this.#leaf(key, value);
		if (typeof value === 'number' && ID_KEY.test(key)) return rawJSON(this.id(String(value)));
		if (Array.isArray(value)) return value.map((entry) => this.value(entry, key));
		if (typeof value !== 'object' || value === null) return value;
		const entries = Object.entries(value);
		// Names of fields are words; of a table by id or by e-mail address they are not.
		const name = (field: string) =>
			/^[A-Za-z_][\w-]{0,40}$/.test(field) ? field : this.#leaf('', field);
		return Object.fromEntries(
			entries.map(([field, entry]) => [name(field), this.value(entry, field)]),
		);
	}

	/** The JSON in a text with stand-ins; undefined if it is none. */
	#json(text: string, key = ''): string | undefined {
		try {
			// Ids may be larger than a number can be, so they are taken from the text.
			const revive = (field: string, value: unknown, { source }: { source?: string } = {}) =>
				typeof value === 'number' && ID_KEY.test(field) && source ? rawJSON(source) : value;
			return JSON.stringify(this.value(JSON.parse(text, revive as never), key));
		} catch {
			return undefined;
		}
	}

	/** An answer, an event stream's lines, or a message. */
	text(text: string): string {
		const json = this.#json(text);
		if (json !== undefined) return json;
		if (/^(?:event|data) ?:/m.test(text)) {
			return text.replace(
				/^(data ?: ?)(.*?)(\r?)$/gm,
				(_, name: string, data: string, end: string) => {
					return name + (this.#json(data, 'message') ?? this.#broken(data)) + end;
				},
			);
		}
		return this.#broken(text).slice(0, KEPT_TEXT);
	}

	/** What only resembles JSON, or is a page or a sentence. */
	#broken(text: string): string {
		const pairs = /"(\w+)"(\s*:\s*)(?:"((?:[^"\\]|\\.)*)("?)|(\d+))/g;
		return this.sentence(
			text.replace(
				pairs,
				(whole, ...[key, colon, value, end, number]: Array<string | undefined>) => {
					if (value !== undefined) return `"${key}"${colon}"${this.#leaf(key!, value)}${end}`;
					return number && ID_KEY.test(key!) ? `"${key}"${colon}${this.id(number)}` : whole;
				},
			),
		);
	}

	exchange({ origin, path, body, headers, pieces, broke, ...rest }: Exchange): Exchange {
		const kept = Object.entries(headers).filter(([name]) => KEPT_HEADERS.test(name));
		const piece = ({ ms, text, base64 }: Piece): Piece =>
			text === undefined ? { ms, base64 } : { ms, text: this.text(text) };
		return {
			...rest,
			origin: this.origin(origin),
			path: this.path(path),
			...(body === undefined ? {} : { body: this.text(body) }),
			headers: Object.fromEntries(
				kept.map(([name, value]) => [
					name,
					name === 'location' ? this.#url(String(value)) : this.sentence(String(value)),
				]),
			),
			pieces: pieces.map(piece),
			...(broke === undefined ? {} : { broke: this.sentence(broke) }),
		};
	}
}

/** The recording as it is written; throws if the token is in it in any form that redaction knows. */
export function written(recording: Recording, token: string): string {
	const text = `${JSON.stringify(recording, null, '\t')}\n`;
	if (token.length < 6 || redactor(token).text(text) !== text) {
		throw new Error('Nothing was written: the token may be in the recording.');
	}
	return text;
}

/** The name of a recording's file, which tells the service apart and does not name it. */
export const fileNameOf = (baseUrl: string, made: string) =>
	`${made.slice(0, 16).replace(/[:T]/g, '-')}-${createHash('sha256').update(new URL(baseUrl).host).digest('hex').slice(0, 8)}.json`;
