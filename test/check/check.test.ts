import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { check } from '../../check/check.mts';
import { PAID, TIMED_OUT } from '../../check/operations.mts';
import { toJson } from '../../check/recording.mts';
import { replay } from '../../check/replay.mts';
import { gradeOf, verdictOf } from '../../check/report.mts';
import {
	blockedRows,
	chargeLines,
	edgeRow,
	freeRows,
	paidRows,
	socketRow,
} from '../../check/rows.mts';
import { ENDED_BY_NODE, type Exchange } from '../../check/wire.mts';
import { removeEngineFolder } from '../../demo/engine.mts';
import { PAID_OPERATIONS } from '../../nodes/shared/contract';
import { canary, findToken } from '../faults/canary.mts';
import { FakeService, type Handler } from '../service/fakeService.mts';
import { exchangeOf, SECRET, SECRETS } from './exchange';

/* `npm run check`: what it says of services. */

afterAll(() => removeEngineFolder());

test('each operation that is charged can be tried with --pay, and docs/check.md names it', () => {
	const tried = Object.values(PAID).map(({ contractRow }) => contractRow.path);
	expect(PAID_OPERATIONS.map(({ path }) => path).filter((path) => !tried.includes(path))).toEqual(
		[],
	);
	const page = readFileSync('docs/check.md', 'utf8');
	const [, pay = ''] = /--pay ([\w,]+)/.exec(page) ?? [];
	expect(pay.split(',').sort()).toEqual(Object.keys(PAID).sort());
});

/** The row of one operation. */
const rowOf = (operation: string, line: string, ...calls: Exchange[]) =>
	paidRows([{ operation, lines: [line], calls }], calls, [operation])[0]!;

test.each([
	[
		'{"id":7,"status":"done","media":{"audioUrl":"https://a.example/x"}}',
		'audio URL',
		'media.audioUrl',
	],
	['{"id":7,"status":"completed","link":"/x/7.mp3","by":"Anna"}', 'audio URL', 'link'],
	['{"id":7,"stage":"done","audio_url":"/x.mp3"}', 'status', 'id, stage, audio_url'],
])('a row names what stands in place of what the node reads: %s', (task, what, names) => {
	const create = exchangeOf('POST', '/v1/labs/task', '{"taskId":"7","id":7}');
	const speech = rowOf('speech', 'error: no', create, exchangeOf('GET', '/v1/labs/task/7', task));
	expect(speech).toMatchObject({ found: 'different', grade: 'fails' });
	expect(speech.differs).toContain('the ID is called `id`');
	expect(`${speech.differs};`).toContain(
		`no ${what} that the node can read; the answer has: ${names};`,
	);
});

test('a row tells how reads answer while a task is not finished', () => {
	const create = exchangeOf('POST', '/v1/labs/task', '{"task_id":7}');
	const wait = { ...exchangeOf('GET', '/v1/labs/task/7', ''), status: 202 };
	const done = exchangeOf('GET', '/v1/labs/task/7', '{"status":"DONE","audio_url":"/7.mp3"}');
	const { differs } = rowOf('speech', 'items: 1', create, wait, done);
	expect(differs).toContain('; some reads: HTTP 202 with no body; status: DONE;');
	expect(differs).toContain('; the end is called `DONE`, which the node accepts after');
});

test('a redirect is neither a location of what was made nor a refused WebSocket', () => {
	const headers = { location: '/v1/labs/task/7' };
	const account = exchangeOf('GET', '/v1/video/me', '{}');
	const create = { ...exchangeOf('POST', '/v1/labs/task', '{}', headers), status: 202 };
	const socket = { ...exchangeOf('WEBSOCKET', '/ws', '', headers), status: 302 };
	const exchanges = [account, create, socket];
	expect(edgeRow(exchanges, false)).toMatchObject({
		differs: expect.not.stringContaining('redirects'),
		inN8n: 'nothing: the node speaks HTTP/1.1',
	});
});

test('a message or an event that tells of no task and no file is not counted as a result', () => {
	const stream = { 'content-type': 'text/event-stream' };
	const image = (text: string) => exchangeOf('POST', '/v1/video/create-image', text, stream);
	const failed = rowOf('image', 'error: no', image('event: error\ndata: {"code":7}\n\n'));
	expect(failed.differs).toBe('events: error after 0.0 s');
	const nameless = rowOf('image', 'items: 1', image('data: ["https://a.example/x.png"]\n\n'));
	expect(nameless.differs).toBe('events: no name after 0.0 s; the end has no name');
	const hello = { ...exchangeOf('WEBSOCKET', '/ws', '[{"type":"hello"}]'), status: 101 };
	expect(socketRow(hello).differs).toMatch(/1 message; none about a task/);
});

describe('a check that is throttled does not blame the service', () => {
	const account = exchangeOf('GET', '/v1/video/me', '{"credits":1}');
	const throttled = {
		...exchangeOf('GET', '/v1/labs/task/9', '{"error":"Too many"}'),
		status: 429,
	};
	const run = (operation: string, ...calls: Exchange[]) => {
		return { operation, lines: calls[0]?.status === 200 ? ['items: 1'] : [TIMED_OUT], calls };
	};
	const again = 'the check was throttled: run it again in a minute';

	test('from the start', () => {
		const [, row] = blockedRows([run('account', throttled)], [throttled]);
		expect(row).toMatchObject({ part: '§4.10 Account', inN8n: again, grade: 'fails' });
	});

	test('later, also where the node has sent nothing, as the service has asked it to wait', () => {
		const voices = exchangeOf('GET', '/v1/labs/voices', '[{"voice_id":7}]');
		const runs = [run('account', account), run('voices', voices)];
		const socket = exchangeOf('WEBSOCKET', '/ws', '');
		const rows = freeRows(
			[...runs, run('history'), run('missing', throttled)],
			{ wrongToken: run('account'), socket, offersHttp2: false },
			[account, voices, throttled],
		);
		expect(rows.map(({ differs }) => differs)[0]).toContain(
			'asks to wait (429, Retry-After: none)',
		);
		expect(
			rows.map(({ inN8n, grade }) => (inN8n.includes(again) ? 'again' : grade)).slice(1),
		).toEqual([...['again', 'works', 'works', 'again', 'again', 'limits']]);
		expect(rows[1]).toMatchObject({ found: 'not tried', grade: 'works' });
		expect(verdictOf(rows)).toContain(`§4.2 Reading a task: ${again}`);
	});
});

test('a wrong address is refused before the token is asked for', () => {
	const { MEDIA_GENERATION_TOKEN: _, ...env } = process.env;
	const main = join(__dirname, '../../check/main.mts');
	const { status, stderr } = spawnSync(process.execPath, [main, '--base-url', 'media'], { env });
	expect([status, String(stderr)]).toEqual([
		3,
		"'Base URL' must be a complete URL, such as https://media.example.com.\n",
	]);
});

interface Stranger {
	token?: string;
	pay?: string[];
	/** In front of each path. */
	folders?: string;
	stop?: AbortSignal;
	say?: (what: string) => void;
}

async function ask(handle: Handler, stranger: Stranger = {}) {
	const { token = 'a-token-of-mine', pay = [], folders = '', stop, say = () => {} } = stranger;
	const service = await FakeService.start(handle);
	const baseUrl = service.url + folders;
	const webSocketUrl = baseUrl.replace('http', 'ws');
	const checked = await check({ baseUrl, token, webSocketUrl }, pay, say, stop);
	await service.stop();
	const { rows } = checked;
	const text = rows.map((row) => Object.values(row).join(' | ')).join('\n');
	return { ...checked, grade: gradeOf(rows), verdict: verdictOf(rows), text };
}

/** Answers by the end of the path; an empty account and history, and nothing of a task, unless named. */
const answering =
	(named: Record<string, unknown>): Handler =>
	({ url = '' }, response) => {
		const bodies = { '/me': {}, '/histories': [], ...named };
		const found = Object.entries(bodies).find(([end]) => url.split('?')[0]!.endsWith(end));
		response.writeHead(found ? 200 : 404).end(JSON.stringify(found?.[1] ?? {}));
	};

describe('a stranger checks', () => {
	const cut: Handler = (request) => request.socket.resetAndDestroy();
	test.concurrent.each<[string, Handler, RegExp]>([
		[
			'a dead port',
			cut,
			/Account \| not there \| no answer: ECONNRESET \| .* did not respond”: check the Base URL/,
		],
		[
			'a web server that is not the service',
			(_, response) => response.end('<html>Hello</html>'),
			/Account \| different \| a web page in place of JSON \| .*: check the Base URL \| fails/,
		],
		[
			'with a wrong token, which the service repeats',
			({ headers }, response) =>
				response
					.writeHead(401)
					.end(
						JSON.stringify({ error: `no: ${headers.authorization} ${btoa('a-token-of-mine')}` }),
					),
			/The token \| different \| HTTP 401 with JSON: no: Bearer \*+ \*+ \| .*: check the API Token/,
		],
	])('%s', async (_, handle, said) => {
		const { grade, text, recording } = await ask(handle);
		expect(grade).toBe('fails');
		expect(text).toMatch(said);
		// Its error names the host, which has a stand-in.
		if (handle === cut) expect(await replay(recording)).toEqual([]);
	});

	test.concurrent('a service whose edge answers a wrong token with a page', async () => {
		const edge = (name: string): Handler => {
			const answer = answering({});
			return (request, response) =>
				request.headers.authorization === `Bearer ${name}`
					? answer(request, response)
					: response.writeHead(403).end('<html>Accès refusé</html>');
		};
		const asked = [await ask(edge('a-token-of-mine')), await ask(edge('another-token'))];
		expect(asked[0]!.text).toMatch(/token with HTTP 403 .* \| the node cannot tell that a token/);
		expect(asked[1]!.text).toMatch(/HTTP 403 .* \| .* not available .*: check the API Token/);
	});

	test.concurrent('a service in a dialect that nobody knows', async () => {
		const token = canary();
		const id = '7700000000000000123';
		const wav = Buffer.from('UklGRgAAAABXQVZFZm10IA==', 'base64');
		const { verdict, text, recording } = await ask(
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
					return response.writeHead(200, { 'content-type': 'text/plain' }).end(wav);
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
		expect(text).toMatch(/compresses answers \(gzip\).*redirects .*histories \(307\); adds x-user/);
		expect(text).toMatch(/The token \| different \| answers a wrong token with HTTP 403 with JSON/);
		expect(text).toMatch(/Voices \| different \| 1 entry; under `results`.*entered By ID/);
		expect(text).toMatch(/History \| different \| 1 entry; under `data.items`; where .* is lost/);
		expect(text).toMatch(/a task that does not exist: HTTP 404 with a web page/);
		expect(text).toMatch(/WebSocket \| not there \| HTTP 401 \| the node polls every 5 s/);
		expect(text).toMatch(/called `id`; status: COMPLETED; URL after .*called `result.href`/);
		expect(text).toMatch(/file: audio\/wav, 16 bytes/);
		expect(verdict).toMatch(/^It works with limits: §4.4 Voices: .*By ID.*; §6.2 WebSocket: /);
		const kept = toJson(recording, token);
		expect(findToken(token, { kept })).toBeUndefined();
		expect(SECRET.exec(kept)).toBeNull();
		expect(await replay(recording)).toEqual([]);
	});

	test.concurrent(
		'one that hangs but for its account, and is too busy for a wrong task',
		async () => {
			const began = performance.now();
			const { text } = await ask(({ url }, response) => {
				if (url === '/v1/video/me') response.end('{"balance":1}');
				if (url!.includes('/task/')) response.writeHead(429).end('{"error":"Too many"}');
			});
			expect(performance.now() - began).toBeLessThan(60_000);
			expect(text).toMatch(/Voices \| not there \| no answer within \d+\.\d s \| .*By ID/);
			expect(text).toMatch(
				/not exist: HTTP 429 with JSON: Too many \| the check was throttled: run it again/,
			);
			expect(text).toContain('(still trying when the check ended it, after 12 s)');
		},
	);

	test.concurrent.each([
		['stopped', 'the check was stopped'],
		['failing', 'quota'],
	])('what was made is recorded and named by a check that is %s', async (how, said) => {
		const stopping = new AbortController();
		const error = new Error(how);
		const answer = answering({
			...{ '/voices': [{ voice_id: 7 }], '/task': { task_id: 'task-77' } },
			'/task-77': { status: 'error', error: 'quota' },
		});
		const say = (what: string) => {
			if (what === 'the node: image') throw error;
		};
		const { charged, text, recording, failure } = await ask(
			(request, response) => {
				if (how === 'stopped' && request.url!.endsWith('/task-77')) stopping.abort(error);
				answer(request, response);
			},
			{ pay: ['speech', 'image'], stop: stopping.signal, say },
		);
		expect(failure).toBe(error);
		expect(charged).toEqual(['speech: task-77']);
		expect(text).toMatch(new RegExp(`Speech \\| different \\| created in .* \\| .*${said}`));
		expect(text).toMatch(/not tried \| (?:\w+, )*image, /);
		expect(recording.exchanges.filter(({ method }) => method === 'POST')).toHaveLength(1);
		expect(await replay(recording)).toEqual([]);
	});

	test.concurrent('a service of many oddities', async () => {
		const entry = {
			prompt: 'A kite',
			created_at: '2026-01-02T03:04:05Z',
			dateien: ['/x.png', '/y.png'],
		};
		const answer = answering({
			'/histories': { success: true, data: { '01HZX': entry, '01HZY': entry }, TotalCount: 2 },
			'/voices': { data: [{ voice_id: 7 }] },
			'/task': { task_id: 'task-77' },
			'/task-77': { status: 'error', error: 'quota' },
			'/999999999999': { success: true, data: null },
		});
		const { text } = await ask(
			(request, response) => {
				const { url = '', headers } = request;
				if (headers.authorization !== 'Bearer a-token-of-mine')
					return response.writeHead(302, { location: '/login' }).end();
				if (/voices.*page=0/.test(url)) return response.writeHead(400).end('{"error":"page"}');
				answer(request, response);
			},
			{ pay: ['speech'] },
		);
		expect(text).toMatch(/edge \| .* \| nothing: the node speaks HTTP\/1\.1/);
		expect(text).toMatch(
			/History \| different \| no list that the node can read; the answer has: success, data.01HZX.prompt, /,
		);
		expect(text).toMatch(/Voices \| .*page; the next page can be read \| .*By ID \(n8n says “/);
		expect(text).toMatch(/does not exist: .* \| n8n says “The response does not come from/);
		expect(text).toMatch(/not tried \| speech, .*; no voice to use \|/);
		expect(text).toMatch(/answers a wrong token with a redirect \(302\) to/);
	});

	test.concurrent('one whose newest video has failed', async () => {
		const made = {
			id: 1,
			prompt: 'A kite',
			created_at: '2026-01-02T03:04:05Z',
			file_url: '/x.mp4',
		};
		const failed = { ...made, id: 2, file_url: null, status: 'failed' };
		const { text } = await ask(answering({ '/histories': [failed, made] }));
		expect(text).toMatch(/History \| there \| 2 entries; [^|]* \| finds a lost video/);
	});

	test.concurrent.each([
		['from 0', (page: number) => page, /page 0 has other entries \| the newest page is missed/],
		['from 1', (page: number) => page - 1, /20 entries; a bare array \| finds a lost video/],
		['from 1, and 0 is the first, too', (page: number) => Math.max(0, page - 1), / finds a lost/],
		[
			'from 1, while one is added',
			(page: number) => (page === 0 ? -0.05 : page - 1),
			/ finds a lost/,
		],
		['from 1, and 0 is the last', (page: number) => (page + 2) % 3, / finds a lost/],
	])('one whose history is counted %s', async (_, indexOf, said) => {
		const entries = Array.from({ length: 50 }, (_entry, id) => ({
			...{ id, prompt: 'A kite', file_url: `/${id}.mp4`, created_at: 1_780_000_000 - 60 * id },
		}));
		const { text } = await ask((request, response) => {
			const start = 20 * indexOf(Number(/[?&]page=(\d+)/.exec(request.url!)?.[1]));
			const added = { ...entries[0], id: 99, file_url: '/99.mp4' };
			const page =
				start === -1 ? [added, ...entries.slice(0, 19)] : entries.slice(start, start + 20);
			answering({ '/histories': page })(request, response);
		});
		expect(text).toMatch(new RegExp(`History \\| .*${said.source}`));
	});

	test.concurrent('one with a list for an account, and status 200 for a wrong token', async () => {
		const page = { data: [{ voice_id: 7 }], pagination: { totalCount: 1 } };
		const { grade, text, recording } = await ask((request, response) => {
			const isKnown = request.headers.authorization?.endsWith('a-token-of-mine');
			const account = isKnown ? [{ credits: 5 }] : { error: { code: 'invalid_token' } };
			answering({ '/me': account, '/voices': page })(request, response);
		});
		expect(grade).toBe('limits');
		expect(text).toMatch(
			/The token \| different \| .* \| the message says that the token is wrong/,
		);
		expect(text).toMatch(/Account \| different \| no record \| .*; the trigger reads it, too/);
		expect(text).toMatch(/Voices \| there \| 1 entry; under `data`; repeats [^;]*? \|/);
		expect(await replay(recording)).toEqual([]);
	});

	test.concurrent('one that has moved, and calls the ID of voices `id`', async () => {
		const { grade, text, recording } = await ask(
			(request, response) => {
				const { url = '', headers } = request;
				if (url.startsWith('/v1/'))
					return response.writeHead(307, { location: `/v2${url.slice(3)}` }).end();
				if (!headers.authorization) return response.writeHead(401).end('{}');
				return answering({ '/voices': [{ id: 7 }] })(request, response);
			},
			{ pay: ['image'] },
		);
		expect(text).toMatch(/redirects .*voices \(307\).* \| follows redirects of reads only/);
		expect(text).toMatch(/Voices \| different \| 1 .* ID is called `id` \| lists the voices/);
		expect(text).toMatch(/not there \| .* node polls .*; the trigger detects speech tasks only if/);
		expect(text).toMatch(/Image \| .* \| no stream, but a redirect .* \| The service redirects/);
		expect(grade).toBe('fails');
		expect(await replay(recording)).toEqual([]);
	});

	test.concurrent.each<[string, boolean, RegExp]>([
		[
			'right',
			true,
			/The token \| different \| .* HTTP 403 .* \| n8n says “.*: No autorizado” \| works/,
		],
		['wrong', false, /The token \| different \| HTTP 403 .* No autorizado”: check the API Token/],
	])('one that has only speech, with a token that is %s', async (_, isRight, said) => {
		const { text, grade } = await ask((request, response) => {
			if (request.url!.startsWith('/v1/video'))
				return response.writeHead(404).end('<html>Not found</html>');
			if (!isRight || !request.headers.authorization?.endsWith('a-token-of-mine'))
				return response.writeHead(403).end('{"message":"No autorizado"}');
			answering({ '/voices': [{ voice_id: 7 }] })(request, response);
		});
		expect(text).toMatch(said);
		expect(grade).toBe(isRight ? 'limits' : 'fails');
	});

	test.concurrent.each<[string, object, RegExp]>([
		['like a right one', { credits: 5 }, /accepts a wrong token \| nothing: .* any token \| works/],
		[
			'with status 200 and an error',
			{ success: false, message: 'Bad credentials' },
			/status 200 with an error: Bad credentials \| the message says that .* wrong \| works/,
		],
		[
			'with status 200 and an error in its own words',
			{ success: false, message: 'Jeton invalide' },
			/an error: Jeton invalide \| n8n says “.*: Jeton invalide” \| works/,
		],
		[
			'with status 200 and no error that the node sees',
			{ code: 40101, msg: 'Jeton invalide' },
			/status 200: Jeton invalide \| the node cannot tell that a token is wrong \| limits/,
		],
	])('one that answers a wrong token %s', async (_, answer, said) => {
		const { text } = await ask((request, response) => {
			const isKnown = request.headers.authorization?.endsWith('a-token-of-mine');
			answering({ '/me': isKnown ? { credits: 3 } : answer })(request, response);
		});
		expect(text).toMatch(new RegExp(`The token \\| different \\| .*${said.source}`));
	});

	test.concurrent('one whose voices and their IDs have other names', async () => {
		const voices = { 'voice-list': [{ 'voice-id': 'anna' }] };
		const { recording } = await ask(answering({ '/voices': voices }));
		expect(recording.voice).toMatch(/^id-/);
	});
});

test('what was made is named by whatever may be its id', () => {
	const made = (path: string, text: string, type = '') =>
		exchangeOf('POST', path, text, { 'content-type': type });
	expect(
		chargeLines([
			made('/v1/labs/task', '{"task":{"uuid":"a-b"}}'),
			made('/v1/labs/task', '{"data":{"taskId":90071992547409937}}'),
			made(
				'/v1/video/create-image',
				'data: {"clipId":"clip_77aa1","at":1795741461577,"other":"clip_88bb2"}\n\n',
				'text/event-stream',
			),
			{ ...made('/v1/video/text-to-video', ''), status: 0, broke: 'ECONNRESET' },
			{ ...made('/v1/labs/task', ''), status: 402 },
			made('/v1/video/create-image', '{"state":""}\n{"item-id":"itm_7"}\n'),
			made('/v1/labs/task', '{"success":false,"user":{"id":"cust-7"}}'),
		]),
	).toEqual([
		...[
			'speech: a-b',
			'speech: 90071992547409937',
			'image: clip_77aa1',
			'video: no ID was sent (no answer: ECONNRESET)',
		],
		'image: itm_7 (lines of JSON in place of JSON)',
		'speech: no ID was sent (status 200 with an error)',
	]);
});

describe('what rows say', () => {
	const image = (text: string) => exchangeOf('POST', '/v1/video/create-image', text);
	const made = 'event: image_generation_complete\ndata: [{"file_url":"/x.png"}]\n\n';

	test.each([
		['image', made, 'there', /^events: image_generation_complete after 0\.0 s$/],
		[
			'image',
			'{"status":"starting"}\n{"file_url":"/x.png"}\n',
			'different',
			/^no stream, but lines of JSON$/,
		],
		['image', 'Hello', 'different', /^events: none; no file URL/],
		['image', '{"url":null}', 'different', /after 0\.0 s; no file URL [^;]*; the answer has: url$/],
		[
			'image',
			'event: fin\ndata: {"data":{"images":[{"url":"/x.png"}]}}\n\n',
			'different',
			/^events: fin after 0\.0 s; the end is called `fin`; URLs are called `data.images.url`$/,
		],
		['dropped', made, 'not tried', /^the stream could not be cut; events: /],
	])('%s: what the node reads as a stream: %j', (operation, text, found, differs) => {
		// The node ends a stream as soon as it has the file.
		const call = { ...image(text), broke: /^event: fin/.test(text) ? ENDED_BY_NODE : undefined };
		expect(rowOf(operation, 'file: x', call)).toMatchObject({ found });
		expect(rowOf(operation, 'file: x', call).differs).toMatch(differs);
	});

	test('a WebSocket whose messages the node cannot read is not said to help', () => {
		const socket = (...texts: string[]): Exchange => ({
			...{ ...exchangeOf('WEBSOCKET', '/ws', ''), status: 101 },
			pieces: texts.map((text) => ({ ms: 1, text })),
		});
		const wrapped = socket('{"type":"hello"}', '{"data":{"task_id":7}}');
		expect(socketRow(wrapped)).toMatchObject({ found: 'different', grade: 'limits' });
		expect(socketRow(wrapped).inN8n).toContain('the node reads none of these messages');
		const read = socket('{"type":"labs_status_updated","payload":{"task_id":7}}');
		expect(socketRow(wrapped, [wrapped, read])).toMatchObject({
			...{ inN8n: 'results come at once', grade: 'works' },
		});
		expect(socketRow(socket()).inN8n).toBe('results come at once if it tells of tasks');
		const create = exchangeOf('POST', '/v1/labs/task', '{"task_id":7}');
		expect(rowOf('speech', 'items: 1', create, wrapped).differs).toContain(
			'no message that the node can read; the answer has: data.task_id',
		);
	});

	test('a WebSocket that is closed at once is not said to be opened again', () => {
		const socket = { ...exchangeOf('WEBSOCKET', '/ws', ''), status: 101, pieces: [], ended: 30 };
		const create = exchangeOf('POST', '/v1/labs/task', '{"task_id":7}');
		const row = socketRow({ ...socket, broke: 'closed by the service (4401)' }, [create]);
		expect(row.differs).toBe('closed by the service (4401) after 0.0 s; silent');
		expect(row.inN8n).toMatch(/^the node polls every 5 s; the trigger detects speech tasks only/);
		const { inN8n } = rowOf(
			'speech',
			'hint: It was not open, so the node polled every N s',
			create,
		);
		expect(inN8n).toBe('It was not open, so the node polled');
		const event = 'event: x\ndata: {"state":"处理中"}\n\n';
		expect(rowOf('image', 'error: no', image(event)).differs).toContain('x 处理中 after 0.0 s');
	});

	test('a wrong token may be all that is wrong', async () => {
		const { text } = await ask(answering({ '/me': { error: 'Schlüssel' } }));
		expect(text).toMatch(/Schlüssel \| .*: Schlüssel”: check the Base URL and the API Token/);
	});

	test('events are called as in the editor, and untried operations are not said to work', () => {
		const lines = ['error: it does not detect: completed', 'event: generated'];
		const rows = paidRows([{ operation: 'trigger', lines, calls: [] }], [image(made)], []);
		expect(rows[0]!.inN8n).toBe(
			'it does not detect: Speech Completed; event: Video or Image Created',
		);
		const tried = rowOf('image', 'file: x', image(made));
		expect(verdictOf([tried])).toBe('It works, as far as was tried.');
	});
});

test.concurrent('what may have been charged is named and recorded after Ctrl+C', async () => {
	const main = join(__dirname, '../../check/main.mts');
	const child = spawn(process.execPath, [main, '--pay', 'image']);
	const ended = once(child, 'close');
	let said = '';
	child.stdout.on('data', (part) => (said += String(part)));
	await new Promise<void>((resolve) => {
		child.stderr.on('data', (part) => String(part).includes('node: image') && resolve());
	});
	// The image takes longer. Twice, because a listener for the first alone would leave the second to end the process.
	for (const ms of [1000, 3, 3]) {
		await pause(ms);
		child.kill('SIGINT');
	}
	expect(await ended).toEqual([3, null]);
	expect(said).toMatch(/What may have been charged:\n {2}image: .*\(ended by the node\)/);
	expect(said).toContain('then ended by');
	expect(said).not.toContain('no file URL');
	rmSync(join(__dirname, '../..', /Recorded in (\S+)/.exec(said)![1]!));
});

const onLinux = process.platform === 'linux' ? test.concurrent : test.skip;
onLinux('the keys Ctrl+C end a check, also if it has asked nothing', async () => {
	const main = join(__dirname, '../../check/main.mts');
	const command = `stty cols 120; exec ${process.execPath} ${main}`;
	const child = spawn('script', ['-qec', command, '/dev/null']);
	const ended = once(child, 'close');
	await new Promise<void>((resolve) => {
		child.stdout.on('data', (part) => String(part).includes('ten seconds') && resolve());
	});
	child.stdin.write('\x03');
	expect(await ended).toEqual([3, null]);
});
