import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check } from '../../check/check.mts';
import { StandIns, written, type Recording } from '../../check/recording.mts';
import { replay } from '../../check/replay.mts';
import { gradeOf } from '../../check/report.mts';
import type { Exchange } from '../../check/wire.mts';
import { removeEngineFolder } from '../../demo/engine.mts';
import { startSimulator } from '../../simulator/simulator.mts';
import { canary, findToken, formsOf } from '../faults/canary.mts';
import { FakeService } from '../service/fakeService.mts';

/* `npm run check`: what it says of services, what it keeps of them, and what the node makes of that. */

afterAll(() => removeEngineFolder());

const folder = join(__dirname, '../recordings');
const load = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Recording;

describe('the node makes the same of each recording', () => {
	const files = readdirSync(folder).filter((file) => file !== 'wrong.json');
	test.concurrent.each(files)('%s', async (file) => {
		expect(await replay(load(file))).toEqual([]);
	});

	test.concurrent('and says in which lines one that is wrong differs', async () => {
		const lines = await replay(load('wrong.json'));
		expect(lines).toContain('then: speech: items: 2');
		expect(lines).toContain('now:  speech: items: 1');
	});
});

describe('a stranger checks', () => {
	const ask = async (baseUrl: string, token = 'a-token-of-mine') => {
		const service = { baseUrl, token, webSocketUrl: baseUrl.replace('http', 'ws') };
		const { rows } = await check(service, [], () => {});
		return {
			grade: gradeOf(rows),
			text: rows.map((row) => Object.values(row).join(' | ')).join('\n'),
		};
	};

	test('a dead port', async () => {
		const service = await FakeService.start(() => {});
		const { url } = service;
		await service.stop();
		expect(await ask(url)).toMatchObject({
			grade: 'fails',
			text: expect.stringMatching(/ECONNREFUSED.*check the Base URL/),
		});
	});

	test('a web server that is not the service', async () => {
		const page = await FakeService.start((_, response) =>
			response.writeHead(200).end('<html>Hello</html>'),
		);
		const { grade, text } = await ask(page.url);
		expect(grade).toBe('fails');
		expect(text).toMatch(/Account \| different \| a web page in place of JSON/);
		await page.stop();
	});

	test('with a wrong token, which the service repeats', async () => {
		const body = (authorization: string) => JSON.stringify({ error: `unknown: ${authorization}` });
		const service = await FakeService.start((request, response) =>
			response.writeHead(401).end(body(request.headers.authorization!)),
		);
		const { grade, text } = await ask(service.url);
		expect(grade).toBe('fails');
		expect(text).toMatch(
			/The token \| different \| refused: HTTP 401 with JSON: unknown: Bearer \*+ \|/,
		);
		await service.stop();
	});

	test('a service with paged lists and no WebSocket', async () => {
		const simulator = await startSimulator({ dialect: { voices: 'paged', voiceTraits: 'labels' } });
		simulator.setWebSocketMode('refuse');
		const { grade, text } = await ask(simulator.baseUrl, simulator.token);
		expect(grade).toBe('limits');
		expect(text).toMatch(
			/WebSocket \| not there \| HTTP 403 \| results come by polling, every 5 s/,
		);
		expect(text).toMatch(/Voices \| there \| 20 entries; under `voices`; traits under `labels`/);
		await simulator.close();
	});
});

describe('what is kept of an exchange', () => {
	const token = canary();
	/** Without the last: a part of it, which redaction cannot know. */
	const forms = formsOf(token).slice(0, -1);
	const keep = (text: string, path = '/v1/video/me', headers = {}) => {
		const exchange: Exchange = {
			...{ by: 'node', at: 0, origin: 'https://acme.example', method: 'GET', path, status: 200 },
			...{ http: '1.1', headers, pieces: [{ ms: 0, text }], bytes: 0 },
		};
		return JSON.stringify(new StandIns(token, ['My own prompt.'], new Map()).exchange(exchange));
	};
	const SECRETS = {
		name: 'Anna Bell',
		email: 'anna@acme.example',
		id: 'user-4711',
		prompt: 'My secret plan',
		message:
			'Sorry, anna@acme.example at 10.1.2.3: no file at https://acme.example/x/plan.mp4?sig=s3cr3t',
		file_url: 'https://files.acme.example/users/anna/plan.mp4?sig=s3cr3t',
		audio: '/users/anna/plan.mp3?sig=s3cr3t',
		'anna@acme.example': 1,
		echo: forms.join(' '),
		big: { user_id: 1 },
	};
	const json = JSON.stringify([SECRETS, { text: 'My own prompt.', status: 'completed' }]).replace(
		'"user_id":1',
		'"user_id":12345678901234567890',
	);

	test.each([
		['JSON', json],
		['a stream', `event: some_end\ndata: ${json}\n\ndata:${json}\n\n`],
		['JSON that breaks off', json.slice(0, -1)],
		['a page', `<html>${SECRETS.message} ${SECRETS.echo}</html>`],
	])('holds nothing of anybody: %s', (what, text) => {
		const kept = keep(text, '/users/anna/list?sig=s3cr3t', {
			location: SECRETS.file_url,
			'set-cookie': token,
		});
		expect(findToken(token, { kept })).toBeUndefined();
		expect(kept).not.toMatch(/anna|acme|4711|secret|s3cr3t|10\.1\.2\.3|1234567890/i);
		if (what !== 'a page') expect(kept).toMatch(/My own prompt\..*completed/);
	});

	test('is not written with the token in it', () => {
		for (const form of forms) {
			expect(() => written({ voice: form } as Recording, token)).toThrow('Nothing was written');
		}
	});
});
