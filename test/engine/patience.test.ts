import type { IDataObject } from 'n8n-workflow';
import { PAGE } from '../service/bodies.mts';
import {
	FakeService,
	fileBegun,
	headersOnly,
	silent,
	type Handler,
} from '../service/fakeService.mts';
import type { FaultAction } from '../../simulator/simulator.mts';
import { bad, good, hints } from './seen';
import { ALWAYS, answer, onCreate, onFile, posts, requests } from './service';
import {
	account,
	begin,
	fakeTime,
	history,
	image,
	run,
	sim,
	speech,
	start,
	task,
	video,
	voices,
} from './setup';
import { hasten, pass, passUntil } from './time';

/* Limits that no option sets, some of them minutes long: the clocks are hastened, the connections are real. */

beforeEach(async () => {
	await start({ pace: 0.01 });
	fakeTime();
});

describe('behind something that', () => {
	let front: FakeService;
	beforeEach(async () => (front = await FakeService.inFrontOf(sim.baseUrl)));
	afterEach(async () => await front.stop());

	const OPERATIONS: Record<string, () => IDataObject> = {
		speak: () => speech('Hi.'),
		get: () => task('get', '1', { download: true }),
		collect: () => task('wait', '1'),
		delete: () => task('delete', '1'),
		voices,
		video: () => video('Hi.'),
		image: () => image('Hi.'),
		history: () => history({}, { download: true }),
		account: () => account,
	};

	/** With what words an operation fails, after how many seconds, and how often it asked for its file. */
	async function failing(operation: string) {
		const setting = { credential: { baseUrl: front.url } };
		const { result, seconds } = await hasten(OPERATIONS[operation]!(), setting);
		await passUntil(() => front.countConnections() === 0);
		expect(sim.leaks).toEqual([]);
		const files = front.requests.filter((line) => line.includes('/files/'));
		return { words: bad(result).all, seconds, files: files.length };
	}

	describe.each<[string, Handler]>([
		['says nothing', silent],
		['says nothing after its headers', headersOnly],
	])('%s', (_, handle) => {
		test.each(['get', 'delete', 'voices', 'history', 'account'])(
			'%s asks five times, for half a minute each',
			async (operation) => {
				front.on(/./, handle);
				const { words, seconds } = await failing(operation);
				expect(words).toMatch(/did not respond|No result/);
				expect(seconds).toBeGreaterThan(100);
				expect(seconds).toBeLessThan(200);
				expect(front.requests).toHaveLength(5);
			},
		);
	});

	test.each(['get', 'collect', 'history', 'video', 'image'])(
		'has files that go silent, %s tries five times, for a minute each',
		async (operation) => {
			front.serveFile(fileBegun);
			const { words, seconds, files } = await failing(operation);
			expect(words).toMatch(/the connection was lost during the download/);
			expect(files).toBe(5);
			expect(seconds).toBeGreaterThan(290);
			expect(seconds).toBeLessThan(420);
		},
	);

	test('has pages without an end in place of files, get gives them up and closes each', async () => {
		let maxInFlight = 0;
		front.serveFile(({ headers }, response) => {
			maxInFlight = Math.max(maxInFlight, front.countConnections());
			response.writeHead(headers.authorization ? 401 : 200).write(PAGE.repeat(100));
		});
		// With the token and without it.
		expect((await failing('get')).files).toBeGreaterThanOrEqual(10);
		expect(maxInFlight).toBeLessThanOrEqual(2);
	});

	test.each(['speak', 'video', 'image'])(
		'does not know a file yet, %s waits about 20 seconds',
		async (operation) => {
			front.serveFile((_, response) => response.writeHead(404).end());
			const { words, seconds, files } = await failing(operation);
			expect(words).toMatch(/the file host responded with 404/);
			expect(files).toBeGreaterThan(4);
			expect(seconds).toBeGreaterThan(18);
			expect(seconds).toBeLessThan(60);
		},
	);
});

const HTML = { 'Content-Type': 'text/html' };
const AWAY: Array<[string, FaultAction]> = [
	['502', answer(502, PAGE, HTML)],
	['503 and no Retry-After', answer(503)],
	["an edge's page with 403", answer(403, PAGE, HTML)],
	['a page in its place', answer(200, PAGE, HTML)],
	['an empty file', answer(200)],
	['a reset', { reset: true }],
];
describe.each(AWAY)('a file host that is away, with %s,', (_, action) => {
	test('for 45 s: the file comes out', async () => {
		onFile(action, ALWAYS);
		const { finished } = await begin(speech('Hi.'));
		let isOver = false;
		void finished.finally(() => (isOver = true));
		await pass(45);
		expect(isOver).toBe(false);
		sim.clearFaults();
		await passUntil(() => isOver, 10);
		expect(good(await finished)[0]!.binary!.data!.mimeType).toBe('audio/wav');
		expect(posts()).toBe(1);
	});

	test('for good: the item fails after about a minute', async () => {
		onFile(action, ALWAYS);
		const { result, seconds } = await hasten(speech('Hi.'));
		expect(bad(result).message).toContain('could not be downloaded');
		expect(seconds).toBeGreaterThan(55);
		expect(seconds).toBeLessThan(90);
	});
});

test("what a file host itself says against a file, or subtitles of another form, don't hold up an item", async () => {
	const xml = { 'Content-Type': 'application/xml' };
	onFile(answer(403, '<?xml version="1.0"?><Error>Expired</Error>', xml), { times: 5 });
	const refused = await hasten(speech('Hi.'));
	expect(bad(refused.result).message).toContain('the file host responded with 403');
	onFile(answer(200, { words: [] }), { path: '/files/subtitle', ...ALWAYS });
	const spoken = await hasten(speech('Hi.', { subtitles: true }));
	expect(hints(spoken.result).join()).toContain('Subtitles could not be downloaded');
	expect(Math.max(refused.seconds, spoken.seconds)).toBeLessThan(20);
});

test.each<[string, typeof onFile]>([
	['the service', onCreate],
	['a file host', onFile],
])(
	'%s whose clock is ahead names a time to wait for: it is measured by that clock',
	async (_, on) => {
		const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString();
		on(answer(429, '', { Date: at(60), 'Retry-After': at(64) }));
		const { result, seconds } = await hasten(speech('Hi.'));
		good(result);
		expect(seconds).toBeLessThan(30);
	},
);

describe('a file host that refuses for rate or load', () => {
	const files = () => requests('GET', '/files/').length;

	test.each([
		[429, { 'Retry-After': '5' }],
		[429, undefined],
		[503, { 'Retry-After': '5' }],
	])('with %d (%j), for longer than failures last: the file comes out', async (status, headers) => {
		onFile(answer(status, 'slow down', headers), { times: 9 });
		const { result, seconds } = await hasten(speech('Hi.'));
		expect(good(result)[0]!.binary!.data!.mimeType).toBe('audio/wav');
		expect([posts(), files()]).toEqual([1, 10]);
		expect(seconds).toBeGreaterThan(20);
	});

	test('to the end of the time: the file is named, and why', async () => {
		onFile(answer(429, 'slow down', { 'Retry-After': '86400' }), ALWAYS);
		const { result, seconds } = await hasten(video('A beetle', { timeout: 200 }));
		const { message, description } = bad(result);
		expect(message).toContain('the file host responded with 429 (slow down)');
		expect(description).toContain(sim.history[0]!.file_url);
		expect(seconds).toBeGreaterThan(190);
		// A day is not waited for, but a minute is.
		expect(files()).toBe(4);
	});
});

test('an account that has worked and refuses readings for longer than failures last: the list comes out', async () => {
	good(await run(account));
	sim.fault({ path: '/v1/labs/voices', times: 9, action: answer(429, {}, { 'Retry-After': '5' }) });
	good((await hasten(voices())).result);
});
