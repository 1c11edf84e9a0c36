import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ExecutionStatus } from 'n8n-workflow';
import type { TaskRecord } from '../../simulator/simulator.mts';
import {
	postJson,
	retryExecution,
	startManually,
	waitForEnd,
	waitForStatus,
} from '../../tools/n8n/executions.mts';
import { changedExample, HELD, setUp } from './setting.mts';

/*
 * examples/durable.json over a kill -9 of n8n. Four executions are under way at that moment: two
 * rest, one for a call that comes when n8n is up again, one for a call that comes while n8n is down
 * and never again. The third was called too early, by a stranger, and waits for the result itself.
 * So does the fourth, which never rested: what was paid for is only in n8n's saved progress. A fifth,
 * which a webhook starts, has not even that: nothing in n8n knows what was paid for.
 */

/**
 * The execution must still be waiting when n8n is killed, even on a busy machine. The wait ends while
 * n8n is down, or n8n's timer ends it.
 */
const LIMIT = { resumeAmount: 30, resumeUnit: 'seconds' };

interface Job {
	execution: string;
	task: TaskRecord;
}

const setting = await setUp();
const { instance, simulator, rest, start, close, add, addOnCall, lastTask } = setting;
after(close);

describe('a long job over a crash of n8n', { timeout: 240_000 }, () => {
	const jobs: Record<'called' | 'missed' | 'early' | 'direct' | 'lost', Job> = {} as any;

	/** Runs a copy of the example until its task is created and n8n has stored that it waits. */
	async function begin(limit: object, isRestless = false, isSaved = isRestless): Promise<Job> {
		const change: Parameters<typeof changedExample>[1] = (node, settings) => {
			node('Text to Speech').parameters.text = `${HELD} A chapter.`;
			Object.assign(node('Until the service calls').parameters, limit);
			node('Until the service calls').disabled = isRestless;
			settings.saveExecutionProgress = isSaved;
		};
		const known = simulator.tasks.size;
		const startIt =
			isRestless && !isSaved
				? await addOnCall('durable', change)
				: async () => await startManually(rest, (await add(changedExample('durable', change))).id);
		const execution = await startIt();
		await simulator.waitFor(() => simulator.tasks.size > known, 60_000);
		const waits: ExecutionStatus = isRestless ? 'running' : 'waiting';
		await waitForStatus(rest, execution, [waits]);
		assert.ok(lastTask().callBackUrl, 'the service knows where to call');
		return { execution, task: lastTask() };
	}

	before(async () => {
		await start();
		const called = await begin({});
		const early = await begin({});
		await postJson(String(early.task.callBackUrl), { id: 'nonsense' });
		const direct = await begin({}, true);
		const lost = await begin({}, true, false);
		const collecting = () => [early, direct, lost].every(({ task }) => task.readCount > 0);
		await simulator.waitFor(collecting, 60_000);
		const missed = await begin(LIMIT);
		Object.assign(jobs, { called, missed, early, direct, lost });
		await instance.crash();
		simulator.endTask(missed.task.id);
		await start();
	});

	for (const [what, name] of [
		['goes on when the service calls, after n8n is up again', 'called'],
		['goes on after its limit when the call came while n8n was down', 'missed'],
		['believes no false call; a retry after a crash while collecting pays nothing', 'early'],
		['is retried without paying if it never waited, thanks to the saved progress', 'direct'],
	] as const) {
		it(what, async () => {
			const { execution, task } = jobs[name];
			if (name === 'called') simulator.endTask(task.id);
			let { status } = await waitForEnd(rest, execution);
			if (name === 'early' || name === 'direct') {
				assert.equal(status, 'crashed');
				simulator.endTask(task.id);
				({ status } = await retryExecution(rest, execution));
			}
			assert.equal(status, 'success');
			setting.assertServed(task.audioUrl, setting.written(`speech-${task.id}.wav`));
		});
	}

	it('is not paid for again by a retry that does not know the task, but by the next one', async () => {
		const { execution } = jobs.lost;
		assert.equal((await waitForEnd(rest, execution)).status, 'crashed');
		const refused = await retryExecution(rest, execution);
		assert.equal(refused.status, 'error');
		assert.match(refused.data.resultData.error!.message, /^n8n crashed/);
		assert.equal(simulator.chargedCalls, 5);
		const known = simulator.tasks.size;
		const paid = retryExecution(rest, String(refused.id));
		await simulator.waitFor(() => simulator.tasks.size > known, 60_000);
		simulator.endTask(lastTask().id);
		assert.equal((await paid).status, 'success');
	});

	it('each other job was paid for once, and nothing is left open', async () => {
		assert.equal(simulator.chargedCalls, 6);
		// Between two executions the socket rests for a moment.
		await simulator.waitFor(() => simulator.countOpenSockets() === 0);
		assert.deepEqual(simulator.leaks, []);
	});
});
