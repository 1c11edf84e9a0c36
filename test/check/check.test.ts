import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { WebSocket, WebSocketServer } from 'ws';
import { check } from '../../check/check.mts';
import { fileNameOf, StandIns, written, type Recording } from '../../check/recording.mts';
import { replay, Replay } from '../../check/replay.mts';
import { gradeOf, verdictOf } from '../../check/report.mts';
import { chargedOf, paidRows, socketRow } from '../../check/rows.mts';
import { Wire, type Exchange } from '../../check/wire.mts';
import { removeEngineFolder } from '../../demo/engine.mts';
import { canary, findToken, formsOf } from '../faults/canary.mts';
import { FakeService, type Handler, type Upgrade } from '../service/fakeService.mts';

/* `npm run check`: what it says of services, what it keeps of them, and what the node makes of that. */

afterAll(() => removeEngineFolder());

const folder = join(__dirname, '../recordings');
const load = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Recording;

describe('the node makes the same of each recording', () => {
	const files = readdirSync(folder).filter((file) => file !== 'wrong.json');
	test.concurrent.each(files)('%s', async (file) => {
		expect(await replay(load(file))).toEqual([]);
	});

	test('a trigger hears of images without a WebSocket', () => {
		const { outcomes } = load('edge.json');
		expect(outcomes.at(-1)).toEqual({ operation: 'trigger', lines: ['event: generated'] });
	});

	test.concurrent('and says in which lines one that is wrong differs', async () => {
		const lines = await replay(load('wrong.json'));
		expect(lines).toContain('then: speech: items: 2');
		expect(lines).toContain('now:  speech: items: 1');
	});
});

const exchangeOf = (method: string, path: string, text: string, headers = {}): Exchange => ({
	...{ by: 'node', at: 0, origin: 'https://acme.example', method, path, status: 200, headers },
	...{ http: '1.1', pieces: [{ ms: 0, text }], bytes: 0 },
});

/** What `act` finds of a service, and again of the replay of what it did. */
async function twice<T>(
	act: (url: string) => Promise<T>,
	handle: Handler,
	upgrade?: Upgrade,
): Promise<[then: T, again: T]> {
	const service = await FakeService.start(handle, upgrade);
	const wire = new Wire();
	wire.by = 'node';
	const then = await act(await wire.through(service.url));
	const exchanges = new StandIns(canary(), []).exchanges(wire.exchanges);
	const recorded = new Replay({ exchanges, made: new Date().toISOString() } as Recording);
	const again = await act((await recorded.start()).baseUrl);
	for (const each of [recorded, wire]) await each.close();
	await service.stop();
	return [then, again];
}

test('a WebSocket is closed or refused as by the service, in the replay, too', async () => {
	const sockets = new WebSocketServer({ noServer: true });
	const upgrades: Upgrade[] = [
		(...handshake) =>
			sockets.handleUpgrade(...handshake, (opened) => setTimeout(() => opened.close(4001), 300)),
		(_, socket) => void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n'),
		(_, socket) => void socket.destroy(),
	];
	const endings = async (url: string) => {
		await fetch(`${url}/v1/video/me`);
		const heard: unknown[] = [];
		for (const _ of upgrades) {
			const socket = new WebSocket(`${url.replace('http', 'ws')}/ws?token=any`);
			const began = performance.now();
			const ending = await new Promise((resolve) => {
				socket.on('unexpected-response', (_, { statusCode }) => resolve(statusCode));
				socket.on('error', ({ message }) => resolve(message));
				socket.on('close', resolve);
			});
			heard.push(ending, performance.now() - began > 250);
		}
		return heard;
	};
	const left = [...upgrades];
	const found = await twice(
		endings,
		(_, response) => response.end('{}'),
		(...handshake) => left.shift()!(...handshake),
	);
	const expected = [4001, true, 403, false, 'socket hang up', false];
	expect(found).toEqual([expected, expected]);
});

test.each([
	['is still open', { timeout: 60_000 }],
	['was given up', { timeout: 500 }],
])('what has never answered and %s never answers in the replay', async (_, { timeout }) => {
	const ending = async (url: string) => {
		const signal = AbortSignal.timeout(timeout);
		const answer = fetch(`${url}/v1/video/me`, { signal }).catch(() => 'silence');
		return await Promise.race([answer, pause(1000, 'silence')]);
	};
	expect(await twice(ending, () => {})).toEqual(['silence', 'silence']);
});

/** The row of one operation. */
const rowOf = (operation: string, line: string, ...calls: Exchange[]) =>
	paidRows(calls, [{ operation, lines: [line] }], [operation])[0]!;

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

test('a message or an event that tells of no task and no file is not counted as a result', () => {
	const stream = { 'content-type': 'text/event-stream' };
	const image = (text: string) => exchangeOf('POST', '/v1/video/create-image', text, stream);
	const failed = rowOf('image', 'error: no', image('event: error\ndata: {"code":7}\n\n'));
	expect(failed.differs).toBe('events: error after 0.0 s');
	const nameless = rowOf('image', 'items: 1', image('data: ["https://a.example/x.png"]\n\n'));
	expect(nameless.differs).toBe('events: no name after 0.0 s; the end has no name');
	const hello = { ...exchangeOf('WEBSOCKET', '/ws', '[{"type":"hello"}]'), status: 101 };
	expect(socketRow(hello).differs).toMatch(/1 message, none about a task/);
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

const SECRETS = {
	accountName: 'Anna Bell',
	email: 'anna@acme.example',
	userId: 'user-47110815',
	prompt: 'My secret plan',
	phone: 15550142,
	message:
		'Sorry, anna@acme.example at 10.1.2.3: no file at https://acme.example/x/plan.mp4?sig=s3cr3t',
	detail: 'Call +49 30 1234 5678 about card 4242 4242 4242 4242 of 1984-03-09, or 12-34-56-78',
	errorMessage:
		'Anna Bell asked "My secret plan", as did Carl Cole with user-47120815 and 12345678901',
	file_url: 'https://files.acme.example/users/anna/plan.mp4?sig=s3cr3t',
	audio: '/users/anna/plan.mp3?sig=s3cr3t',
	'anna@acme.example': 1,
	'user-47110815': true,
	big: { user_id: 1 },
	members: { anna: { role: 'owner' }, carl: { role: 'guest' } },
	seats: { total: 4, used: 3, carl: 1 },
	roles: { anna: 'owner', left: 2, carl: 'guest', acme: null },
	users: { page: 1, total: 2, size: 20, pages: 1, 'anna.bell': { role: 'owner' }, carl: [] },
	tags: { bell: ['mine'] },
	status: 'annabell',
	type: 'Anna',
	kind: 'carl_cole',
	state: 'carlCole',
	portrait: '//files.acme.example/anna.png',
	cover: `data:image/png;base64,${Buffer.from(`${'-'.repeat(21)}Anna Bell`).toString('base64')}`,
	contract: 88471203,
	category: 'anna.bell',
	created_by: 88471204,
	credit_card: 88471205,
	accountNumber: 8847120301,
	runtimeUser: '8847120302.5',
	customerAccountNo: -8847120303.5,
	ID: 88471207,
	pin: 9317,
	latitude: 52.884712,
	dob: '1984-03-09T00:00:00.000Z',
	birthday: '1984-03-09',
	nacimiento: '1984-03-09',
	referral: { code: 'BELLANNA', language: 'annabell' },
	profile: 'https://acme.example/u/anna.bell',
	title: `data:audio/mpeg;base64,${Buffer.from(`ID3${'-'.repeat(18)}Анна Белл\0`).toString('base64')}`,
	photo: `data:image/svg+xml;base64,${Buffer.from('<g>Anna Bell</g>').toString('base64')}`,
	sound: `data:audio/mpeg;base64,${Buffer.from('ID3\x03\0\0\0\0\x10Bell').toString('base64')}`,
	card: 'data:text/plain,AnnaBellAcme',
	named: 'data:audio/mpeg;name=Anna-Bell.mp3;base64,SUQzAwEBAQEB',
};
const SECRET =
	/anna|bell|carl|acme|471[12]0815|secret|s3cr3t|10\.1\.2\.3|1234567890|15550142|QW5uYSBCZWxs|8847120|1984-|0JDQvdC90LAg0JHQtdC70Ls|QmVsb|5678|4242|34-56/i;

describe('a stranger checks', () => {
	const cut: Handler = (request) => request.socket.resetAndDestroy();
	test.each<[string, Handler, RegExp]>([
		['a dead port', cut, /Account \| not there \| no answer: ECONNRESET \| check the Base URL/],
		[
			'a web server that is not the service',
			(_, response) => response.end('<html>Hello</html>'),
			/Account \| different \| a web page in place of JSON/,
		],
		[
			'with a wrong token, which the service repeats',
			({ headers }, response) =>
				response
					.writeHead(401)
					.end(
						JSON.stringify({ error: `no: ${headers.authorization} ${btoa('a-token-of-mine')}` }),
					),
			/The token \| different \| refused: HTTP 401 with JSON: no: Bearer \*+ \*+ \| enter a valid/,
		],
	])('%s', async (_, handle, said) => {
		const { grade, text } = await ask(handle);
		expect(grade).toBe('fails');
		expect(text).toMatch(said);
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
		expect(text.match(/no total/g)).toHaveLength(1);
		expect(text).toMatch(/a task that does not exist: HTTP 404 with a web page/);
		expect(text).toMatch(/WebSocket \| not there \| HTTP 401 \| the node polls every 5 s/);
		expect(text).toMatch(/called `id`; status: COMPLETED; URL after .*called `result.href`/);
		expect(text).toMatch(/file: audio\/wav, 16 bytes/);
		expect(verdict).toMatch(/^It works with limits: §4.4 Voices: .*By ID.*; §6.2 WebSocket: /);
		const kept = written(recording, token);
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
			expect(text).toMatch(/Voices \| not there \| no answer: nothing within 10.0 s \| .*By ID/);
			expect(text).toMatch(
				/not exist: HTTP 429 with JSON: Too many \| the node takes this for temporary/,
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
		expect(text).toMatch(/not tried \| image, /);
		expect(recording.exchanges.filter(({ method }) => method === 'POST')).toHaveLength(1);
		expect(await replay(recording)).toEqual([]);
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
			/The token \| different \| .* \| a read of the account shows that the token/,
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
		expect(text).toMatch(/not there \| .* node polls .*; the trigger detects only the tasks/);
		expect(text).toMatch(/Image \| .* \| no stream, but a redirect .* \| The service redirects/);
		expect(grade).toBe('fails');
		expect(await replay(recording)).toEqual([]);
	});
});

test('what was made is named by whatever may be its id', () => {
	const made = (path: string, text: string, type = '') =>
		exchangeOf('POST', path, text, { 'content-type': type });
	expect(
		chargedOf([
			made('/v1/labs/task', '{"task":{"uuid":"a-b"}}'),
			made(
				'/v1/video/create-image',
				'data: {"clipId":"clip_77aa1","at":1795741461577,"other":"clip_88bb2"}\n\n',
				'text/event-stream',
			),
			{ ...made('/v1/video/text-to-video', ''), status: 0, broke: 'ECONNRESET' },
			{ ...made('/v1/labs/task', ''), status: 402 },
			made('/v1/labs/task', '{"success":false,"user":{"id":"cust-7"}}'),
		]),
	).toEqual([
		...['speech: a-b', 'image: clip_77aa1', 'video: no ID was sent (no answer: ECONNRESET)'],
		'speech: no ID was sent (status 200 with an error)',
	]);
});

test('a check does not replace the recording of the one before', () => {
	const nameAt = (second: number) =>
		fileNameOf('https://acme.example', `2026-01-02T03:04:0${second}.000Z`);
	expect(nameAt(1)).not.toBe(nameAt(2));
});

describe('what is kept of an exchange', () => {
	const token = canary();
	/** Without the last: a part of it, which redaction cannot know. */
	const forms = formsOf(token).slice(0, -1);
	const encoded = (['base64', 'hex'] as const).map((form) => Buffer.from(token).toString(form));
	const signedIn = ['', 'u:', 'me:'].map((user) => Buffer.from(user + token).toString('base64'));
	const keep = (text: string, path = '/v1/video/me', headers = {}) => {
		const exchange = exchangeOf('GET', path, text, headers);
		const standIns = new StandIns(token, ['My own prompt.']);
		return JSON.stringify(standIns.exchanges([exchange]));
	};
	const json = JSON.stringify([
		{ ...SECRETS, echo: forms.join(' '), type: encoded[0], [encoded[1]!]: true },
		{ text: 'My own prompt.', status: 'completed' },
	]).replace('"user_id":1', '"user_id":12345678901234567890');

	test.each([
		['JSON', json],
		['a stream', `: anna\nevent: some_end\nid: user-47110815\ndata: ${json}\n\ndata:${json}\n\n`],
		['a stream of lines', `data: ${json.replaceAll(',"', ',\ndata: "')}\n\n`],
		['other lines among events', `x-user: anna\n Bell ${forms[0]!}\nAcme\nevent: end\ndata: 1\n\n`],
		['JSON that breaks off', json.slice(0, -1)],
		['a page', `<html>${SECRETS.message} ${forms.join(' ')}</html>`],
		['a few words', 'welcome Anna Bell'],
		['a word in brackets', '[ERROR] Anna Bell, user-47110815'],
		['what a program wrote', "data: {'email': 'anna@acme.example', 'by': 'Anna Bell'}\n\n"],
		['a sentence', `${SECRETS.errorMessage} ${SECRETS.message} ${forms.join(' ')}`],
	])('holds nothing of anybody: %s', (what, text) => {
		const kept = keep(text, '/users/anna/list?sig=s3cr3t', {
			location: SECRETS.file_url,
			'content-type': 'application/vnd.acme+json; charset=utf-8; user=88471208',
			'set-cookie': token,
			'x-user': SECRETS.email,
		});
		expect(findToken(token, { kept })).toBeUndefined();
		expect(encoded.filter((form) => kept.includes(form))).toEqual([]);
		expect(SECRET.exec(kept)).toBeNull();
		expect(kept).toContain('application/vnd.x+json; charset=utf-8"');
		expect(kept).not.toContain('undefined');
		if (!/JSON$|stream|lines$/.test(what)) return;
		expect(kept).toMatch(/My own prompt\..*completed/);
		expect(kept).not.toContain('9317');
	});

	test('is replayed with the times of today, and with files of the same size', async () => {
		const hourAgo = Date.now() - 3_600_000;
		const image = Buffer.alloc(3034, '\x89PNG', 'latin1').toString('base64');
		const times = {
			created_at: hourAgo / 1000,
			updatedAt: new Date(hourAgo).toLocaleString('en-US'),
		};
		const text = JSON.stringify({ ...times, image: `data:image/png;base64,${image}` });
		const exchanges = new StandIns(token, []).exchanges([exchangeOf('GET', '/v1/video/me', text)]);
		const made = new Date(hourAgo).toISOString();
		const recorded = new Replay({ exchanges, made } as Recording);
		const answer = await fetch(`${(await recorded.start()).baseUrl}/v1/video/me`);
		const again = (await answer.json()) as Record<string, string>;
		await recorded.close();
		expect(Date.now() / 1000 - Number(again.created_at)).toBeLessThan(60);
		expect(Date.now() - Date.parse(again.updatedAt!)).toBeLessThan(60_000);
		expect(Buffer.from(again.image!.split(',')[1]!, 'base64')).toHaveLength(3034);
	});

	test('has the same stand-in for the name of a field that the node outputs', () => {
		const standIns = new StandIns(token, []);
		const [kept] = standIns.exchanges([exchangeOf('GET', '/', '{"message":"Cole","Cole":1}')]);
		expect(kept!.pieces[0]!.text).toBe('{"message":"word-1","text-1":1}');
		expect(standIns.line('fields: Cole, message')).toBe('fields: text-1, message');
	});

	test('has nothing to replay if the node was made to do nothing', async () => {
		expect(await replay({ ...load('edge.json'), outcomes: [] })).toEqual([
			expect.stringContaining('nothing to replay'),
		]);
	});

	test('is not written with the token in it', () => {
		for (const form of [...forms, ...encoded, ...signedIn]) {
			expect(() => written({ voice: form } as Recording, token)).toThrow('Nothing was written');
		}
	});
});

describe('what stands on the wire', () => {
	const json = JSON.stringify({ owner: 'Jörg' });
	const mp3 = Buffer.from(`ID3${'\0'.repeat(40)}`);
	/** What the node gets of an answer in these parts, and what the check keeps of it. */
	const pass = async (
		parts: Array<string | Buffer>,
		headers = {},
		method = 'GET',
		isCut = false,
	) => {
		const service = await FakeService.start(async (_, response) => {
			response.writeHead(200, headers);
			for (const part of parts) await pause(50, response.write(part));
			response.end();
		});
		const wire = new Wire();
		wire.cutStreams = isCut;
		const answer = await fetch(await wire.through(service.url), { method });
		const got = await answer
			.arrayBuffer()
			.then(Buffer.from)
			.catch(() => undefined);
		await wire.close();
		await service.stop();
		return { got, ...wire.exchanges[0]! };
	};

	test.each([
		['x-gzip', 'x-gzip', gzipSync(json), json],
		['GZIP', 'GZIP', gzipSync(json), json],
		['a coding that nobody knows', 'acme', gzipSync(json), ''],
		['another charset', '', Buffer.from(json, 'latin1'), json.replace('ö', '\ufffd')],
	])('an answer in %s is text, or not kept', async (_, coding, body, text) => {
		const { got, pieces } = await pass([body], coding && { 'content-encoding': coding });
		expect(pieces).toEqual([
			text ? { ms: expect.anything(), text } : expect.objectContaining({ base64: '' }),
		]);
		if (text) expect(String(got)).toBe(text);
	});

	test('a file stays as it is when it comes in small parts', async () => {
		const { got, pieces } = await pass([mp3.subarray(0, 3), mp3.subarray(3)]);
		expect(got).toEqual(mp3);
		expect(pieces[0]!.base64).toBe(mp3.toString('base64'));
	});

	const event = 'event: image_generation_status\ndata: "starting"\n\n';
	test.each([
		['event-stream', event],
		['plain', event],
		['plain', event.replaceAll('\n', '\r')],
		['plain', event.replaceAll('\n', '\r\n')],
	])('a stream is known by its text and can be cut: text/%s, %j', async (type, text) => {
		const parts = [text.slice(0, 40), text.slice(40), text];
		const { pieces, broke } = await pass(parts, { 'content-type': `text/${type}` }, 'POST', true);
		expect(pieces.map((piece) => piece.text)).toEqual([text]);
		expect(broke).toBe('cut by the check');
	});

	test('an event whose lines come one by one is recorded as one, so as JSON', async () => {
		const { pieces } = await pass(
			['data: {"file_url":\n', 'data: "https://acme.example/a.png"}\n\n', ': anna\n\n'],
			{ 'content-type': 'text/event-stream' },
			'POST',
		);
		const exchange = { ...exchangeOf('POST', '/v1/video/create-image', ''), pieces };
		const [kept] = new StandIns('sk-any-token', []).exchanges([exchange]);
		expect(kept!.pieces.map(({ text }) => text)).toEqual([
			'data: {"file_url":"http://host-1.invalid/files/1.png"}\n\n',
			': word-1\n\n',
		]);
	});
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
		['dropped', made, 'not tried', /^the stream could not be cut; events: /],
	])('%s: what the node reads as a stream: %j', (operation, text, found, differs) => {
		expect(rowOf(operation, 'file: x', image(text))).toMatchObject({ found });
		expect(rowOf(operation, 'file: x', image(text)).differs).toMatch(differs);
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
		expect(socketRow(wrapped, [wrapped, read]).grade).toBe('works');
		const create = exchangeOf('POST', '/v1/labs/task', '{"task_id":7}');
		expect(rowOf('speech', 'items: 1', create, wrapped).differs).toContain(
			'no message that the node can read; the answer has: data.task_id',
		);
	});

	test.concurrent('a check that is throttled does not take that for a limit', async () => {
		let left = 8;
		const answer = answering({ '/voices': [{ voice_id: 7 }] });
		const { text, grade } = await ask((request, response) => {
			if (left-- > 0) answer(request, response);
			else response.writeHead(429).end('{"error":"Too many"}');
		});
		expect(text).toMatch(/edge \| there .* \| the check was throttled: run it again in a minute/);
		expect(text).toMatch(/Voices \| there .* lists the voices to choose from/);
		expect(text).not.toMatch(/By ID|no videos and images|Timeout/);
		expect(grade).toBe('limits');
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
			/History \| different \| 2 entries; under `data`; a map by ID; where the node does not look; [^;]*; no file URL/,
		);
		expect(text).toMatch(/Voices \| .*page; the next page has 1 entry \| .*By ID \(n8n says “/);
		expect(text).toMatch(
			/does not exist: .* \| the node takes this for temporary: a wrong task ID/,
		);
		expect(text).toMatch(/Speech \| different \| created in/);
		expect(text).toMatch(/answers a wrong token with a redirect \(302\) to/);
	});

	test('a wrong token may be all that is wrong', async () => {
		const { text } = await ask(answering({ '/me': { error: 'Schlüssel' } }));
		expect(text).toMatch(/Schlüssel \| check the API Token and the Base URL, http/);
	});

	test('events are called as in the editor, and untried operations are not said to work', () => {
		const lines = ['error: it does not detect: completed', 'event: generated'];
		const rows = paidRows([image(made)], [{ operation: 'trigger', lines }], []);
		expect(rows[0]!.inN8n).toBe(
			'it does not detect: Speech Completed; event: Video or Image Created',
		);
		const tried = rowOf('image', 'file: x', image(made));
		expect(verdictOf([tried])).toBe('It works, as far as was tried.');
	});
});

test('what may have been charged is named and recorded after Ctrl+C', async () => {
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
	expect(said).toMatch(/What may have been charged:\n {2}image: /);
	rmSync(join(__dirname, '../..', /Recorded in (\S+)/.exec(said)![1]!));
});
