import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { FakeService, type Handler } from '../service/fakeService.mts';
import { good } from './seen';
import { tasks } from './service';
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
}

test.each<[string, Batch]>([
	['300 rows', { rows: 300 }],
	['300 rows whose create calls fail alone', { rows: 300, requests: /^POST/ }],
	['long texts', { rows: 40, of: () => speech(PARTS, { splitLongerThan: 18 }), parts: 3 }],
	['videos', { rows: 60, of: () => video('=N {{ $json.n }}', { timeout: 600 }) }],
	['executions of a row each, as in a loop', { rows: 60, each: 1 }],
	['executions of a row each, side by side', { rows: 60, each: 1, atOnce: 10 }],
])(
	'%s while the service gets 502 for 15 s: a few fail, and none is paid twice',
	async (_, { rows, each = rows, atOnce = 1, parts = 1, requests = /./, ...batch }) => {
		const { of = () => speech('=N {{ $json.n }}') } = batch;
		front.on(requests, badGateway);
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
		front.forget();
		await passUntil(() => isOver, 900);
		await passUntil(() => sim.sockets() === 0 && front.open() === 0);
		await all;
		const lost = output.filter(({ json }) => json.error).map(({ json }) => String(json.error));
		expect(output).toHaveLength(rows);
		expect(lost.length).toBeLessThanOrEqual(15);
		expect(lost.filter((error) => !error.includes('HTTP 502'))).toEqual([]);
		const made = [...tasks().map(({ input }) => input), ...sim.history.map(({ prompt }) => prompt)];
		expect(new Set(made).size).toBe(sim.creates);
		expect(sim.creates).toBeGreaterThanOrEqual(parts * (rows - lost.length));
	},
	180_000,
);
