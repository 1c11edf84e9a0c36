import { removeEngineFolder, type RunningWorkflow } from '../../demo/engine.mts';
import { assertClean, wordsOfFailure } from './check.mts';
import { fileBegun, headersOnly, silent } from '../service/fakeService.mts';
import { fakeTime } from '../service/fakeTime.mts';
import { fileInFront, inFront, type Row } from './row.mts';
import { onStage, type Operation } from './stage.mts';

/*
 * Limits that no option sets, some of them an hour long: n8n's and the node's clocks are hastened, the
 * connections are real.
 */

const realTimeout = setTimeout;

/** How late bytes and steps can come for the hastened clocks on a busy machine. */
const LATE_SECONDS = 600;

afterAll(() => removeEngineFolder());

/**
 * Runs an operation until it fails, after `most` seconds of clocks that are hastened, or somewhat more on a
 * busy machine.
 */
async function failing(
	operation: Operation,
	arrange: Row['make'],
	{ most, step, untilFile }: { most: number; step?: number; untilFile?: boolean },
) {
	return await onStage(operation, async (stage) => {
		await arrange?.(stage);
		const { requests } = await stage.front();
		fakeTime();
		try {
			const running = await stage.begin();
			// Until the file is asked for, the clocks stand still.
			while (untilFile && !requests.some((line) => line.includes('/files/'))) await moment();
			const seconds = await secondsOf(running, most + LATE_SECONDS, step);
			const result = await running.finished;
			// The socket stays open for a moment after the run; what it waits for comes in real time.
			for (let times = 0; stage.open() > 0 && times < 100; times++) {
				await jest.advanceTimersByTimeAsync(100);
				await moment();
			}
			jest.useRealTimers();
			await assertClean(stage, result);
			return { words: wordsOfFailure(result), seconds, requests };
		} finally {
			jest.useRealTimers();
		}
	});
}

/** Lets what the connections bring be handled, on a busy machine, too, before the clocks go on. */
async function moment(): Promise<void> {
	await new Promise((resolve) => realTimeout(resolve, 2));
	for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets the clocks go on, `step` seconds each few milliseconds; resolves with the seconds it took. */
async function secondsOf({ finished, cancel }: RunningWorkflow, most: number, step = 1) {
	let isOver = false;
	void finished.finally(() => (isOver = true));
	for (let seconds = 0; ; seconds += step) {
		await moment();
		if (isOver) return seconds;
		if (seconds > most) {
			cancel();
			throw new Error(`it still goes on after ${seconds} s`);
		}
		await jest.advanceTimersByTimeAsync(step * 1000);
	}
}

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
	const { words, seconds, requests } = await failing(operation, inFront(/./, handle), {
		most: READING_SECONDS,
	});
	expect(words).toMatch(/did not respond|No result/);
	expect(seconds).toBeGreaterThan(100);
	expect(requests.length).toBe(5);
});

const unknownFile = fileInFront((_, response) => response.writeHead(404).end());

test.each([
	'speech:get',
	'speech:wait',
	'history:getAll',
	'video:textToVideo',
	'image:create',
] as const)(
	'%s gives up a file that goes silent, after five tries of a minute each',
	async (operation) => {
		const { words, seconds, requests } = await failing(operation, fileInFront(fileBegun), {
			most: 400,
			untilFile: true,
		});
		expect(words).toMatch(/the connection broke during the download/);
		expect(requests.filter((line) => line.includes('/files/')).length).toBe(5);
		expect(seconds).toBeGreaterThan(290);
	},
);

test.each(['speech:speak', 'video:textToVideo', 'image:create'] as const)(
	'%s waits about 20 seconds for a file that its host does not know yet',
	async (operation) => {
		// The service's clock is hastened, too: making it takes some of these seconds.
		const { words, seconds, requests } = await failing(operation, unknownFile, { most: 90 });
		expect(words).toMatch(/the file host responded with 404/);
		expect(requests.length).toBeGreaterThan(5);
		expect(seconds).toBeGreaterThan(18);
		expect(seconds).toBeLessThan(60);
	},
);
