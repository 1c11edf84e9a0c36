import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { check } from '../../check/check.mts';
import { PAID, type Run } from '../../check/operations.mts';
import { toJson, type Recording } from '../../check/recording.mts';
import { replay } from '../../check/replay.mts';
import { gradeOf, verdictOf } from '../../check/report.mts';
import { blockedRow, chargeLines, edgeRow, paidRows, socketRow } from '../../check/rows.mts';
import type { Exchange } from '../../check/wire.mts';
import { loadPackage, removeEngineFolder } from '../../demo/engine.mts';
import { PAID_OPERATIONS } from '../../nodes/shared/contract';
import { canary, findToken } from '../faults/canary.mts';
import { FakeService, type Handler } from '../service/fakeService.mts';
import { exchangeOf, SECRET, SECRETS } from './exchange';

/* `npm run check`: what it says of services. */

beforeAll(async () => void (await loadPackage()));
afterAll(() => removeEngineFolder());

const main = join(__dirname, '../../check/main.mts');
const TOKEN = 'a-token-of-mine';

test('each operation that is charged can be tried with --pay, and docs/check.md names it', () => {
	const tried = Object.values(PAID).map(({ contractRow }) => contractRow.path);
	expect(PAID_OPERATIONS.map(({ path }) => path).filter((path) => !tried.includes(path))).toEqual(
		[],
	);
	const page = readFileSync('docs/check.md', 'utf8');
	const [, pay = ''] = /--pay ([\w,]+)/.exec(page) ?? [];
	expect(pay.split(',').sort()).toEqual(Object.keys(PAID).sort());
});

test.each([
	['media', "'Base URL' must be a complete URL, such as https://media.example.com.\n"],
	['http://acme.example', / the network\. On a network that you trust, add --allow-http\.\n$/],
])('a wrong address is refused: %s', (address, said) => {
	const env = { ...process.env, MEDIA_GENERATION_TOKEN: TOKEN };
	const { status, stderr } = spawnSync(process.execPath, [main, '--base-url', address], { env });
	expect([status, String(stderr)]).toEqual([3, expect.stringMatching(said)]);
});

interface Stranger {
	token?: string;
	pay?: string[];
	/** In front of each path. */
	folders?: string;
	say?: (what: string) => void;
}

async function ask(handle: Handler, stranger: Stranger = {}) {
	const { token = TOKEN, pay = [], folders = '', say = () => {} } = stranger;
	const service = await FakeService.start(handle);
	const baseUrl = service.url + folders;
	const webSocketUrl = baseUrl.replace('http', 'ws');
	const checked = await check({ baseUrl, apiToken: token, webSocketUrl }, pay, say);
	await service.stop();
	const { rows } = checked;
	const text = rows.map((row) => Object.values(row).join(' | ')).join('\n');
	return { ...checked, grade: gradeOf(rows), text };
}

/** Answers by the end of the path; an empty account and history, and nothing of a task, unless named. */
const answering =
	(named: Record<string, unknown>): Handler =>
	({ url = '', headers }, response) => {
		if (!headers.authorization?.endsWith(TOKEN))
			return response.writeHead(401).end('{"error":"invalid_token"}');
		const bodies = { '/me': {}, '/histories': [], ...named };
		const found = Object.entries(bodies).find(([end]) => url.split('?')[0]!.endsWith(end));
		response.writeHead(found ? 200 : 404).end(JSON.stringify(found?.[1] ?? {}));
	};

/** Answers a wrong token with a status and a body, and otherwise as `handle` does. */
const refusing =
	(status: number, body: string, handle: Handler): Handler =>
	(request, response) =>
		request.headers.authorization?.endsWith(TOKEN)
			? handle(request, response)
			: response.writeHead(status).end(body);

/**
 * Answers with 50 history entries in pages, of which the first has the number `first`. Each entry was made `step` seconds
 * after the one before it.
 */
const historyFrom =
	(first: number, step = -60): Handler =>
	(request, response) => {
		const entries = Array.from({ length: 50 }, (_, id) => ({
			...{ id, prompt: 'A kite', file_url: `/${id}.mp4`, created_at: 1_780_000_000 + step * id },
		}));
		const start = 20 * (Number(/[?&]page=(\d+)/.exec(request.url!)?.[1]) - first);
		const page = entries.slice(Math.max(0, start), Math.max(0, start) + 20);
		answering({ '/histories': page })(request, response);
	};
const made = { id: 1, prompt: 'A kite', created_at: '2026-01-02T03:04:05', file_url: '/x.mp4' };

type Row = [service: string, handle: Handler, grade: 'limits' | 'fails', ...said: RegExp[]];

describe('a stranger checks', () => {
	test.concurrent.each<Row>([
		[
			'a dead port',
			(request) => request.socket.resetAndDestroy(),
			'fails',
			/^[^\n]*Account \| not there \| no answer: ECONNRESET \| .* did not respond.*Base URL/,
		],
		[
			'a web server that is not the service',
			(_, response) => response.end('<html>Hello</html>'),
			'fails',
			/^[^\n]*Account \| different \| HTTP 200 with a web page or XML \| .*: check the Base URL/,
		],
		[
			'with a wrong token, which the service repeats',
			({ headers: { authorization } }, response) =>
				response
					.writeHead(401)
					// The row shows 500 characters, which end within the token.
					.end(`{"error":"no: ${authorization} ${btoa(TOKEN)}${` ${TOKEN}`.repeat(40)}"}`),
			'fails',
			/Account \| .* HTTP 401 with JSON: no: Bearer(?: \*{5})+ \| .*API Token/,
		],
		[
			'one that accepts any token, and counts its history from 1',
			refusing(200, '{}', historyFrom(1)),
			'limits',
			/created_at \| finds a lost video/,
			/The token \| different \| a wrong token is accepted: HTTP 200 \| a mistyped .* works/,
		],
		[
			'one that refuses a wrong token in its own words, and counts its history from 0',
			refusing(200, '{"success":false,"message":"Jeton invalide"}', historyFrom(0)),
			'limits',
			/History \| different .*another page has newer entries \| the newest entries are missed/,
			/with an error: (word-\d word-\d) \| n8n says “.*: \1” \| works/,
		],
		[
			'one that refuses a wrong token in a way that nobody knows',
			refusing(200, '{"code":"A0301","message":"Hello"}', answering({ '/me': { credits: 5 } })),
			'limits',
			/a wrong token is not refused: HTTP 200, fields: code, message \| n8n takes this for .* any token \| limits/,
		],
		[
			'one whose edge refuses a wrong token, and whose history begins with the oldest',
			refusing(403, '<html>Accès refusé</html>', historyFrom(1, 60)),
			'limits',
			/History \| different .*another page has newer entries \| the newest entries are missed/,
			/The token \| different \| a wrong token: HTTP 403 with a web page or XML \| n8n says/,
		],
		[
			'one with a list for an account',
			answering({ '/me': [{ credits: 5 }], '/voices': { data: [{ voice_id: 7 }], total: 1 } }),
			'limits',
			/Account \| different \| fields: credits; .* \| nothing is known of the account/,
			/Voices \| there \| entries: 1; fields: data.voice_id, total \|/,
			/not there \| HTTP 401 with no JSON \| the node polls every 5 s; the trigger detects speech tasks only/,
		],
		[
			'one that has only speech',
			(request, response) =>
				request.url!.startsWith('/v1/video')
					? response.writeHead(404).end('<html>Not found</html>')
					: answering({ '/voices': [{ id: 7 }] })(request, response),
			'limits',
			/The token \| there \| a wrong token: HTTP 401/,
			/Voices \| different \| .*; the ID is called `id` \| lists the voices/,
			/History \| not there \| .* \| a video or image whose stream breaks is lost/,
		],
		[
			'one whose newest video has failed',
			answering({ '/histories': [{ ...made, id: 2, file_url: null }, made] }),
			'limits',
			/History \| there \| entries: 2; [^|]*; times have no zone: .* \| finds a lost/,
		],
		[
			'one whose history tells neither IDs nor times, and has its files elsewhere',
			answering({ '/histories': [{ prompt: 'x', data: { images: [{ url: '/x' }] } }] }),
			'limits',
			/file URL is called `data.images.url`; no ID that .*; no created_at that .* \| .*ID alone/,
		],
	])('%s', async (_, handle, grade, ...said) => {
		const checked = await ask(handle);
		for (const each of said) expect(checked.text).toMatch(each);
		expect(checked.text).not.toContain('a-token');
		expect(checked.grade).toBe(grade);
		expect(await replay(checked.recording)).toEqual([]);
	});

	test.concurrent('a service in a dialect that nobody knows', async () => {
		const token = canary();
		const id = '7700000000000000123';
		const mp3 = `ID3${'\0'.repeat(97)}`;
		const { rows, text, recording } = await ask(
			(request, response) => {
				const [path = '', query = ''] = request.url!.slice('/tenant/acme'.length).split('?');
				const send = (status: number, body: object | string, headers = {}) => {
					const packed = gzipSync(typeof body === 'string' ? body : JSON.stringify(body));
					const edge = {
						via: '1.1 edge.acme.example',
						'x-user': 'anna',
						'content-encoding': 'gzip',
					};
					response.writeHead(status, { ...edge, ...headers }).end(packed);
				};
				if (request.url!.startsWith('/dl/'))
					return response.writeHead(200, { 'content-type': 'text/plain' }).end(mp3);
				if (!request.headers.authorization?.endsWith(token))
					return send(403, {
						code: 'AUTH',
						hint: `Anna Bell sent ${request.headers.authorization}`,
					});
				const task = `{"id":${id},"status":"COMPLETED","owner":"Anna Bell"`;
				if (path === '/v1/video/me') return send(200, { ...SECRETS, apiKey: token });
				if (path === '/v1/labs/voices')
					return send(200, { results: [{ voice_id: 12, ...SECRETS }] });
				if (path === '/v1/video/histories' && !query.includes('acct'))
					return send(307, '', { location: `${request.url!}&acct=user-47110815` });
				if (path === '/v1/video/histories')
					return send(200, { data: { items: [SECRETS], totalCount: 1 } });
				if (request.method === 'POST') return send(201, `{"id":${id}}`);
				if (path.endsWith(id))
					return send(200, `${task},"result":{"href":"/dl/anna.wav?sig=s3cr3t"}}`);
				return send(404, '<html><h1>Sorry, Anna Bell</h1></html>', { 'content-type': 'text/html' });
			},
			{ token, pay: ['speech'], folders: '/tenant/acme' },
		);
		expect(text).toMatch(/via; x-user; content-encoding: gzip; redirects \(307\)/);
		expect(text).toMatch(/The token \| different \| a wrong token: HTTP 403 with JSON: AUTH/);
		expect(text).toMatch(/Voices \| different \| fields: results.voice_id, .*entered By ID/);
		expect(text).toMatch(/History \| different \| .*; not where the node looks \| .* is lost/);
		expect(text).toMatch(/a task that does not exist: HTTP 404 with a web page/);
		expect(text).toMatch(/status: COMPLETED; URL after .*called `id`; .*called `result.href`/);
		expect(text).toMatch(/file: audio\/mpeg, 100 bytes/);
		expect(verdictOf(rows)).toMatch(
			/^It works with limits: §4.4 Voices: .*By ID.*; §6.2 WebSocket: /,
		);
		const kept = toJson(recording, token);
		expect(findToken(token, { kept })).toBeUndefined();
		expect(SECRET.exec(kept + text)).toBeNull();
		expect(await replay(recording)).toEqual([]);
	});

	test.concurrent('one that refuses each second request', async () => {
		let count = 0;
		const { grade, text } = await ask((request, response) => {
			if (count++ % 2 === 0) return response.writeHead(429).end('{"error":"too many requests"}');
			answering({ '/voices': [{ voice_id: 7 }], '/histories': [made] })(request, response);
		});
		expect(text).toMatch(/The token \| there \| a wrong token: HTTP 401/);
		expect(text).toMatch(/Reading a task \| there \| a task that does not exist: HTTP 404/);
		expect(text.match(/entries: \d|passes the fields on/g)).toHaveLength(3);
		expect(grade).toBe('limits');
	});

	test.concurrent('one that hangs but for its history, which is empty', async () => {
		const began = performance.now();
		const { text, recording } = await ask(({ url }, response) => {
			if (url!.startsWith('/v1/video/histories')) response.writeHead(204).end();
		});
		expect(performance.now() - began).toBeLessThan(60_000);
		expect(text).toMatch(
			/Account \| not there \| no answer within \d+\.\d s \| .* may refuse to publish the trigger/,
		);
		expect(text).toMatch(/Voices \| not there \| no answer within .* By ID \(still trying/);
		expect(text).toMatch(/History \| there \| entries: 0 \| nothing to read yet/);
		expect(await replay(recording)).toEqual([]);
	});

	test.concurrent('one that refuses all that is charged, for a minute only', async () => {
		const read = answering({ '/voices': [{ voice_id: 7 }] });
		const { text, charged } = await ask(
			(request, response) =>
				request.method === 'GET' ? read(request, response) : response.writeHead(429).end('{}'),
			{ pay: ['speech', 'image'] },
		);
		expect(text).toMatch(
			/Speech \| different \| HTTP 429 with JSON; no result \| the service accepted nothing for 60 s, so/,
		);
		expect(text).toMatch(/What is charged \| not tried \| image, /);
		expect(charged).toEqual([]);
	});

	test.concurrent('what was made is recorded and named by a check that fails', async () => {
		const error = new Error('failing');
		const answer = answering({
			...{ '/voices': { list: [{ 'voice-id': 'anna' }] }, '/task': { task_id: 'task-77' } },
			'/task-77': { status: 'error', error: 'quota' },
		});
		const say = (what: string) => {
			if (what === 'the node: image') throw error;
		};
		const paid = { pay: ['speech', 'image'], say };
		const { charged, text, recording, failure } = await ask(answer, paid);
		expect(failure).toBe(error);
		expect(charged).toEqual(['speech: task-77']);
		expect(text).toMatch(/Speech \| different \| created in .* \| .*quota/);
		expect(text).toMatch(/not tried \| (?:\w+, )*image, /);
		expect(JSON.stringify(recording).match(/"POST"/g)).toHaveLength(1);
		expect(await replay(recording)).toEqual([]);
	});
});

/** Removes the recording that a command has made, as it says, and returns it. */
function takeRecording(said: string): Recording {
	const file = join(__dirname, '../..', /Recorded in (\S+)/.exec(said)![1]!);
	const text = readFileSync(file, 'utf8');
	rmSync(file);
	return JSON.parse(text) as Recording;
}

test.concurrent(
	'a service that only a proxy reaches is checked, also without encryption',
	async () => {
		const proxy = await FakeService.start(answering({}));
		const proxies = { http_proxy: proxy.url, no_proxy: '', NO_PROXY: '' };
		const env = { ...process.env, ...proxies, MEDIA_GENERATION_TOKEN: 'wrong-token' };
		const args = [main, '--allow-http', '--base-url', 'http://acme.example'];
		const said = await textOf(spawn(process.execPath, args, { env }).stdout);
		await proxy.stop();
		expect(said).toMatch(/HTTP 401[^]*“Authorization/);
		takeRecording(said);
	},
);

test.concurrent('what may have been charged is named and recorded after Ctrl+C', async () => {
	const child = spawn(process.execPath, [main, '--pay', 'image']);
	const ended = once(child, 'close');
	const output = textOf(child.stdout);
	await new Promise<void>((resolve) => {
		child.stderr.on('data', (part) => String(part).includes('node: image') && resolve());
	});
	// The image takes longer.
	await pause(1000);
	child.kill('SIGINT');
	expect(await ended).toEqual([3, null]);
	const said = await output;
	expect(said).toMatch(/What may have been charged:\n {2}image: /);
	const { runs, others } = takeRecording(said);
	expect(runs.map(({ operation }) => operation)).not.toContain('image');
	expect(others.map(({ method }) => method)).toContain('POST');
});

test('what was made is named by whatever may be its id', () => {
	const create = (path: string, text: string, more = {}) => exchangeOf('POST', path, text, more);
	const exchanges = [
		create(
			'/v1/labs/task',
			'{"requestId":"Bell","data":{"taskId":90071992547409937,"user_id":"anna","owner-ID":1}}',
		),
		create('/v1/video/create-image', 'data: {"clipId":"clip_77aa1","at":1795741461577}\n\n'),
		create('/v1/video/text-to-video', '', { status: 0, broke: 'ECONNRESET' }),
		create('/v1/video/create-image', '{"error":"Server busy"}', { status: 502 }),
		create('/v1/labs/task', '', { status: 408 }),
		create('/v1/labs/task', '{"error":"Too many requests"}', { status: 503 }),
		create('/v1/labs/task', '{"error":"Insufficient credits"}', { status: 500 }),
		create('/v1/labs/task', '', { status: 402 }),
		create('/v1/labs/task', '{"error":"Daily quota exceeded"}'),
		create('/v1/video/create-image', '{"errors":[{"id":"error-7","title":"No"}]}'),
		create('/v1/labs/task', '{"code":500,"msg":"Server busy"}'),
		create('/v1/labs/task', '{"Id":"{3F2504E0-4F89}"}'),
		create('/v1/labs/task', JSON.stringify({ answer: '{"task_id":"t-1","id":77}' })),
	];
	expect(chargeLines([{ operation: 'any', lines: [], exchanges }])).toEqual([
		'speech: 90071992547409937',
		'image: clip_77aa1',
		'video: no ID was sent',
		'image: no ID was sent',
		'speech: no ID was sent',
		'speech: no ID was sent',
		'speech: {3F2504E0-4F89}',
		'speech: t-1, 77',
	]);
});

test('of an edge, equal answers are one remark, and no cookie or address is shown', () => {
	const more = { etag: '-'.repeat(61), 'x-user': 'anna@acme.example', server: 'acme' };
	const headers = { location: '/', 'set-cookie': ['sid=77'], ...more };
	const answers = [302, 302, 403, 502, 502].map((status) =>
		exchangeOf('GET', '/v1/video/me', '<html></html>', { status, headers }),
	);
	const { differs, inN8n } = edgeRow([{ operation: 'any', lines: [], exchanges: answers }]);
	expect(differs).toBe(
		'HTTP/1.1; set-cookie; etag; x-user; server: acme; redirects (302); not available (403, 502): 3 of 5 answers',
	);
	expect(inN8n).toMatch(/^follows redirects .*; repeats reads/);
});

describe('what rows say', () => {
	/** The row of one operation. */
	const rowOf = (operation: string, line: string, ...exchanges: Exchange[]) =>
		paidRows([{ operation, lines: [line], exchanges }], [operation])[0]!;
	const created = exchangeOf('POST', '/v1/labs/task', '{"taskId":"7","id":7}');
	const speechWith = (task: string) =>
		rowOf('speech', 'error: no', created, exchangeOf('GET', '/v1/labs/task/7?by=me', task)).differs;

	test.each([
		[
			'{"id":7,"status":"done","media":{"audioUrl":"https://a.example/x"}}',
			/fields: id, status, media.audioUrl; .*; no audio URL that the node can read;/,
		],
		[
			'{"id":7,"stage":"done","audio_url":"/x.mp3"}',
			/; no status that the node can read; no audio/,
		],
		[
			'{"status":"DONE","audio_url":"/x.mp3"}',
			/status: DONE; URL after 0\.0 s; no message.*; the end is called `done`, so the node waits/,
		],
	])('of a task %s', (task, said) => {
		expect(speechWith(task)).toMatch(said);
		expect(speechWith(task)).toContain('the ID is called `id`');
	});

	test('of a task that was refused at first', () => {
		const refused = exchangeOf('POST', '/v1/labs/task', '{"error":"later"}', { status: 429 });
		const row = rowOf('speech', 'file: x', refused, created);
		expect(row.differs).toMatch(/^created in 0\.0 s; .*called `id`$/);
	});

	const image = (text: string, more = {}) =>
		exchangeOf('POST', '/v1/video/create-image', text, more);
	const ndjson = '{"status":"queued"}\n{"status":"done","url":"/x.png"}';
	const complete = image('event: image_generation_complete\ndata: [{"file_url":"/x.png"}]\n\n');
	const ownWords = image('event: fin\ndata: {"images":[{"url":"/x.png"}]}\n\n');
	const noUrl = image('{"url":null}');
	const moved = image('', { status: 307, headers: { location: '/v2' } });
	const busy = image('Slow down', { status: 429, headers: { 'retry-after': '9' } });
	const reasons = '{"detail":"Sorry, Bell.","error":"2 tasks at once is the maximum"}';
	test.each([
		['image', complete, /^there: events: image_generation_complete after 0\.0 s$/],
		['dropped', complete, /^different: events: .*; the stream could not be cut$/],
		['image', ownWords, /^different: .* end is called `fin`; the file URL is called `images.url`$/],
		['image', image('event: error\ndata: 7\n\n'), /^there: events: error after 0\.0 s$/],
		['image', image('Hello'), /^different: events: none; no file URL that the node can read$/],
		['image', moved, /: no stream, but a redirect \(307\) to \/v2$/],
		['image', noUrl, /: fields: url; no stream, but HTTP 200 with JSON; no file URL/],
		[
			'image',
			image(ndjson),
			/^different: events: \(no name\) queued .* done after 0\.0 s; lines of JSON in place of a stream; .* called `url`$/,
		],
		['image', image('GIF89a'), /^different: no stream, but the file itself$/],
		[
			'speech',
			image('ID3'),
			/^different: the audio itself, which the node does not read, .* task$/,
		],
		[
			'image',
			image('<?xml version="1.0"?><Fault/>', { status: 500 }),
			/HTTP 500 with a web page or XML$/,
		],
		['image', image(reasons, { status: 429 }), /HTTP 429 with JSON: 2 tasks at once/],
		['image', busy, /HTTP 429, Retry-After 9 with no JSON: Slow down/],
		['image', image('{}', { status: 422, broke: 'ECONNRESET' }), /HTTP 422, then ECONNRESET/],
	])('of what the node reads as a stream, and of other answers: %#', (operation, answer, said) => {
		const row = rowOf(operation, 'file: x', answer);
		expect(`${row.found}: ${row.differs}`).toMatch(said);
		expect(verdictOf([row])).toBe('It works.');
	});

	test('of a service that is too slow, its answer before the node has waited in vain', () => {
		const late = exchangeOf('GET', '/v1/video/me', '', { status: 0, broke: 'ended by the node' });
		const exchanges = [exchangeOf('GET', '/v1/video/me', '{}', { status: 502 }), late];
		const run = { operation: 'account', lines: ['error: late'], exchanges };
		expect(blockedRow(run).differs).toBe('HTTP 502 with JSON');
	});

	const socket = (...texts: string[]) =>
		exchangeOf('WEBSOCKET', '/ws', '', {
			...{ status: 101, broke: 'ended by the node' },
			parts: texts.map((text) => ({ ms: 1, bytes: Buffer.from(text) })),
		});
	const refused = (text: string, more: Partial<Exchange>) =>
		exchangeOf('WEBSOCKET', '/ws', text, more);
	const message = '{"type":"labs_status_updated","payload":{"task_id":7}}';
	const endedAfter3s = (broke: string, ...texts: string[]) => ({
		...socket(...texts),
		...{ broke, ended: 3000 },
	});
	const spoken = { operation: 'speech', lines: ['items: 1'], exchanges: [created] };
	const dropped = { ...spoken, exchanges: [endedAfter3s('closed by the service (1000)')] };
	test.each<[held: Exchange, said: RegExp, runs?: Run[]]>([
		[socket(), /^open for ten seconds; messages: 0 \| results come at once, if messages come$/],
		[socket('{"type":"hello"}', message), /; messages: 2 \| results come at once$/],
		[
			socket('{"op":"hello"}', '{"data":{"task_id":7}}'),
			/; messages: 2; fields: op, data.task_id; no message that .* if other messages come$/,
		],
		[
			socket('{"type":"error","message":"Too many requests"}'),
			/; no message that the node can read; an error: Too many requests \| /,
		],
		[
			endedAfter3s('closed by the service (4401)', '{"type":"auth_required"}'),
			/^messages: 1; .*; closed by the service \(4401\) after 3.0 s \| the node opens it again and again; while it is closed, the node polls every 5 s; .* 'Task IDs'$/,
		],
		[
			endedAfter3s('closed by the service (1006)'),
			/; broken off without a close frame after 3.0 s \| the node opens it again/,
		],
		[
			endedAfter3s('WS_ERR_INVALID_OPCODE'),
			/; broken off by an invalid frame \(WS_ERR_INVALID_OPCODE\) after 3.0 s \| the node opens/,
		],
		[socket(), /; no message about the speech task \| .* 5 to 30 s; .*'Task IDs'$/, [spoken]],
		[
			socket(message),
			/; closed by the service \(1000\) after 3.0 s \| the node opens it/,
			[dropped],
		],
		[
			refused('{"error":"only in a plan"}', { status: 403 }),
			/^HTTP 403 with JSON: only in a plan \| the node polls every 5 s; .* only if listed in 'Task IDs'$/,
		],
	])('of a WebSocket: %#', (held, said, runs = []) => {
		const { differs, inN8n } = socketRow(held, runs);
		expect(`${differs} | ${inN8n}`).toMatch(said);
	});
});
