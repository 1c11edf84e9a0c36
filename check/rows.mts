/* Judges the service's answers: one row of the report for each part of the interface. */
import { createParser } from 'eventsource-parser';
import type { MediaKind } from '../nodes/shared/contract.ts';
import { isError, isGood, OWN_LINES, PAID, type FreeName, type Run } from './operations.mts';
import { UNTRIED, type Row } from './report.mts';
import { shared } from './shared.mts';
import { CUT, ENDED_BY_NODE, formOf, hasFile, textOf, type Exchange } from './wire.mts';

type Json = Record<string, unknown>;

const BASE = 'http://service.invalid';
/** Returns the JSON of an answer as the node reads it. */
const jsonOf = (exchange: Exchange): unknown =>
	shared.parseJson(shared.jsonTextOf(exchange.status, textOf(exchange)));
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** A difference from the contract, and what is `loss` in n8n because of it, if anything is. */
interface Difference {
	differs: string;
	loss?: string;
}

const differs = (what: string, loss?: string): Difference => ({ differs: what, loss });

/** What is said of answers: a fact where the contract is open, or a difference. Others are left out. */
type Remark = string | Difference | false | undefined;

/** Makes a row. `isThere` is undefined if this was not tried. `inN8n` is what follows if nothing is lost. */
function row(
	part: string,
	isThere: boolean | undefined,
	remarks: Remark[],
	inN8n: string,
	gradeIfLost: Row['grade'] = 'limits',
): Row {
	const shown = remarks.filter((remark) => remark !== undefined && remark !== false);
	const differences = shown.filter((remark) => typeof remark === 'object');
	const found = !isThere ? 'not there' : differences.length > 0 ? 'different' : 'there';
	const loss = differences.find((difference) => difference.loss)?.loss;
	return {
		part,
		found: isThere === undefined ? 'not tried' : found,
		differs: shown.map((each) => (typeof each === 'object' ? each.differs : each)).join('; '),
		inN8n: loss ?? inN8n,
		grade: loss === undefined ? 'works' : gradeIfLost,
	};
}

/** True for a redirect. The status decides, because other answers may have a Location header, too. */
const isRedirect = ({ status }: Pick<Exchange, 'status'>) => status >= 300 && status < 400;
/** True if there was no answer, or if its status says that the service does not offer the call. */
export const isNotThere = ({ status }: Pick<Exchange, 'status'>) =>
	[0, 404, 405, 501].includes(status);

/** Returns what is wrong with an answer, in words; undefined if it is JSON that reports no failure. */
function troubleOf(exchange: Exchange): string | undefined {
	const { status, broke, headers, ended = 0 } = exchange;
	if (isRedirect(exchange)) return `a redirect (${status}) to ${headers.location}`;
	if (status === 0) return `no answer: ${broke} after ${seconds(ended)}`;
	if (broke !== undefined) return `HTTP ${status}, then ${broke}`;
	const json = jsonOf(exchange);
	const isOk = status >= 200 && status < 300;
	if (isOk && json !== undefined && !shared.isErrorAnswer(json)) return undefined;
	const text = textOf(exchange);
	const { reason } = shared.failureOfStatus(status, text).facts;
	const other = /^\s*</.test(text) ? 'a web page or XML' : 'no JSON';
	const kind = json === undefined ? other : isOk ? 'an error' : 'JSON';
	const wait = headers['retry-after'] ? `, Retry-After ${headers['retry-after']}` : '';
	return `HTTP ${status}${wait} with ${kind}${reason === undefined ? '' : `: ${reason}`}`;
}

/** True if the service has answered with JSON that reports no failure, even if the node cannot read it. */
export const isAnswered = ({ exchanges }: Run) =>
	exchanges.some((each) => troubleOf(each) === undefined);

/** Returns the answer to a free operation: the first that the node can read, otherwise the last. */
function answerIn({ exchanges }: Pick<Run, 'exchanges'>): Exchange | undefined {
	// After a refusal, the node also reads the account.
	const others = exchanges.filter(({ path }) => !path.includes(shared.FREE_PATHS.account));
	const calls = others.length > 0 ? others : exchanges;
	return (
		calls.find((call) => troubleOf(call) === undefined) ??
		calls.findLast(({ status }) => status > 0) ??
		// The last one may be that which the check has ended.
		calls.find(({ broke }) => broke !== ENDED_BY_NODE) ??
		calls[0]
	);
}

/** Returns the first sentence of a line of an outcome, without the task or item that it is about. */
const firstSentence = (line: string) =>
	line.replace(/^\w+: | – task.*| [[(]item \d+[\])].*|(?<=\w{3})\. .*/gs, '');
/** Returns what the node says of its error; undefined if it has none. */
function errorIn({ lines }: Run): string | undefined {
	const error = lines.find(isError);
	const sentence = error && firstSentence(error);
	return sentence && (OWN_LINES.includes(error) ? sentence : `n8n says “${sentence}”`);
}

/** A value in JSON: `holder[key]`. */
interface Place {
	/** The keys that lead to it, joined by dots, without the indexes of lists: `data.url`. */
	name: string;
	holder: Json;
	key: string;
}

/** Returns the places of all values in JSON; of a list, only those in its first entry. */
function placesIn(holder: unknown, names: string[] = []): Place[] {
	if (typeof holder !== 'object' || holder === null) return [];
	const isList = Array.isArray(holder);
	return Object.entries(holder)
		.slice(0, isList ? 1 : undefined)
		.flatMap(([key, value]) => {
			const path = isList ? names : [...names, key];
			const inner = placesIn(value, path);
			return inner.length > 0 ? inner : [{ name: path.join('.'), holder: holder as Json, key }];
		});
}

/** Returns a remark that names the fields of answers or messages. */
function fieldsIn(...answers: unknown[]): string | undefined {
	const places = answers.flatMap((json) => placesIn(json));
	const names = [...new Set(places.map(({ name }) => name))].filter(Boolean);
	const more = names.length > 20 ? ', …' : '';
	return names.length > 0 ? `fields: ${names.slice(0, 20).join(', ')}${more}` : undefined;
}

/** Something that the node reads from an answer. */
interface Field {
	what: string;
	/** Its names by the contract. */
	names: string[];
	/** Reads it as the node does. */
	read: (json: unknown) => unknown;
	/** What is lost without it. */
	ifLost?: string;
}

const isLost = ({ read }: Field, json: unknown) =>
	[undefined, 'null', '[]'].includes(JSON.stringify(read(json)));

const MARKER = 'https://mark.invalid/mark.png';
/** Returns the name of the field that `read` reads: the one whose value, if replaced by MARKER, is in the result. */
const nameReadBy = ({ read }: Field, json: unknown) =>
	placesIn(json).find(({ holder, key }) => {
		const value = holder[key];
		holder[key] = MARKER;
		const isRead = JSON.stringify(read(json))?.includes(MARKER);
		holder[key] = value;
		return isRead;
	})?.name;

/** Returns a remark for each field that the node cannot find in JSON, or that has another name than in the contract. */
const differencesIn = (json: unknown, fields: Field[]): Remark[] =>
	fields.map((field) => {
		const { what, names, ifLost: loss } = field;
		if (isLost(field, json)) return differs(`no ${what} that the node can read`, loss);
		const name = nameReadBy(field, json);
		if (!name || names.includes(name)) return undefined;
		return differs(`the ${what} is called \`${name}\``);
	});

const filesOf = (raw: unknown, kind?: MediaKind) =>
	shared.readGeneratedFiles(raw, BASE, kind).map(({ fileUrl }) => fileUrl);
const taskIn = (raw: unknown) =>
	shared.readSpeechTask(raw, { baseUrl: BASE, redact: shared.redactor('') });
const timeOf = (entry: unknown) => shared.asTime((entry as Json).created_at);

const byId = 'voices must be entered By ID';
const byIdAlone = 'a lost video or image is found by its ID alone';
const isLostVideo =
	'a video or image whose stream breaks is lost; the trigger detects no videos and images';
const CREATED_ID: Field = { what: 'ID', names: ['task_id'], read: shared.readCreatedTaskId };
const STATUS: Field = { what: 'status', names: ['status'], read: (raw) => taskIn(raw)?.status };
const audioUrlIn = (raw: unknown) => taskIn(raw)?.audioUrl;
const AUDIO: Field = { what: 'audio URL', names: ['audio_url'], read: audioUrlIn };
/** `kind` is that of the request, from which the node knows more names of the file URL than in the history. */
const fileOf = (kind?: MediaKind): Field => ({
	...{ what: 'file URL', names: ['file_url', 'file_urls'] },
	read: (raw) => filesOf(raw, kind),
});
const voiceIdIn = (raw: unknown) => shared.asId((raw as Json).voice_id) ?? shared.idOf(raw);
const promptIn = (raw: unknown) => shared.asText((raw as Json).prompt);
const VOICE: Field[] = [{ what: 'ID', names: ['voice_id'], read: voiceIdIn, ifLost: byId }];
const ENTRY: Field[] = [
	{ ...fileOf(), ifLost: isLostVideo },
	{ what: 'ID', names: ['id'], read: shared.idOf },
	{ what: 'prompt', names: ['prompt'], read: promptIn, ifLost: byIdAlone },
	{ what: 'created_at', names: ['created_at'], read: timeOf, ifLost: byIdAlone },
];

const entriesOn = (page: Exchange): Json[] => shared.readPage(jsonOf(page))?.items ?? [];
/** Returns when the newest of some entries was made; NaN if that is unknown. */
const newestOf = (entries: Json[]) => Math.max(...entries.map(timeOf));

/**
 * Judges an answer that the node should be able to read: the account, or a list whose entries have the `fields`. `ifRead`
 * and `ifLost` are what follows in n8n. `otherPages` are other pages of the list.
 */
function readRow(
	part: string,
	run: Run,
	ifRead: string,
	ifLost: string,
	fields?: Field[],
	otherPages: Exchange[] = [],
): Row {
	const answer = answerIn(run);
	if (!answer) return row(part, undefined, [], ifLost);
	const trouble = troubleOf(answer);
	const entries = entriesOn(answer);
	// A failed video has no file, so a complete entry tells what all may have.
	const isComplete = (each: Json) => fields?.every((field) => !isLost(field, each));
	const entry = entries.find(isComplete) ?? entries[0];
	const isMissed = otherPages.some((page) => newestOf(entriesOn(page)) > newestOf(entries));
	const error = errorIn(run);
	const hasOtherList = fields && !entry && /\[\s*[^\s\]]/.test(textOf(answer));
	const isUnread = error !== undefined || hasOtherList;
	const missed = `the newest entries are missed: ${ifLost}`;
	const remarks = [
		fields && !isUnread && `entries: ${entries.length}`,
		trouble === undefined && fieldsIn(jsonOf(answer)),
		shared.hasNoZone(entry?.created_at) && 'times have no zone: the node takes them for UTC',
		isUnread &&
			differs(trouble ?? 'not where the node looks', ifLost + (error ? ` (${error})` : '')),
		isMissed && differs('another page has newer entries', missed),
		...(fields && entry ? differencesIn(entry, fields) : []),
	];
	const isEmpty = fields && !entry;
	return row(part, !isNotThere(answer), remarks, isEmpty ? 'nothing to read yet' : ifRead);
}

/**
 * Judges what the node does with a request that the service should refuse with the status `expected`. `inN8n` is what
 * follows if it does not, and `loss` what is lost then.
 */
function refusalRow(
	part: string,
	what: string,
	expected: number,
	run: Run,
	inN8n: string,
	loss?: string,
): Row {
	const answer = answerIn(run);
	const error = errorIn(run);
	if (!answer) return row(part, undefined, [], '');
	const json = jsonOf(answer);
	const taken = [`HTTP ${answer.status}`, fieldsIn(json)].filter(Boolean).join(', ');
	const result = `${what}${error ? '' : ' is not refused'}: ${troubleOf(answer) ?? taken}`;
	const isExpected = answer.status === expected && json !== undefined;
	return row(
		part,
		true,
		[isExpected ? result : differs(result, error ? '' : loss)],
		error ?? inN8n,
	);
}

/** Returns the id of a voice that the node can use, also if its list has another name or place; undefined if none. */
export function voiceIn(voices: Pick<Run, 'exchanges'>): string | undefined {
	const answer = answerIn(voices);
	const places = answer && !troubleOf(answer) ? placesIn(jsonOf(answer)) : [];
	const named = (pattern: RegExp) => places.find(({ name }) => pattern.test(name));
	const { holder, key = '' } = named(/voice[_-]?id$/i) ?? named(/(?:^|\.)(?:uu)?id$/i) ?? {};
	return shared.asId(holder?.[key]);
}

/** Matches headers that any server sends. */
const ORDINARY_HEADERS =
	/^(?:content-(?:type|length)|date|connection|keep-alive|transfer-encoding|location)$/;
/** Matches headers whose values identify nobody. */
const SHOWN_HEADERS = /^(?:server|content-encoding|cf-mitigated|.*rate-?limit.*)$/;

/** Judges what the server and its edge add to the answers. */
export function edgeRow(runs: Run[]): Row {
	const exchanges = runs.flatMap((run) => run.exchanges);
	const first = exchanges.find(({ status, method }) => status > 0 && method === 'GET');
	const headers = Object.entries(first?.headers ?? {})
		.filter(([name]) => !ORDINARY_HEADERS.test(name))
		// What follows in a header may name a machine.
		.map(([name, value]) =>
			SHOWN_HEADERS.test(name) ? `${name}: ${/\S+/.exec(`${value}`)}` : name,
		);
	const redirects = exchanges.filter(isRedirect).map(({ status }) => `redirects (${status})`);
	const inN8n =
		'the node speaks HTTP/1.1, and follows redirects of files, and others within the host';
	const facts = [`HTTP/${first?.http}`, ...headers, ...new Set(redirects)];
	return row('The server and its edge', true, facts, inN8n);
}

/** Returns the messages of all WebSockets, with what the node reads in them and when they came, in ms since 1970. */
const messagesIn = (exchanges: Exchange[]) =>
	exchanges
		.filter(({ status }) => status === 101)
		.flatMap(({ at, pieces }) =>
			pieces.map(({ ms, text = '' }) => {
				return { ...shared.readNotification(text), at: at + ms, json: shared.parseJson(text) };
			}),
		);

/** Judges the WebSocket that the check has kept open, and those of the node. */
function socketRow(runs: Run[]): Row {
	const exchanges = runs.flatMap((run) => run.exchanges);
	const held = runs.find(({ operation }) => operation === 'socket')!.exchanges[0]!;
	const part = '§6.2 WebSocket';
	const listed = "the trigger detects speech tasks only if listed in 'Task IDs'";
	const polls = `the node polls every 5 s; ${listed}`;
	const polling = `the node polls every 5 to 30 s; ${listed}`;
	const reopens = `the node opens it again and again; while it is closed, ${polls}`;
	if (held.status !== 101)
		return row(part, false, [differs(troubleOf(held) ?? `HTTP ${held.status}`, polls)], '');
	const messages = messagesIn(exchanges);
	const isRead = messages.some(({ taskId }) => taskId !== undefined);
	const isUnread = messages.length > 0 && !isRead;
	const isMute = !isRead && runs.some((run) => run.operation === 'speech' && isGood(run));
	const closed = exchanges.find(({ status, broke = ENDED_BY_NODE }) => {
		return status === 101 && broke !== ENDED_BY_NODE;
	});
	const remarks = [
		held.broke === ENDED_BY_NODE && 'open for ten seconds',
		`messages: ${messages.length}`,
		isUnread && fieldsIn(...messages.map(({ json }) => json)),
		isUnread && differs('no message that the node can read', isMute ? polling : undefined),
		closed && differs(`${closed.broke} after ${seconds(closed.ended ?? 0)}`, reopens),
		isMute && !isUnread && differs('no message about the speech task', polling),
	];
	const inN8n = `results come at once${isRead ? '' : ', if messages about tasks come'}`;
	return row(part, true, remarks, inN8n);
}

/** Returns all rows, for the runs as they are recorded, and for what `edgeRow` says. */
export function rowsOf(runs: Run[], edge: Row): Row[] {
	const runOf = (name: string) => runs.find(({ operation }) => operation === name);
	const account = runOf('account')!;
	const unknown = 'nothing is known of the account; n8n may refuse to publish the trigger';
	const accountRow = readRow('§4.10 Account', account, 'passes the fields on', unknown);
	const [token, pages] = ['token', 'pages'].map(runOf);
	if (!token || !pages) {
		const inN8n = `${errorIn(account)}: check the Base URL and the API Token`;
		return [{ ...accountRow, inN8n, grade: 'fails' }];
	}
	const finds = 'finds a lost video or image here, and the trigger detects new ones';
	const lists = 'lists the voices to choose from';
	const anyToken =
		"a mistyped token is not noticed: n8n's test of the credential succeeds with any token";
	const [missingTask, takesIt] = ['a task that does not exist', 'the node takes it for a task'];
	const freeRows: Record<FreeName, Row> = {
		account: accountRow,
		voices: readRow('§4.4 Voices', runOf('voices')!, lists, byId, VOICE),
		history: readRow('§4.9 History', runOf('history')!, finds, isLostVideo, ENTRY, pages.exchanges),
		missing: refusalRow('§4.2 Reading a task', missingTask, 404, runOf('missing')!, '', takesIt),
	};
	return [
		edge,
		refusalRow('§5 The token', 'a wrong token', 401, token, anyToken),
		...Object.values(freeRows),
		socketRow(runs),
		...paidRows(runs),
	];
}

/** The parts of the paid operations, and of what runs beside them. */
const PARTS: Record<string, string> = {
	...{ speech: PAID.speech!.part, collect: 'Collect' },
	...Object.fromEntries(Object.entries(PAID).map(([name, { part }]) => [name, part])),
	trigger: 'The trigger',
};

/** Returns a row for each paid operation that was run, for Collect and the trigger, and for all that was not tried. */
function paidRows(runs: Run[]): Row[] {
	const all = runs.flatMap(({ exchanges }) => exchanges);
	const runOf = (name: string) => runs.find(({ operation }) => operation === name);
	const paid = Object.keys(PAID).flatMap((name) => (name === 'dropped' ? [] : (runOf(name) ?? [])));
	// The node counts as not working if no paid operation has succeeded.
	const ifBad = paid.length === 0 || paid.some(isGood) ? 'limits' : 'fails';
	const rows = Object.entries(PARTS).flatMap(([operation, part]) => {
		const run = runOf(operation);
		if (!run || run.lines.length === 0) return [];
		const outcome = run.lines
			.filter((line) => /^(?:error|hint|file|event): /.test(line))
			.map((line) => (/^(?:error|hint)/.test(line) ? firstSentence(line) : line));
		const inN8n = outcome.join('; ') || 'no file';
		const create = run.exchanges.findLast(({ method }) => method === 'POST');
		const kind = PAID[operation]?.contractRow.kind;
		const isUncut = operation === 'dropped' && create?.broke !== CUT;
		const isBad = outcome.length === 0 || !isGood(run);
		const remarks = [
			...(create && kind === 'speech' ? speechRemarks(create, all) : []),
			...(create && kind && kind !== 'speech' ? streamRemarks(create, kind) : []),
			isUncut && differs('the stream could not be cut'),
			isBad && differs(operation === 'trigger' ? 'not all that was made' : 'no result', inN8n),
		];
		return row(part, !create || !isNotThere(create), remarks, inN8n, ifBad);
	});
	const untried = Object.keys(PAID)
		.filter((name) => !runOf(name))
		.join(', ');
	const isVoiceless = !runOf('speech') && voiceIn(runOf('voices')!) === undefined;
	const remarks = [untried, isVoiceless && 'no voice to use'];
	if (untried) rows.push(row(UNTRIED, undefined, remarks, 'try them with --pay (docs/check.md)'));
	const needless = 'no other operation needs them';
	return [...rows, row('§4.3, 6.3 Delete, callback', undefined, [], needless)];
}

/** Returns the remarks on a speech task: its creation, and its reads and messages among all `exchanges`. */
function speechRemarks(create: Exchange, exchanges: Exchange[]): Remark[] {
	const answer = jsonOf(create);
	const id = shared.readCreatedTaskId(answer);
	if (hasFile(create))
		return [differs('the audio itself, which the node does not read, in place of a task')];
	if (id === undefined)
		return [fieldsIn(answer), differs(troubleOf(create) ?? 'no ID that the node can read')];
	const reads = exchanges
		.filter(({ path }) => path.split('?')[0]!.endsWith(`/${encodeURIComponent(id)}`))
		.map((exchange) => ({ exchange, json: jsonOf(exchange), task: taskIn(jsonOf(exchange)) }));
	const ready = reads.find(({ task }) => task?.audioUrl);
	const { exchange, json, task } = ready ?? reads.at(-1) ?? {};
	const statuses = new Set(
		reads.flatMap(({ task: { raw } = {} }) => raw?.status ?? raw?.state ?? []),
	);
	const messages = messagesIn(exchanges).filter(({ taskId }) => taskId === id);
	const steps = messages.map(({ percentage }) => percentage ?? '?').join(', ');
	return [
		`created in ${seconds(create.ended ?? 0)}`,
		statuses.size > 0 && `status: ${[...statuses].join(', ')}`,
		ready ? `URL after ${seconds(ready.exchange.at - create.at)}` : fieldsIn(json),
		messages[0]
			? `messages: first after ${seconds(messages[0].at - create.at)}, ${steps} %`
			: 'no WebSocket message that the node can read',
		ready && (task?.subtitleUrl ? 'with subtitles' : 'no subtitles'),
		...differencesIn(answer, [CREATED_ID]),
		...(exchange && !troubleOf(exchange) ? differencesIn(json, [STATUS, AUDIO]) : []),
		task?.end &&
			!task.isEndCertain &&
			differs(`the end is called \`${task.status}\`, so the node waits 10 s longer`),
	];
}

/** Returns the remarks on the answer to a request for a generation of this kind. */
function streamRemarks(create: Exchange, kind: MediaKind): Remark[] {
	if (hasFile(create)) return [differs('no stream, but the file itself')];
	const form = formOf(create, textOf(create));
	const trouble = troubleOf(create);
	const events = form === 'plain' ? [] : eventsOf(create);
	const texts = events.map(({ event, json, ms }) => {
		const word = shared.isRecord(json) ? (json.status ?? json.state) : json;
		const isShort = typeof word === 'string' && word.length < 40;
		return `${event}${isShort ? ` ${word}` : ''} after ${seconds(ms)}`;
	});
	const ending = events.findLast(({ json }) => filesOf(json, kind).length > 0);
	const { event = '', json } = ending ?? events.at(-1) ?? { json: jsonOf(create) };
	const isBroken = create.broke !== undefined && create.broke !== ENDED_BY_NODE;
	const hasFailed = form === 'plain' ? trouble !== undefined : isBroken;
	return [
		form !== 'plain' && `events: ${texts.join(', ') || 'none'}`,
		isBroken && `then ${create.broke}`,
		!ending && fieldsIn(json),
		form === 'plain' && differs(`no stream, but ${trouble ?? `HTTP ${create.status} with JSON`}`),
		form === 'lines' && differs('lines of JSON in place of a stream'),
		ending && !shared.COMPLETION_EVENT.test(event) && differs(`the end is called \`${event}\``),
		...(hasFailed || shared.statusKind(event) === 'failed'
			? []
			: differencesIn(json, [fileOf(kind)])),
	];
}

/** Returns the events of a stream. Those without a name are called `(no name)`. */
function eventsOf(stream: Exchange) {
	const events: Array<{ event: string; json: unknown; ms: number }> = [];
	const isLines = formOf(stream, textOf(stream)) === 'lines';
	for (const { ms, text = '' } of stream.pieces) {
		createParser({
			onEvent: ({ event = '(no name)', data }) =>
				void events.push({ event, json: shared.parseEventData(data), ms }),
			// The last event may have broken off before its empty line.
		}).feed(`${isLines ? text.replace(/^.+$/gm, 'data:$&\n') : text}\n\n`);
	}
	return events;
}

/**
 * True for a create call that may be charged. Other redirects than a 303 say that nothing was done yet, and a refused
 * connection has sent nothing.
 */
const mayHaveCharged = ({ method, status, broke }: Exchange) =>
	method === 'POST' &&
	broke !== 'ECONNREFUSED' &&
	(status < 300 || status === 303 || status >= 500);

/** Matches a field, or a record without inner ones, that has another ID than the result. */
const OTHER_ID =
	/"(?:user|owner|account|request|trace)[^"]*" ?: ?(?:\{[^{}]*\}|\[[^[\]]*\]|"[^"]*"|\d+)/gi;
/** Matches an ID. A broken-off answer has some, too, and JSON in a text has backslashes. */
const ID =
	/"(?:(?:[\w-]*[_-])?(?:id|uuid)|[\w-]*(?<![A-Z])(?:ID|Id|UUID|Uuid))\\*" ?: ?(?:\\*"([^"\\]+)\\*"|(\d+)(?!\d|$))/g;

/** Returns the paid operations whose create call the service may have accepted, each with the IDs in the answer. */
export const maybeCharged = (runs: Run[]) =>
	runs.flatMap(({ operation, exchanges }) => {
		const answers = exchanges.filter(mayHaveCharged);
		const texts = answers.map((answer) => textOf(answer).replace(OTHER_ID, ''));
		const ids = texts.flatMap((text) =>
			[...text.matchAll(ID)].map(([, id, number]) => id ?? number),
		);
		return answers.length > 0 ? [[operation, ...new Set(ids)].join(' ')] : [];
	});
