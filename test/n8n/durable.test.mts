import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ExecutionStatus } from 'n8n-workflow';
import type { TaskRecord } from '../../simulator/simulator.mts';
import { importInto } from '../../tools/n8n/examples.mts';
import {
	postJson,
	retry,
	runByHand,
	waitForEnd,
	waitForStatus,
} from '../../tools/n8n/executions.mts';
import { changedExample, HELD, setUp } from './setting.mts';

/*
 * examples/durable.json over a kill -9 of n8n. Four executions are under way at that moment: two
 * rest, one for a call that comes when n8n is up again, one for a call that comes while n8n is down
 * and never again. The third was called too early, by a stranger, and waits for the result itself.
 * So does the fourth, which never rested: what was paid for is only in n8n's saved progress.
 */

const TEXT = `${HELD} A chapter.`;
/**
 * The execution must still be waiting when n8n is killed, even on a busy machine. The wait ends while
 * n8n is down, or n8n's timer ends it.
 */
const LIMIT_SECONDS = 30;

interface Job {
	execution: string;
	task: TaskRecord;
}

const { instance, simulator, rest, start, close } = await setUp();
after(close);

describe('a long job over a crash of n8n', { timeout: 240_000 }, () => {
	let called: Job;
	let missed: Job;
	let early: Job;
	let direct: Job;

	before(async () => {
		const limit = { resumeAmount: LIMIT_SECONDS, resumeUnit: 'seconds' };
		const workflows = ['patient', 'limited', 'restless'].map((id) => {
			const workflow = changedExample('durable', (node, settings) => {
				node('Speak').parameters.text = TEXT;
				const wait = node('Until the service calls');
				if (id === 'limited') Object.assign(wait.parameters, limit);
				wait.disabled = id === 'restless';
				settings.saveExecutionProgress = id === 'restless';
			});
			return { ...workflow, id };
		});
		await importInto(instance, 'workflow', workflows);
		await start();
		called = await begin('patient');
		early = await begin('patient');
		await postJson(String(early.task.callBackUrl), { id: 'nonsense' });
		direct = await begin('restless', ['running']);
		const collecting = () => [early, direct].every(({ task }) => task.reads > 0);
		await simulator.waitFor(collecting, 60_000);
		missed = await begin('limited');
		await instance.crash();
		simulator.endTask(missed.task.id);
		await start();
	});

	/** Runs a workflow until its task is created and n8n has stored that it waits. */
	async function begin(
		workflowId: string,
		statuses: ExecutionStatus[] = ['waiting'],
	): Promise<Job> {
		const known = simulator.tasks.size;
		const execution = await runByHand(rest, workflowId);
		await simulator.waitFor(() => simulator.tasks.size > known, 60_000);
		await waitForStatus(rest, execution, statuses);
		const task = [...simulator.tasks.values()].at(-1);
		assert.ok(task?.callBackUrl, 'the service knows where to call');
		return { execution, task };
	}

	function assertWritten({ task }: Job): void {
		const written = readFileSync(join(instance.files, `speech-${task.id}.wav`));
		const served = simulator.fileBytes(String(task.audioUrl));
		assert.ok(served?.equals(written), 'the file is the service’s, to the byte');
	}

	it('goes on when the service calls, after n8n is up again', async () => {
		simulator.endTask(called.task.id);
		assert.equal((await waitForEnd(rest, called.execution)).status, 'success');
		assertWritten(called);
	});

	it('goes on after its limit when the call came while n8n was down', async () => {
		assert.equal((await waitForEnd(rest, missed.execution)).status, 'success');
		assertWritten(missed);
	});

	for (const [what, job] of [
		[
			'does not believe a false call, and is retried without paying after a crash while collecting',
			() => early,
		],
		['is retried without paying if it never waited, thanks to the saved progress', () => direct],
	] as const) {
		it(what, async () => {
			const { execution, task } = job();
			assert.equal((await waitForEnd(rest, execution)).status, 'crashed');
			simulator.endTask(task.id);
			assert.equal((await retry(rest, execution)).status, 'success');
			assertWritten(job());
		});
	}

	it('each job was paid for once, and nothing is left open', async () => {
		assert.equal(simulator.creates, 4);
		// Between two executions the socket rests for a moment.
		await simulator.waitFor(() => simulator.sockets() === 0);
		assert.deepEqual(simulator.leaks, []);
	});
});
