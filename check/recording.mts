/* Prepares exchanges for a recording: whatever is not known to be harmless is replaced. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { join } from 'node:path';
import { unescape } from 'node:querystring';
import type { Redactor } from '../nodes/shared/parsing/redaction.ts';
import { MISSING_TASK, OWN_LINES, PAID, type Run } from './operations.mts';
import { FILE_START_BYTES, type Exchange } from './wire.mts';
import { shared } from './shared.mts';

export interface Recording {
	format: 5;
	/** When the check began, as an ISO 8601 time. */
	startedAt: string;
	/** What the node and the check did, in order. */
	runs: Run[];
}

/** Matches a time or a date as services write it. */
export const TIME =
	/\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d (?:GMT|UTC|[+-]\d{4})/;
/** Matches what replaces the rest of a file within an answer, with its size in characters. */
export const OMITTED = /<(\d+) more>/g;

/** The texts and prompts that the check itself sends. */
const OWN_TEXTS = Object.values(PAID).map(({ text }) => text);
const SOURCES = join(import.meta.dirname, '../nodes/shared');
/** Relative URLs are resolved against this. */
const BASE = 'http://service.invalid';
const wordsOf = (text = '') => text.toLowerCase().match(/\p{L}[\p{L}\p{N}]*/gu) ?? [];
/**
 * Words of services like this one, none of which is a name. A key that consists of them is kept. Of a sentence, only
 * these words are kept: enough to tell an error, but too few to read a prompt.
 */
const WORDS = new Set(
	['n8n/messages', 'parsing/errorTable', 'parsing/fileType', 'parsing/responses']
		.map((name) => readFileSync(join(SOURCES, `${name}.ts`), 'utf8'))
		.concat(Object.values(STATUS_CODES) as string[], OWN_TEXTS, OWN_LINES, shared.TASK_MESSAGE_TYPE)
		.concat('cancelled done generating submitted succeeded success')
		// The hints of the node.
		.concat('every open polled searched socket web')
		// Fields that the node passes on, or that nobody reads.
		.concat(
			`accent address age amount artifact aspect asset back base boost callback category cdn channel charset clip
			company completion cover creator currency cursor customer date display download duration edge email errcode
			errmsg eta expire gender group height histories html info ingredient ip job json label lang language level link
			locale meta metadata method metrics mobile mp negative nickname offset organization orgs owner pagination pct
			percent personal phase phone pixel play poll position prediction prev preview price quality rate ratio rejection
			resolution resp ret revised role rpm sample score seat seed setting signature similarity size slug sound source
			speaker speed src stability stage style tag team thumb thumbnail timestamp title trait transcript uid updated uri
			username uuid vendor webhook width`,
		)
		.flatMap(wordsOf)
		// These are names, too.
		.filter((word) => word !== 'mark' && word !== 'max'),
);

/** Matches keys whose values are words or sentences of the service. Texts with other keys are replaced as a whole. */
const WORDS_KEY = new RegExp(
	`${shared.ERROR_TEXT_FIELD.source}|message|detail|status|state|^event$`,
	'i',
);
/**
 * Matches what is judged as one in a sentence. What is kept is in a group: an HTTP status of an error (without the word, it
 * may be part of a telephone number), a duration, and what the node quotes itself. The others are a URL, quoted text of
 * several words without its quotation marks, an e-mail address, a stand-in, and a word.
 */
const PART =
	/(\b(?:HTTP|[Ee]rror|[Cc]ode|[Ss]tatus|responded with) [2-5]\d\d\b|\b\d{1,3} s(?:econds)?\b|'(?:(?:Base|WebSocket) URL|API Token|Task IDs?)')|https?:\/\/[\w.:[\]-]+(?:\/[^\s"'<>”’»,;)]*)?|(?<=(?:^|[\s:(=])\\?["'“‘«])[^"'“”‘’«»\\]*\s[^"'“”‘’«»\\]*(?=\\?["'”’»](?:$|[\s"\\.,;:)}\]]))|[^\s"'<>]{1,64}@[^\s"'<>]+|\b(?:text|word)-\d+|[\p{L}\p{N}\p{M}\p{So}]+/gu;
/** Matches keys whose numbers may be times. With other keys, the same number may be an ID or a telephone number. */
const TIME_KEY = /at$|time|date|created|expires/i;
/** Matches keys of error codes, which the node reads, such as 40400. They have at most five digits. */
const CODE_KEY = /^(?:err(?:or)?_?)?code$/i;
const PATHS = [
	...Object.values(shared.FREE_PATHS),
	...shared.PAID_OPERATIONS.map(({ path }) => path),
];
/** Matches a call that the contract documents, in a path, and its ID. */
const CONTRACT_CALL = new RegExp(`(${PATHS.join('|')}|/ws)((?<=/)[^/?]+)?(/?)(?=$|\\?)`);
/** A time more than this many ms ago may be somebody's date of birth. */
const TEN_YEARS_MS = 10 * 365 * 86_400_000;
/** Matches the start of a file that shows its type. Of its other bytes, nothing is kept. */
const FILE_TYPE =
	/^(?:RIFF.{4}(?:WAVE|WEBP)|ID3|\xff[\xd8\xe2-\xfb].|.{4}ftyp.{4}|\x89PNG|GIF8|OggS|fLaC|\x1aE\xdf\xa3)/s;
/** Matches the file extensions that are kept. Any other extension may be part of a name. */
const FILE_EXTENSION =
	/\.(?:mp[34]|m4a|wav|ogg|opus|flac|aac|pcm|webm|mov|png|jpe?g|gif|webp|avif|srt|vtt|json|txt)$/i;

/** Returns a redactor of the token, also in base64 and as hexadecimal codes. */
const redactorOf = (token: string): Redactor => {
	const encoded = (['base64', 'base64url', 'hex'] as const).map((coding) =>
		Buffer.from(token).toString(coding),
	);
	return shared.combineRedactors([token, ...encoded].map(shared.redactor));
};

/** True if a part of a sentence can identify nobody: it consists of known words, or means an error. */
function isHarmless(part: string): boolean {
	// The node finds some meanings in a part of a word, also of another language, such as `rechargez`.
	if (/^[a-z]{1,12}$/i.test(part) && shared.meaningOf(part) !== undefined) return true;
	return part.split(/(?<=\p{Ll})(?=\p{Lu})/u).every((word) => {
		const plain = word.toLowerCase();
		// Shorter words have names among their forms, such as `Ines` of `in`.
		const ends = [/$/, /(?<=\w{3})[sd]$/, /(?<=\w{3})(?:e[sd]|ly|ing)$/];
		return ends.some((end) => WORDS.has(plain.replace(end, '')));
	});
}

/** Returns what the node understands of a clause without spaces, as in Chinese: the shortest part with a meaning. */
function meaningIn(clause: string): string {
	const isUnderstood = (text: string) => shared.meaningOf(text) !== undefined;
	if (/\p{Script=Latin}/u.test(clause) || !isUnderstood(clause)) return '';
	while (isUnderstood(clause.slice(1))) clause = clause.slice(1);
	while (isUnderstood(clause.slice(0, -1))) clause = clause.slice(0, -1);
	return clause;
}

/** True if each word of a key is harmless. A key may be the name or ID of somebody. */
const isHarmlessKey = (key: string) =>
	key === 'b64_json' ||
	(/^[\p{L}_-]*\p{L}\d?$/u.test(key) && (key.match(/\p{L}+/gu) ?? []).every(isHarmless));

const isTime = (value: string | number): boolean =>
	Math.abs(Date.now() - shared.asTime(value)) < TEN_YEARS_MS &&
	(typeof value === 'number' || TIME.exec(value)?.[0] === value);

/** Returns the part of a line of an outcome that is the same in a replay, whatever the stand-ins and the token are. */
export function lineOf(line: string): string {
	if (line.startsWith('fields: '))
		return line
			.replace(/,|\S*\d\S*/g, '')
			.replace(/ +/g, ' ')
			.trim();
	// The node truncates long sentences, and where it does that depends on the stand-ins.
	return /^(?:error|hint): /.test(line)
		? line
				.split(/\S*[\d*•…]/)[0]!
				.slice(0, 200)
				.trim()
		: line;
}

/** Replaces whatever may identify somebody by stand-ins. The same value always gets the same stand-in. */
export class StandIns {
	readonly redact: Redactor;
	/** For each kind of value, the stand-ins by the values that they replace. */
	readonly #standIns = new Map<string, Map<string, string>>();

	constructor(token: string) {
		this.redact = redactorOf(token);
	}

	/** Returns how many different values of each kind were replaced, such as `3 × text`. */
	counts = () => [...this.#standIns].map(([kind, values]) => `${values.size} × ${kind}`);

	#standIn(kind: string, value: string, make = (number: number) => `${kind}-${number}`): string {
		if (value === MISSING_TASK || value.trim() === '') return value;
		const values = this.#standIns.get(kind) ?? new Map<string, string>();
		this.#standIns.set(kind, values);
		const known = values.get(value) ?? make(values.size + 1);
		values.set(value, known);
		return known;
	}

	#id = (value: string): string =>
		/^\d+$/.test(value) ? this.#number(value) : this.#standIn('text', value);

	#number(text: string, key = ''): string {
		const isKept = isTime(Number(text)) && TIME_KEY.test(key);
		return isKept || text.replace(/\D/g, '').length <= (CODE_KEY.test(key) ? 5 : 3)
			? text
			: this.#standIn('number', text, (count) => String(100_000 + count));
	}

	/** Returns a call of the contract with a stand-in for its id. Any other path is that of a file. */
	#path(path: string): string {
		if (path === '/') return path;
		const [, call, id = '', slash] = CONTRACT_CALL.exec(path) ?? [];
		const pages = path.match(/(?<=[?&])page(?:_size)?=\d{1,3}\b/g)?.join('&') ?? '';
		if (call !== undefined)
			return call + encodeURIComponent(this.#id(unescape(id))) + slash + pages.replace(/^./, '?$&');
		const file = path.split('?')[0]!;
		const ending = FILE_EXTENSION.exec(file)?.[0] ?? '';
		return this.#standIn('file address', file, (count) => `/files/${count}${ending}`);
	}

	#origin(origin: string): string {
		const { protocol, host } = new URL(origin);
		return `${protocol}//${this.#standIn('host', host, (count) => `host-${count}.invalid`)}`;
	}

	#url(text: string): string {
		const url = URL.parse(text, BASE);
		if (url === null) return this.#standIn('text', text);
		const path = this.#path(url.pathname + url.search);
		return /^(?:\w+:)?\/\//.test(text) ? this.#origin(url.origin) + path : path;
	}

	#sentence = (text: string): string =>
		// Elsewhere, too few words stay for a token.
		this.redact.text(text).replace(PART, (part, verbatim) => {
			if (verbatim) return part;
			if (/^https?:/.test(part)) return this.#url(part);
			return isHarmless(part) ? part : this.#standIn('word', part.toLowerCase()) + meaningIn(part);
		});

	/** Replaces what may identify somebody in a string. Its key tells whether it is an ID or a sentence. */
	#string(key: string, value: string): string {
		if (OWN_TEXTS.includes(value.trim())) return value;
		if (/id$/i.test(key)) return this.#id(value);
		if (/^-?\d+(?:\.\d+)? ?%?$/.test(value)) return this.#number(value, key);
		if (/^data:[^,]{0,100};base64,/.test(value)) return this.#embeddedFile(value);
		if (/^(?:https?:)?\/\/\S+$/.test(value)) return this.#url(value);
		if (WORDS_KEY.test(key)) return this.#data(value);
		if (isTime(value)) return value;
		const isUrl = shared.readFileUrl(value, BASE) !== undefined;
		return isUrl ? this.#url(value.trim()) : this.#standIn('text', value);
	}

	/** Replaces the start of a file in a data URL, and shortens the rest to its size. */
	#embeddedFile(value: string): string {
		const [, base64 = ''] = value.split(';base64,');
		const start = fileStart(Buffer.from(base64.slice(0, (FILE_START_BYTES / 3) * 4), 'base64'));
		const [more = '', padding = ''] = base64.slice(start.length).split(/(=+)$/);
		return `data:;base64,${start}${more && `<${more.length} more>${padding}`}`;
	}

	#value(value: unknown, key = ''): unknown {
		if (typeof value === 'number') return Number(this.#number(String(value), key));
		if (typeof value === 'string') return this.#string(key, value);
		if (Array.isArray(value)) return value.map((entry) => this.#value(entry, key));
		if (!shared.isRecord(value)) return value;
		return Object.fromEntries(
			Object.entries(value).map(([name, entry]) => [
				isHarmlessKey(name) ? name : this.#standIn('text', name),
				this.#value(entry, name),
			]),
		);
	}

	/** Replaces what may identify somebody in JSON, in lines of JSON, or in a sentence. */
	#data(text: string): string {
		const json = shared.parseJson(text);
		if (json !== undefined)
			return JSON.stringify(this.#value(json, 'status')) + /[\r\n]*$/.exec(text)![0];
		return shared.formOf(text) === 'lines'
			? text.replace(/^.+$/gm, (line) => this.#data(line))
			: this.#sentence(text);
	}

	/** Replaces what may identify somebody in a body, in events of a stream, or in a WebSocket message. */
	#body(text: string): string {
		if (shared.looksLikeHtml(text)) return '<html></html>';
		if (!/^(?:event|data) ?:/m.test(text)) return this.#data(text);
		// The lines of one event's data are one text.
		return text
			.replace(/(?<=^data ?:.*)(?:\r\n|[\r\n])data ?:/gm, '')
			.replace(
				/^(?:((?:data|event) ?: ?)(.*)|.+)$/gm,
				(_, field: string | undefined, value: string) =>
					field === undefined ? ':' : field + this.#data(value),
			);
	}

	#headers({ headers }: Exchange): Record<string, string> {
		const { 'content-type': type, 'retry-after': wait = '', location } = headers;
		const isWait = /^\d{1,6}$/.test(wait) || isTime(wait);
		return {
			...(type && { 'content-type': this.#sentence(type.split(';')[0]!) }),
			...(isWait && { 'retry-after': wait }),
			...(location && { location: this.#url(location) }),
		};
	}

	/** Returns an exchange as it is recorded and shown. */
	exchange = (exchange: Exchange): Exchange => ({
		...exchange,
		origin: this.#origin(exchange.origin),
		path: this.#path(exchange.path),
		headers: this.#headers(exchange),
		// Only the reason for which a WebSocket was closed comes from the service.
		broke: exchange.broke?.replace(/(?<=\(\d+ ).*(?=\)$)/s, this.#sentence),
		bytes: exchange.bytes,
		pieces: exchange.pieces.map(({ ms, text, base64 = '' }) =>
			text === undefined
				? { ms, base64: fileStart(Buffer.from(base64, 'base64')) }
				: { ms, text: this.#body(text) },
		),
	});

	/** Returns what came of an operation, as it is recorded and shown. */
	run = ({ operation, lines, exchanges }: Run): Run => ({
		...{ operation, lines: lines.map(this.line) },
		exchanges: exchanges.map(this.exchange),
	});

	/** Replaces what comes from the service in a line of an outcome. */
	line = (line: string): string => {
		const [kind, words = ''] = line.split(/: (.*)/s);
		if (kind === 'fields') {
			const keyOf = (key: string) => (isHarmlessKey(key) ? key : this.#standIn('text', key));
			return `fields: ${words.split(', ').map(keyOf).join(', ')}`;
		}
		if (kind === 'file') return line.replace(/(?<=: )[^,]+/, this.#sentence);
		return kind === 'error' || kind === 'hint' ? `${kind}: ${this.#sentence(words)}` : line;
	};
}

/** Returns what replaces the start of a file, in base64. */
function fileStart(file: Buffer): string {
	const start = file.subarray(0, FILE_START_BYTES);
	const standIn = Buffer.alloc(start.length);
	standIn.write(FILE_TYPE.exec(start.toString('latin1'))?.[0] ?? '', 'latin1');
	return standIn.toString('base64');
}

/** Returns the text of the recording's file. Throws if it contains the token in any form that `redactorOf` knows. */
export function toJson(recording: Recording, token: string): string {
	const text = `${JSON.stringify(recording, null, '\t')}\n`;
	if (redactorOf(token).text(text) !== text)
		throw new Error('Nothing was written: the token may be in the recording.');
	return text;
}

/** Returns the name of a recording's file. The host appears as a hash, so that the name does not reveal it. */
export const fileNameOf = (baseUrl: string, madeAt: string) =>
	`${madeAt.slice(0, 19).replace(/[:T]/g, '-')}-${createHash('sha256').update(new URL(baseUrl).host).digest('hex').slice(0, 8)}.json`;
