import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { request as send, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { lineOf, StandIns, toJson, type Recording } from '../../check/recording.mts';
import { replay } from '../../check/replay.mts';
import { tableOf } from '../../check/report.mts';
import { edgeRow, rowsOf } from '../../check/rows.mts';
import { record, type Exchange } from '../../check/wire.mts';
import { loadPackage, removeEngineFolder } from '../../demo/engine.mts';
import { canary, findToken, formsOf } from '../faults/canary.mts';
import { FakeService } from '../service/fakeService.mts';
import { exchangeOf, SECRET, SECRETS } from './exchange';

/* `npm run check`: what it keeps of a service, and what the node makes of that. */

// What a busy machine does slowly is no fault of it.
jest.setTimeout(400_000);
beforeAll(async () => void (await loadPackage()));
afterAll(() => removeEngineFolder());

const folder = join(__dirname, '../recordings');
const load = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Recording;
/** The pieces that are kept of an exchange. */
const keptOf = (exchange: Exchange) => new StandIns('').exchange(exchange).pieces;

describe('the node makes the same of each recording', () => {
	const files = readdirSync(folder).filter((file) => file !== 'wrong.json');
	test.concurrent.each(files)('%s', async (file) => {
		expect(await replay(load(file))).toEqual([]);
	});

	test.each(files)('and the same table: %s', (file) => {
		const { runs } = load(file);
		// Headers, which the first row is about, are not recorded.
		const [, ...rows] = rowsOf(runs, edgeRow([]));
		expect(tableOf(rows, 150)).toMatchSnapshot();
	});

	test.concurrent('and says in which lines one that is wrong differs', async () => {
		const lines = await replay(load('wrong.json'));
		expect(lines).toContain('then: speech: items: 2');
		expect(lines).toContain('now:  speech: items: 1');
	});

	test.concurrent('and says that the trigger no longer detects something', async () => {
		const { runs, ...recording } = load('near-the-contract.json');
		const exchanges = runs.flatMap((run) => run.exchanges);
		const recorded = runs.filter(({ operation }) => !/^(?:image|video)$/.test(operation));
		for (const socket of exchanges.filter(({ status }) => status === 101))
			Object.assign(socket, { pieces: [] });
		const lines = await replay({ ...recording, runs: recorded });
		expect(lines).toContain('then: trigger: event: Speech Completed');
	});
});

describe('what is kept of an exchange', () => {
	const token = canary();
	/** Without the last: a part of it, which redaction cannot know. */
	const forms = formsOf(token).slice(0, -1);
	const bytes = Buffer.from(token);
	const encoded = [bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')];
	const inJson = `{"status":"${bytes.toString('hex').replace(/../g, '\\u00$&')}"}`;
	const ownText = 'This is a short test of the speech interface.';
	const json = JSON.stringify([
		{ ...SECRETS, echo: forms.join(' '), type: encoded[0], [encoded[1]!]: true },
		{ text: ownText, status: 'completed' },
	]).replace('"user_id":1', '"user_id":12345678901234567890');

	test.each([
		['JSON', json],
		['a stream', `: anna\nevent: some_end\nid: user-47110815\ndata: ${json}\n\ndata:${json}\n\n`],
		['a stream of lines', `data: ${json.replaceAll(',"', ',\ndata: "')}\n\n`],
		['other lines among events', `x-user: anna\n Bell ${forms[0]!}\nAcme\nevent: end\ndata: 1\n\n`],
		['JSON that breaks off', json.slice(0, -1)],
		['the token in escapes', inJson],
		['the token after a name', `${btoa(`u:${token}`)} &#${bytes.join(';&#')};`],
		['a page', `<html>${SECRETS.message} ${forms.join(' ')}</html>`],
		['a few words', 'welcome Anna Bell'],
		['a word in brackets', '[ERROR] Anna Bell, user-47110815'],
		['what a program wrote', "data: {'email': 'anna@acme.example', 'by': 'Anna Bell'}\n\n"],
		['a sentence', `${SECRETS.errorMessage} ${SECRETS.message} ${forms.join(' ')}`],
	])('holds nothing of anybody: %s', (what, text) => {
		const headers = {
			location: SECRETS.file_url,
			'content-type': 'application/vnd.acme+json; charset=utf-8; user=88471208',
			'set-cookie': token,
			'x-user': SECRETS.email,
		};
		const path = '/users/anna/list?sig=s3cr3t';
		const method = /stream|events|program/.test(what) ? 'POST' : 'GET';
		const exchange = exchangeOf(method, path, text, { headers });
		const recorded = JSON.stringify(new StandIns(token).exchange(exchange));
		expect(findToken(token, { recorded })).toBeUndefined();
		expect(encoded.filter((form) => recorded.includes(form))).toEqual([]);
		expect(SECRET.exec(recorded)).toBeNull();
		expect(recorded).not.toContain('undefined');
		if (!/JSON$|stream$/.test(what)) return;
		expect(recorded).toContain(ownText);
		expect(recorded).toContain('completed');
		expect(recorded).not.toContain('9317');
	});

	const isKept = { msg: 'HTTP 429', percentage: '77 %', type: 'labs_status_updated', file_urls: 1 };
	test.each<[text: string, kept?: string]>([
		['{"message":"Cole","Cole":1}', '{"message":"word-1","text-1":1}'],
		['{"code":40400,"msg":"用户张伟余额不足"}', '{"code":40400,"msg":"word-1余额不足"}'],
		['{"status":"IN_BEARBEITUNG"}', '{"status":"IN_word-1"}'],
		['{"msg":"Ines, Wes","Ines":1}', '{"msg":"word-1, word-2","text-1":1}'],
		['{"msg":"Cole, rechargez bientôt"}', '{"msg":"word-1, rechargez word-2"}'],
		['{"id":"a-1","file":"/x/a-1.mp3?sig=1"}', '{"id":"text-1","file":"/files/1.mp3"}'],
		['["https://a.example/v1/video/me/?k=1"]', '["https://host-2.invalid/v1/video/me/"]'],
		[
			'["http://[b","//a/v1/labs/task/%Z"]',
			'["text-1","http://host-2.invalid/v1/labs/task/text-2"]',
		],
		['{"msg":"for \\"a video\\" of Cole"', '{"msg":"for \\"word-1\\" of word-2"'],
		['["no child with her small car"]', '["no word-1 with word-2 word-3 word-4"]'],
		['{"msg":"张晓明nsfw ⓐ+1 451 555"}', '{"msg":"word-1 word-2+word-3 word-4 word-5"}'],
		[
			String.raw`{"error":"{\"prompt\":\"The video\"}"}`,
			String.raw`{"error":"{\"prompt\":\"text-1\"}"}`,
		],
		['{"mark_page":1,"downloadUrl":"-"}', '{"text-1":1,"downloadUrl":"text-2"}'],
		['data: {\r\ndata: "url":\r\ndata:"/x.png"}\r\n\r\n', 'data: {"url":"/files/1.png"}\r\n\r\n'],
		['{"id":1}\n{"url":"/a.png"}\n{"m', '{"id":1}\n{"url":"/files/1.png"}\n{"m'],
		[JSON.stringify({ failure_reason: 'No task', status: 'cancelled', errmsg: 'No', ...isKept })],
		['{"histories":[],"organization":1,"base_resp":2,"b64_json":3,"pagination":4}'],
	])('has stand-ins for all that is not known to be harmless: %s', (text, recorded = text) => {
		expect(keptOf(exchangeOf('GET', '/v1/video/me', text))[0]!.text).toBe(recorded);
	});

	test.each([
		['fields: Cole, message', 'fields: message, text-1', 'fields: message'],
		['hint: See https://a.example:8443', 'hint: See http://host-1.invalid', 'hint: See'],
		['error: Cole asked “my plan” – a-1', 'error: word-1 asked “text-1” – 7', 'error:'],
		['error: responded with 206', 'error: responded with 207', 'error: responded with'],
		['file: audio/x-cole, 7 bytes', 'file: audio/x-word-1, 7 bytes'],
		[`error: ${'Cole '.repeat(99)}`, `error: ${'word-1 '.repeat(70)}`, 'error:'],
		['error: at ***** and so on', 'error: at *****+more', 'error: at'],
		['hint: It waits for 5 s', 'hint: It waits for 12 s', 'hint: It waits for'],
	])('compares a line whatever the stand-ins: %s', (then, again, line = again) => {
		const compared = [then, again].map((each) => lineOf(new StandIns('').line(each)));
		expect([...compared, lineOf(line)]).toEqual([line, line, line]);
	});

	test('is not written with the token in it', () => {
		for (const form of [...forms, ...encoded])
			expect(() => toJson({ startedAt: form } as Recording, token)).toThrow('Nothing was written');
	});
});

describe('what is recorded of the wire', () => {
	/** What is recorded of an answer that is sent in these parts. */
	const pass = async (parts: Array<string | Buffer>, headers = {}, cutsStreams?: boolean) => {
		const service = await FakeService.start(async (_, response) => {
			response.writeHead(200, headers);
			for (const part of parts) await pause(50, response.write(part));
			response.end();
		});
		const exchanges: Exchange[] = [];
		await record({ exchanges, cutsStreams }, async () => {
			const method = cutsStreams === undefined ? 'GET' : 'POST';
			const request = send(`${service.url}//a.example/b`, { method }).end();
			const [response] = (await once(request, 'response')) as [IncomingMessage];
			await response.toArray().catch(() => {});
		});
		await service.stop();
		return exchanges[0]!;
	};
	const event = 'event: image_generation_status\ndata: "starting"\n\n';
	const line = '{"status":"starting and processing of the image"}\n';
	const textsOf = (exchange: Exchange) => keptOf(exchange).map(({ text }) => text);

	test.each([
		['gzip', gzipSync(line), line],
		['deflate', deflateSync(line), line],
		['br', brotliCompressSync(line), line],
		['acme', gzipSync(line), undefined],
	])(
		'an answer in the coding %s is text, or a file of which nothing is recorded',
		async (...row) => {
			const [coding, body, text] = row;
			const exchange = await pass([body], { 'content-encoding': coding });
			expect([exchange.path, textsOf(exchange)]).toEqual(['//a.example/b', [text]]);
			expect(keptOf(exchange)[0]!.base64 ?? '').toMatch(/^A*$/);
		},
	);

	test.each([
		['', event, 1],
		['', event.replaceAll('\n', '\r'), 1],
		['', event.replaceAll('\n', '\r\n'), 1],
		// Only the second line shows that each line is an event.
		['', line, 2],
		['gzip', event, 1],
	])('a stream is recorded in whole events, and can be cut: %s %j', async (coding, text, cutAt) => {
		const pack = (part: string) => (coding === '' ? part : gzipSync(part));
		const parts = [text.slice(0, 40), text.slice(40), text].map(pack);
		const headers = { 'content-type': 'text/plain', 'content-encoding': coding };
		const exchange = await pass(parts, headers, false);
		expect(textsOf(exchange)).toEqual([text, text]);
		const [first, second] = exchange.pieces;
		expect(second!.ms - first!.ms).toBeGreaterThan(30);
		const cut = await pass(parts, headers, true);
		expect([textsOf(cut).length, cut.broke]).toEqual([cutAt, 'cut by the check']);
	});
});
