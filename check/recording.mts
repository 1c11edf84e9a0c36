/* Prepares exchanges for a recording: whatever is not known to be harmless is replaced. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { join } from 'node:path';
import { unescape } from 'node:querystring';
import type { Redactor } from '../nodes/shared/parsing/redaction.ts';
import { MISSING_TASK, OWN_LINES, PAID, type Run } from './operations.mts';
import { fileIn, textPieces, type Exchange } from './wire.mts';
import { shared } from './shared.mts';

/** A part of a recorded answer. Instead of a text, a file has the stand-in for its start. */
interface Piece {
	ms: number;
	text?: string;
	base64?: string;
}

export interface RecordedExchange extends Omit<Exchange, 'parts' | 'redact'> {
	pieces: Piece[];
	/** The size of a file; 0 for a text. */
	bytes: number;
}

type RecordedRun = Pick<Run, 'operation' | 'lines'> & { exchanges: RecordedExchange[] };

export interface Recording {
	format: 3;
	/** When the check began, as an ISO 8601 time. */
	made: string;
	/** The operations of the node, in order. */
	runs: RecordedRun[];
	/** What the check itself has asked. */
	others: RecordedExchange[];
}

/** Matches a time or a date as services write it. */
export const TIME =
	/\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d (?:GMT|UTC|[+-]\d{4})/;
/** Matches what replaces the rest of a file within an answer, or a too large answer, with its size in characters. */
export const OMITTED = /<(\d+) more>/g;

/** The texts and prompts that the check itself sends. */
const OWN_TEXTS = Object.values(PAID).map(({ text }) => text);
const ROOT = join(import.meta.dirname, '..');
/** Relative URLs are resolved against this. */
const BASE = 'http://service.invalid';
const wordsOf = (text = '') => text.toLowerCase().match(/\p{L}[\p{L}\p{N}]*/gu) ?? [];
/** Words of which a key may consist: those of services like this one, none of which is a name. */
const KEY_WORDS = new Set(
	wordsOf(`accent account active address age amount api artifact aspect asset at attempt audio available back
		balance base block body boost by cancel case category cause cdn channel char character charset clip code
		completed completion content count cover created credit currency current cursor data date description
		detail display download duration email end err errcode errmsg error eta event expire fail failure fault
		field file filter finished format gender generated generation has height history href html http id ids
		image index info ingredient input invalid is item job json key kind label lang language last left length
		level limit line link list locale media message meta metadata method mime mobile mode model moderated mp
		msg name new next no node number object of offset on operation option order out output owner page param
		parameter path payload pct pending per percent percentage phase phone pixel plan play poll position
		preview previous price process progress prompt provider quality queue quota rate ratio reason refuse
		reject rejection remaining request resolution resource response result retry role row rpm sample score
		seat second seed server service set setting sign signature similarity size sound source speaker speech
		speed src stability stage start state status step stream string style subscription subtitle success tag
		task text thumb thumbnail tier time timestamp title to token total trait transcript type unit updated
		uri url use used user username uuid value vendor version video voice wait webhook width word`),
);
/** Words that are kept in sentences: enough to tell an error, but too few to read a prompt. */
const SENTENCE_WORDS = new Set(
	globSync('nodes/shared/{n8n/messages,parsing/{errorTable,fileType,responses}}.ts', { cwd: ROOT })
		.map((file) => readFileSync(join(ROOT, file), 'utf8'))
		.concat(Object.values(STATUS_CODES) as string[], OWN_TEXTS, shared.TASK_MESSAGE_TYPE)
		.concat('cancelled done generating submitted succeeded success')
		.flatMap(wordsOf),
);

/** Matches keys whose values are words or sentences of the service. Texts with other keys are replaced as a whole. */
const WORDS_KEY = new RegExp(
	`${shared.ERROR_TEXT_FIELD.source}|message|detail|status|state|^event$`,
	'i',
);
/** Matches an HTTP status of an error. Without the word, it may be part of a telephone number. */
const NUMBERED_ERROR = /^(?:HTTP|[Ee]rror|[Cc]ode|[Ss]tatus) [45]\d\d$/;
/**
 * Matches what is judged as one in a sentence: a URL, quoted text of several words without its quotation marks, a
 * stand-in, an HTTP status, an e-mail address, or a word.
 */
const PART =
	/https?:\/\/[\w.:[\]-]+(?:\/[^\s"'<>”’»,;)]*)?|(?<=(?:^|[\s:(=])\\?["'“‘«])[^"'“”‘’«»\\]*\s[^"'“”‘’«»\\]*(?=\\?["'”’»](?:$|[\s"\\.,;:)}\]]))|\b(?:text|word)-\d+|\b(?:HTTP|[Ee]rror|[Cc]ode|[Ss]tatus) [45]\d\d\b|[^\s"'<>]{1,64}@[^\s"'<>]+|[\p{L}\p{N}\p{M}\p{So}]+/gu;
/** Matches keys whose numbers may be times. With other keys, the same number may be an ID or a telephone number. */
const TIME_KEY = /at$|time|date|created|expires/i;
/** Matches the path of a call that the contract documents. */
const CONTRACT_CALL = new RegExp(
	`(?:/v1/(?:labs/(?:voices|task/[^/?]+)|video/(?:me|histories))|${shared.PAID_OPERATIONS.map(({ path }) => path).join('|')}|/ws)/?(?=$|\\?)`,
);
/** A time more than this many ms ago may be somebody's date of birth. */
const TEN_YEARS_MS = 10 * 365 * 86_400_000;
/** Matches the start of a file that shows its type. Of its other bytes, nothing is kept. */
const FILE_TYPE =
	/^(?:RIFF.{4}(?:WAVE|WEBP)|ID3|\xff[\xd8\xe2-\xfb].|.{4}ftyp.{4}|\x89PNG|GIF8|OggS|fLaC|\x1aE\xdf\xa3)/s;
/** How many bytes stand for the start of a file. Without a remainder, they can be part of a text in base64. */
const FILE_START_BYTES = 24;
/** Matches the file extensions that are kept. Any other extension may be part of a name. */
const FILE_EXTENSION =
	/\.(?:mp[34]|m4a|wav|ogg|opus|flac|aac|pcm|webm|mov|png|jpe?g|gif|webp|avif|srt|vtt|json|txt)$/i;

/** Where one form of base64 is like another at first, the rest of it is beside the mask. Returns a text without that. */
const withoutRest = (text: string) => text.replace(/([*•]{5})[\w+/%=-]+/g, '$1');

/** Returns a redactor of the token: as text, as codes of its characters, and in base64, there also behind a user name. */
export const redactorOf = (token: string): Redactor => {
	const codes = Array.from(Buffer.from(token), (code) => code.toString(16));
	const inCodes = ['', '%', '\\u00', '\\x'].map((before) => before + codes.join(before));
	const inHtml = [`&#x${codes.join(';&#x')};`, `&#${Buffer.from(token).join(';&#')};`];
	const inBase64 = [0, 1, 2].map((shift) =>
		Buffer.from('\0'.repeat(shift) + token)
			.toString('base64url')
			.slice(shift && shift + 1),
	);
	const older = inBase64.map((form) => form.replaceAll('-', '+').replaceAll('_', '/'));
	const forms = [token, ...inCodes, ...inHtml, ...inBase64, ...older];
	const masked = shared.combineRedactors(forms.map(shared.redactor));
	const text = (source: string) => withoutRest(masked.text(source));
	return { text, value: (value) => JSON.parse(text(JSON.stringify(value))) as typeof value };
};

/** True if a part of a sentence can identify nobody: it consists of `words`, means an error, or has an HTTP status. */
function isHarmless(part: string, words = SENTENCE_WORDS): boolean {
	if (NUMBERED_ERROR.test(part)) return true;
	// The node finds some meanings in a part of a word, also of another language, such as `rechargez`.
	if (/^[a-z]{1,12}$/i.test(part) && shared.meaningOf(part) !== undefined) return true;
	return part.split(/(?<=\p{Ll})(?=\p{Lu})/u).every((word) => {
		const plain = word.toLowerCase();
		// Shorter words have names among their forms, such as `Ines` of `in`.
		const ends = [/$/, /(?<=\w{3})[sd]$/, /(?<=\w{3})(?:e[sd]|ly|ing)$/];
		return ends.some((end) => words.has(plain.replace(end, '')));
	});
}

/** True if each word of a key is harmless. A key may be the name or ID of somebody. */
const isHarmlessKey = (key: string) =>
	/^[\p{L}_-]*\p{L}\d?$/u.test(key) &&
	(key.match(/\p{L}+/gu) ?? []).every((part) => isHarmless(part, KEY_WORDS));

const isTime = (value: string | number): boolean =>
	Math.abs(Date.now() - shared.asTime(value)) < TEN_YEARS_MS &&
	(typeof value === 'number' || TIME.exec(value)?.[0] === value);

/**
 * Returns a line of an outcome without all that may identify somebody, and without stand-ins. So the line is the same
 * before and after a recording.
 */
export function lineOf(text: string): string {
	const known = (words: string) =>
		words
			.replace(PART, (part) => (isHarmless(part) ? part : '…'))
			.split(' ')
			.filter((word) => !word.includes('…'));
	const [kind, said = ''] = text.split(/: (.*)/s);
	if (kind === 'fields') return `fields: ${said.split(', ').filter(isHarmlessKey).join(', ')}`;
	if (kind === 'file') return `file: ${said.replace(/^[^,]+/, (type) => known(type).join(' '))}`;
	if (kind !== 'error' && kind !== 'hint') return text;
	// The node truncates long sentences, and where it does that depends on the stand-ins and on the token.
	return [`${kind}:`, ...known(said.split(/[*•]{5}/)[0]!).slice(0, 40)].join(' ').trim();
}

/** Replaces whatever may identify somebody by stand-ins. The same value always gets the same stand-in. */
export class StandIns {
	/** For each kind of value, the stand-ins by the values that they replace. */
	readonly #standIns = new Map<string, Map<string, string>>();

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
		// A slash is kept, because the node does not collect a task whose ID has one.
		value.replace(/[^/]+/g, (part) =>
			/^\d+$/.test(part) ? this.#number(part) : this.#standIn('text', part),
		);

	#number(text: string, key = ''): string {
		const isKept = isTime(Number(text)) && TIME_KEY.test(key);
		return isKept || text.replace(/\D/g, '').length <= 3
			? text
			: this.#standIn('number', text, (count) => String(100_000 + count));
	}

	/** Returns a call of the contract with a stand-in for its id. Any other path is that of a file. */
	#path(path: string): string {
		if (path === '/') return path;
		const call = CONTRACT_CALL.exec(path)?.[0];
		const pages = path.match(/(?<=[?&])page(?:_size)?=\d{1,3}\b/g)?.join('&');
		if (call !== undefined)
			return (
				call.replace(/(?<=\/task\/)[^/]+/, (id) => encodeURIComponent(this.#id(unescape(id)))) +
				(pages ? `?${pages}` : '')
			);
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
		text.replace(PART, (part) => {
			if (/^https?:/.test(part)) return this.#url(part);
			return isHarmless(part) ? part : this.#standIn('word', part.toLowerCase());
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
		// The node reads nothing of it, and the recording stays small.
		const bytes = Buffer.byteLength(text);
		if (bytes > shared.MAX_JSON_BYTES) return `<${bytes} more>`;
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

	#headers({ headers }: Pick<Exchange, 'headers'>): Record<string, string> {
		const { 'content-type': type, 'retry-after': wait, date, location } = headers;
		const isKept = (value?: string) => value && (/^\d+$/.test(value) || isTime(value));
		return {
			...(type && { 'content-type': this.#sentence(type.split(';')[0]!) }),
			...(isKept(wait) && { 'retry-after': wait }),
			...(isKept(date) && { date }),
			...(location && { location: this.#url(location) }),
		};
	}

	exchange(whole: Exchange): RecordedExchange {
		const { parts: _, redact: __, ...exchange } = whole;
		const file = fileIn(whole);
		const pieces: Piece[] = file
			? [{ ms: whole.parts[0]!.ms, base64: fileStart(file) }]
			: textPieces(whole).map(({ ms, text }) => ({ ms, text: this.#body(text) }));
		return {
			...exchange,
			origin: this.#origin(exchange.origin),
			path: this.#path(exchange.path),
			headers: this.#headers(exchange),
			pieces,
			bytes: file?.length ?? 0,
			// Only the reason for which a WebSocket was closed comes from the service.
			broke: exchange.broke?.replace(/(?<=\(\d+ ).*(?=\)$)/s, this.#sentence),
		};
	}

	/** Returns an exchange as it is recorded, for the table. */
	shown(exchange: Exchange): Exchange {
		const { pieces, bytes: _, ...recorded } = this.exchange(exchange);
		const parts = pieces.map(({ ms, text, base64 = '' }) => ({
			...{ ms, bytes: text === undefined ? Buffer.from(base64, 'base64') : Buffer.from(text) },
		}));
		return { ...recorded, parts, redact: shared.redactor('') };
	}

	/** Returns what came of an operation, for the table. */
	shownRun = ({ operation, lines, exchanges }: Run): Run => ({
		...{ operation, lines: lines.map(this.#line) },
		exchanges: exchanges.map((exchange) => this.shown(exchange)),
	});

	/** Replaces what comes from the service in a line of an outcome, but no duration. */
	#line = (line: string): string =>
		!/^(?:error|hint): /.test(line) || OWN_LINES.includes(line)
			? line
			: line.replace(
					/(\b\d{1,4} s(?:econds)?\b)|.+?(?=\b\d{1,4} s(?:econds)?\b|$)/gs,
					(part, duration) => (duration ? part : this.#sentence(part)),
				);

	run({ operation, lines, exchanges }: Run): RecordedRun {
		return {
			...{ operation, lines: lines.map((line) => lineOf(line)) },
			exchanges: exchanges.map((exchange) => this.exchange(exchange)),
		};
	}
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
	if (redactorOf(token).text(text) !== withoutRest(text)) {
		throw new Error('Nothing was written: the token may be in the recording.');
	}
	return text;
}

/** Returns the name of a recording's file. The host appears as a hash, so that the name does not reveal it. */
export const fileNameOf = (baseUrl: string, madeAt: string) =>
	`${madeAt.slice(0, 19).replace(/[:T]/g, '-')}-${createHash('sha256').update(new URL(baseUrl).host).digest('hex').slice(0, 8)}.json`;
