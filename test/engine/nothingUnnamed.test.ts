import type { IDataObject } from 'n8n-workflow';
import { logged, removeLog } from '../faults/log.mts';
import { allClosed, bad, begin, good, node, posts, run, saved, sim, speech } from './setup';

/* What is paid, or may be, is named and kept when a run ends early. */

afterAll(() => removeLog());

/** The create call of the item whose text, or prompt, begins so. */
const onCreate = (text: string) => ({ method: 'POST', body: `":"${text}` });
const byText = (text: string) =>
	[...sim.tasks.values()].find(({ input }) => input.startsWith(text))!;
const video = (options: IDataObject = {}) =>
	node({ resource: 'video', operation: 'textToVideo', prompt: '={{ $json.t }}', options });
const ofTexts = (...texts: string[]) => ({ items: texts.map((t) => ({ t })) });

/** An event of a stream that tells which video is in the making. */
const tellsId = (id: string) =>
	`event: video_generation_status\ndata: ${JSON.stringify({ status: 'processing', id })}\n\n`;

describe('when another item fails', () => {
	const realTimeout = setTimeout;
	afterEach(() => void jest.useRealTimers());

	/** Lets all clocks but those of the connections go on until the run is over; the seconds it took. */
	async function hasten({ finished }: { finished: Promise<unknown> }): Promise<number> {
		let isOver = false;
		void finished.finally(() => (isOver = true));
		for (let seconds = 0; ; seconds++) {
			await new Promise((resolve) => realTimeout(resolve, 5));
			if (isOver) return seconds;
			if (seconds > 400) throw new Error('it goes on and on');
			await jest.advanceTimersByTimeAsync(1000);
		}
	}

	/** From here on the clocks stand still, unless they are hastened. */
	const stopClocks = () =>
		jest.useFakeTimers({
			now: Date.now(),
			doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'hrtime'],
		});

	test('a create call under way gets its answer, however late, and no further one begins', async () => {
		stopClocks();
		sim.fault({ ...onCreate('One'), action: { delayMs: 60_000 } });
		const fields = speech('={{ $json.t }}', { concurrency: 2 });
		const execution = await begin(fields, ofTexts('One.', 'Two [sim:task-fails]', 'Three.'));
		expect(await hasten(execution)).toBeGreaterThan(50);
		const { description, itemIndex } = bad(await execution.finished);
		expect(itemIndex).toBe(1);
		expect(description).toContain(`Paid: item 0: task ${byText('One').id}.`);
		expect([posts(), sim.creates]).toEqual([2, 2]);
	});

	test('what an earlier try paid for is named by the next, also of items that it did not come to', async () => {
		const failing = (after: number) =>
			sim.fault({ on: 'file', after, action: { respond: { status: 410 } } });
		const subject = node(speech('={{ $json.t }}', { concurrency: 1 }));
		failing(2);
		const first = await run(subject, ofTexts('One.', 'Two.', 'Three.'));
		expect(bad(first).itemIndex).toBe(2);
		failing(0);
		const { itemIndex, description } = bad(await run(subject, { retryOf: first.run }));
		expect(itemIndex).toBe(0);
		for (const text of ['Two', 'Three']) expect(description).toContain(`task ${byText(text).id}`);
		expect(posts()).toBe(3);
	});

	test('a create call that never answers is given up at its own limit, and may be paid', async () => {
		stopClocks();
		sim.fault({ ...onCreate('One'), action: { hang: true, accepted: true } });
		const execution = await begin(
			speech('={{ $json.t }}'),
			ofTexts('One.', 'Two [sim:task-fails]'),
		);
		const seconds = await hasten(execution);
		expect(seconds).toBeGreaterThan(110);
		expect(seconds).toBeLessThan(140);
		expect(bad(await execution.finished).description).toContain(
			'1 other item may be paid for: the service did not confirm it. A retry does not send it again. Unconfirmed: item 0: speech requested.',
		);
	});

	test('a create call that is refused after all is not named, one without an answer is', async () => {
		stopClocks();
		const late = (status: number) => ({ delayMs: 20_000, respond: { status, body: {} } });
		sim.fault({ ...onCreate('Two'), action: late(400) });
		sim.fault({ ...onCreate('Three'), action: late(502) });
		const texts = ['One [sim:task-fails]', 'Two.', 'Three.'];
		const execution = await begin(speech('={{ $json.t }}'), ofTexts(...texts));
		await hasten(execution);
		const { description, itemIndex } = bad(await execution.finished);
		expect(itemIndex).toBe(0);
		expect(description).toContain('Unconfirmed: item 2: speech requested.');
		expect(description).not.toContain('item 1');
	});

	test('the headers of a stream are waited for; the stream itself is not', async () => {
		stopClocks();
		sim.fault({ ...onCreate('One'), action: { delayMs: 60_000 } });
		const execution = await begin(video(), ofTexts('One [sim:slow=600]', 'Two [sim:unsafe]'));
		const seconds = await hasten(execution);
		expect(seconds).toBeGreaterThan(50);
		expect(seconds).toBeLessThan(90);
		expect(bad(await execution.finished).description).toContain('item 0: video requested');
		jest.useRealTimers();
		await allClosed();
	});
});

test('the videos that a stream has told of are named', async () => {
	const sse = [tellsId('video-7'), tellsId('video-8'), tellsId('video-7')];
	sim.fault({ ...onCreate('One'), action: { sse } });
	sim.fault({ ...onCreate('Two'), action: { delayMs: 500 } });
	const { description } = bad(await run(video(), ofTexts('One', 'Two [sim:unsafe]')));
	expect(description).toContain('Paid: item 0: video video-7; item 0: video video-8.');
});

describe('a time-out', () => {
	test('names the videos that its stream has told of', async () => {
		sim.fault({ method: 'POST', action: { sse: [tellsId('video-7')] } });
		const { message, description } = bad(await run(video({ timeout: 1 }), ofTexts('Mine')));
		expect(message).toContain('No result after 1 second');
		expect(description).toMatch(/History → Get Many as video-7\./);
	});

	test('while the search in the history goes on names them, too', async () => {
		sim.fault({ method: 'POST', action: { sse: [tellsId('video-7'), 'END'] } });
		const { message, description } = bad(await run(video({ timeout: 1 }), ofTexts('Mine')));
		expect(message).toContain('stopped reporting');
		expect(description).toMatch(/History → Get Many as video-7\./);
	});
});

describe('a stop', () => {
	test('names what is paid and what may be, in the error and once in the log', async () => {
		sim.fault({ ...onCreate('Three'), action: { hang: true, accepted: true } });
		const texts = ['One [sim:slow=600]', 'Two [sim:slow=600]', 'Three.'];
		const execution = await begin(speech('={{ $json.t }}'), ofTexts(...texts));
		await sim.waitFor(() => sim.tasks.size === 3);
		await sim.waitFor(() => sim.requests.filter(({ status }) => status === 200).length === 2);
		execution.cancel();
		const result = await execution.finished;
		const { message, description } = bad(result);
		expect([result.run.status, message]).toEqual(['canceled', 'The execution was canceled']);
		const [one, two, three] = ['One', 'Two', 'Three'].map((text) => byText(text).id);
		expect(description).toContain(`Paid: item 0: task ${one}; item 1: task ${two}.`);
		expect(description).toContain('Unconfirmed: item 2: speech requested.');
		expect(description).not.toContain(three);
		const warning = `Media Generation: The execution was canceled. ${description}`;
		expect((await logged()).split(warning)).toHaveLength(2);
		await allClosed();
	});

	test('says nothing of what was not asked for', async () => {
		sim.setWebSocketMode('hang');
		const execution = await begin(speech('Hi.'));
		await sim.waitFor(() => sim.requests.some(({ on }) => on === 'socket'));
		execution.cancel();
		expect(bad(await execution.finished).description).toBe('');
		expect(posts()).toBe(0);
	});

	test('during a create call: a retry does not pay again, and says why', async () => {
		sim.fault({ ...onCreate('Hi'), action: { hang: true, accepted: true } });
		const subject = node(speech('Hi.'));
		const execution = await begin(subject);
		await sim.waitFor(() => posts() === 1);
		// n8n saves the execution in the moment of the stop.
		expect(saved(execution.soFar())).toContain('"sentAt":');
		execution.cancel();
		const { run: canceled } = await execution.finished;
		expect(bad(await run(subject, { retryOf: canceled })).message).toContain('no clear response');
		expect(posts()).toBe(1);
	});

	test.each([
		['speech', () => node(speech('Hi.'))],
		['video', () => node({ resource: 'video', operation: 'textToVideo', prompt: 'Hi.' })],
	])('during a pause that the service asked for: a retry sends the %s', async (_, make) => {
		const headers = { 'Retry-After': '3' };
		sim.fault({ ...onCreate('Hi'), action: { respond: { status: 429, headers } } });
		const subject = make();
		const execution = await begin(subject);
		await sim.waitFor(() => sim.count('POST', '/') === 1);
		await sim.waitFor(() => sim.requests.at(-1)!.status === 429);
		// Nobody tells when the node has read the answer.
		while (/"(?:sentAt|asked)":/.test(saved(execution.soFar()))) {
			await new Promise((resolve) => setTimeout(resolve, 5));
		}
		execution.cancel();
		const { run: canceled, ...result } = await execution.finished;
		expect(bad({ run: canceled, ...result }).description).toBe('');
		good(await run(subject, { retryOf: canceled }));
		expect([sim.count('POST', '/'), sim.creates]).toEqual([2, 1]);
	});
});
