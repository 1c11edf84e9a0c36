import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { WebSocketServer } from 'ws';
import { check, reportOf } from '../../check/check.mts';
import { FREE, PAID, type Session } from '../../check/operations.mts';
import { toJson, type Recording } from '../../check/recording.mts';
import { replay } from '../../check/replay.mts';
import { verdictOf } from '../../check/report.mts';
import { maybeCharged } from '../../check/rows.mts';
import { loadPackage, removeEngineFolder } from '../../demo/engine.mts';
import { PAID_OPERATIONS } from '../../nodes/shared/contract';
import { canary, findToken } from '../faults/canary.mts';
import { FakeService, type Handler, type Upgrade } from '../service/fakeService.mts';
import { fieldsOf, OPERATIONS } from '../service/operations.mts';
import { exchangeOf, SECRET, SECRETS } from './exchange';

/* `npm run check`: what it says of services. */

// What a busy machine does slowly is no fault of it.
jest.setTimeout(400_000);
beforeAll(async () => void (await loadPackage()));
afterAll(() => removeEngineFolder());

const main = join(__dirname, '../../check/main.mts');
const TOKEN = canary();

test('each operation that needs nothing is tried, if it is free', () => {
	const needsNothing = OPERATIONS.filter(
		(each) => !fieldsOf(each).some(({ required }) => required),
	);
	expect(Object.values(FREE)).toEqual(expect.arrayContaining(needsNothing));
});

test('each operation that is charged can be tried with --pay, and docs/check.md names it', () => {
	const tried = Object.values(PAID).map(({ contractRow }) => contractRow.path as string);
	expect(tried).toEqual(expect.arrayContaining(PAID_OPERATIONS.map(({ path }) => path)));
	const page = readFileSync('docs/check.md', 'utf8');
	const [, pay = ''] = /--pay ([\w,]+)/.exec(page) ?? [];
	expect(pay.split(',').sort()).toEqual(Object.keys(PAID).sort());
	const [list = ''] = /(?:^- `.*\n)+/m.exec(page) ?? [];
	expect(Object.keys(PAID).filter((name) => !list.includes(`\`${name}\``))).toEqual([]);
});

/** Refuses any token. */
const refusing: Handler = ({ headers: { authorization } }, response) =>
	// The row shows 500 characters, which end within the token.
	response
		.writeHead(401)
		.end(`{"error":"no: ${authorization} ${btoa(TOKEN)}${` ${TOKEN}`.repeat(40)}"}`);

/** Gives all answers in its own dialect, compressed, and tells in each of people. */
function dialect(): Handler {
	const id = '7700000000000000123';
	let count = 0;
	const answers: Record<string, (url: string) => [number, unknown, object?]> = {
		'GET /v1/video/me': () =>
			count++ ? [200, { ...SECRETS, apiKey: TOKEN }] : [503, 'Busy, Anna Bell'],
		'GET /v1/labs/voices': () => [200, { results: [{ voice_id: 12, ...SECRETS }] }],
		'GET /v1/video/histories': (url) =>
			url.includes('acct')
				? [200, { data: { items: [SECRETS], totalCount: 1 } }]
				: [307, '', { location: `${url}&acct=user-47110815` }],
		'POST /v1/labs/task': () => [201, `{"id":${id},"user_id":1,"clip_id":null}`],
		[`GET /v1/labs/task/${id}`]: () => [
			200,
			`{"id":${id},"status":"COMPLETED","owner":"Anna Bell","result":{"href":"/dl/anna.wav?sig=s3cr3t"}}`,
		],
	};
	return ({ url, method, headers: { authorization } }, response) => {
		if (url!.startsWith('/dl/'))
			return response.writeHead(200, { 'content-type': 'text/plain' }).end(`ID3${'\0'.repeat(97)}`);
		const [path = ''] = url!.slice('/tenant/acme'.length).split('?');
		const [status, body, headers] = !authorization?.endsWith(TOKEN)
			? [403, { code: 'AUTH', hint: `Anna Bell sent ${authorization}` }]
			: (answers[`${method} ${path}`]?.(url!) ?? [404, '<html><h1>Sorry, Anna Bell</h1></html>']);
		const edge = {
			server: 'Edge/7 (edge.acme.example)',
			via: '1.1 edge.acme.example',
			'x-user': 'anna',
			'content-encoding': 'gzip',
		};
		response.writeHead(status, { ...edge, ...headers });
		response.end(gzipSync(typeof body === 'string' ? body : JSON.stringify(body)));
	};
}

/** Speaks once, and answers nothing anymore after its file was read. */
function dying(): Handler {
	let isDead = false;
	return ({ url, method, socket }, response) => {
		if (isDead) return socket.destroy();
		if ((isDead = url!.endsWith('.mp3'))) return response.end(`ID3${'\0'.repeat(97)}`);
		if (url!.endsWith('/me')) return response.end('{"credits":1}');
		if (url!.includes('/voices')) return response.end('[{"voice_id":"v"}]');
		if (url!.includes('/histories')) return response.end('[]');
		if (method === 'POST') return response.end('{"task_id":7}');
		if (!url!.endsWith('/7')) return response.writeHead(404).end('{}');
		return response.end('{"id":7,"status":"completed","audio_url":"/a.mp3"}');
	};
}

/** Opens each WebSocket, and closes it after a message. */
const closing: Upgrade = (...handshake) =>
	new WebSocketServer({ noServer: true }).handleUpgrade(...handshake, (opened) =>
		opened.send('Anna Bell', () => opened.close(4001, 'no plan, Anna Bell')),
	);

type Row = [service: string, handle: Handler, output: RegExp[], pay?: string[], upgrade?: Upgrade];

test.concurrent.each<Row>([
	[
		'a dead port',
		(request) => request.socket.resetAndDestroy(),
		[/^[^\n]*Account \| not there \| no answer: ECONNRESET after .* \| .* Base URL .* \| fails$/m],
	],
	[
		'with a wrong token, which the service repeats',
		refusing,
		[/Account \| .* HTTP 401 with JSON: no: [\w-]+(?: \*{5})+ \| .*API Token \| fails$/m],
	],
	[
		'one that hangs but for its history, which is empty',
		({ url }, response) => {
			if (url!.includes('/histories')) response.writeHead(204).end();
			else if (url!.includes('/voices')) response.writeHead(200).write('[');
		},
		[
			/Account \| not there \| no answer: ended by the node after \d+\.\d s \| nothing is known/,
			/Voices \| different \| HTTP 200, then ended by the node \| .* By ID \(there was no result/,
			/History \| there \| entries: 0 \| nothing to read yet/,
			/What is charged \| not tried \| speech, .*; no voice to use/,
		],
		['speech'],
	],
	[
		'one that has only voices, where the node does not look',
		({ url }, response) =>
			url!.includes('/voices')
				? response.end('{"data":{"page":{"content":[{"voice_id":1}]}}}')
				: response.writeHead(404).end('{}'),
		[/Voices \| different \| fields: data.page.content.voice_id; not where the node looks \|/],
	],
	[
		'one in a dialect that nobody knows',
		dialect(),
		[
			/server: Edge\/7; via; x-user; content-encoding: gzip; redirects \(307\) .*follows redirects/,
			/The token \| different \| a wrong token: HTTP 403 with JSON: AUTH/,
			/Voices \| different \| fields: results.voice_id, .*entered By ID/,
			/History \| different \| .*; not where the node looks \| .* is lost/,
			/a task that does not exist: HTTP 404 with a web page/,
			/messages: [1-9].*closed by the service \(4001 no plan, word-\d+ word-\d+\) after/,
			/status: COMPLETED; URL after .*called `id`; .*called `result.href`/,
			/file: audio\/mpeg, 100 bytes/,
			/^It works with limits: §4.4 Voices: .*By ID.*; §6.2 WebSocket: /m,
			/^Charged: speech 7700000000000000123$/m,
		],
		['speech'],
		closing,
	],
	[
		'one that dies after its first file',
		dying(),
		[
			/Speech \| .* \| file: audio\/mpeg, 100 bytes;/,
			/Collect \| different \| no result \| there was no result in time, so the check ended it \| limits/,
			/^Charged: speech 7$/m,
		],
		['speech'],
	],
])('a stranger checks %s', async (_, handle, output, pay = [], upgrade?: Upgrade) => {
	const service = await FakeService.start(handle, upgrade);
	const baseUrl = `${service.url}/tenant/acme`;
	const webSocketUrl = baseUrl.replace('http', 'ws');
	const credential = { baseUrl, apiToken: TOKEN, webSocketUrl };
	const session: Session = { credential, runs: [] };
	await check(session, pay);
	const { rows, recording, charged } = reportOf(session);
	await service.stop();
	const text = [
		...rows.map((row) => Object.values(row).join(' | ')),
		...[verdictOf(rows), `Charged: ${charged.join(', ')}`],
	].join('\n');
	const times = recording.runs.flatMap(({ exchanges }) => exchanges.map(({ at }) => at));
	if (charged.length === 0) expect(Math.max(...times) - Math.min(...times)).toBeLessThan(50_000);
	const written = toJson(recording, TOKEN);
	expect(findToken(TOKEN, { written, text })).toBeUndefined();
	expect(SECRET.exec(written + text.replace(/^Charged.*/m, ''))).toBeNull();
	for (const each of output) expect(text).toMatch(each);
	expect(await replay(recording)).toEqual([]);
});

/** Removes the recording that a command has made, as it says, and returns it. */
function takeRecording(output: string): Recording {
	const file = join(__dirname, '../..', /Recorded in (\S+)/.exec(output)![1]!);
	const text = readFileSync(file, 'utf8');
	rmSync(file);
	return JSON.parse(text) as Recording;
}

/** Starts the command. Resolves with its exit code and what it has said once it has ended. */
function start(args: string[], env = {}) {
	const child = spawn(process.execPath, [main, ...args], { env: { ...process.env, ...env } });
	const ended = Promise.all([once(child, 'close'), textOf(child.stdout), textOf(child.stderr)]);
	return { child, ended: ended.then(([[code], ...output]) => [code, output.join('')] as const) };
}

test.concurrent('an unencrypted service behind a proxy is checked with --allow-http', async () => {
	const proxy = await FakeService.start(refusing);
	const env = { http_proxy: proxy.url, no_proxy: '', NO_PROXY: '', MEDIA_GENERATION_TOKEN: TOKEN };
	const args = ['--base-url', 'http://acme.example'];
	expect(await start(args, env).ended).toEqual([3, expect.stringMatching(/ .* --allow-http/)]);
	const [, output] = await start([...args, '--allow-http'], env).ended;
	await proxy.stop();
	expect(output).toMatch(/HTTP 401[^]*“Authorization/);
	takeRecording(output);
});

test.concurrent.each([
	['Ctrl+C', 'SIGINT'],
	['a mistake outside of promises', 'SIGUSR2'],
] as const)('what may have been charged is named and recorded after %s', async (_, signal) => {
	const mistake = "process.on('SIGUSR2',()=>{throw new Error('mistake')})";
	const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(mistake)}` };
	const { child, ended } = start(['--pay', 'image'], env);
	await new Promise<void>((resolve) => {
		child.stderr.on('data', (part) => /image starting/.test(part) && resolve());
	});
	child.kill(signal);
	// npm passes on what the terminal has sent, too.
	setTimeout(() => child.kill('SIGINT'), 5);
	const [code, output] = await ended;
	expect([code, output]).toEqual([3, expect.stringMatching(/May have been charged: image/)]);
	const recording = takeRecording(output);
	const image = recording.runs.find(({ operation }) => operation === 'image');
	expect(image!.exchanges.map(({ method }) => method)).toContain('POST');
	expect(await replay(recording)).toEqual([]);
});

test('what may have been charged is told by the status', () => {
	const isCharged = (status: number, broke?: string) => {
		const exchanges = [exchangeOf('POST', '/v1/video/create-image', '', { status, broke })];
		return maybeCharged([{ operation: 'image', lines: [], exchanges }])[0] === 'image';
	};
	expect([200, 303, 502, 307, 402].filter((status) => isCharged(status))).toEqual([200, 303, 502]);
	const ways = ['ECONNRESET', 'ECONNREFUSED'];
	expect(ways.filter((broke) => isCharged(0, broke))).toEqual(['ECONNRESET']);
});

test.each([
	['{"data":{"taskId":7,"userId":8},"user":{"id":9},"grid":1}', 'image 7'],
	['{"files":[{"file-id":"a"},{"videoID":"b"}]}', 'image a b'],
	['{"detail":"{\\"task_id\\":\\"t\\"}","UUID":"u","TaskId":"v","paid":"w"}', 'image t u v'],
	['data:{"id":"a"}\n\ndata:{"uuid":"b"}\n', 'image a b'],
	['{"user":{"id":9,"tags":["x"]},"data":{"id":"a-1","task_id": 7,"job_id":"b', 'image a-1 7'],
])('the IDs of what may have been charged are named: %s', (text, named) => {
	const exchanges = [exchangeOf('POST', '/v1/video/create-image', text)];
	expect(maybeCharged([{ operation: 'image', lines: [], exchanges }])).toEqual([named]);
});
