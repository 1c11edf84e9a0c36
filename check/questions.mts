/* The questions that cost nothing, in plain requests, and how the answers differ from the contract. */
import { connect } from 'node:tls';
import { MISSING_TASK } from './recording.mts';
import type { Row } from './report.mts';
import { textOf, type Exchange, type Wire } from './wire.mts';

export interface Service {
	baseUrl: string;
	webSocketUrl: string;
	token: string;
}

type Json = Record<string, unknown>;

/** The row of a task that does not exist. */
export const MISSING_PART = '§4.2 Reading a task';
const PAGE = 20;
const SOCKET_MS = 10_000;

const jsonOf = (exchange: Exchange): unknown => {
	try {
		return JSON.parse(textOf(exchange));
	} catch {
		return undefined;
	}
};
const isRecord = (value: unknown): value is Json =>
	typeof value === 'object' && value !== null && !Array.isArray(value);
const list = (words: string[]) => words.filter(Boolean).join('; ');

/** What stands in the place of an answer, in words; undefined if it is JSON with status 200. */
function troubleOf(exchange: Exchange): string | undefined {
	const { status, broke, headers } = exchange;
	if (broke !== undefined) return `no answer: ${broke}`;
	if (status >= 300 && status < 400) return `a redirect (${status}) to ${headers.location}`;
	const json = jsonOf(exchange);
	const said = isRecord(json) ? (json.error ?? json.message ?? json.detail) : undefined;
	const reason = said ? `: ${typeof said === 'string' ? said : JSON.stringify(said)}` : '';
	const kind =
		json !== undefined ? 'JSON' : /^\s*</.test(textOf(exchange)) ? 'a web page' : 'no JSON';
	if (status !== 200) return `HTTP ${status} with ${kind}${reason}`;
	if (json === undefined) return `${kind} in place of JSON`;
	return isRecord(json) && json.error ? `status 200 with an error${reason}` : undefined;
}

const row = (
	part: string,
	found: Row['found'],
	differs: string,
	inN8n: string,
	grade: Row['grade'] = 'works',
): Row => ({
	...{ part, found, differs, inN8n, grade },
});

/** Asks everything that costs nothing; `say` hears how far it is. Also gives a voice to speak with. */
export async function askAll(
	wire: Wire,
	service: Service,
	say: (what: string) => void,
): Promise<{ rows: Row[]; voice?: string }> {
	const { baseUrl, token } = service;
	const get = async (path: string, bearer = token) =>
		await wire.ask(baseUrl + path, {
			authorization: `Bearer ${bearer}`,
			accept: 'application/json',
		});
	const socket = wire.listen(
		`${service.webSocketUrl}/ws?token=${encodeURIComponent(token)}`,
		SOCKET_MS,
	);
	say('the account');
	const account = await get('/v1/video/me');
	const wrong = await get('/v1/video/me', 'a-token-that-nobody-has');
	const first =
		account.status === 0 ? [] : [await edgeRow(account, service), tokenRow(account, wrong)];
	const known = accountRow(account, baseUrl);
	// Behind a wrong address or with a wrong token, the rest would say nothing.
	const tokenFails = first.some(({ grade }) => grade === 'fails');
	if (tokenFails || known.grade === 'fails') {
		await socket;
		return { rows: tokenFails ? first : [...first.slice(0, 1), known] };
	}
	say('the voices');
	const voices = [
		await get(`/v1/labs/voices?page=0&page_size=${PAGE}`),
		await get(`/v1/labs/voices?page=1&page_size=${PAGE}`),
	];
	say('the history');
	const pages = [
		await get(`/v1/video/histories?page=1&page_size=${PAGE}`),
		await get(`/v1/video/histories?page=2&page_size=${PAGE}`),
	];
	say('a task that does not exist');
	const missing = await get(`/v1/labs/task/${MISSING_TASK}`);
	say('the WebSocket, for ten seconds');
	const heard = await socket;
	const entry = entriesOf(voices[0]!, 'voices')?.find(isRecord);
	const rows = [
		...first,
		known,
		voicesRow(voices),
		historyRow(pages),
		missingRow(missing),
		socketRow(heard),
	];
	return { rows, voice: entry?.voice_id === undefined ? undefined : String(entry.voice_id) };
}

/** The protocol that the server would rather speak, over TLS. */
async function protocolOf(origin: string): Promise<string> {
	const { protocol, hostname, port } = new URL(origin);
	if (protocol !== 'https:') return '';
	return await new Promise((resolve) => {
		const options = { host: hostname, port: Number(port || 443), servername: hostname };
		const socket = connect({ ...options, ALPNProtocols: ['h2', 'http/1.1'], timeout: 5000 }, () => {
			resolve(socket.alpnProtocol === 'h2' ? 'offers HTTP/2' : '');
			socket.destroy();
		});
		socket.on('error', () => resolve(''));
		socket.on('timeout', () => socket.destroy(new Error('late')));
	});
}

async function edgeRow({ headers, http, origin }: Exchange, { baseUrl }: Service): Promise<Row> {
	const root = await protocolOf(origin);
	const said = [
		`HTTP/${http}`,
		root,
		headers.server ? `server: ${headers.server}` : '',
		headers.via ? `via: ${headers.via}` : '',
		headers['content-encoding'] ? `answers compressed (${headers['content-encoding']})` : '',
		headers['set-cookie'] ? 'sets cookies' : '',
		baseUrl.startsWith('http:') ? 'not encrypted' : '',
	];
	return row('The server and its edge', 'there', list(said), 'nothing: the node speaks HTTP/1.1');
}

function tokenRow(account: Exchange, wrong: Exchange): Row {
	const part = '§5 The token';
	const isJson = jsonOf(wrong) !== undefined;
	if (account.status === 401 || account.status === 403) {
		const trouble = troubleOf(account)!;
		const isKey = jsonOf(account) !== undefined;
		return row(
			part,
			'different',
			`refused: ${trouble}`,
			isKey ? 'enter a valid API Token' : 'an edge refuses, not the service',
			'fails',
		);
	}
	if (wrong.status === 401 && isJson)
		return row(part, 'there', '', 'a wrong token is told as such');
	if (troubleOf(wrong) === undefined) {
		return row(
			part,
			'different',
			'a wrong token reads the account, too',
			'the test of the credential cannot tell a wrong token',
			'limits',
		);
	}
	const trouble = troubleOf(wrong)!;
	const inN8n =
		wrong.status === 403 && isJson
			? 'nothing: the node knows 403, too'
			: 'a wrong token is not told as such';
	return row(
		part,
		'different',
		`a wrong token is answered by ${trouble}`,
		inN8n,
		wrong.status === 403 && isJson ? 'works' : 'limits',
	);
}

function accountRow(exchange: Exchange, baseUrl: string): Row {
	const part = '§4.10 Account';
	const json = jsonOf(exchange);
	const trouble = troubleOf(exchange) ?? (isRecord(json) ? undefined : 'no record');
	if (trouble === undefined) {
		return row(
			part,
			'there',
			`fields: ${Object.keys(json as Json).join(', ')}`,
			'passed on as they are',
		);
	}
	const found = exchange.status === 404 || exchange.status === 0 ? 'not there' : 'different';
	const isAway = exchange.status >= 500 || exchange.status === 429;
	const address = `check the Base URL, ${baseUrl}`;
	const advice = isAway
		? 'the service is not available: try again later'
		: exchange.status === 0
			? address
			: `this is not the service: ${address}`;
	return row(part, found, trouble, advice, 'fails');
}

/** The entries of a page, bare or under a name; undefined if there are none to be found. */
function entriesOf(exchange: Exchange, key: string): unknown[] | undefined {
	const json = jsonOf(exchange);
	if (Array.isArray(json)) return json;
	if (!isRecord(json)) return undefined;
	return [json[key], json.data, json.items, json.results].find(Array.isArray);
}

/** How a list's pages are, in words. */
function pagesOf([first, second]: Exchange[], key: string): string[] {
	const [one = [], two = []] = [entriesOf(first!, key), entriesOf(second!, key)];
	const json = jsonOf(first!);
	const figures = isRecord(json)
		? Object.entries(json).filter(([name]) => /page|total/.test(name))
		: [];
	const isSame = one.length > 0 && JSON.stringify(one) === JSON.stringify(two);
	const echoed = isRecord(jsonOf(second!)) ? (jsonOf(second!) as Json).page : undefined;
	return [
		`${one.length} entries`,
		Array.isArray(json)
			? 'a bare array'
			: `under \`${Object.keys(json as Json).find((name) => Array.isArray((json as Json)[name]))}\``,
		one.length > PAGE ? 'page_size is not heeded' : '',
		isSame ? 'the second page is the first again' : '',
		figures.some(([, value]) => typeof value === 'string') ? 'page figures are texts' : '',
		echoed !== undefined && !isSame && key === 'data' && Number(echoed) !== 2
			? `page 2 calls itself ${echoed}`
			: '',
	];
}

function voicesRow(pages: Exchange[]): Row {
	const part = '§4.4 Voices';
	const trouble = troubleOf(pages[0]!);
	const entries = entriesOf(pages[0]!, 'voices');
	const byHand = 'voices must be entered By ID';
	if (trouble !== undefined)
		return row(
			part,
			pages[0]!.status === 404 ? 'not there' : 'different',
			trouble,
			byHand,
			'limits',
		);
	if (!entries) return row(part, 'different', 'no list of voices in the answer', byHand, 'limits');
	const voice = entries.find(isRecord);
	if (!voice) return row(part, 'there', 'the list is empty', byHand, 'limits');
	if (voice.voice_id === undefined) {
		return row(
			part,
			'different',
			`no \`voice_id\`: ${Object.keys(voice).join(', ')}`,
			byHand,
			'limits',
		);
	}
	const isNested = isRecord(voice.labels);
	return row(
		part,
		'there',
		list([...pagesOf(pages, 'voices'), isNested ? 'traits under `labels`' : '']),
		'nothing: the node reads both',
	);
}

function historyRow(pages: Exchange[]): Row {
	const part = '§4.9 History';
	const trouble = troubleOf(pages[0]!);
	const entries = entriesOf(pages[0]!, 'data');
	const lost =
		'a video or image whose stream breaks is not found again; no events “Video or Image Created”';
	if (trouble !== undefined)
		return row(part, pages[0]!.status === 404 ? 'not there' : 'different', trouble, lost, 'limits');
	if (!entries) return row(part, 'different', 'no list in the answer', lost, 'limits');
	const entry = entries.find(isRecord);
	const said = pagesOf(pages, 'data');
	if (!entry)
		return row(part, 'there', list([...said, 'nothing to look at yet']), 'nothing to say yet');
	const names = Object.keys(entry);
	const lacks = ['id', 'prompt', 'created_at'].filter((name) => entry[name] === undefined);
	const address = names.find((name) => /^(?:file_urls?|url|result)$/.test(name));
	const differs = [
		...said,
		address === 'file_url' || !address ? '' : `addresses are called \`${address}\``,
		address ? '' : 'an entry without an address',
		lacks.length > 0 ? `entries have no ${lacks.map((name) => `\`${name}\``).join(', ')}` : '',
	];
	if (lacks.length > 0)
		return row(
			part,
			'different',
			list(differs),
			'a result whose stream breaks may not be told from others',
			'limits',
		);
	return row(
		part,
		address === 'file_url' || !address ? 'there' : 'different',
		list(differs),
		'nothing: the node reads both',
	);
}

/** What it means to a workflow, the node itself tells afterwards. */
function missingRow(exchange: Exchange): Row {
	const isKnown = exchange.status === 404 && jsonOf(exchange) !== undefined;
	const said = troubleOf(exchange) ?? textOf(exchange).slice(0, 80);
	return row(
		MISSING_PART,
		isKnown ? 'there' : 'different',
		`a task that does not exist: ${said}`,
		'',
	);
}

function socketRow({ status, broke, pieces }: Exchange): Row {
	const part = '§6.2 WebSocket';
	const polls = 'results come by polling, every 5 s';
	if (status !== 101) return row(part, 'not there', broke ?? 'no answer', polls, 'limits');
	const said =
		pieces.length > 0
			? `${pieces.length} messages meanwhile`
			: 'silent meanwhile, as nothing is made';
	if (broke === 'never closed')
		return row(
			part,
			'different',
			list([said, 'a close is not answered']),
			'nothing: the node does not wait for it',
		);
	if (broke !== undefined)
		return row(
			part,
			'different',
			list([broke, said]),
			'opened again and again; results come by polling in between',
			'limits',
		);
	return row(part, 'there', `open for ten seconds; ${said}`, 'results come at once');
}
