import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { FakeService, type Handler } from '../service/fakeService.mts';
import { good } from './seen';
import { begin, CONTINUE, fakeTime, node, sim, speech, start, video } from './setup';
import { pass, passUntil } from './time';

/* A proxy in front of the service that answers 502 for some seconds, as when the service restarts. */

let front: FakeService;
beforeEach(async () => {
	await start({ pace: 0.01 });
	front = await FakeService.inFrontOf(sim.baseUrl);
	fakeTime();
});
afterEach(async () => await front.stop());

const badGateway: Handler = (_, response) =>
	response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad Gateway</html>');
const N = '=N {{ $json.n }}';
const items = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

/** Goes on with `work` through the proxy, which is away for fifteen seconds from the beginning. */
async function throughOutage<T>(begun: Promise<T>): Promise<T> {
	await pass(15);
	front.forget();
	let isOver = false;
	void begun.finally(() => (isOver = true));
	await passUntil(() => isOver, 120);
	await passUntil(() => sim.sockets() === 0 && front.open() === 0);
	return await begun;
}

/** What comes out of one execution. */
async function outputOf(subject: object, rows: object[]) {
	const setting = { items: rows as IDataObject[], credential: { baseUrl: front.url } };
	const { finished } = await begin(node(subject as never, CONTINUE), setting);
	return good(await finished);
}

async function runThroughOutage(subject: object, count: number, requests = /./) {
	front.on(requests, badGateway);
	const output = await throughOutage(outputOf(subject, items(count)));
	return { output, lost: output.filter(({ json }) => json.error) };
}

test.each([
	['everything', /./],
	['create calls alone', /^POST/],
])(
	'300 rows while %s gets 502 for 15 s: a few fail, and none is paid twice',
	async (_, requests) => {
		const { output, lost } = await runThroughOutage(speech(N), 300, requests);
		expect(output).toHaveLength(300);
		expect(lost.length).toBeLessThanOrEqual(15);
		expect(sim.creates).toBe(300 - lost.length);
		for (const { json } of lost) expect(json.error).toMatch(/HTTP 502/);
	},
	180_000,
);

test('long texts in parts likewise', async () => {
	const text = '=One {{ $json.n }} first. Two {{ $json.n }} second. Three {{ $json.n }} third.';
	const { lost } = await runThroughOutage(speech(text, { splitLongerThan: 18 }), 40);
	expect(lost.length).toBeLessThanOrEqual(15);
	expect(sim.creates).toBeGreaterThanOrEqual(3 * (40 - lost.length));
	const spoken = new Set([...sim.tasks.values()].map(({ input }) => input));
	expect(sim.creates).toBe(spoken.size);
}, 180_000);

test.each([
	['one after another, as in a loop', 1],
	['ten side by side', 10],
])(
	'executions of one row each likewise: %s',
	async (_, atOnce) => {
		front.on(/./, badGateway);
		const rows = items(60);
		const output: INodeExecutionData[] = [];
		const executeRows = async () => {
			for (let row = rows.shift(); row; row = rows.shift()) {
				output.push(...(await outputOf(speech(N), [row])));
			}
		};
		await throughOutage(Promise.all(Array.from({ length: atOnce }, executeRows)));
		const lost = output.filter(({ json }) => json.error);
		expect(output).toHaveLength(60);
		expect(lost.length).toBeLessThanOrEqual(15);
		expect(sim.creates).toBe(60 - lost.length);
	},
	180_000,
);

test('videos likewise', async () => {
	const { lost } = await runThroughOutage(video(N, { timeout: 600 }), 60);
	expect(lost.length).toBeLessThanOrEqual(15);
	expect(sim.creates).toBe(60 - lost.length);
}, 180_000);
