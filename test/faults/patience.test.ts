import { removeEngineFolder, type RunningWorkflow } from '../../demo/engine.mts';
import { assertClean, wordsOfFailure } from './check.mts';
import { drip, endless, type Handler } from '../service/fakeService.mts';
import { Stage, type Operation } from './stage.mts';

/*
 * Limits that no option sets, some of them an hour long: n8n's and the node's clocks are hastened, the
 * connections are real.
 */

const realTimeout = setTimeout;

beforeEach(() => {
	jest.useFakeTimers({
		now: Date.now(),
		doNotFake: [
			'nextTick',
			'setImmediate',
			'clearImmediate',
			'queueMicrotask',
			'performance',
			'hrtime',
		],
	});
});
afterEach(() => void jest.useRealTimers());
afterAll(() => removeEngineFolder());

/** Lets the clocks go on, `step` seconds each few milliseconds; resolves with the seconds it took. */
async function secondsOf({ finished, cancel }: RunningWorkflow, most: number, step = 1) {
	let isOver = false;
	void finished.finally(() => (isOver = true));
	for (let seconds = 0; ; seconds += step) {
		await new Promise((resolve) => realTimeout(resolve, 2));
		if (isOver) return seconds;
		if (seconds > most) {
			cancel();
			throw new Error(`it still goes on after ${seconds} s`);
		}
		await jest.advanceTimersByTimeAsync(step * 1000);
	}
}

const silent: Handler = () => {};
const headersOnly: Handler = (_, response) => {
	response.writeHead(200, { 'content-length': 100 });
	response.flushHeaders();
};

const READING: Operation[] = [
	'speech:get',
	'speech:delete',
	'voice:getAll',
	'history:getAll',
	'account:get',
];

/** Five readings of 30 seconds, and the pauses between them. */
const READING_SECONDS = 180;

test.each(
	READING.flatMap((operation) => [
		{ operation, what: 'says nothing', handle: silent },
		{ operation, what: 'says nothing after its headers', handle: headersOnly },
	]),
)('$operation of a service that $what', async ({ operation, handle }) => {
	const stage = await opened(operation);
	const front = await stage.front();
	front.on('GET', /./, handle);
	front.on('DELETE', /./, handle);
	const running = await stage.begin();
	const seconds = await secondsOf(running, READING_SECONDS);
	const result = await running.finished;
	expect(wordsOfFailure(result)).toMatch(/did not respond|No result/);
	expect(seconds).toBeGreaterThan(100);
	expect(front.requests.length).toBe(5);
	await closed(stage, result);
});

const started: Handler = (_, response) => {
	response.writeHead(200, { 'content-length': 100_000 });
	response.write(Buffer.alloc(2000, 1));
};
const dribbling: Handler = (request, response) => {
	started(request, response);
	drip(response, endless('a'), 5000);
};

const FETCHING: Operation[] = [
	'speech:get',
	'speech:wait',
	'history:getAll',
	'video:textToVideo',
	'image:create',
];

test.each(FETCHING.map((operation) => ({ operation })))(
	'$operation gives a file up that goes silent, after five times a minute',
	async ({ operation }) => {
		const stage = await opened(operation);
		const file = await fileInFront(stage, started);
		const running = await stage.begin();
		await asked(file);
		const seconds = await secondsOf(running, 400);
		const result = await running.finished;
		expect(wordsOfFailure(result)).toMatch(/the connection broke during the download/);
		expect(file.requests.filter((line) => line.includes('/files/')).length).toBe(5);
		expect(seconds).toBeGreaterThan(290);
		await closed(stage, result);
	},
);

test.each([
	{ operation: 'speech:get' as const, most: 3600 },
	{ operation: 'history:getAll' as const, most: 3600 },
	{ operation: 'image:create' as const, most: 900 },
])(
	'$operation gives a file up that dribbles, after $most s',
	async ({ operation, most }) => {
		const stage = await opened(operation);
		const file = await fileInFront(stage, dribbling);
		const running = await stage.begin();
		await asked(file);
		const seconds = await secondsOf(running, most + 60, 5);
		const result = await running.finished;
		// On a busy machine bytes and steps can come late for the hastened clocks.
		expect(wordsOfFailure(result)).toMatch(/No result after|the connection broke/);
		expect(seconds).toBeLessThanOrEqual(most + 120);
		await closed(stage, result);
	},
	180_000,
);

test.each(['speech:speak', 'video:textToVideo', 'image:create'] as const)(
	'%s waits some 20 seconds for a file that its host does not know yet',
	async (operation) => {
		const stage = await opened(operation);
		const file = await fileInFront(stage, (_, response) => void response.writeHead(404).end());
		const running = await stage.begin();
		// The service's clock is hastened, too: making it takes some of these seconds.
		const seconds = await secondsOf(running, 90);
		const result = await running.finished;
		expect(wordsOfFailure(result)).toMatch(/the file host responded with 404/);
		expect(file.requests.length).toBeGreaterThan(5);
		expect(seconds).toBeGreaterThan(18);
		expect(seconds).toBeLessThan(60);
		await closed(stage, result);
	},
);

test('an old file that its host does not know is given up in some seconds', async () => {
	const stage = await opened('history:getAll');
	const file = await fileInFront(stage, (_, response) => void response.writeHead(404).end());
	const running = await stage.begin();
	await asked(file);
	const seconds = await secondsOf(running, 90);
	expect(wordsOfFailure(await running.finished)).toMatch(/the file host responded with 404/);
	expect(seconds).toBeLessThan(45);
	await closed(stage, await running.finished);
});

test('a task that is completed for a minute without the address of its file', async () => {
	const stage = await opened('speech:wait');
	const front = await stage.front();
	front.on('GET', /task/, (_, response) => {
		response.end(JSON.stringify({ id: 1, status: 'completed' }));
	});
	const running = await stage.begin();
	const seconds = await secondsOf(running, 90);
	const result = await running.finished;
	expect(wordsOfFailure(result)).toMatch(/has not provided the address of its file for 60 seconds/);
	expect(seconds).toBeGreaterThanOrEqual(60);
	await closed(stage, result);
});

test('a lost generation is looked for ten minutes', async () => {
	const stage = await opened('video:textToVideo');
	const front = await stage.front();
	front.on('POST', /./, (_, response) => void response.end(': nothing\n\n'));
	front.on('GET', /histories/, (_, response) => void response.end('[]'));
	const running = await stage.begin();
	const seconds = await secondsOf(running, 700);
	const result = await running.finished;
	expect(wordsOfFailure(result)).toMatch(/stopped reporting before the result was ready/);
	expect(seconds).toBeGreaterThanOrEqual(600);
	expect(front.requests.filter((line) => line.startsWith('POST')).length).toBe(1);
	await closed(stage, result);
});

/** The stage's own clocks are real until it is open. */
async function opened(operation: Operation): Promise<Stage> {
	jest.useRealTimers();
	const stage = await Stage.open(operation);
	jest.useFakeTimers({
		now: Date.now(),
		doNotFake: [
			'nextTick',
			'setImmediate',
			'clearImmediate',
			'queueMicrotask',
			'performance',
			'hrtime',
		],
	});
	return stage;
}

async function closed(stage: Stage, result: Parameters<typeof assertClean>[1]): Promise<void> {
	// The socket stays open for a moment after the run.
	await jest.advanceTimersByTimeAsync(1000);
	jest.useRealTimers();
	try {
		await assertClean(stage, result);
	} finally {
		await stage.close();
	}
}

/** The service names a file whose host does this. */
async function fileInFront(stage: Stage, handle: Handler) {
	const front = await stage.front();
	const file = `${front.url}/files/x`;
	const made = { id: 'x', status: 'completed', audio_url: file, file_url: file };
	front.on('GET', /^\/files\//, handle);
	front.on('GET', /task/, (_, response) => void response.end(JSON.stringify(made)));
	front.on('GET', /histories/, (_, response) => void response.end(JSON.stringify([made])));
	front.on('POST', /^\/v1\/video/, (_, response) => void response.end(JSON.stringify([made])));
	return front;
}

/** Resolves once the file is asked for: until then the clocks stand still. */
async function asked({ requests }: { requests: string[] }): Promise<void> {
	while (!requests.some((line) => line.includes('/files/'))) {
		await new Promise((resolve) => realTimeout(resolve, 2));
	}
}
