import { startSimulator, type Simulator } from '../../simulator/simulator.mts';
import { createTask as createAt } from '../service/order.mts';
import { status } from '../faults/row.mts';
import { ids, SENTENCES, split, wait } from './longText';
import { bad, good, hints, only, out } from './seen';
import { answer, made, message, onCreate, onFile, posts, taskOf, tasks } from './service';
import {
	begin,
	EACH,
	fakeTime,
	node,
	RETRY,
	run,
	sim,
	speech,
	start,
	video,
	workflow,
} from './setup';
import { pass } from './time';
import { activate, beginCalled, callOf, CALLER, createTask, told } from './triggerSetup';

/** Has a service know a task of this id, which somebody else has made. */
async function giveTask(other: Simulator, id: string): Promise<void> {
	const own = await createAt(other, 'Somebody else’s text');
	await other.waitFor(() => other.tasks.get(own)!.audioUrl !== undefined);
	other.tasks.set(id, { ...other.tasks.get(own)!, id });
}

/* What was paid is not paid again, and comes out for nobody else: another service, other workflows, odd services. */

test('a retry after the Base URL was changed does not take the other service’s task of the same id', async () => {
	const fields = speech('My own text');
	onFile(answer(410));
	const failed = await run(fields);
	bad(failed);
	const other = await startSimulator({ token: sim.token, pace: 0.01 });
	try {
		const { id } = taskOf('My own text');
		await giveTask(other, id);
		const result = await run(fields, {
			retryOf: failed.run,
			credential: { baseUrl: other.baseUrl },
		});
		// It may pay anew there, or fail; it may not come out as this row's.
		expect(out(result).map(({ json }) => json.input)).not.toContain('Somebody else’s text');
		// Which task that is, where, and how it is got.
		const { message, description } = bad(result);
		expect(message).toContain(`to another Base URL, ${sim.baseUrl}, as task ${id}`);
		expect(description).toContain('To get the result at no extra charge, enter the earlier');
	} finally {
		await other.close();
	}
});

test('nor is a video looked for there', async () => {
	const fields = video('My own clip', { timeout: 1 }, { download: false });
	onCreate({ sse: [status('processing'), 'RESET'] });
	const failed = await run(fields);
	bad(failed);
	const other = await startSimulator({ token: sim.token, pace: 0.01 });
	try {
		other.history.push(made('theirs', { prompt: 'My own clip' }));
		const credential = { baseUrl: other.baseUrl };
		const { message } = bad(await run(fields, { retryOf: failed.run, credential }));
		expect(message).toMatch(/^An earlier attempt sent this request to another Base URL, \S+$/);
		expect(other.requests).toEqual([]);
	} finally {
		await other.close();
	}
});

test('nor after the task had failed, though the other service has made one of the same id', async () => {
	const fields = speech('My own text [sim:task-fails]');
	const failed = await run(fields);
	bad(failed);
	const other = await startSimulator({ token: sim.token, pace: 0.01 });
	try {
		await giveTask(other, taskOf('My own text').id);
		const credential = { baseUrl: other.baseUrl };
		const result = await run(fields, { retryOf: failed.run, credential });
		expect(out(result).map(({ json }) => json.input)).not.toContain('Somebody else’s text');
	} finally {
		await other.close();
	}
});

test('nor are its parts offered to Collect there', async () => {
	const text = SENTENCES.slice(0, 3).join(' ');
	onFile(answer(410), { times: Infinity });
	const failed = await run(split(text));
	bad(failed);
	const other = await startSimulator({ token: sim.token, pace: 0.01 });
	try {
		const credential = { baseUrl: other.baseUrl };
		const { all } = bad(await run(split(text), { retryOf: failed.run, credential }));
		expect(all).not.toMatch(/Speech → Collect/);
	} finally {
		await other.close();
	}
});

test('an error workflow has executions of its own to retry', async () => {
	const items = ['One.', 'Two [sim:task-fails] [sim:slow=8]'].map((t) => {
		return { t, workflow: { id: 'workflow-that-failed' } };
	});
	const { description } = bad(await run(speech(EACH), { mode: 'error', items }));
	expect(description).toContain("workflow' under Executions. Change the text");
});

test('an error workflow that speaks starts the failed workflow no more than once', async () => {
	await start({ pace: 0.01 });
	const trigger = await activate({
		async execute(_item, number) {
			if (number < 4) {
				// The workflow fails, and n8n starts its error workflow, with what Error Trigger puts out.
				good(
					await run(
						{ ...workflow(node(speech(`Failure ${number}`))), id: 'errors' },
						{
							mode: 'error',
							items: [
								{
									execution: { id: String(number), mode: 'trigger', error: { message: 'Oops' } },
									workflow: { id: 'workflow-with-trigger', name: 'Triggered' },
								},
							],
						},
					),
				);
			}
			return undefined;
		},
	});
	await createTask('From outside');
	await trigger.has(1);
	await new Promise((next) => setTimeout(next, 5000));
	expect(tasks().map(({ input }) => input)).toEqual(['From outside', 'Failure 0']);
});

describe('a lost answer in a called sub-workflow', () => {
	test.each([
		['failed, after an answer', '[sim:task-fails] Foreign', { events: ['failed'] }, false],
		['failed', '[sim:task-fails] Foreign', { events: ['failed'] }, true],
		['completed without input, after an answer', 'Foreign', {}, false],
		['completed without input, as the contract has it', 'Foreign', {}, true],
	])('does not swallow all of others’ events: %s', async (_, text, parameters, isLost) => {
		await start({ pace: 0 });
		fakeTime();
		const setting = { behind: [callOf()], workflowId: CALLER, parameters };
		const [trigger] = await Promise.all([activate(setting), pass(3)]);
		if (isLost) onCreate(answer(502, {}));
		const running = await beginCalled(speech('Its own', { timeout: 10 }));
		await pass(30);
		const result = await running.finished;
		if (isLost) bad(result);
		else good(result);
		expect(posts()).toBe(1);
		sim.fault({
			method: 'GET',
			path: '/v1/labs/task/',
			times: Infinity,
			action: answer(
				200,
				text === 'Foreign'
					? { id: 1, status: 'completed', audio_url: `${sim.fileOrigin}/files/1.mp3` }
					: { id: 1, status: 'error', error: 'Foreign failure' },
			),
		});
		for (const id of ['foreign-1', 'foreign-2', 'foreign-3']) {
			sim.broadcast(message(id, text === 'Foreign' ? 100 : 50));
			await pass(2);
		}
		await pass(600, 10);
		const foreign = [...told(trigger)].filter((id) => String(id).startsWith('foreign'));
		// One of them may be the lost one; not all three.
		expect(foreign.length).toBeGreaterThanOrEqual(2);
	});
});

describe('a task that a lagging replica does not know, 404 (JSON) for 15 s after it was created', () => {
	test.each([
		['in silence', false],
		['although the WebSocket tells its progress meanwhile', true],
	])('is not paid a second time by Retry On Fail: %s', async (_, isTold) => {
		await start({ pace: 3 });
		fakeTime();
		const unknown = { method: 'GET', path: '/v1/labs/task/', times: Infinity };
		sim.fault({ ...unknown, action: answer(404, { error: 'Task not found' }) });
		const { finished } = await begin(
			node(speech('Lagging [sim:slow=20]'), { ...RETRY, waitBetweenTries: 1000 }),
		);
		let isOver = false;
		void finished.finally(() => (isOver = true));
		for (let seconds = 0; seconds < 120 && !isOver; seconds++) {
			if (seconds === 15) sim.clearFaults();
			if (isTold && seconds === 8) sim.broadcast(message(tasks()[0]!.id, 30));
			await pass(1);
		}
		const result = await finished;
		// The WebSocket is closed a moment after the execution.
		await pass(1);
		const all = JSON.stringify([result.error, out(result).map(({ json }) => json), hints(result)]);
		// Paid once; or, at the very least, both are named.
		expect([tasks().length, tasks().map(({ id }) => all.includes(id))]).toEqual([1, [true]]);
	});
});

test('subtitles of a long text that lack a part say so', async () => {
	await start({ pace: 0.01 });
	const texts = SENTENCES.slice(0, 3).join(' ');
	const created = only(await run(split(texts, {}, { waitForCompletion: false })));
	const [, second] = created.json.task_ids as string[];
	await sim.waitFor(() => tasks().every(({ audioUrl }) => audioUrl !== undefined));
	sim.tasks.get(second!)!.subtitleUrl = undefined;
	const result = await run(wait(ids().join(), { subtitles: true }));
	expect(hints(result).join()).toMatch(/subtitles/i);
});

test('a later node executed after the Base URL was changed gets no other service’s sound', async () => {
	const type = 'n8n-nodes-base.manualTrigger';
	const later = node({}, { name: 'Later', id: 'later', type, credentials: {} });
	const subject = workflow(node(speech('My own text'), { id: 'its-own' }), later);
	good(await run(subject, { destinationName: 'Later' }));
	const other = await startSimulator({ token: sim.token, pace: 0.01 });
	try {
		const { id } = taskOf('My own text');
		await giveTask(other, id);
		const credential = { baseUrl: other.baseUrl };
		const result = await run(subject, { destinationName: 'Later', credential });
		expect(out(result).map(({ json }) => json.input)).not.toContain('Somebody else’s text');
	} finally {
		await other.close();
	}
});
