import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { FakeService, type Handler } from '../service/fakeService.mts';
import { createTask } from '../service/order.mts';
import { bad, good, only } from './seen';
import { tasks } from './service';
import {
	begin,
	CONTINUE,
	fakeTime,
	image,
	node,
	RETRY,
	run,
	sim,
	speech,
	start,
	task,
	video,
} from './setup';
import { hasten, pass, passUntil, passWhile } from './time';

/* A proxy in front of the service that answers 502 for some seconds, as when the service restarts. */

let front: FakeService;
beforeEach(async () => {
	await start({ pace: 0.01 });
	front = await FakeService.inFrontOf(sim.baseUrl);
	fakeTime();
});
afterEach(async () => await front.stop());

const page =
	(status: number): Handler =>
	(_, response) =>
		response.writeHead(status, { 'content-type': 'text/html' }).end('<html>Not here</html>');
const badGateway = page(502);
const json502: Handler = (_, response) =>
	response.writeHead(200, { 'content-type': 'application/json' }).end('{"code":502}');
const PARTS = '=One {{ $json.n }} first. Two {{ $json.n }} second. Three {{ $json.n }} third.';

interface Batch {
	rows: number;
	of?: () => IDataObject;
	/** In how many executions side by side, and of how many rows each. */
	atOnce?: number;
	each?: number;
	/** Paid requests of a row. */
	parts?: number;
	/** What gets 502. */
	requests?: RegExp;
	/** What says so; a web page with that status unless given. */
	outageAnswer?: Handler;
}

test.each<[string, Batch]>([
	['150 rows', { rows: 150 }],
	['100 rows whose create calls fail alone', { rows: 100, requests: /^POST/ }],
	['long texts', { rows: 40, of: () => speech(PARTS, { splitLongerThan: 18 }), parts: 3 }],
	['videos', { rows: 60, of: () => video('=N {{ $json.n }}', { timeout: 600 }) }],
	[
		'videos, in a 200 with JSON,',
		{ rows: 60, of: () => video('=N {{ $json.n }}'), outageAnswer: json502 },
	],
	['executions of a row each, as in a loop', { rows: 60, each: 1 }],
	['executions of a row each, side by side', { rows: 60, each: 1, atOnce: 10 }],
])(
	'%s while the service gets 502 for 15 s: a few fail, and none is paid twice',
	async (_, { rows, each = rows, atOnce = 1, parts = 1, requests = /./, ...batch }) => {
		const { of = () => speech('=N {{ $json.n }}'), outageAnswer = badGateway } = batch;
		front.on(requests, outageAnswer);
		const left = Array.from({ length: rows }, (_, n) => ({ n }));
		const output: INodeExecutionData[] = [];
		const credential = { baseUrl: front.url };
		const execute = async () => {
			while (left.length > 0) {
				const items = left.splice(0, each);
				const { finished } = await begin(node(of(), CONTINUE), { items, credential });
				output.push(...good(await finished));
			}
		};
		let isOver = false;
		const all = Promise.all(Array.from({ length: atOnce }, execute));
		void all.finally(() => (isOver = true));
		await pass(15);
		front.clearRules();
		await passUntil(() => isOver, 900);
		await passUntil(() => sim.countOpenSockets() === 0 && front.countConnections() === 0);
		await all;
		const lost = output.filter(({ json }) => json.error).map(({ json }) => String(json.error));
		expect(output).toHaveLength(rows);
		expect(lost.length).toBeLessThanOrEqual(15);
		expect(lost.filter((error) => !error.includes('HTTP 502'))).toEqual([]);
		const made = [...tasks().map(({ input }) => input), ...sim.history.map(({ prompt }) => prompt)];
		expect(new Set(made).size).toBe(sim.chargedCalls);
		expect(sim.chargedCalls).toBeGreaterThanOrEqual(parts * (rows - lost.length));
	},
	180_000,
);

test('a batch ends once no row has been accepted for a whole Timeout', async () => {
	front.on(/./, badGateway);
	const items = Array.from({ length: 30 }, (_, n) => ({ n }));
	const subject = node(speech('=N {{ $json.n }}', { timeout: 120, concurrency: 3 }), CONTINUE);
	const { result, seconds } = await hasten(subject, { items, credential: { baseUrl: front.url } });
	expect(good(result).filter(({ json }) => json.error)).toHaveLength(30);
	expect(seconds).toBeLessThan(3 * 120);
});

test('images that wait for memory are not sent once the service is away', async () => {
	const made = await passWhile(run(image('A'), { binaryMode: 'filesystem' }));
	// One row counts as more than half of the memory for images.
	const binary = { data: { ...only(made).binary!.data!, bytes: 30e6 } };
	const input = Array.from({ length: 10 }, () => ({ json: {}, binary }));
	let sent = 0;
	front.on(/./, (request, response) => {
		if (request.method === 'POST') sent++;
		setTimeout(() => badGateway(request, response), 1000);
	});
	const fields = { operation: 'ingredientsToVideo', binaryPropertyName: 'data', download: false };
	const subject = node(video('They dance', {}, fields), CONTINUE);
	const setting = { credential: { baseUrl: front.url }, binaryMode: 'filesystem' } as const;
	const { finished } = await begin(subject, { input, ...setting });
	let isOver = false;
	void finished.finally(() => (isOver = true));
	await pass(20);
	front.clearRules();
	await passUntil(() => isOver, 900);
	expect(good(await finished).filter(({ json }) => !json.error)).toHaveLength(10 - sent);
	expect(sent).toBeLessThanOrEqual(3);
});

test('while a quota is used up after an outage, the account is read for few of the rows', async () => {
	front.on(/^POST/, badGateway);
	const input = Array.from({ length: 40 }, (_, n) => ({ json: { n } }));
	const subject = node(video('=N {{ $json.n }}', { timeout: 60 }), { ...CONTINUE, ...RETRY });
	const { finished } = await begin(subject, { input, credential: { baseUrl: front.url } });
	let isOver = false;
	void finished.finally(() => (isOver = true));
	await pass(5);
	front.clearRules();
	const quota = JSON.stringify({ error: 'quota_exceeded' });
	front.on(/^POST/, (_, response) =>
		response.writeHead(429, { 'content-type': 'application/json' }).end(quota),
	);
	await passUntil(() => isOver, 900);
	expect(front.requests.filter((request) => request.includes('/me')).length).toBeLessThan(20);
});

const OUTAGES: Array<[string, Handler]> = [
	...[502, 403, 404, 200].map((status): [string, Handler] => [
		`a page with ${status}`,
		page(status),
	]),
	['a reset', ({ socket }) => socket.resetAndDestroy()],
	['half a response', (_, response) => response.write('{"id":', () => response.destroy())],
];
const collect = (taskId: string, options: IDataObject = {}) => task('wait', taskId, { options });

describe.each(OUTAGES)('where the service is away, with %s,', (_, outageAnswer) => {
	test('a Collect that begins meanwhile outlives it: the file comes out', async () => {
		const taskId = await createTask(sim, 'Paid for.');
		front.on(/./, outageAnswer);
		front.webSocketMode = 'page';
		const { finished } = await begin(collect(taskId), { credential: { baseUrl: front.url } });
		let isOver = false;
		void finished.finally(() => (isOver = true));
		await pass(60);
		front.clearRules();
		front.webSocketMode = 'pass';
		await passUntil(() => isOver, 10);
		expect(good(await finished)[0]!.binary!.data!.mimeType).toBe('audio/wav');
		expect(sim.chargedCalls).toBe(1);
	});

	test('a Collect says what is wrong when its time is up', async () => {
		front.on(/./, outageAnswer);
		const setting = { credential: { baseUrl: front.url } };
		const { result, seconds } = await hasten(collect('1', { timeout: 45 }), setting);
		expect(bad(result).message).toMatch(/not available|does not come from|did not respond/);
		expect(seconds).toBeGreaterThanOrEqual(42);
		expect(seconds).toBeLessThan(55);
	});
});
