import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { WebSocketServer } from 'ws';
import { check } from '../../check/check.mts';
import { FREE, PAID } from '../../check/operations.mts';
import { StandIns, toJson, type Recording } from '../../check/recording.mts';
import { replay } from '../../check/replay.mts';
import { verdictOf } from '../../check/report.mts';
import { maybeCharged, paidRows, socketRow, voiceIn } from '../../check/rows.mts';
import { readExchange, type Exchange } from '../../check/wire.mts';
import { loadPackage, removeEngineFolder } from '../../demo/engine.mts';
import { PAID_OPERATIONS } from '../../nodes/shared/contract';
import { canary, findToken } from '../faults/canary.mts';
import { FakeService, type Handler, type Upgrade } from '../service/fakeService.mts';
import { fieldsOf, OPERATIONS } from '../service/operations.mts';
import { exchangeOf, SECRET, SECRETS } from './exchange';

/* `npm run check`: what it says of services. */

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

/** Checks a service. */
async function ask(handle: Handler, upgrade?: Upgrade, ...pay: string[]) {
	const service = await FakeService.start(handle, upgrade);
	const baseUrl = `${service.url}/tenant/acme`;
	const webSocketUrl = baseUrl.replace('http', 'ws');
	const checked = await check({ baseUrl, apiToken: TOKEN, webSocketUrl }, pay, () => {});
	await service.stop();
	const text = checked.rows.map((row) => Object.values(row).join(' | ')).join('\n');
	const kept = toJson(checked.recording, TOKEN);
	expect(findToken(TOKEN, { kept, text })).toBeUndefined();
	expect(SECRET.exec(kept + text)).toBeNull();
	return { ...checked, text };
}

/**
 * Answers by the end of the path: an empty account and history, and nothing of a task, unless `named`. A function gets
 * the number of the page. `refusal` is for a wrong token.
 */
const answering =
	(named: Record<string, unknown>, refusal = '{"error":"invalid_token"}', status = 401): Handler =>
	({ url, headers }, response) => {
		if (!headers.authorization?.endsWith(TOKEN)) return response.writeHead(status).end(refusal);
		const { pathname, searchParams } = new URL(url!, 'http://any');
		const bodies = Object.entries({ '/me': {}, '/histories': [], ...named });
		const [, body] = bodies.find(([end]) => pathname.endsWith(end)) ?? [];
		const found = typeof body === 'function' ? body(Number(searchParams.get('page'))) : body;
		response.writeHead(found ? 200 : 404).end(JSON.stringify(found ?? {}));
	};

const made = { id: 1, prompt: 'A kite', created_at: '2026-01-02T03:04:05', file_url: '/x.mp4' };
/** Returns a page of a history whose first page has the number `first`. */
const pageOf = (first: number) => (page: number) => {
	const start = Math.max(0, 20 * (page - first));
	const entries = Array.from({ length: 20 }, (_, index) => start + index);
	return entries.map((id) => ({ ...made, id, created_at: 1_780_000_000 - 60 * id }));
};

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
		'POST /v1/labs/task': () => [201, `{"id":${id}}`],
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
		const edge = { via: '1.1 edge.acme.example', 'x-user': 'anna', 'content-encoding': 'gzip' };
		response.writeHead(status, { ...edge, ...headers });
		response.end(gzipSync(typeof body === 'string' ? body : JSON.stringify(body)));
	};
}

/** Ends each WebSocket at once, and says why. */
const closing: Upgrade = (...handshake) =>
	new WebSocketServer({ noServer: true }).handleUpgrade(...handshake, (opened) =>
		opened.close(4001, 'no plan, Anna Bell'),
	);

type Row = [service: string, handle: Handler, ...said: RegExp[]];

describe('a stranger checks', () => {
	test.concurrent.each<Row>([
		[
			'a dead port',
			(request) => request.socket.resetAndDestroy(),
			/^[^\n]*Account \| not there \| no answer: ECONNRESET after .* \| .* Base URL .* \| fails$/,
		],
		[
			'with a wrong token, which the service repeats',
			({ headers: { authorization } }, response) =>
				response
					.writeHead(401)
					// The row shows 500 characters, which end within the token.
					.end(`{"error":"no: ${authorization} ${btoa(TOKEN)}${` ${TOKEN}`.repeat(40)}"}`),
			/Account \| .* HTTP 401 with JSON: no: [\w-]+(?: \*{5})+ \| .*API Token \| fails$/,
		],
		[
			'one that accepts any token, and counts its history from 1',
			answering({ '/histories': pageOf(1) }, '{}', 200),
			/file_url \| finds a lost video/,
			/The token \| different \| a wrong token is not refused: HTTP 200 \| a mistyped .* works/,
		],
		[
			'one that refuses a wrong token in its own words, and counts its history from 0',
			answering({ '/histories': pageOf(0) }, '{"success":false,"message":"Jeton faux"}', 200),
			/History \| different .*another page has newer entries \| the newest entries are missed/,
			/with an error: (word-\d word-\d) \| n8n says “.*: \1” \| works/,
		],
		[
			'one with a list for an account, and voices that are only names',
			answering({ '/me': [{ credits: 5 }], '/voices': ['alloy'] }, '<html>Non</html>', 403),
			/a wrong token: HTTP 403 with a web page or XML \| n8n says/,
			/Account \| different \| fields: credits; .* \| nothing is known of the account/,
			/Voices \| different \| not where the node looks \| .* By ID/,
			/not there \| HTTP 401 with no JSON \| the node polls every 5 s; .* 'Task IDs' \| limits/,
		],
		[
			'one that has only speech',
			answering({ '/me': undefined, '/histories': undefined, '/voices': [{ id: 7 }] }),
			/The token \| there \| a wrong token: HTTP 401/,
			/Voices \| different \| .*; the ID is called `id` \| lists the voices/,
			/History \| not there \| .* \| a video or image whose stream breaks is lost/,
		],
		[
			'one whose newest video has failed',
			answering({ '/histories': [{ ...made, id: 2, file_url: null }, made] }),
			/History \| there \| entries: 2; [^|]*; times have no zone: .* \| finds a lost/,
		],
		[
			'one whose history tells neither IDs nor times, and has its files elsewhere',
			answering({ '/histories': [{ prompt: 'x', data: { images: [{ url: '/x' }] } }] }),
			/file URL is called `data.images.url`; no ID that .*; no created_at that .* \| .*ID alone/,
		],
		[
			'one that hangs but for its history, which is empty',
			({ url }, response) => url!.includes('/histories') && void response.writeHead(204).end(),
			/Account \| not there \| no answer: ended by the node after \d+\.\d s \| nothing is known/,
			/Voices \| not there \| no answer: .* By ID \(still trying/,
			/History \| there \| entries: 0 \| nothing to read yet/,
		],
	])('%s', async (_, handle, ...said) => {
		const began = performance.now();
		const { text, recording } = await ask(handle);
		expect(performance.now() - began).toBeLessThan(60_000);
		for (const each of said) expect(text).toMatch(each);
		expect(await replay(recording)).toEqual([]);
	});

	test.concurrent('a service in a dialect that nobody knows', async () => {
		const { rows, text, recording } = await ask(dialect(), closing, 'speech');
		for (const said of [
			/via; x-user; content-encoding: gzip; redirects \(307\); HTTP 5xx: 1 of /,
			/The token \| different \| a wrong token: HTTP 403 with JSON: AUTH/,
			/Voices \| different \| fields: results.voice_id, .*entered By ID/,
			/History \| different \| .*; not where the node looks \| .* is lost/,
			/a task that does not exist: HTTP 404 with a web page/,
			/closed by the service \(4001 no plan, word-\d+ word-\d+\) after/,
			/status: COMPLETED; URL after .*called `id`; .*called `result.href`/,
			/file: audio\/mpeg, 100 bytes/,
		])
			expect(text).toMatch(said);
		expect(verdictOf(rows)).toMatch(
			/^It works with limits: §4.4 Voices: .*By ID.*; §6.2 WebSocket: /,
		);
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

test.concurrent('an unencrypted service behind a proxy is checked with --allow-http', async () => {
	const proxy = await FakeService.start(answering({}));
	const proxies = { http_proxy: proxy.url, no_proxy: '', NO_PROXY: '' };
	const env = { ...process.env, ...proxies, MEDIA_GENERATION_TOKEN: 'wrong-token' };
	const args = [main, '--base-url', 'http://acme.example'];
	const { status, stderr } = spawnSync(process.execPath, args, { env });
	expect([status, `${stderr}`]).toEqual([3, expect.stringMatching(/network that .* --allow-http/)]);
	const said = await textOf(spawn(process.execPath, [...args, '--allow-http'], { env }).stdout);
	await proxy.stop();
	expect(said).toMatch(/HTTP 401[^]*“Authorization/);
	takeRecording(said);
});

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
	expect(said).toMatch(/May have been charged: image\./);
	const recording = takeRecording(said);
	const image = recording.runs.find(({ operation }) => operation === 'image');
	expect(image!.exchanges.map(({ method }) => method)).toContain('POST');
	expect(await replay(recording)).toEqual([]);
});

test.each([
	['', true],
	['a redirect that ends the request', true, 303],
	['an edge that does not know', true, 502],
	['a redirect that asks for it again', false, 307],
	['a refusal', false, 402],
])('what may have been charged is told by the status: %s', (_, isCharged, status = 200) => {
	const exchanges = [exchangeOf('POST', '/v1/video/create-image', '', { status })];
	const charged = maybeCharged([{ operation: 'image', lines: [], exchanges }]);
	expect(charged).toEqual(isCharged ? ['image'] : []);
});

test('the voice that speaks is one of the list', () => {
	const list = exchangeOf('GET', '/v1/labs/voices', '{"list":[{"voice-id":"anna"}]}');
	const refused = exchangeOf('GET', '/v1/labs/voices', '{"id":"e-1"}', { status: 429 });
	const account = exchangeOf('GET', '/v1/video/me', '{"id":"me"}');
	const of = (...answers: Exchange[]) => voiceIn({ exchanges: answers.map(readExchange) });
	expect([of(refused, account, list), of(refused, account)]).toEqual(['anna', undefined]);
});

describe('what rows say', () => {
	const shown = (operation: string, ...exchanges: Exchange[]) =>
		new StandIns('').run({ operation, lines: ['file: x'], exchanges });
	const created = exchangeOf('POST', '/v1/labs/task', '{"taskId":"7","id":7}');
	const done = 'event: image_generation_complete\ndata: [{"file_url":"/x.png"}]\n\n';
	const ofKind = done.replace('file_url', 'image_url');
	const ownWords = 'event: submitted\ndata: {"images":[{"url":"/x.png"}]}\n\n';
	const lines = '{"status":"queued"}\n{"status":"done","url":"/x.png"}';
	const busy = { status: 429, headers: { 'retry-after': '9' } };
	const isNotWhole = { status: 422, broke: 'ECONNRESET' };
	test.each<[operation: string, answer: string, said: RegExp, more?: object]>([
		['image', done, /^there: events: image_generation_complete after 0\.0 s$/],
		['dropped', done, /^different: events: .*; the stream could not be cut$/],
		['image', ofKind, /; the file URL is called `image_url`$/],
		['image', ownWords, /end is called `submitted`; the file URL is called `images.url`$/],
		['image', 'event: error\ndata: 7\n\n', /^there: events: error after 0\.0 s$/],
		['image', lines, /queued after 0\.0 s.*; lines of JSON in place of a stream; .* called `url`$/],
		['image', '{"url":null}', /: fields: url; no stream, but HTTP 200 with JSON; no file URL/],
		['image', 'GIF89a', /^different: no stream, but the file itself$/],
		['image', 'Slow down', /HTTP 429, Retry-After 9 with no JSON: Slow down/, busy],
		['image', '{}', /HTTP 422, then ECONNRESET/, isNotWhole],
		['speech', '{"status":"done","media":{"audioUrl":"/x"}}', /media.audioUrl; .*; no audio URL/],
		['speech', '{"stage":"done"}', /ID is called `id`; no status that the node can read; no audio/],
		['speech', '{"state":"done","url":"/x"}', /status: done; .*status is called `state`/],
		['speech', '{"status":"Done","url":"/x.mp3"}', /URL after 0\.0 s; .*the end is called `done`/],
	])('of %s: %j', (operation, answer, said, more = {}) => {
		const create = exchangeOf('POST', '/v1/video/create-image', answer, more);
		const read = exchangeOf('GET', '/v1/labs/task/7?by=me', answer);
		const run = operation === 'speech' ? shown(operation, created, read) : shown(operation, create);
		const [row] = paidRows([run], [operation]);
		expect(`${row!.found}: ${row!.differs}`).toMatch(said);
		expect(verdictOf([row!])).toBe('It works.');
	});

	const socket = (more: Partial<Exchange>, ...texts: string[]) =>
		exchangeOf('WEBSOCKET', '/ws', '', {
			...{ status: 101, broke: 'ended by the node', ended: 3000 },
			parts: texts.map((text) => ({ ms: 1, bytes: Buffer.from(text) })),
			...more,
		});
	const message = '{"type":"labs_status_updated","payload":{"task_id":7}}';
	const closed = socket({ broke: 'closed by the service (4401)' }, '{"type":"auth"}');
	test.each<[held: Exchange, said: RegExp, ...spoken: Exchange[]]>([
		[socket({}), /^open for ten .*: 0 \| results come at once, if messages about tasks come$/],
		[socket({}, '{"type":"hello"}', message), /; messages: 2 \| results come at once$/],
		[socket({}, '{"event":"x"}'), /; fields: event; no message that the node can read \| results/],
		[closed, /closed by the service \(4401\) after 3.0 s \| the node opens it again and again/],
		[socket({}), /; closed by .*\(4401\) after/, closed],
		[
			socket({}),
			/; no message about the speech task \| the node polls every 5 to 30 s; .*'Task IDs'$/,
			created,
		],
		[socket({ status: 403, broke: undefined }), /^HTTP 403 .* polls every 5 s; .*'Task IDs'$/],
	])('of a WebSocket: %#', (held, said, ...spoken) => {
		const speech = spoken.length > 0 ? [shown('speech', ...spoken)] : [];
		const { differs, inN8n } = socketRow([shown('socket', held), ...speech]);
		expect(`${differs} | ${inN8n}`).toMatch(said);
	});
});
