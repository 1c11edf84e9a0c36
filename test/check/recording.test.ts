import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { WebSocket, WebSocketServer } from 'ws';
import { fileNameOf, StandIns, toJson, type Recording } from '../../check/recording.mts';
import { replay, Replay } from '../../check/replay.mts';
import { Wire, type Exchange } from '../../check/wire.mts';
import { removeEngineFolder } from '../../demo/engine.mts';
import { canary, findToken, formsOf } from '../faults/canary.mts';
import { FakeService, type Handler, type Upgrade } from '../service/fakeService.mts';
import { exchangeOf, SECRET, SECRETS } from './exchange';

/* `npm run check`: what it keeps of a service, and what the node makes of that. */

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

/** What `act` finds of a service, and again of the replay of what it did. */
async function twice<T>(
	act: (url: string) => Promise<T>,
	handle: Handler,
	upgrade?: Upgrade,
): Promise<[then: T, again: T]> {
	const service = await FakeService.start(handle, upgrade);
	const wire = new Wire();
	const then = await act(await wire.localUrlOf(service.url));
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
		expect(kept!.pieces[0]!.text).toBe('{"message":"text-1","text-1":1}');
		expect(standIns.line('fields: Cole, message')).toBe('fields: message, text-1');
	});

	test.each([
		['完了', '"完了"', '"word-1"'],
		['IN_BEARBEITUNG', '"in_bearbeitung"', '"in_word-1"'],
	])('has the same stand-in for a status as the node outputs it: %s', (status, shown, kept) => {
		const standIns = new StandIns(token, []);
		const text = JSON.stringify({ status });
		const [exchange] = standIns.exchanges([exchangeOf('GET', '/', text)]);
		expect(exchange!.pieces[0]!.text!.toLowerCase()).toBe(`{"status":${kept}}`);
		expect(standIns.line(`fields: id, status ${shown}`)).toBe(`fields: id, status ${kept}`);
	});

	test('keeps the word of another language in which the node finds a meaning', () => {
		const standIns = new StandIns(token, []);
		const [kept] = standIns.exchanges([
			exchangeOf('GET', '/', '{"msg":"Monsieur Cole, rechargez votre compte"}'),
		]);
		expect(kept!.pieces[0]!.text).toBe('{"msg":"word-1 word-2, rechargez word-3 word-4"}');
	});

	test('has nothing to replay if the node was made to do nothing', async () => {
		expect(await replay({ ...load('edge.json'), outcomes: [] })).toEqual([
			expect.stringContaining('nothing to replay'),
		]);
	});

	test('is not written with the token in it', () => {
		for (const form of [...forms, ...encoded, ...signedIn]) {
			expect(() => toJson({ voice: form } as Recording, token)).toThrow('Nothing was written');
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
		const answer = await fetch(await wire.localUrlOf(service.url), { method });
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
		const { got, ...exchange } = await pass([body], coding && { 'content-encoding': coding });
		const [{ pieces }] = new StandIns('sk-any-token', []).exchanges([exchange]) as [Exchange];
		expect(pieces).toHaveLength(1);
		if (!text) return expect(Buffer.from(pieces[0]!.base64!, 'base64').some(Boolean)).toBe(false);
		expect(exchange.pieces[0]!.text).toBe(text);
		expect(String(got)).toBe(text);
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

test('a check does not replace the recording of the one before', () => {
	const nameAt = (second: number) =>
		fileNameOf('https://acme.example', `2026-01-02T03:04:0${second}.000Z`);
	expect(nameAt(1)).not.toBe(nameAt(2));
});
