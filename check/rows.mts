/* Judges the service's answers: one row of the report for each part of the interface. */
import type { Asked } from './ask.mts';
import { FREE_OPERATIONS, isError, isGood, OWN_LINES, PAID, type Run } from './operations.mts';
import type { StandIns } from './recording.mts';
import { UNTRIED, type Row } from './report.mts';
import { shared } from './shared.mts';
import {
	CUT,
	ENDED_BY_NODE,
	eventsOf,
	fileIn,
	isStream,
	textOf,
	textPieces,
	type Exchange,
} from './wire.mts';

type Json = Record<string, unknown>;

const ACCOUNT = '§4.10 Account';
const ELSEWHERE = 'not where the node looks';
const BASE = 'http://service.invalid';
/** Returns the JSON of an answer as the node reads it. */
const jsonOf = (exchange: Exchange): unknown =>
	shared.parseJson(shared.jsonTextOf(exchange.status, textOf(exchange)));
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** What is said of answers. What is false or undefined is left out. */
type Remarks = Array<string | false | undefined>;

/**
 * Makes a row. `isThere` is undefined if this was not tried. `differences` say how the answers differ from the contract,
 * and `facts` what they are where it is open.
 */
function row(
	part: string,
	isThere: boolean | undefined,
	[facts, differences = []]: [facts: Remarks, differences?: Remarks],
	inN8n: string,
	grade: Row['grade'] = 'works',
): Row {
	const isDifferent = differences.some(Boolean);
	const found = !isThere ? 'not there' : isDifferent ? 'different' : 'there';
	const differs = [...facts, ...differences].filter(Boolean).join('; ');
	return { part, found: isThere === undefined ? 'not tried' : found, differs, inN8n, grade };
}

/** True for a redirect. The status decides, because other answers may have a Location header, too. */
const isRedirect = ({ status }: Exchange) => status >= 300 && status < 400;
/** True if there was no answer, or if its status says that the service does not offer the call. */
export const isNotThere = ({ status }: Exchange) => [0, 404, 405, 501].includes(status);

/** Returns what is wrong with an answer, in words; undefined if it is JSON that reports no failure. */
function troubleOf(exchange: Exchange): string | undefined {
	const { status, broke, headers, ended = 0 } = exchange;
	if (isRedirect(exchange)) return `a redirect (${status}) to ${headers.location}`;
	if (broke === ENDED_BY_NODE && status === 0) return `no answer within ${seconds(ended)}`;
	if (broke !== undefined)
		return status > 0 ? `HTTP ${status}, then ${broke}` : `no answer: ${broke}`;
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

/**
 * Returns the answer to a free operation: the first that the node can read, otherwise the last. If the service has
 * answered nothing, returns the last exchange; undefined if there is none.
 */
function answerIn({ operation, exchanges }: Run): Exchange | undefined {
	// After a refusal, the node also reads the account.
	const own = exchanges.filter(
		({ path }) => operation === 'account' || !path.includes(shared.ACCOUNT_PATH),
	);
	return (
		own.find((call) => troubleOf(call) === undefined) ??
		own.findLast(({ status }) => status > 0) ??
		own.at(-1)
	);
}

/** Returns the first sentence of a line of an outcome, without the task or item that it is about. */
const firstSentence = (line: string) =>
	line.replace(/^\w+: | – task.*| [[(]item \d+[\])].*|(?<=\w{3})\. .*/gs, '');
/** Returns what the node says of its error; undefined if it has none. */
function errorIn({ lines }: Run): string | undefined {
	const error = lines.find(isError);
	const said = error && firstSentence(error);
	return said && (OWN_LINES.includes(error) ? said : `n8n says “${said}”`);
}

/** A value in JSON, with the keys that lead to it; the key '0' stands for the first entry of a list. */
interface Place {
	path: string[];
	/** The path joined by dots, without the '0' of each list: `data.url`. */
	name: string;
	value: unknown;
}

/** Returns the places of all values in JSON; of a list, only those in its first entry. */
function placesIn(value: unknown, path: string[] = []): Place[] {
	const looked = Array.isArray(value) ? value.slice(0, 1) : value;
	const inner = typeof looked === 'object' ? Object.entries(looked ?? {}) : [];
	if (inner.length === 0)
		return [{ path, name: path.filter((key) => key !== '0').join('.'), value }];
	return inner.flatMap(([key, each]) => placesIn(each, [...path, key]));
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
	placesIn(json).find(({ path }) => {
		const copy = structuredClone(json);
		const keys = path.slice(0, -1);
		const parent = keys.reduce<unknown>((inner, key) => (inner as Json)[key], copy) as Json;
		if (path.length > 0) parent[path.at(-1)!] = MARKER;
		return JSON.stringify(read(copy))?.includes(MARKER);
	})?.name;

/** Returns a remark for each field that the node cannot find in JSON, or that has another name than in the contract. */
const differencesIn = (json: unknown, fields: Field[]): Remarks =>
	fields.map((field) => {
		if (isLost(field, json)) return `no ${field.what} that the node can read`;
		const name = nameReadBy(field, json);
		return name !== undefined && !['', ...field.names].includes(name)
			? `the ${field.what} is called \`${name}\``
			: undefined;
	});

const field = (what: string, names: string[], read: Field['read'], ifLost?: string): Field => ({
	what,
	names,
	read,
	ifLost,
});

const filesOf = (raw: unknown) =>
	shared.readGeneratedFiles(raw, BASE).map(({ fileUrl }) => fileUrl);
const taskIn = (raw: unknown) =>
	shared.readSpeechTask(raw, { baseUrl: BASE, redact: shared.redactor('') });
const voiceIdIn = (raw: unknown) => shared.asId((raw as Json).voice_id) ?? shared.idOf(raw);
const timeOf = (entry: unknown) => shared.asTime((entry as Json).created_at);
const CREATED_ID = field('ID', ['task_id'], shared.readCreatedTaskId);
const TASK_FIELDS = [
	field('status', ['status'], (raw) => taskIn(raw)?.status),
	field('audio URL', ['audio_url'], (raw) => taskIn(raw)?.audioUrl),
];
const fileUrl = (ifLost?: string) => field('file URL', ['file_url', 'file_urls'], filesOf, ifLost);

interface Part {
	part: string;
	/** What the answer means in n8n if the node can read it. */
	ifRead: string;
	/** What is lost if it cannot. */
	ifLost: string;
	/** For a list: what the node reads from its entries. */
	entryFields?: Field[];
}

const byId = 'voices must be entered By ID';
const byIdAlone = 'a lost video or image is found by its ID alone';
const isLostVideo =
	'a video or image whose stream breaks is lost; the trigger detects no videos and images';
const READ_PARTS: Record<string, Part> = {
	account: {
		...{ part: ACCOUNT, ifRead: 'passes the fields on' },
		ifLost: 'nothing is known of the account; n8n may refuse to publish the trigger',
	},
	voices: {
		...{ part: '§4.4 Voices', ifRead: 'lists the voices to choose from', ifLost: byId },
		entryFields: [field('ID', ['voice_id'], voiceIdIn, byId)],
	},
	history: {
		...{ part: '§4.9 History', ifLost: isLostVideo },
		ifRead: 'finds a lost video or image here, and the trigger detects new ones',
		entryFields: [
			fileUrl(isLostVideo),
			field('ID', ['id'], shared.idOf),
			field('prompt', ['prompt'], (entry) => shared.asText((entry as Json).prompt), byIdAlone),
			field('created_at', ['created_at'], timeOf, byIdAlone),
		],
	},
};

const entriesOn = (page: Exchange): Json[] => shared.readPage(jsonOf(page))?.items ?? [];
/** Returns when the newest of some entries was made; NaN if that is unknown. */
const newestOf = (entries: Json[]) => Math.max(...entries.map(timeOf));

/** Judges an answer that the node should be able to read: the account or a list. */
function readRow(run: Run, { part, ifRead, ifLost, entryFields }: Part, asked: Asked): Row {
	const answer = answerIn(run);
	const [json, trouble] = [answer && jsonOf(answer), answer && troubleOf(answer)];
	const entries = entryFields && answer ? entriesOn(answer) : [];
	const lostIn = (entry: Json) => entryFields!.filter((field) => isLost(field, entry));
	// A failed video has no file, so the most complete entry tells what all may have.
	const entry = entries.toSorted((a, b) => lostIn(a).length - lostIn(b).length)[0];
	const isKnown = (each: Json) => entries.some((known) => shared.idOf(known) === shared.idOf(each));
	const otherPages = run.operation === 'history' ? asked.otherPages.map(entriesOn) : [];
	const isMissed = otherPages.some(
		(page) => newestOf(page) > newestOf(entries) && !page.some(isKnown),
	);
	const error = errorIn(run);
	const hasList = placesIn(json).some(({ path }) => path.includes('0'));
	const isUnread = error !== undefined || (entryFields && entries.length === 0 && hasList);
	const lost =
		(isUnread ? ifLost + (error ? ` (${error})` : '') : undefined) ??
		(isMissed ? `the newest entries are missed: ${ifLost}` : undefined) ??
		(entry && lostIn(entry).find((field) => field.ifLost)?.ifLost);
	const facts = [
		entryFields && !isUnread && `entries: ${entries.length}`,
		trouble === undefined && fieldsIn(json),
		shared.hasNoZone(entry?.created_at) && 'times have no zone: the node takes them for UTC',
	];
	const differences = [
		trouble,
		trouble === undefined && isUnread && ELSEWHERE,
		isMissed && 'another page has newer entries',
		...(entry ? differencesIn(entry, entryFields!) : []),
	];
	const inN8n = lost ?? (entryFields && !entry ? 'nothing to read yet' : ifRead);
	const grade = lost === undefined ? 'works' : 'limits';
	return row(part, answer && !isNotThere(answer), [facts, differences], inN8n, grade);
}

/** Judges what the node does with a request that the service should refuse with the status `expected`. */
function refusalRow(
	part: string,
	what: string,
	expected: number,
	run: Run,
	ifTaken: [says: string, inN8n: string, grade: Row['grade']],
): Row {
	const answer = answerIn(run);
	const error = errorIn(run);
	const accepted = answer && [`HTTP ${answer.status}`, fieldsIn(jsonOf(answer))].filter(Boolean);
	const subject = error === undefined ? `${what} ${ifTaken[0]}` : what;
	const fact = answer && `${subject}: ${troubleOf(answer) ?? accepted!.join(', ')}`;
	const isExpected = answer?.status === expected && jsonOf(answer) !== undefined;
	const remarks: [Remarks, Remarks?] = isExpected ? [[fact]] : [[], [fact]];
	const [, inN8n, grade] = error === undefined ? ifTaken : ['', error];
	return row(part, answer && true, remarks, inN8n, grade);
}

/** Returns the id of a voice that the node can use, also if its list has another name or place; undefined if none. */
export function voiceIn(runs: Run[]): string | undefined {
	const run = runs.find(({ operation }) => operation === 'voices');
	const answer = run && answerIn(run);
	const places = answer ? placesIn(jsonOf(answer)) : [];
	const named = (pattern: RegExp) => places.find(({ name }) => pattern.test(name));
	return shared.asId((named(/voice[_-]?id$/i) ?? named(/(?:^|\.)(?:uu)?id$/i))?.value);
}

/** Returns the row that says why nothing works: what the node makes of the account. */
export function blockedRow(account: Run): Row {
	const answer = answerIn(account);
	const advice = `${errorIn(account)}: check the Base URL and the API Token`;
	const trouble = answer && (troubleOf(answer) ?? ELSEWHERE);
	return row(ACCOUNT, answer && !isNotThere(answer), [[], [trouble]], advice, 'fails');
}

/** Matches headers that any server sends. */
const ORDINARY_HEADERS =
	/^(?:content-(?:type|length)|date|connection|keep-alive|transfer-encoding|location)$/;

export function edgeRow(runs: Run[]): Row {
	const exchanges = runs.flatMap((run) => run.exchanges);
	const first = exchanges.find(({ status, method }) => status > 0 && method === 'GET')!;
	const { headers, http, origin } = first;
	const redirects = exchanges.filter(isRedirect).map(({ status }) => `redirects (${status})`);
	const answers = exchanges.filter(({ status }) => status > 101);
	const away = answers.filter((answer) => {
		return shared.failureOfStatus(answer.status, textOf(answer)).kind === 'unavailable';
	});
	const statuses = [...new Set(away.map(({ status }) => status))].join(', ');
	const facts = [
		`HTTP/${http}`,
		origin.startsWith('http:') && 'not encrypted',
		...Object.entries(headers)
			.filter(([name]) => !ORDINARY_HEADERS.test(name))
			.map(([name, value]) => {
				// The values of other headers may identify the user.
				const isShown = /^(?:server|content-encoding|cf-mitigated|.*rate-?limit.*)$/.test(name);
				return isShown ? `${name}: ${String(value)}` : name;
			}),
		...new Set(redirects),
		statuses && `not available (${statuses}): ${away.length} of ${answers.length} answers`,
	];
	const inN8n = [
		redirects.length > 0 &&
			'follows redirects of files, and within the host those of reads, and of create calls with 307 or 308',
		statuses && 'repeats reads for some time: a create call that is not answered fails',
	].filter(Boolean);
	const nothing = 'nothing: the node speaks HTTP/1.1';
	return row('The server and its edge', true, [facts], inN8n.join('; ') || nothing);
}

/** Returns the messages of all WebSockets, with what the node reads in them and when they came, in ms since 1970. */
const messagesIn = (exchanges: Exchange[]) =>
	exchanges
		.filter(({ method }) => method === 'WEBSOCKET')
		.flatMap((socket) =>
			textPieces(socket).map(({ ms, text }) => {
				return { ...shared.readNotification(text), at: socket.at + ms, text };
			}),
		);

/** Returns how a WebSocket has ended, in words; undefined if it was not ended by the service. */
function socketEnd({ status, broke, ended = 0 }: Exchange): string | undefined {
	if (status !== 101 || broke === undefined || broke === ENDED_BY_NODE) return undefined;
	const how = broke.includes('(1006)')
		? 'broken off without a close frame'
		: /^closed/.test(broke)
			? broke
			: `broken off by an invalid frame (${broke})`;
	return `${how} after ${seconds(ended)}`;
}

/** Judges the WebSocket that the check has kept open, and those of the runs. */
export function socketRow(held: Exchange, runs: Run[]): Row {
	const part = '§6.2 WebSocket';
	const byId = "the trigger detects speech tasks only if listed in 'Task IDs'";
	const polls = `the node polls every 5 s; ${byId}`;
	if (held.status !== 101)
		return row(part, false, [[troubleOf(held) ?? `HTTP ${held.status}`]], polls, 'limits');
	const exchanges = [held, ...runs.flatMap((run) => run.exchanges)];
	const messages = messagesIn(exchanges);
	const isRead = messages.some(({ taskId }) => taskId !== undefined);
	const isUnread = messages.length > 0 && !isRead;
	const isMute = !isRead && runs.some((run) => run.operation === 'speech' && isGood(run));
	const jsons = messages.map(({ text }) => shared.parseJson(text));
	const isError = (json: unknown) =>
		shared.isErrorAnswer(json) || (shared.isRecord(json) && shared.isFailureWord(json.type));
	const error = jsons.find(isError);
	const ends = exchanges.flatMap((exchange) => socketEnd(exchange) ?? []);
	const facts = [
		held.broke === ENDED_BY_NODE && 'open for ten seconds',
		`messages: ${messages.length}`,
		isUnread && fieldsIn(...jsons),
	];
	const differences = [
		isUnread && 'no message that the node can read',
		error !== undefined && `an error: ${shared.readReason(error) ?? 'without a reason'}`,
		isMute && messages.length === 0 && 'no message about the speech task',
		ends[0],
	];
	const inN8n =
		ends.length > 0
			? `the node opens it again and again; while it is closed, ${polls}`
			: isMute
				? `the node polls every 5 to 30 s; ${byId}`
				: `results come at once${isRead ? '' : `, if ${isUnread ? 'other ' : ''}messages come`}`;
	const isGoodSocket = ends.length === 0 && !isMute && error === undefined;
	return row(part, true, [facts, differences], inN8n, isGoodSocket ? 'works' : 'limits');
}

const ANY_TOKEN = 'test of the credential succeeds with any token';

/** Returns the rows for all that was run and asked, in which nothing identifies anybody. */
export function rowsOf(allRuns: Run[], wholly: Asked, pay: string[], standIns: StandIns): Row[] {
	const runs = allRuns.map(standIns.shownRun);
	const asked = {
		otherPages: wholly.otherPages.map((page) => standIns.shown(page)),
		wrongToken: standIns.shownRun(wholly.wrongToken),
		socket: standIns.shown(wholly.socket),
	};
	const runOf = (name: string) => runs.find(({ operation }) => operation === name)!;
	const answers = [asked.wrongToken, runOf(asked.wrongToken.operation)].map(answerIn);
	const [withWrongToken, withToken] = answers.map((answer) => answer && fieldsIn(jsonOf(answer)));
	const ifTokenTaken: Parameters<typeof refusalRow>[4] =
		withWrongToken === withToken
			? ['is accepted', `a mistyped token is not noticed: n8n's ${ANY_TOKEN}`, 'works']
			: ['is not refused', `n8n takes this for the account: its ${ANY_TOKEN}`, 'limits'];
	return [
		edgeRow(allRuns),
		refusalRow('§5 The token', 'a wrong token', 401, asked.wrongToken, ifTokenTaken),
		...Object.entries(READ_PARTS).map(([name, part]) => readRow(runOf(name), part, asked)),
		refusalRow('§4.2 Reading a task', 'a task that does not exist', 404, runOf('missing'), [
			'is found',
			'the node takes it for a task',
			'limits',
		]),
		socketRow(asked.socket, runs),
		...paidRows(runs, pay),
	];
}

/** Returns a row for each paid operation that was run, for Collect and the trigger, and for all that was not tried. */
export function paidRows(runs: Run[], pay: string[]): Row[] {
	const others = runs.filter(({ operation }) => !FREE_OPERATIONS.includes(operation));
	const paid = others.filter(({ operation }) => PAID[operation] && operation !== 'dropped');
	const all = runs.flatMap(({ exchanges }) => exchanges);
	// The node counts as not working if no paid operation has succeeded.
	const ifBad = paid.length === 0 || paid.some(isGood) ? 'limits' : 'fails';
	const rows = others.map((run) => {
		const shown = run.lines.filter((line) => /^(?:error|hint|file|event): /.test(line));
		const isBad = shown.length === 0 || !isGood(run);
		const inN8n = shown.map((line) => (/^(?:error|hint)/.test(line) ? firstSentence(line) : line));
		const { part, contractRow } = PAID[run.operation] ?? {};
		const create = run.exchanges.findLast(({ method }) => method === 'POST');
		const remarksOn = contractRow?.kind === 'speech' ? speechRemarks : streamRemarks;
		const [facts, differences] = create ? remarksOn(create, all) : [[], []];
		const wasNotCut = run.operation === 'dropped' && create?.broke !== CUT;
		const isTrigger = run.operation === 'trigger';
		const lost = isTrigger ? 'not all that was made' : 'no result';
		return row(
			part ?? (isTrigger ? 'The trigger' : 'Collect'),
			!contractRow || (create && !isNotThere(create)),
			[facts, [...differences, wasNotCut && 'the stream could not be cut', isBad && lost]],
			inN8n.join('; ') || 'no file',
			isBad ? ifBad : 'works',
		);
	});
	const untried = Object.keys(PAID).filter((name) => !runs.some((each) => each.operation === name));
	const isVoiceless = pay.includes('speech') && voiceIn(runs) === undefined;
	const remarks = [untried.join(', '), isVoiceless && 'no voice to use'];
	if (untried.length > 0)
		rows.push(row(UNTRIED, undefined, [remarks], 'try them with --pay (docs/check.md)'));
	rows.push(row('§4.3, 6.3 Delete, callback', undefined, [[]], 'no other operation needs them'));
	return rows;
}

/** Returns the remarks on a speech task: its creation, and its reads and messages among all `exchanges`. */
function speechRemarks(create: Exchange, exchanges: Exchange[]): [Remarks, Remarks] {
	const trouble = troubleOf(create);
	const answer = jsonOf(create);
	const id = shared.readCreatedTaskId(answer);
	if (fileIn(create))
		return [[], ['the audio itself, which the node does not read, in place of a task']];
	if (id === undefined) return [[fieldsIn(answer)], [trouble ?? 'no ID that the node can read']];
	const reads = exchanges
		.filter(
			({ method, path }) =>
				method === 'GET' && path.split('?')[0]!.endsWith(encodeURIComponent(id)),
		)
		.map((exchange) => ({ ms: exchange.at - create.at, exchange, json: jsonOf(exchange) }));
	const ready = reads.find(({ json }) => taskIn(json)?.audioUrl);
	const { exchange, json } = ready ?? reads.at(-1) ?? {};
	const task = taskIn(json);
	const statuses = reads.flatMap((read) => taskIn(read.json)?.raw.status ?? []);
	const messages = messagesIn(exchanges).filter(({ taskId }) => taskId === id);
	const steps = messages.map(({ percentage }) => percentage ?? '?').join(', ');
	return [
		[
			`created in ${seconds(create.ended ?? 0)}`,
			statuses.length > 0 && `status: ${[...new Set(statuses)].join(', ')}`,
			ready ? `URL after ${seconds(ready.ms)}` : fieldsIn(json),
			messages[0]
				? `messages: first after ${seconds(messages[0].at - create.at)}, ${steps} %`
				: 'no message on the WebSocket',
			ready && (task?.subtitleUrl ? 'with subtitles' : 'no subtitles'),
		],
		[
			...differencesIn(answer, [CREATED_ID]),
			...(exchange && !troubleOf(exchange) ? differencesIn(json, TASK_FIELDS) : []),
			task?.apparentEnd && `the end is called \`${task.status}\`, so the node waits 10 s longer`,
		],
	];
}

/** Returns the remarks on the answer to a request for a generation. */
function streamRemarks(create: Exchange): [Remarks, Remarks] {
	if (fileIn(create)) return [[], ['no stream, but the file itself']];
	if (!isStream(create)) {
		const trouble = troubleOf(create);
		const json = jsonOf(create);
		const differences = trouble ? [] : differencesIn(json, [fileUrl()]);
		return [
			[fieldsIn(json)],
			[`no stream, but ${trouble ?? `HTTP ${create.status} with JSON`}`, ...differences],
		];
	}
	const events = eventsOf(create);
	const texts = events.map(({ event, json, ms }) => {
		const word = shared.isRecord(json) ? (json.status ?? json.state) : json;
		const isShort = typeof word === 'string' && word.length < 40;
		return `${event}${isShort ? ` ${word}` : ''} after ${seconds(ms)}`;
	});
	const ending = events.findLast(({ json }) => filesOf(json).length > 0);
	const { event = '', json } = ending ?? events.at(-1) ?? {};
	const isFailed = shared.TERMINAL_EVENTS.failed.test(event);
	const isWhole = create.broke === undefined || create.broke === ENDED_BY_NODE;
	return [
		[
			`events: ${texts.join(', ') || 'none'}`,
			!isWhole && `then ${create.broke}`,
			!ending && fieldsIn(json),
		],
		isWhole && !isFailed
			? [
					shared.formOf(textOf(create)) === 'lines' && 'lines of JSON in place of a stream',
					ending &&
						!shared.TERMINAL_EVENTS.complete.test(event) &&
						`the end is called \`${event}\``,
					...differencesIn(json, [fileUrl()]),
				]
			: [],
	];
}

/** True if the service may have accepted a create call, as the node judges it. */
function mayBeCharged(create: Exchange): boolean {
	const { status } = create;
	if (status >= 300 && status < 500) return [303, 408].includes(status);
	if (status >= 500) return shared.failureOfStatus(status, textOf(create)).kind === 'unavailable';
	const json = jsonOf(create);
	const isRefused = shared.isErrorAnswer(json) && shared.idOf(json) === undefined;
	const isSurelyRefused = isRefused || shared.isThrottledAnswer(json);
	return shared.failureOfReport(json).kind === 'unavailable' || !isSurelyRefused;
}

/** Returns a line for each request that may have been charged: kind and ids, but not that of a user or a request. */
export const chargeLines = (runs: Run[]) =>
	runs
		.flatMap(({ exchanges }) => exchanges)
		.filter((exchange) => exchange.method === 'POST' && mayBeCharged(exchange))
		.map((create) => {
			const kind = shared.PAID_OPERATIONS.find(({ path }) => create.path.endsWith(path))?.kind;
			const ids = [
				...textOf(create).matchAll(
					/"(?!user|owner|account|request|trace)[\w-]*id\\?"\s*:\s*(?:\\?"([^"\\]+)|([^",}\s]+))/gi,
				),
			].map(([, text, number]) => text ?? number);
			return `${kind}: ${[...new Set(ids)].join(', ') || 'no ID was sent'}`;
		});
