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

/** Runs it through the proxy, which is away for fifteen seconds from the beginning. */
async function runThroughOutage(subject: object, count: number, requests = /./) {
	front.on(requests, badGateway);
	const setting = { items: items(count), credential: { baseUrl: front.url } };
	const { finished } = await begin(node(subject as never, CONTINUE), setting);
	await pass(15);
	front.forget();
	let isOver = false;
	void finished.finally(() => (isOver = true));
	await passUntil(() => isOver, 120);
	await passUntil(() => sim.sockets() === 0 && front.open() === 0);
	const output = good(await finished);
	const lost = output.filter(({ json }) => json.error);
	return { output, lost };
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

test('videos likewise', async () => {
	const { lost } = await runThroughOutage(video(N, { timeout: 600 }), 60);
	expect(lost.length).toBeLessThanOrEqual(15);
	expect(sim.creates).toBe(60 - lost.length);
}, 180_000);
