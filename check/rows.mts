/* Judges the service's answers: one row of the report for each part of the interface. */
import { createParser } from 'eventsource-parser';
import type { Asked } from './ask.mts';
import {
	FREE_OPERATIONS,
	isError,
	isGood,
	makesSpeech,
	PAGE_SIZE,
	PAID,
	TIMED_OUT,
	type Run,
} from './operations.mts';
import type { Row } from './report.mts';
import { CUT, ENDED_BY_NODE, isStream, seconds, textOf, type Exchange } from './wire.mts';
import { shared } from './shared.mts';

type Json = Record<string, unknown>;

const TOKEN = '§5 The token';
const ACCOUNT = '§4.10 Account';
const BASE = 'http://service.invalid';
const jsonOf = (exchange: Exchange): unknown => shared.parseJson(textOf(exchange));
const quoted = (names: string[]) => names.map((name) => `\`${name}\``).join(', ');
const counted = (count: number, one: string, more: string) =>
	`${count} ${count === 1 ? one : more}`;
/** Returns the first sentence of a line of an outcome, without the task or item that it is about. */
const firstSentence = (line: string) =>
	line
		.replace(/^\w+: | (?:every|after) N \w+/g, '')
		.replace(/ – task.*| [[(]item \d+[\])].*|(?<=\w{3})\. .*/s, '');

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
	if (status === 0 && broke === ENDED_BY_NODE)
		return `no answer within ${seconds(exchange.ended!)}`;
	if (broke !== undefined) return `no answer: ${broke}`;
	if (isRedirect(exchange)) return `a redirect (${status}) to ${headers.location}`;
	const json = jsonOf(exchange);
	const reason = shared.readReason(json);
	const reasonText = reason === undefined ? '' : `: ${reason}`;
	const text = textOf(exchange);
	const page = /^\s*<\?xml/.test(text) ? 'XML' : 'a web page';
	const plain = /\}\s*\n\s*\{/.test(text) ? 'lines of JSON' : 'text';
	const other = shared.looksLikeHtml(text)
		? page
		: text !== ''
			? plain
			: bytes > 0
				? 'a file'
				: 'no body';
	const kind = json !== undefined ? 'JSON' : other;
	const isOk = status === 200 || (json !== undefined && status > 200 && status < 300);
	if (!isOk) return `HTTP ${status} with ${kind}${reasonText}`;
	if (json === undefined) return `${kind} in place of JSON`;
	return shared.isRecord(json) && !shared.readSuccessRecord(json)
		? `status ${status} with an error${reasonText}`
		: undefined;
}

/** True if there was no answer, or if its status says that the service does not offer the call. */
export const isNotThere = ({ status }: Exchange) => [0, 404, 405, 501].includes(status);
/** True if the service asks to wait. Such an answer tells nothing about the call. */
const isThrottled = ({ status }: Exchange) => [429, 503].includes(status);
const foundOf = (exchange: Exchange, differs: boolean): Row['found'] =>
	isNotThere(exchange) ? 'not there' : differs ? 'different' : 'there';

/** Stands for the answer to a request that the node has not sent in time, because the service has asked it to wait. */
const NOT_SENT: Exchange = {
	...{ by: 'node', at: 0, origin: '', method: 'GET', path: '', status: 429, http: '', headers: {} },
	...{ pieces: [], bytes: 0, broke: 'the service has asked the node to wait' },
};
/** Returns the answer to a free operation: the first that the node can read, otherwise the last. */
function answerIn({ operation, calls }: Run): Exchange {
	// After a refusal, the node also reads the account.
	const own = calls.filter(
		({ path }) => operation === 'account' || !path.includes(shared.ACCOUNT_PATH),
	);
	return own.find((call) => troubleOf(call) === undefined) ?? own.at(-1) ?? NOT_SENT;
}
const errorIn = ({ lines }: Run) => lines.find(isError);

/** Returns what an error means, as a quotation unless the error is the check's own. */
function quotedError(line: string, answer?: Exchange): string {
	if (answer && isThrottled(answer)) return 'the check was throttled: run it again in a minute';
	return line === TIMED_OUT ? firstSentence(line) : `n8n says “${firstSentence(line)}”`;
}

const accountTrouble = (account: Exchange) =>
	troubleOf(account) ?? (shared.readSuccessRecord(jsonOf(account)) ? undefined : 'no record');

/** Returns the rows that say why the check cannot go on after the first operations; none if it can. */
export function blockedRows([account, voices]: Run[], exchanges: Exchange[]): Row[] {
	const { status } = answerIn(account!);
	// An account may be unusual. Then a readable list of voices proves that this is the service.
	const mayBeUnusual =
		(status >= 200 && status < 401) || (isNotThere(answerIn(account!)) && status > 0);
	const isProven = voices ? isGood(voices) : mayBeUnusual;
	if (isGood(account!) || isProven) return [];
	const isRefused = (run?: Run) => run && [401, 403].includes(answerIn(run).status);
	const refused = [account, voices].find(isRefused);
	const run = refused ?? account!;
	const isOfService = jsonOf(answerIn(run)) !== undefined && status === 200;
	const field = refused ? 'API Token' : isOfService ? 'Base URL and the API Token' : 'Base URL';
	const advice = isThrottled(answerIn(run)) ? '' : `: check the ${field}`;
	const inN8n = `${quotedError(errorIn(run)!, answerIn(run))}${advice}`;
	const remarks = [accountTrouble(answerIn(run))];
	const found = foundOf(answerIn(run), true);
	const fails = row(refused ? TOKEN : ACCOUNT, found, remarks, inN8n, 'fails');
	return status === 0 ? [fails] : [edgeRow(exchanges, false), fails];
}

/** Matches headers that any server sends, and those that `edgeRow` reports in words. */
const ORDINARY_HEADERS =
	/^(?:content-.*|date|connection|keep-alive|transfer-encoding|cache-control|pragma|expires|etag|vary|server|via|set-cookie|location|retry-after|accept-ranges|age|last-modified|access-control-.*)$/;

export function edgeRow(exchanges: Exchange[], offersHttp2: boolean): Row {
	const byNode = exchanges.filter(({ by, method }) => by === 'node' && method !== 'WEBSOCKET');
	const { headers, http, origin } = byNode[0]!;
	const slow = byNode.find(isThrottled);
	const redirects = byNode.filter(isRedirect);
	const isOfCall = ({ path }: Exchange) => path.includes('/v1/');
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
		redirects.some(isOfCall)
			? 'follows redirects of reads only: if a create call is redirected, nothing is generated'
			: 'nothing: the node speaks HTTP/1.1',
	);
}

/** Judges what the node does with a wrong token; `right` is what it does with the right one. */
function tokenRow(wrong: Run, right: Run): Row {
	const answer = wrong.calls[0] ?? NOT_SENT;
	const [error, trouble] = [errorIn(wrong), troubleOf(answer)];
	const reason = shared.readReason(jsonOf(answer));
	const reasonText = reason === undefined ? '' : `: ${reason}`;
	const note = `answers a wrong token with ${trouble ?? `status ${answer.status}${reasonText}`}`;
	const last = wrong.calls.at(-1) ?? NOT_SENT;
	if (isThrottled(last)) return row(TOKEN, 'not tried', [note], quotedError('', last));
	const untold = 'the node cannot tell that a token is wrong';
	if (error === undefined)
		return wrong.lines.join() === right.lines.join()
			? row(
					TOKEN,
					'different',
					['accepts a wrong token'],
					"nothing: n8n's test of the credential succeeds with any token",
				)
			: row(TOKEN, 'different', [note], untold, 'limits');
	if (/token/i.test(error)) {
		const told = 'the message says that the token is wrong';
		return answer.status === 401
			? row(TOKEN, 'there', [], told)
			: row(TOKEN, 'different', [note], told);
	}
	const isQuoted = reason !== undefined && error.includes(reason);
	const inN8n = isQuoted ? quotedError(error, answer) : `${untold} (${quotedError(error, answer)})`;
	return row(TOKEN, 'different', [note], inN8n, isQuoted ? 'works' : 'limits');
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

const filesOf = (raw: unknown) =>
	shared.readGeneratedFiles(raw, BASE).map(({ fileUrl }) => fileUrl);
/** Returns a remark if a field has none of the names that the contract gives it. */
const calledOtherwise = (what: string, field: Field | undefined, ...names: string[]) =>
	field && !['', ...names].includes(field.name) && `${what} called \`${field.name}\``;
/** Returns the remarks on the URLs of files in JSON. */
const fileRemarks = (json: unknown): Remarks => [
	filesOf(json).length > 0
		? calledOtherwise('URLs are', fieldReadBy(json, filesOf), 'file_url', 'file_urls')
		: `no file URL${foundInstead(json, looksLikeUrl)}`,
];

/** Returns the lists in an answer that are at most three keys deep, each with the keys that lead to it. */
function listsIn(value: unknown, path = ''): Array<[path: string, list: unknown[]]> {
	if (Array.isArray(value))
		return value.length === 0 || value.some(shared.isRecord) ? [[path, value]] : [];
	if (!shared.isRecord(value) || path.split('.').length > 2) return [];
	return Object.entries(value).flatMap(([key, inner]) =>
		listsIn(inner, path ? `${path}.${key}` : key),
	);
}

/** Returns the list of an answer: the one that the node reads, otherwise the longest; undefined if there is none. */
function listIn(answer: unknown) {
	const lists = listsIn(answer).sort(([, a], [, b]) => b.length - a.length);
	const first = shared.readPage(answer)?.items[0];
	return lists.find(([, list]) => first !== undefined && list.includes(first)) ?? lists[0];
}

/** Returns the entries on a page; none if the node cannot read the page. */
const entriesOn = (page?: Exchange) =>
	(page && troubleOf(page) === undefined && shared.readPage(jsonOf(page))?.items) || [];

/** Returns the id of a voice that the node can use, also if its list has another name or place; undefined if none. */
export function voiceIn(runs: Run[]): string | undefined {
	const run = runs.find(({ operation }) => operation === 'voices');
	const voice = run && listIn(jsonOf(answerIn(run)))?.[1].find(shared.isRecord);
	// A user can enter a voice by ID, and would recognize the ID under another name.
	const names = Object.keys(voice ?? {}).filter((name) => /^(?:voice[_-]?)?id$/i.test(name));
	return shared.asId(voice?.voice_id) ?? shared.asId(voice?.[names[0] ?? '']);
}

interface ListKind {
	part: string;
	/** What the node does with the list. */
	ifRead: string;
	/** What is lost without the list. */
	ifLost: string;
	ifEmpty: string;
	judgeEntry: (entry: Json) => { remarks: Remarks; limit?: string | false };
}

const VOICES: ListKind = {
	part: '§4.4 Voices',
	ifRead: 'lists the voices to choose from',
	ifLost: 'voices must be entered By ID',
	ifEmpty: 'voices must be entered By ID: the list is empty',
	judgeEntry(entry) {
		const hasId = [entry.voice_id, entry.id].some((id) => shared.asText(id) !== undefined);
		return {
			remarks: [
				entry.voice_id === undefined &&
					(hasId ? 'the ID is called `id`' : `no \`voice_id\`${foundInstead(entry, isIdName)}`),
				shared.isRecord(entry.labels) && 'traits are under `labels`',
			],
			limit: !hasId && VOICES.ifLost,
		};
	},
};

const HISTORY: ListKind = {
	part: '§4.9 History',
	ifRead: 'finds a lost video or image here, and the trigger detects new ones',
	ifLost: 'a video or image whose stream breaks is lost; the trigger detects no videos and images',
	ifEmpty: 'nothing to read yet',
	judgeEntry(entry) {
		const lacks = [
			shared.idOf(entry) === undefined && 'id',
			shared.asText(entry.prompt) === undefined && 'prompt',
			Number.isNaN(shared.asTime(entry.created_at)) && 'created_at',
		].filter((name) => name !== false);
		const isProvable = !lacks.includes('prompt') && !lacks.includes('created_at');
		return {
			remarks: [
				...fileRemarks(entry),
				lacks.length > 0 && `no ${quoted(lacks)}${foundInstead(entry)}`,
			],
			limit:
				filesOf(entry).length === 0
					? HISTORY.ifLost
					: !isProvable && 'a lost video or image is found by its ID alone',
		};
	},
};

/**
 * Judges a list: its pages, and the first entry that the node can use without limits, otherwise the first entry.
 *
 * @param next its second page
 * @param before the page before the one that the contract calls the first; the node never reads it
 */
function listRow(
	{ part, ifRead, ifLost, ifEmpty, judgeEntry }: ListKind,
	run: Run,
	next?: Exchange,
	before?: Exchange,
): Row {
	const [first, error] = [answerIn(run), errorIn(run)];
	const trouble = troubleOf(first);
	const json = jsonOf(first);
	const [path, list] = (trouble === undefined && listIn(json)) || [];
	const entries = list?.filter(shared.isRecord) ?? [];
	const isRead = shared.readPage(json) !== undefined;
	const isSame =
		entries.length > 0 &&
		next &&
		JSON.stringify(list) === JSON.stringify(listIn(jsonOf(next))?.[1]);
	const keyOf = (entry: Json) => shared.idOf(entry) ?? JSON.stringify(entry);
	const known = entries.map(keyOf);
	const unseen = entriesOn(before);
	const isOlder = shared.asTime(unseen[0]?.created_at) < shared.asTime(entries[0]?.created_at);
	const isMissed =
		unseen.length > 0 && !isOlder && !unseen.some((entry) => known.includes(keyOf(entry)));
	const judged = entries.map(judgeEntry);
	const ofEntry = judged.find((each) => !each.limit) ?? judged[0];
	const differs = ofEntry?.remarks.filter(Boolean) ?? [];
	const remarks = [
		trouble ?? (list ? counted(list.length, 'entry', 'entries') : `no list${foundInstead(json)}`),
		trouble !== undefined && entriesOn(next).length > 0 && 'the next page can be read',
		list && (path === '' ? 'a bare array' : `under \`${path}\``),
		list && !isRead && 'where the node does not look',
		entries.length > PAGE_SIZE && 'ignores page_size',
		isSame && 'repeats the first page as the second',
		isMissed && 'page 0 has other entries',
		...differs,
	];
	const limit =
		(error !== undefined && `${ifLost} (${quotedError(error, first)})`) ||
		(list && !isRead && ifLost) ||
		(isMissed && `the newest page is missed: ${ifLost}`) ||
		ofEntry?.limit;
	if (limit) return row(part, foundOf(first, true), remarks, limit, 'limits');
	if (entries.length === 0) return row(part, 'there', remarks, ifEmpty);
	return row(part, differs.length > 0 ? 'different' : 'there', remarks, ifRead);
}

function missingTaskRow(run: Run): Row {
	const [answer, error] = [answerIn(run), errorIn(run)];
	const isKnown = answer.status === 404 && jsonOf(answer) !== undefined;
	return row(
		'§4.2 Reading a task',
		isKnown ? 'there' : 'different',
		[`a task that does not exist: ${troubleOf(answer) ?? textOf(answer).slice(0, 80)}`],
		error ? quotedError(error, answer) : 'the node takes it for a task',
		isKnown || (error !== undefined && error !== TIMED_OUT) ? 'works' : 'limits',
	);
}

/** Judges the WebSocket that the check has kept open, and the messages of all WebSockets. */
export function socketRow(exchange: Exchange, exchanges = [exchange]): Row {
	const { status, broke, ended } = exchange;
	const part = '§6.2 WebSocket';
	const polls =
		"the node polls every 5 s; the trigger detects speech tasks only if listed in 'Task IDs'";
	if (status !== 101) return row(part, 'not there', [broke], polls, 'limits');
	const messages = exchanges.flatMap(({ method, pieces }) =>
		method === 'WEBSOCKET' ? pieces : [],
	);
	const isSpoken = exchanges.some(
		({ method, path }) => method === 'POST' && path.endsWith(shared.SPEAK.path),
	);
	const isRead = messages.some(({ text }) => shared.readNotification(text!));
	const isClosed = broke?.startsWith('closed');
	const remarks = [
		isClosed ? `${broke} after ${seconds(ended!)}` : 'open for ten seconds',
		messages.length > 0
			? counted(messages.length, 'message', 'messages')
			: `silent${isSpoken ? '' : ', since nothing is being generated'}`,
		messages.length > 0 && !isRead && 'none about a task in a form that the node reads',
	];
	const limit =
		(messages.length > 0 &&
			!isRead &&
			'the node reads none of these messages, and polls unless others come') ||
		(isClosed && (ended! < 1000 ? polls : 'opens it again, and polls in between'));
	if (limit) return row(part, 'different', remarks, limit, 'limits');
	const inN8n = `results come at once${isRead ? '' : ' if it tells of tasks'}`;
	return row(part, 'there', remarks, inN8n);
}

/** Returns the rows for the requests that cost nothing. `runs` begins with the node's free operations. */
export function freeRows(
	runs: Run[],
	{ nextVoices, nextHistory, historyPage0, wrongToken, socket, offersHttp2 }: Asked,
	exchanges: Exchange[],
): Row[] {
	const [account, voices, history, missing] = runs;
	const [answer, error] = [answerIn(account!), errorIn(account!)];
	const fields = Object.keys(shared.readSuccessRecord(jsonOf(answer)) ?? {});
	return [
		edgeRow(exchanges, offersHttp2),
		tokenRow(
			wrongToken,
			runs.find(({ operation }) => operation === wrongToken.operation)!,
		),
		row(
			ACCOUNT,
			foundOf(answer, error !== undefined),
			[accountTrouble(answer) ?? `fields: ${fields.join(', ')}`],
			error ? `${quotedError(error, answer)}; the trigger reads it, too` : 'passes them on',
			error ? 'limits' : 'works',
		),
		listRow(VOICES, voices!, nextVoices),
		listRow(HISTORY, history!, nextHistory, historyPage0),
		missingTaskRow(missing!),
		socketRow(socket, exchanges),
	];
}

/** Replaces the event in a line of the trigger by its name in n8n's editor. */
const asInEditor = (line: string) =>
	line.replace(/(?<=^(?:event|error: it does not detect): )\w+$/, (value) => {
		return shared.EVENTS.find((each) => each.value === value)?.name ?? value;
	});

/** Returns a row for each paid operation that was run, for Collect and the trigger, and for all that was not tried. */
export function paidRows(runs: Run[], exchanges: Exchange[], pay: string[]): Row[] {
	const paid = runs.filter(({ operation }) => PAID[operation] && operation !== 'dropped');
	// The node counts as not working if no paid operation has succeeded.
	const haveAllFailed = paid.length > 0 && !paid.some(isGood);
	const rows = runs
		.filter(({ operation }) => !FREE_OPERATIONS.includes(operation))
		.map(({ operation, lines, calls }): Row => {
			const { part, contractRow } = PAID[operation] ?? {};
			const path = contractRow?.path ?? '';
			const call = calls.find((each) => each.method === 'POST' && each.path.endsWith(path));
			const wasNotCut = operation === 'dropped' && call !== undefined && call.broke !== CUT;
			const made = () =>
				makesSpeech(operation) ? speechRemarks(call!, calls, exchanges) : streamRemarks(call!);
			const remarks = path === '' ? [] : call ? made() : ['never sent'];
			if (wasNotCut) remarks.unshift('the stream could not be cut');
			const shown = lines
				.map(asInEditor)
				.filter((line) => /^(?:error|hint|file|event): /.test(line));
			const isBad = shown.length === 0 || shown.some(isError);
			const isDifferent = remarks.some(
				(text) => text && /called|no name|no stream|the node can/.test(text),
			);
			const isGone = call ? isNotThere(call) : path !== '';
			const found = isGone ? 'not there' : isBad || isDifferent ? 'different' : 'there';
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
	const untried = Object.keys(PAID).filter((name) => !runs.some((each) => each.operation === name));
	const isVoiceless = pay.some((name) => makesSpeech(name) && untried.includes(name));
	const remarks = [`${untried.join(', ')}: each is charged`, isVoiceless && 'no voice to use'];
	if (untried.length > 0)
		rows.push(row('What is charged', 'not tried', remarks, 'try them with --pay (docs/check.md)'));
	return [
		...rows,
		row('§4.3, 6.3 Delete, callback', 'not tried', [], 'no other operation needs them'),
	];
}

/** Returns the remarks on a speech task: its creation, its reads among `calls`, and its messages. */
function speechRemarks(create: Exchange, calls: Exchange[], exchanges: Exchange[]): Remarks {
	const answer = jsonOf(create);
	const id = shared.readCreatedTaskId(answer);
	if (id === undefined) return [troubleOf(create) ?? `no ID${foundInstead(answer, isIdName)}`];
	const taskIn = (raw: unknown) =>
		shared.readSpeechTask(raw, { baseUrl: BASE, redact: shared.redactor('') });
	const reads = calls
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
			pieces.map((piece) => ({ ...piece, ms: at + piece.ms - create.at })),
		)
		.filter(({ ms }) => ms >= 0)
		.map((message) => ({ ...message, ...shared.readNotification(message.text!) }));
	const taskMessages = messages.filter(({ taskId }) => taskId === id);
	const unknown = messages.filter(({ taskId }) => taskId === undefined);
	const other = unknown.find(({ text }) => text!.includes(id)) ?? unknown[0];
	return [
		`created in ${seconds(create.pieces.at(-1)?.ms ?? 0)}`,
		calledOtherwise('the ID is', fieldReadBy(answer, shared.readCreatedTaskId), 'task_id'),
		exchange &&
			!task &&
			(troubleOf(exchange) ??
				`no status${foundInstead(json, ({ name }) => /stat|phase|done/i.test(name))}`),
		task && unread && `some reads: ${unread}`,
		task &&
			`status: ${[...new Set(reads.flatMap((read) => read.task?.raw.status ?? []))].join(', ')}`,
		task && !ready && `no audio URL${foundInstead(json, looksLikeUrl)}`,
		ready && `URL after ${seconds(ready.ms)}`,
		calledOtherwise('audio URLs are', url, 'audio_url'),
		ready &&
			!done &&
			`the end is called \`${ready.task!.raw.status}\`, which the node accepts after some reads`,
		taskMessages.length > 0
			? `messages: first after ${seconds(taskMessages[0]!.ms)}, ${taskMessages.map(({ percentage }) => percentage ?? '?').join(', ')} %`
			: other
				? `WebSocket: no message${foundInstead(shared.parseJson(other.text!))}`
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
			events.push({ event, json: shared.parseJson(data) ?? data, ms });
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
			const kind =
				shared.PAID_OPERATIONS.find(({ path }) => call.path.endsWith(path))?.kind ?? call.path;
			const json = jsonOf(call);
			const isErrorAnswer = shared.isRecord(json) && !shared.readSuccessRecord(json);
			const fields = [...textOf(call).matchAll(/"([\w-]*id)"\s*:\s*"?([^",}\s]+)/gi)];
			// If there is no field with the usual name, any whose name ends in `id` is used.
			const usual = fields.filter(([, name]) => /^(?:task_?)?id$/i.test(name!));
			const ids = (usual.length > 0 ? usual : fields).map(([, , id]) => id);
			const isDone = isStream(call) && eventsOf(call).some(({ json }) => filesOf(json).length > 0);
			const trouble = isDone ? undefined : isStream(call) ? call.broke : troubleOf(call);
			const known = isErrorAnswer ? '' : [...new Set(ids)].join(', ');
			return `${kind}: ${known || 'no ID was sent'}${trouble ? ` (${trouble})` : ''}`;
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
		const word = shared.isRecord(json) ? (json.status ?? json.state) : json;
		const wordText =
			typeof word === 'string' && /^[\p{L}\p{N}_ -]{1,40}$/u.test(word) ? ` ${word}` : '';
		return `${event}${wordText} after ${seconds(ms)}`;
	});
	const ending = events.findLast(({ json }) => filesOf(json).length > 0);
	const isKnown = Object.values(shared.TERMINAL_EVENTS).some((name) =>
		name.test(ending?.event ?? ''),
	);
	const { json: ended } = ending ?? events.at(-1) ?? {};
	const isFailed = shared.TERMINAL_EVENTS.failed.test(events.at(-1)?.event ?? '');
	return [
		`events: ${eventTexts.join(', ') || 'none'}`,
		ending &&
			!isKnown &&
			(ending.event === NAMELESS ? 'the end has no name' : `the end is called \`${ending.event}\``),
		...(call.broke && !ending ? [`then ${call.broke}`] : isFailed ? [] : fileRemarks(ended)),
	];
}
