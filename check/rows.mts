/* What the service's answers are like, in words: a row for each part of the interface. */
import { createParser } from 'eventsource-parser';
import { listIn, PAGE, type Asked } from './ask.mts';
import { FREE, LATE, PAID } from './operations.mts';
import type { Outcome } from './recording.mts';
import type { Row } from './report.mts';
import { isStream, textOf, type Exchange } from './wire.mts';
import {
	TERMINAL_EVENTS,
	isRecord,
	looksLikeHtml,
	parseJson,
	readCreatedTaskId,
	readFileUrl,
	readGeneratedFiles,
	readNotification,
	readPage,
	readReason,
	readRecord,
	readSpeechTask,
	redactor,
} from './reading.mts';

type Json = Record<string, unknown>;

const BASE = 'http://service.invalid';
const jsonOf = (exchange: Exchange): unknown => parseJson(textOf(exchange));
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const quoted = (names: string[]) => names.map((name) => `\`${name}\``).join(', ');
const isError = (line: string) => line.startsWith('error: ');
/** The first sentence of what the node says, without where. */
const shortly = (line: string) =>
	line.replace(/^\w+: /, '').replace(/ – task.*| [[(]item \d+[\])].*|(?<=\w{3})\. .*/s, '');

/** What does not hold is left out. */
type Said = Array<string | false | undefined>;

const row = (
	part: string,
	found: Row['found'],
	said: Said,
	inN8n: string,
	grade: Row['grade'] = 'works',
): Row => ({ part, found, differs: said.filter(Boolean).join('; '), inN8n, grade });

/** What stands in the place of an answer, in words; undefined if it is JSON with status 200. */
function troubleOf(exchange: Exchange): string | undefined {
	const { status, broke, headers } = exchange;
	if (broke !== undefined) return `no answer: ${broke}`;
	if (status >= 300 && status < 400) return `redirects (${status}) to ${headers.location}`;
	const json = jsonOf(exchange);
	const reason = readReason(json);
	const said = reason === undefined ? '' : `: ${reason}`;
	const isPage = looksLikeHtml(textOf(exchange));
	const kind = json !== undefined ? 'JSON' : isPage ? 'a web page' : 'no JSON';
	if (status < 200 || status > 299) return `HTTP ${status} with ${kind}${said}`;
	if (json === undefined) return `${kind} in place of JSON`;
	return isRecord(json) && !readRecord(json) ? `status ${status} with an error${said}` : undefined;
}

/** Why nothing else can be asked: the address is wrong, or the token. */
export function blockedRows({ account }: Asked, baseUrl: string): Row[] {
	const isJson = jsonOf(account) !== undefined;
	const trouble = troubleOf(account) ?? (readRecord(jsonOf(account)) ? undefined : 'no record');
	if (trouble === undefined) return [];
	const { status } = account;
	if (status === 401 || status === 403) {
		const advice = isJson ? 'enter a valid API Token' : 'something in front of the service refuses';
		return [row('§5 The token', 'different', [`refused: ${trouble}`], advice, 'fails')];
	}
	const address = `check the Base URL, ${baseUrl}`;
	const advice =
		status >= 500 || status === 429 ? 'the service is not available: try again later' : address;
	const found = status === 404 || status === 0 ? 'not there' : 'different';
	return [row('§4.10 Account', found, [trouble], advice, 'fails')];
}

/** Headers that any server sends, or that are told otherwise. */
const USUAL =
	/^(?:content-.*|date|connection|keep-alive|transfer-encoding|cache-control|pragma|expires|etag|vary|server|via|set-cookie|location|accept-ranges|age|last-modified|access-control-.*)$/;

export function edgeRow({ account, protocol, exchanges }: Asked): Row {
	const { headers, http, origin } = account;
	const redirects = exchanges.filter(({ headers: { location } }) => location !== undefined);
	return row(
		'The server and its edge',
		'there',
		[
			`HTTP/${http}`,
			protocol === 'h2' && 'offers HTTP/2',
			headers.server && `server: ${headers.server}`,
			headers.via && `via: ${headers.via}`,
			headers['content-encoding'] && `compresses answers (${headers['content-encoding']})`,
			headers['set-cookie'] && 'sets cookies',
			origin.startsWith('http:') && 'not encrypted',
			...new Set(
				redirects.map(({ path, status }) => `redirects ${path.split('?')[0]} (${status})`),
			),
			`adds ${
				Object.keys(headers)
					.filter((name) => !USUAL.test(name))
					.join(', ') || 'no headers'
			}`,
		],
		'nothing: the node speaks HTTP/1.1',
	);
}

function tokenRow({ wrong }: Asked): Row {
	const part = '§5 The token';
	const trouble = troubleOf(wrong);
	const isTold = (wrong.status === 401 || wrong.status === 403) && jsonOf(wrong) !== undefined;
	if (isTold && wrong.status === 401) return row(part, 'there', [], 'the node names a wrong token');
	const said = trouble ? `answers a wrong token with ${trouble}` : 'accepts a wrong token';
	return isTold
		? row(part, 'different', [said], 'nothing: the node reads 401 and 403')
		: row(part, 'different', [said], 'the node cannot name a wrong token', 'limits');
}

/** A list: how its pages are, then what is said of its first entry. */
function listRow(
	part: string,
	[first, second]: Exchange[],
	error: string | undefined,
	[reads, lost, empty]: [reads: string, lost: string, empty: string],
	entrySays: (entry: Json) => Said,
): Row {
	const trouble = troubleOf(first!);
	const json = jsonOf(first!);
	const page = trouble === undefined ? readPage(json) : undefined;
	const [path, list] = trouble === undefined ? (listIn(json) ?? []) : [];
	const other = jsonOf(second!);
	const entries = list?.filter(isRecord) ?? [];
	const isSame = entries.length > 0 && JSON.stringify(list) === JSON.stringify(listIn(other)?.[1]);
	const figures = Object.entries(isRecord(json) ? json : {}).filter(([key]) =>
		/page|total/.test(key),
	);
	const said = [
		trouble ?? (list ? `${list.length} entries` : 'no list in the answer'),
		list && (path === '' ? 'a bare array' : `under \`${path}\``),
		entries.length > PAGE && 'ignores page_size',
		isSame && 'repeats the first page as the second',
		figures.some(([, value]) => typeof value === 'string') && 'page figures are texts',
		list && figures.length === 0 && path !== '' && 'no total',
		isRecord(other) &&
			figures.some(([key, value]) => key === 'page' && value === other.page) &&
			'calls the second page like the first',
	];
	const entry = entries[0] ? entrySays(entries[0]).filter(Boolean) : [];
	if (error !== undefined || (list && !page)) {
		const found = first!.status === 404 ? 'not there' : 'different';
		return row(part, found, [...said, ...entry], `${lost}. ${shortly(error ?? '')}`, 'limits');
	}
	return entries.length > 0
		? row(part, entry.length > 0 ? 'different' : 'there', [...said, ...entry], reads)
		: row(part, 'there', said, empty);
}

/** The fields of a record in which the node reads a file's address. */
function addressesIn(record: Json): string[] {
	const names = ['audio_url', 'file_url', 'file_urls', 'result', 'url'];
	return names.filter((name) => readFileUrl(record[name], BASE) !== undefined);
}

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

function historyEntry(entry: Json): Said {
	const names = addressesIn(entry);
	const lacks = ['id', 'prompt', 'created_at'].filter((name) => entry[name] === undefined);
	return [
		names.length === 0 && 'an entry has no address',
		names[0] !== 'file_url' && names[0] && `addresses are called ${quoted(names)}`,
		lacks.length > 0 && `entries have no ${quoted(lacks)}`,
	];
}

function voiceEntry(entry: Json): Said {
	const keys = Object.keys(entry);
	return [
		entry.voice_id === undefined && `no \`voice_id\`, but ${quoted(keys)}`,
		isRecord(entry.labels) && 'traits are under `labels`',
	];
}

function missingRow(exchange: Exchange, error = 'no error'): Row {
	const isKnown = exchange.status === 404 && jsonOf(exchange) !== undefined;
	const said = troubleOf(exchange) ?? textOf(exchange).slice(0, 80);
	const isSoon = error !== 'no error' && error !== LATE;
	return row(
		'§4.2 Reading a task',
		isKnown ? 'there' : 'different',
		[`a task that does not exist: ${said}`],
		isSoon ? shortly(error) : `waits for a wrong task ID until its Timeout (${shortly(error)})`,
		isSoon ? 'works' : 'limits',
	);
}

function socketRow({ status, broke, pieces }: Exchange): Row {
	const part = '§6.2 WebSocket';
	const heard = pieces.length > 0 ? `${pieces.length} messages` : 'silent, as nothing is made';
	if (status !== 101)
		return row(part, 'not there', [broke], 'results come by polling, every 5 s', 'limits');
	if (broke?.startsWith('closed'))
		return row(part, 'different', [broke, heard], 'opens it again, and polls in between', 'limits');
	return row(part, 'there', [`open for ten seconds; ${heard}`], 'results come at once');
}

/** The parts that cost nothing. What the node makes of each, the node has said. */
export function freeRows(asked: Asked, outcomes: Outcome[]): Row[] {
	const errorOf = (name: string) =>
		outcomes.find(({ operation }) => operation === name)?.lines.find(isError);
	const account = errorOf('account');
	const fields = Object.keys(jsonOf(asked.account) as Json);
	return [
		edgeRow(asked),
		tokenRow(asked),
		row(
			'§4.10 Account',
			account ? 'different' : 'there',
			[`fields: ${fields.join(', ')}`],
			account ? shortly(account) : 'passes them on',
			account ? 'limits' : 'works',
		),
		listRow('§4.4 Voices', asked.voices, errorOf('voices'), VOICES, voiceEntry),
		listRow('§4.9 History', asked.history, errorOf('history'), HISTORY, historyEntry),
		missingRow(asked.missing, errorOf('missing')),
		socketRow(asked.socket),
	];
}

/** One row for each operation that costs, tried or not, and for what Collect and the trigger made of it. */
export function paidRows(exchanges: Exchange[], outcomes: Outcome[], pay: string[]): Row[] {
	const ofNode = exchanges.filter(({ by }) => by === 'node');
	const rows = outcomes
		.filter(({ operation }) => !FREE.includes(operation))
		.map(({ operation, lines }): Row => {
			const { part = operation === 'trigger' ? 'The trigger' : 'Collect', path = '' } =
				PAID[operation] ?? {};
			const calls = ofNode.filter((each) => each.method === 'POST' && each.path.endsWith(path));
			const call = operation === 'dropped' ? calls.at(-1) : calls[0];
			const saidOf = operation === 'speech' ? saidOfSpeech : saidOfStream;
			const said = path === '' ? [] : call ? saidOf(call, ofNode) : ['never sent'];
			const shown = lines.filter((line) => /^(?:error|hint|file|event): /.test(line));
			const isBad = shown.length === 0 || shown.some(isError);
			const isDifferent = said.some(
				(text) => text && /called|no stream|that the node reads/.test(text),
			);
			return row(
				part,
				isBad ? 'not there' : isDifferent ? 'different' : 'there',
				said,
				shown.map((line) => (/^(?:error|hint)/.test(line) ? shortly(line) : line)).join('; ') ||
					'nothing was heard',
				isBad ? 'limits' : 'works',
			);
		});
	const left = Object.keys(PAID).filter(
		(name) => !outcomes.some((each) => each.operation === name),
	);
	const isVoiceless = pay.includes('speech') && left.includes('speech');
	const said = [`${left.join(', ')}: each is charged`, isVoiceless && 'no voice to speak with'];
	if (left.length > 0)
		rows.push(row('§4.1, 4.5–4.8, 6.1', 'not tried', said, 'try them with --pay (docs/check.md)'));
	return [
		...rows,
		row('§4.3, 6.3 Delete, callback', 'not tried', [], 'no other operation needs them'),
	];
}

function saidOfSpeech(create: Exchange, exchanges: Exchange[]): Said {
	const answer = jsonOf(create);
	const id = readCreatedTaskId(answer);
	if (id === undefined)
		return [
			`no ID that the node reads in ${troubleOf(create) ?? quoted(Object.keys((answer ?? {}) as Json))}`,
		];
	const record = (isRecord(answer) && isRecord(answer.data) ? answer.data : answer) as Json;
	const idName = Object.keys(record).find((key) => String(record[key]) === id);
	const reads = exchanges
		.filter(
			({ method, path }) => method === 'GET' && path.endsWith(`/task/${encodeURIComponent(id)}`),
		)
		.flatMap((exchange) => {
			const task = readSpeechTask(jsonOf(exchange), { baseUrl: BASE, redact: redactor('') });
			return task ? [{ at: exchange.at - create.at, task }] : [];
		});
	const ready = reads.find(({ task }) => task.audioUrl !== undefined);
	const done = reads.find(({ task }) => task.state === 'completed');
	const raw = (ready ?? reads.at(-1))?.task.raw ?? {};
	const name = addressesIn(raw)[0];
	const value = name === undefined ? undefined : raw[name];
	const messages = exchanges
		.filter(({ method }) => method === 'WEBSOCKET')
		.flatMap(({ at, pieces }) =>
			pieces.map(({ ms, text }) => ({ at: at + ms - create.at, ...readNotification(text!) })),
		)
		.filter(({ taskId }) => taskId === id);
	return [
		`created in ${seconds(create.pieces.at(-1)?.ms ?? 0)}`,
		idName !== 'task_id' && `the ID is called \`${idName}\``,
		`status: ${[...new Set(reads.map(({ task }) => task.raw.status))].join(', ')}`,
		ready ? `address after ${seconds(ready.at)}` : 'no address that the node reads',
		typeof value === 'object' && 'the address is within an object',
		/^\/(?!\/)/.test(String(value)) ? 'the address is a path' : '',
		name !== 'audio_url' && name && `audio addresses are called \`${name}\``,
		done && ready && done !== ready && `${seconds(ready.at - done.at)} after “completed”`,
		messages.length > 0
			? `messages: first after ${seconds(messages[0]!.at)}, ${messages.map(({ percentage }) => percentage ?? '?').join(', ')} %`
			: 'no message on the WebSocket',
		reads.some(({ task }) => task.subtitleUrl) ? 'with subtitles' : 'no subtitles',
	];
}

function saidOfStream(call: Exchange): Said {
	const after = seconds(call.pieces.at(-1)?.ms ?? 0);
	if (!isStream(call)) return [`no stream, but ${troubleOf(call) ?? 'JSON'}, after ${after}`];
	const events: string[] = [];
	let ending = '';
	let ms = 0;
	const parser = createParser({
		onEvent: ({ event = 'no name', data }) => {
			const json = parseJson(data) ?? data;
			const word = isRecord(json) ? (json.status ?? json.state) : json;
			events.push(
				`${event}${typeof word === 'string' && /^[\w ]{1,40}$/.test(word) ? ` ${word}` : ''} after ${seconds(ms)}`,
			);
			if (readGeneratedFiles(json, BASE).length > 0) ending = event;
		},
	});
	for (const piece of call.pieces) {
		ms = piece.ms;
		parser.feed(piece.text!);
	}
	const isKnown = Object.values(TERMINAL_EVENTS).some((name) => name.test(ending));
	return [
		`events: ${events.join(', ') || 'none'}`,
		!isKnown &&
			!call.broke &&
			(ending ? `the end is called \`${ending}\`` : 'no event with a file that the node reads'),
		call.broke && `then ${call.broke}`,
	];
}
