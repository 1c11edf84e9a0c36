/* Judges the service's answers: one row of the report for each part of the interface. */
import { createParser } from 'eventsource-parser';
import { isAbsent, listIn, PAGE_SIZE, type Answers } from './ask.mts';
import { FREE_OPERATIONS, isError, TIMED_OUT, makesSpeech, PAID } from './operations.mts';
import type { Outcome } from './recording.mts';
import type { Row } from './report.mts';
import { CUT, isStream, seconds, textOf, type Exchange } from './wire.mts';
import {
	EVENTS,
	PAID_OPERATIONS,
	SPEAK,
	TERMINAL_EVENTS,
	asId,
	asText,
	asTime,
	failureOfAnswer,
	failureOfStatus,
	idOf,
	isRecord,
	looksLikeHtml,
	meaningOf,
	parseJson,
	readCreatedTaskId,
	readGeneratedFiles,
	readNotification,
	readPage,
	readReason,
	readSpeechTask,
	readSuccessRecord,
	redactor,
} from './reading.mts';

type Json = Record<string, unknown>;

const TOKEN = '§5 The token';
const ACCOUNT = '§4.10 Account';
const BASE = 'http://service.invalid';
const jsonOf = (exchange: Exchange): unknown => parseJson(textOf(exchange));
const quoted = (names: string[]) => names.map((name) => `\`${name}\``).join(', ');
const counted = (count: number, one: string, more: string) =>
	`${count} ${count === 1 ? one : more}`;
/** Returns the first sentence of a line of an outcome, without the task or item that it is about. */
const firstSentence = (line: string) =>
	line
		.replace(/^\w+: | (?:every|after) N \w+/g, '')
		.replace(/ – task.*| [[(]item \d+[\])].*|(?<=\w{3})\. .*/s, '');

/** Returns the first sentence of an error as a quotation, unless the error is the check's own. */
const quotedError = (line: string) =>
	line === TIMED_OUT ? firstSentence(line) : `n8n says “${firstSentence(line)}”`;

/** The remarks of a row. Those that are false or undefined are left out. */
type Remarks = Array<string | false | undefined>;

const row = (
	part: string,
	found: Row['found'],
	remarks: Remarks,
	inN8n: string,
	grade: Row['grade'] = 'works',
): Row => ({ part, found, differs: remarks.filter(Boolean).join('; '), inN8n, grade });

/** True for a redirect. The status decides, because other answers may have a Location header, too. */
const isRedirect = ({ status }: Exchange) => status >= 300 && status < 400;

/** Returns what is wrong with an answer, in words; undefined if it is JSON that reports no failure. */
function troubleOf(exchange: Exchange): string | undefined {
	const { status, broke, headers, bytes } = exchange;
	if (broke !== undefined) return `no answer: ${broke}`;
	if (isRedirect(exchange)) return `a redirect (${status}) to ${headers.location}`;
	const json = jsonOf(exchange);
	const reason = readReason(json);
	const reasonText = reason === undefined ? '' : `: ${reason}`;
	const text = textOf(exchange);
	const page = /^\s*<\?xml/.test(text) ? 'XML' : 'a web page';
	const plain = /\}\s*\n\s*\{/.test(text) ? 'lines of JSON' : 'text';
	const other = looksLikeHtml(text) ? page : text !== '' ? plain : bytes > 0 ? 'a file' : 'no body';
	const kind = json !== undefined ? 'JSON' : other;
	const isOk = status === 200 || (json !== undefined && status > 200 && status < 300);
	if (!isOk) return `HTTP ${status} with ${kind}${reasonText}`;
	if (json === undefined) return `${kind} in place of JSON`;
	return isRecord(json) && !readSuccessRecord(json)
		? `status ${status} with an error${reasonText}`
		: undefined;
}

const isNotThere = (exchange: Exchange) => exchange.status === 0 || isAbsent(exchange);
/** True if the service asks to wait. Such an answer tells nothing about the call. */
const isThrottled = ({ status }: Exchange) => [429, 503].includes(status);
const RUN_AGAIN = 'the check was throttled: run it again in a minute';
const foundOf = (exchange: Exchange, differs: boolean): Row['found'] =>
	isNotThere(exchange) ? 'not there' : differs ? 'different' : 'there';

const accountTrouble = (account: Exchange) =>
	troubleOf(account) ?? (readSuccessRecord(jsonOf(account)) ? undefined : 'no record');

/**
 * Returns the row that says why the check cannot go on: the Base URL or the token is wrong, or the service is
 * unavailable. Returns no row if the check can go on.
 */
export function blockedRows({ account, voices }: Answers, baseUrl: string): Row[] {
	const trouble = accountTrouble(account);
	if (trouble === undefined || voices.some((page) => readPage(jsonOf(page)))) return [];
	const { status } = account;
	const refusal = [account, ...voices].find((each) => [401, 403].includes(each.status));
	if (refusal) {
		const isEdge = jsonOf(refusal) === undefined;
		const advice = isEdge
			? 'a server in front of the service refuses the request, or the API Token is wrong'
			: 'enter a valid API Token';
		return [row(TOKEN, 'different', [`refused: ${troubleOf(refusal)}`], advice, 'fails')];
	}
	const isAway = status >= 500 || status === 429;
	const field = trouble.startsWith('status') ? 'the API Token and the Base URL' : 'the Base URL';
	const advice = isAway
		? 'the service is not available: try again later'
		: `check ${field}, ${baseUrl}`;
	return [row(ACCOUNT, foundOf(account, true), [trouble], advice, 'fails')];
}

/** Matches headers that any server sends, and those that `edgeRow` reports in words. */
const ORDINARY_HEADERS =
	/^(?:content-.*|date|connection|keep-alive|transfer-encoding|cache-control|pragma|expires|etag|vary|server|via|set-cookie|location|accept-ranges|age|last-modified|access-control-.*)$/;

/** Returns the last answer to the same call, from the check or the node. */
const lastAnswerTo = ({ path }: Exchange, { exchanges }: Answers) =>
	exchanges.findLast((each) => each.path.split('?')[0] === path.split('?')[0])!;

export function edgeRow(answers: Answers): Row {
	const { account, badToken, offersHttp2, exchanges } = answers;
	const { headers, http, origin } = account;
	const slow = exchanges.find(isThrottled);
	const isStillThrottled = [badToken, ...exchanges.map((each) => lastAnswerTo(each, answers))].some(
		isThrottled,
	);
	// Only the first answer of a path counts: a later request has a wrong token, and may be redirected to a login.
	const redirects = exchanges.filter(
		(each) =>
			isRedirect(each) &&
			each.method !== 'WEBSOCKET' &&
			exchanges.find((first) => first.path === each.path) === each,
	);
	const isOfCall = ({ path }: Exchange) => path.includes('/v1/');
	const inN8n = redirects.some(isOfCall)
		? 'follows redirects of reads only: if a create call is redirected, nothing is generated'
		: 'nothing: the node speaks HTTP/1.1';
	const others = Object.keys(headers).filter((name) => !ORDINARY_HEADERS.test(name));
	return row(
		'The server and its edge',
		'there',
		[
			`HTTP/${http}`,
			offersHttp2 && 'offers HTTP/2',
			headers.server && `server: ${headers.server}`,
			headers.via && `via: ${headers.via}`,
			headers['content-encoding'] && `compresses answers (${headers['content-encoding']})`,
			headers['set-cookie'] && 'sets cookies',
			origin.startsWith('http:') && 'not encrypted',
			slow &&
				`asks to wait (${slow.status}, Retry-After: ${slow.headers['retry-after'] ?? 'none'})`,
			...new Set(
				redirects.map((each) => {
					const what = isOfCall(each) ? each.path.split('?')[0] : 'files';
					return `redirects ${what} (${each.status})`;
				}),
			),
			`adds ${others.join(', ') || 'no headers'}`,
		],
		isStillThrottled ? RUN_AGAIN : inN8n,
		isStillThrottled ? 'limits' : 'works',
	);
}

function tokenRow({ account, badToken, voices }: Answers): Row {
	const { status } = badToken;
	const reason = readReason(jsonOf(badToken));
	const isSame = textOf(badToken) === textOf(isAbsent(account) ? voices[0]! : account);
	const trouble = troubleOf(badToken);
	const note = isSame
		? 'answers a wrong token like this one'
		: `answers a wrong token with ${trouble ?? `status ${status}${reason ? `: ${reason}` : ''}`}`;
	if (isThrottled(badToken)) return row(TOKEN, 'not tried', [note], RUN_AGAIN);
	const { kind, facts } =
		status >= 300 ? failureOfStatus(status, textOf(badToken)) : failureOfAnswer(jsonOf(badToken));
	// Unless the words are clear, the node believes a 403 only if a read of the account is refused, too.
	const isDoubtful = status !== 401 && isAbsent(account) && meaningOf(facts.reason) !== 'token';
	if (trouble === undefined || kind !== 'tokenRefused' || isDoubtful)
		return row(TOKEN, 'different', [note], 'the node cannot tell that a token is wrong', 'limits');
	return status === 401
		? row(TOKEN, 'there', [], 'the message says that the token is wrong')
		: row(TOKEN, 'different', [note], 'a read of the account shows that the token is wrong');
}

/**
 * Judges a list: its pages, and the first entry that the node can use without limits, otherwise the first entry.
 *
 * @param error the error of the node, if it could not read the list
 * @param ifRead what the node does with the list; `ifLost`: what is lost without it
 */
function listRow(
	part: string,
	[first, second]: Exchange[],
	error: string | undefined,
	[ifRead, ifLost, ifEmpty]: [string, string, string],
	judgeEntry: (entry: Json) => { remarks: Remarks; limit?: string | false },
): Row {
	const trouble = troubleOf(first!);
	const json = jsonOf(first!);
	const isRead = trouble === undefined && readPage(json) !== undefined;
	const [path, list, key] = trouble === undefined ? (listIn(json) ?? []) : [];
	const next = second && jsonOf(second);
	const nextList =
		(trouble !== undefined && second && !troubleOf(second) && listIn(next)?.[1]) || [];
	const entries = list?.filter(isRecord) ?? [];
	const isSame = entries.length > 0 && JSON.stringify(list) === JSON.stringify(listIn(next)?.[1]);
	// Page numbers and totals may be anywhere outside the entries.
	const figures = fieldsIn(json).filter(
		({ path }) => !path.includes('0') && /page|total/i.test(path.at(-1)!),
	);
	const judged = entries.map(judgeEntry);
	const { remarks: entryRemarks = [], limit } =
		judged.find((each) => !each.limit) ?? judged[0] ?? {};
	const differs = entryRemarks.filter(Boolean);
	const remarks = [
		trouble ?? (list ? counted(list.length, 'entry', 'entries') : `no list${foundInstead(json)}`),
		nextList.length > 0 && `the next page has ${counted(nextList.length, 'entry', 'entries')}`,
		list && (path !== '' ? `under \`${path}\`` : key === undefined && 'a bare array'),
		key !== undefined && 'a map by ID',
		list && !isRead && 'where the node does not look',
		entries.length > PAGE_SIZE && 'ignores page_size',
		isSame && 'repeats the first page as the second',
		figures.some(({ value }) => typeof value === 'string') && 'page figures are texts',
		list && figures.length === 0 && path !== '' && 'no total',
		figures.some(
			({ path, value }) => /^page$/i.test(path.at(-1)!) && value === valueAt(next, path),
		) && 'calls the second page like the first',
		...differs,
	];
	const found = foundOf(first!, true);
	if (error !== undefined)
		return row(part, found, remarks, `${ifLost} (${quotedError(error)})`, 'limits');
	if (list && !isRead) return row(part, found, remarks, ifLost, 'limits');
	if (limit) return row(part, found, remarks, limit, 'limits');
	if (trouble !== undefined) return row(part, found, remarks, `the node tries again: ${ifRead}`);
	if (entries.length === 0) return row(part, 'there', remarks, ifEmpty);
	return row(part, differs.length > 0 ? 'different' : 'there', remarks, ifRead);
}

/** A value in JSON, with the keys that lead to it; the key '0' stands for the first entry of a list. */
interface Field {
	path: string[];
	/** The path joined by dots, without the '0' of each list: `data.url`. */
	name: string;
	value: unknown;
}

/** Returns all values in JSON; of a list, only those in its first entry. */
function fieldsIn(value: unknown, path: string[] = []): Field[] {
	const inner = Array.isArray(value) ? [['0', value[0]] as const] : Object.entries(value ?? {});
	if (typeof value !== 'object' || value === null || inner.length === 0)
		return [{ path, name: path.filter((key) => key !== '0').join('.'), value }];
	return inner.flatMap(([key, each]) => fieldsIn(each, [...path, key]));
}
const valueAt = (value: unknown, path: string[]) =>
	path.reduce<unknown>((inner, key) => (inner as Json | undefined)?.[key], value);

const MARKER = 'https://mark.invalid/mark.png';

/**
 * Returns the field of an answer from which a reader of the node takes its result. Tries each field with MARKER as its
 * value, until MARKER is in the result.
 */
const fieldReadBy = (answer: unknown, read: (raw: unknown) => unknown): Field | undefined =>
	fieldsIn(answer).find(({ path }) => {
		if (path.length === 0) return false;
		const copy = structuredClone(answer);
		(valueAt(copy, path.slice(0, -1)) as Json)[path.at(-1)!] = MARKER;
		return JSON.stringify(read(copy))?.includes(MARKER);
	});

/**
 * Returns the end of a remark about something that the node cannot find: the names of the fields that may contain it,
 * or of all fields if `isLikely` finds none.
 */
function foundInstead(answer: unknown, isLikely = (_: Field) => false): string {
	const fields = fieldsIn(answer).filter(({ name }) => name !== '');
	const likely = fields.filter(isLikely);
	const names = [...new Set((likely.length > 0 ? likely : fields).map(({ name }) => name))];
	if (names.length === 0) return ' that the node can read';
	return ` that the node can read; the answer has: ${names.slice(0, 12).join(', ')}${names.length > 12 ? ', …' : ''}`;
}
const looksLikeUrl = ({ value }: Field) =>
	typeof value === 'string' && /^(?:data:|https?:|\/\S)|^\S+\/\S+\.\w{2,4}$/.test(value);
const isIdName = ({ name }: Field) => /id$|uuid|key|ref/i.test(name);

const filesOf = (raw: unknown) => readGeneratedFiles(raw, BASE).map(({ fileUrl }) => fileUrl);
/** Returns a remark if a field has none of the names that the contract gives it. */
const calledOtherwise = (what: string, field: Field | undefined, ...names: string[]) =>
	field && !['', ...names].includes(field.name) && `${what} called \`${field.name}\``;
/** Returns the remarks on the URLs of files in JSON. */
const fileRemarks = (json: unknown): Remarks => [
	filesOf(json).length > 0
		? calledOtherwise('URLs are', fieldReadBy(json, filesOf), 'file_url', 'file_urls')
		: `no file URL${foundInstead(json, looksLikeUrl)}`,
];

const HISTORY = [
	'finds a lost video or image here, and the trigger detects new ones',
	'a video or image whose stream breaks is lost; the trigger detects no videos and images',
	'nothing to read yet',
] as [string, string, string];
const VOICES = [
	'lists the voices to choose from',
	'voices must be entered By ID',
	'voices must be entered By ID: the list is empty',
] as [string, string, string];

function judgeHistoryEntry(entry: Json) {
	const hasFile = filesOf(entry).length > 0;
	const lacks = [
		idOf(entry) === undefined && 'id',
		asText(entry.prompt) === undefined && 'prompt',
		Number.isNaN(asTime(entry.created_at)) && 'created_at',
	].filter((name) => name !== false);
	const isProvable = !lacks.includes('prompt') && !lacks.includes('created_at');
	return {
		remarks: [
			...fileRemarks(entry),
			lacks.length > 0 && `no ${quoted(lacks)}${foundInstead(entry)}`,
		],
		limit: !hasFile ? HISTORY[1] : !isProvable && 'a lost video or image is found by its ID alone',
	};
}

/** Returns the row of the history. If the service counts pages from 0, the node never reads the newest page. */
function historyRow({ history, historyPage0 }: Answers, error: string | undefined): Row {
	const judged = listRow('§4.9 History', history, error, HISTORY, judgeHistoryEntry);
	const entriesOf = (page: Exchange) =>
		(troubleOf(page) === undefined && readPage(jsonOf(page))?.items) || [];
	const [firstRead, before] = [entriesOf(history[0]!), entriesOf(historyPage0)];
	const isNewer = !(asTime(before[0]?.created_at) < asTime(firstRead[0]?.created_at));
	const keyOf = (entry: Json) => idOf(entry) ?? JSON.stringify(entry);
	const known = new Set(firstRead.map(keyOf));
	if (before.length === 0 || !isNewer || before.some((entry) => known.has(keyOf(entry))))
		return judged;
	const differs = `${judged.differs}; page 0 has ${counted(before.length, 'other entry', 'other entries')}`;
	const inN8n = `the newest page is missed: ${HISTORY[1]}`;
	return { ...judged, found: 'different', differs, inN8n, grade: 'limits' };
}

function judgeVoice(entry: Json) {
	const hasId = [entry.voice_id, entry.id].some((id) => asText(id) !== undefined);
	return {
		remarks: [
			entry.voice_id === undefined &&
				(hasId ? 'the ID is called `id`' : `no \`voice_id\`${foundInstead(entry, isIdName)}`),
			isRecord(entry.labels) && 'traits are under `labels`',
		],
		limit: !hasId && VOICES[1],
	};
}

function missingTaskRow(exchange: Exchange, error?: string): Row {
	const { status, broke } = exchange;
	const json = jsonOf(exchange);
	const isKnown = status === 404 && json !== undefined;
	const answer = troubleOf(exchange) ?? textOf(exchange).slice(0, 80);
	// The node decides in the same way if it reads the task again.
	const isRefused = status >= 300 || (isRecord(json) && !readSuccessRecord(json));
	const { transient } = failureOfStatus(status, textOf(exchange)).facts;
	const waits = broke !== undefined || !isRefused || transient === true;
	const late = isThrottled(exchange) ? '' : ': a wrong task ID fails only when the Timeout is over';
	const fails = error ? quotedError(error) : 'a wrong task ID fails at once';
	return row(
		'§4.2 Reading a task',
		isKnown ? 'there' : 'different',
		[`a task that does not exist: ${answer}`],
		waits ? `the node takes this for temporary${late}` : fails,
		waits && !isThrottled(exchange) ? 'limits' : 'works',
	);
}

/** Judges the WebSocket that the check has kept open, and the messages of all WebSockets. */
export function socketRow(exchange: Exchange, exchanges = [exchange]): Row {
	const { status, broke, ended } = exchange;
	const messages = exchanges.flatMap(({ method, pieces }) =>
		method === 'WEBSOCKET' ? pieces : [],
	);
	const part = '§6.2 WebSocket';
	const polls =
		"the node polls every 5 s; the trigger detects speech tasks only if listed in 'Task IDs'";
	if (status !== 101) return row(part, 'not there', [broke], polls, 'limits');
	const isUnread = messages.length > 0 && !messages.some(({ text }) => readNotification(text!));
	const none = isUnread ? ', none about a task in a form that the node reads' : '';
	const traffic =
		messages.length > 0
			? counted(messages.length, 'message', 'messages') + none
			: exchanges.some(({ method, path }) => method === 'POST' && path.endsWith(SPEAK.path))
				? 'silent'
				: 'silent, since nothing is being generated';
	const isClosed = broke?.startsWith('closed');
	const isUseless = isClosed && ended! < 1000;
	const remarks = [
		isClosed ? `${broke} after ${seconds(ended!)}` : 'open for ten seconds',
		traffic,
	];
	const atOnce =
		messages.length > 0 ? 'results come at once' : 'results come at once if it tells of tasks';
	const reopens = isUseless ? polls : 'opens it again, and polls in between';
	const inN8n = isClosed ? reopens : atOnce;
	const unread = 'the node reads none of these messages, and polls unless others come';
	if (!isUnread && !isClosed) return row(part, 'there', remarks, inN8n);
	return row(part, 'different', remarks, isUnread ? unread : inN8n, 'limits');
}

/** Returns the rows for the requests that cost nothing. The outcomes show how the node copes with each answer. */
export function freeRows(answers: Answers, outcomes: Outcome[]): Row[] {
	const isJudged = (name: keyof Answers) =>
		!isThrottled(lastAnswerTo([answers[name]].flat()[0] as Exchange, answers));
	const errorOf = (name: keyof Answers) =>
		outcomes.find(({ operation }) => operation === name && isJudged(name))?.lines.find(isError);
	const account = errorOf('account');
	const fields = Object.keys(readSuccessRecord(jsonOf(answers.account)) ?? {});
	return [
		edgeRow(answers),
		tokenRow(answers),
		row(
			ACCOUNT,
			foundOf(answers.account, account !== undefined),
			[accountTrouble(answers.account) ?? `fields: ${fields.join(', ')}`],
			account ? `${quotedError(account)}; the trigger reads it, too` : 'passes them on',
			account ? 'limits' : 'works',
		),
		listRow('§4.4 Voices', answers.voices, errorOf('voices'), VOICES, judgeVoice),
		historyRow(answers, errorOf('history')),
		missingTaskRow(answers.missing, errorOf('missing')),
		socketRow(answers.socket, answers.exchanges),
	];
}

/** Replaces the event in a line of the trigger by its name in n8n's editor. */
const asInEditor = (line: string) =>
	line.replace(/(?<=^(?:event|error: it does not detect): )\w+$/, (value) => {
		return EVENTS.find((each) => each.value === value)?.name ?? value;
	});

/** Returns a row for each paid operation that was run, for Collect and the trigger, and for all that was not tried. */
export function paidRows(exchanges: Exchange[], outcomes: Outcome[], pay: string[]): Row[] {
	const byNode = exchanges.filter(({ by }) => by === 'node');
	const paid = outcomes.filter(({ operation }) => PAID[operation] && operation !== 'dropped');
	const isGood = ({ lines }: Outcome) => !lines.some(isError);
	// The node counts as not working if no paid operation has succeeded.
	const haveAllFailed = paid.length > 0 && !paid.some(isGood);
	const rows = outcomes
		.filter(({ operation }) => !FREE_OPERATIONS.includes(operation))
		.map(({ operation, lines }): Row => {
			const { part, contractRow } = PAID[operation] ?? {};
			const path = contractRow?.path ?? '';
			const calls = byNode.filter((each) => each.method === 'POST' && each.path.endsWith(path));
			const call = operation === 'dropped' ? calls.at(-1) : calls[0];
			const remarksOf = makesSpeech(operation) ? speechRemarks : streamRemarks;
			const wasNotCut = operation === 'dropped' && call !== undefined && call.broke !== CUT;
			const remarks = path === '' ? [] : call ? remarksOf(call, byNode) : ['never sent'];
			if (wasNotCut) remarks.unshift('the stream could not be cut');
			const shown = lines
				.map(asInEditor)
				.filter((line) => /^(?:error|hint|file|event): /.test(line));
			const isBad = shown.length === 0 || shown.some(isError);
			const isDifferent = remarks.some(
				(text) => text && /called|no name|no stream|the node can/.test(text),
			);
			const isThere = call ? !isNotThere(call) : shown.some((line) => !isError(line));
			const found = !isThere ? 'not there' : isBad || isDifferent ? 'different' : 'there';
			return row(
				part ?? (operation === 'trigger' ? 'The trigger' : 'Collect'),
				wasNotCut ? 'not tried' : found,
				remarks,
				shown
					.map((line) => (/^(?:error|hint)/.test(line) ? firstSentence(line) : line))
					.join('; ') || 'no events',
				!isBad ? 'works' : haveAllFailed && path !== '' ? 'fails' : 'limits',
			);
		});
	const untried = Object.keys(PAID).filter(
		(name) => !outcomes.some((each) => each.operation === name),
	);
	const isVoiceless = pay.some((name) => makesSpeech(name) && untried.includes(name));
	const remarks = [`${untried.join(', ')}: each is charged`, isVoiceless && 'no voice to use'];
	if (untried.length > 0)
		rows.push(row('What is charged', 'not tried', remarks, 'try them with --pay (docs/check.md)'));
	return [
		...rows,
		row('§4.3, 6.3 Delete, callback', 'not tried', [], 'no other operation needs them'),
	];
}

/** Returns the remarks on a speech task: its creation, its reads, and its messages. */
function speechRemarks(create: Exchange, exchanges: Exchange[]): Remarks {
	const answer = jsonOf(create);
	const id = readCreatedTaskId(answer);
	if (id === undefined) return [troubleOf(create) ?? `no ID${foundInstead(answer, isIdName)}`];
	const taskIn = (raw: unknown) => readSpeechTask(raw, { baseUrl: BASE, redact: redactor('') });
	const reads = exchanges
		.filter(
			({ method, path }) => method === 'GET' && path.endsWith(`/task/${encodeURIComponent(id)}`),
		)
		.map((exchange) => ({ exchange, ms: exchange.at - create.at, task: taskIn(jsonOf(exchange)) }));
	const unread = reads
		.filter(({ exchange }) => !isRedirect(exchange) && exchange.broke === undefined)
		.map(({ exchange }) => troubleOf(exchange))
		.find((trouble) => trouble !== undefined);
	const ready = reads.find(({ task }) => task?.audioUrl);
	const done = reads.find(({ task }) => task?.state === 'completed');
	const { exchange, task } = ready ?? done ?? reads.at(-1) ?? {};
	const json = exchange && jsonOf(exchange);
	const url = ready && fieldReadBy(json, (raw) => taskIn(raw)?.audioUrl);
	const messages = exchanges
		.filter(({ method }) => method === 'WEBSOCKET')
		.flatMap(({ at, pieces }) =>
			pieces.map(({ ms, text }) => ({ ms: at + ms - create.at, text: text! })),
		)
		.filter(({ ms }) => ms >= 0)
		.map((message) => ({ ...message, ...readNotification(message.text) }));
	const taskMessages = messages.filter(({ taskId }) => taskId === id);
	const unknown = messages.filter(({ taskId }) => taskId === undefined);
	const other = unknown.find(({ text }) => text.includes(id)) ?? unknown[0];
	return [
		`created in ${seconds(create.pieces.at(-1)?.ms ?? 0)}`,
		calledOtherwise('the ID is', fieldReadBy(answer, readCreatedTaskId), 'task_id'),
		exchange &&
			!task &&
			(troubleOf(exchange) ??
				`no status${foundInstead(json, ({ name }) => /stat|phase|done/i.test(name))}`),
		task && unread && `some reads: ${unread}`,
		task &&
			`status: ${[...new Set(reads.flatMap((read) => read.task?.raw.status ?? []))].join(', ')}`,
		task && !ready && `no audio URL${foundInstead(json, looksLikeUrl)}`,
		ready && `URL after ${seconds(ready.ms)}`,
		/^\/(?!\/)/.test(String(url?.value)) && 'the URL is a path',
		calledOtherwise('audio URLs are', url, 'audio_url'),
		ready &&
			!done &&
			`the end is called \`${ready.task!.raw.status}\`, which the node accepts after some reads`,
		done && ready && done !== ready && `${seconds(ready.ms - done.ms)} after “completed”`,
		taskMessages.length > 0
			? `messages: first after ${seconds(taskMessages[0]!.ms)}, ${taskMessages.map(({ percentage }) => percentage ?? '?').join(', ')} %`
			: other
				? `WebSocket: no message${foundInstead(parseJson(other.text))}`
				: 'no message on the WebSocket',
		ready && (task?.subtitleUrl ? 'with subtitles' : 'no subtitles'),
	];
}

const NAMELESS = 'no name';

/** Returns the events of a stream, with their times in ms since the exchange began. */
function eventsOf({ pieces }: Exchange) {
	const events: Array<{ event: string; json: unknown; ms: number }> = [];
	let ms = 0;
	const parser = createParser({
		onEvent: ({ event = NAMELESS, data }) => {
			events.push({ event, json: parseJson(data) ?? data, ms });
		},
	});
	for (const piece of pieces) {
		ms = piece.ms;
		parser.feed(piece.text!);
	}
	return events;
}

/** Returns a line for each request that may have been charged, because the service did not refuse it: kind and ids. */
export const chargeLines = (exchanges: Exchange[]) =>
	exchanges
		.filter(({ method, status }) => method === 'POST' && !(status >= 300 && status < 500))
		.map((call) => {
			const kind = PAID_OPERATIONS.find(({ path }) => call.path.endsWith(path))?.kind ?? call.path;
			const answers = isStream(call)
				? eventsOf(call).map(({ json }) => json)
				: [
						jsonOf(call) ??
							textOf(call)
								.split('\n')
								.map((line) => parseJson(line)),
					].flat();
			const records = answers.flatMap((json) => [json, ...readGeneratedFiles(json, BASE)].flat());
			const read = records.flatMap((each) => readCreatedTaskId(each) ?? []);
			// If the node finds no task ID, values of fields whose names end in `id` are used.
			const named = answers
				.flatMap((json) => (isRecord(json) && !readSuccessRecord(json) ? [] : fieldsIn(json)))
				.filter(({ name }) => /id$/i.test(name));
			const ids = read.length > 0 ? read : named.flatMap(({ value }) => asId(value) ?? []);
			const hasFile = answers.some((json) => filesOf(json).length > 0);
			const trouble = isStream(call) ? !hasFile && call.broke : troubleOf(call);
			return `${kind}: ${[...new Set(ids)].join(', ') || 'no ID was sent'}${trouble ? ` (${trouble})` : ''}`;
		});

/** Returns the remarks on the answer to a request for videos or images. */
function streamRemarks(call: Exchange): Remarks {
	const after = seconds(call.pieces.at(-1)?.ms ?? 0);
	if (!isStream(call)) {
		const trouble = troubleOf(call)?.replace(' in place of JSON', '');
		const remarks = trouble === undefined ? fileRemarks(jsonOf(call)) : [];
		return [`no stream, but ${trouble ?? `JSON, after ${after}`}`, ...remarks];
	}
	const events = eventsOf(call);
	const eventTexts = events.map(({ event, json, ms }) => {
		const word = isRecord(json) ? (json.status ?? json.state) : json;
		const wordText =
			typeof word === 'string' && /^[\p{L}\p{N}_ -]{1,40}$/u.test(word) ? ` ${word}` : '';
		return `${event}${wordText} after ${seconds(ms)}`;
	});
	const ending = events.findLast(({ json }) => filesOf(json).length > 0);
	const isKnown = Object.values(TERMINAL_EVENTS).some((name) => name.test(ending?.event ?? ''));
	const { json: ended } = ending ?? events.at(-1) ?? {};
	const isFailed = TERMINAL_EVENTS.failed.test(events.at(-1)?.event ?? '');
	return [
		`events: ${eventTexts.join(', ') || 'none'}`,
		ending &&
			!isKnown &&
			(ending.event === NAMELESS ? 'the end has no name' : `the end is called \`${ending.event}\``),
		...(call.broke && !ending ? [`then ${call.broke}`] : isFailed ? [] : fileRemarks(ended)),
	];
}
