import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TaskRecord } from '../../simulator/simulator.mts';
import {
	postJson,
	retry,
	runByHand,
	waitForEnd,
	waitForStatus,
} from '../../tools/n8n/executions.mts';
import { Rest } from '../../tools/n8n/rest.mts';
import { itemsOf } from '../../tools/n8n/results.mts';
import { example, importChanged, setUp, type Setting } from './setting.mts';

/*
 * examples/durable.json over a kill -9 of n8n. Three executions are under way at that moment: two
 * wait, one for a call that comes when n8n is up again, one for a call that comes while n8n is down
 * and never again. The third was called too early, by a stranger, and waits for the result itself.
 */

const LEDGER = example('paid-once').id;
const TRIGGER = 'When clicking ‘Execute workflow’';
/** Seconds the work takes: longer than n8n needs to start again, and shorter than that. */
const LONG = 30;
const SHORT = 5;
/** Ends as a rule while n8n is down; if not, n8n's timer resumes the execution. */
const LIMIT_SECONDS = 10;

interface Job {
	execution: string;
	task: TaskRecord;
}

describe('a long job over a crash of n8n', { timeout: 240_000 }, () => {
	let setting: Setting;
	let rest: Rest;
	let called: Job;
	let missed: Job;
	let early: Job;

	before(async () => {
		setting = await setUp({ pace: 1 });
		const { instance, simulator } = setting;
		await importChanged(instance, 'durable', 'long', (node) => {
			node('Speak').parameters.text = `[sim:slow=${LONG}] Done when n8n is up again.`;
		});
		await importChanged(instance, 'durable', 'short', (node) => {
			node('Speak').parameters.text = `[sim:slow=${SHORT}] Done while n8n is down.`;
			Object.assign(node('Until the service calls').parameters, {
				resumeAmount: LIMIT_SECONDS,
				resumeUnit: 'seconds',
			});
		});
		await instance.start();
		rest = new Rest(instance.baseUrl);
		await rest.logIn();
		called = await begin('long');
		early = await begin('long');
		await postJson(String(early.task.callBackUrl), { id: 'nonsense' });
		await simulator.waitFor(() => early.task.reads > 0);
		missed = await begin('short');
		for (const job of [called, early, missed]) assert.ok(isUnderWay(job), 'too slow for this test');
		await instance.crash();
		await simulator.waitFor(() => missed.task.status === 'completed', SHORT * 2000);
		await instance.start();
	});

	after(async () => await setting?.close());

	/** Runs a workflow until n8n has stored it and waits for the call. */
	async function begin(workflowId: string): Promise<Job> {
		const execution = await runByHand(rest, workflowId, TRIGGER);
		await waitForStatus(rest, execution, ['waiting']);
		const task = [...setting.simulator.tasks.values()].at(-1);
		assert.ok(task?.callBackUrl, 'the service knows where to call');
		return { execution, task };
	}

	const isUnderWay = ({ task }: Job) => ['pending', 'processing'].includes(task.status);

	function assertWritten({ task }: Job): void {
		const written = readFileSync(join(setting.instance.files, `speech-${task.id}.wav`));
		const served = setting.simulator.fileBytes(String(task.audioUrl));
		assert.ok(served?.equals(written), 'the file is the service’s, to the byte');
	}

	it('goes on when the service calls, after n8n is up again', async () => {
		assert.ok(isUnderWay(called), 'n8n is up before the call');
		assert.equal((await waitForEnd(rest, called.execution)).status, 'success');
		assertWritten(called);
	});

	it('goes on after its limit when the call came while n8n was down', async () => {
		assert.equal((await waitForEnd(rest, missed.execution)).status, 'success');
		assertWritten(missed);
	});

	it('believes no call, and is retried without paying when it crashed while collecting', async () => {
		assert.equal((await waitForEnd(rest, early.execution)).status, 'crashed');
		assert.equal((await retry(rest, early.execution)).status, 'success');
		assertWritten(early);
	});

	it('was paid once each, and leaves nothing open', () => {
		const { simulator } = setting;
		assert.equal(simulator.creates, 3);
		assert.equal(simulator.sockets(), 0);
	});

	it('a list in a ledger is collected when it is run again, and not paid again', async () => {
		const { simulator } = setting;
		const paidBefore = simulator.creates;
		for (const time of ['first', 'second']) {
			const execution = await runByHand(rest, LEDGER, TRIGGER);
			const { status, data } = await waitForEnd(rest, execution);
			assert.equal(status, 'success', `the ${time} time`);
			const items = itemsOf({ data }, 'Collect the speech');
			assert.deepEqual(
				items.map(({ json }) => String(json.input).split(' ')[0]),
				['This', 'So', 'And'],
			);
			assert.equal(simulator.creates - paidBefore, items.length, `the ${time} time`);
		}
		assert.deepEqual(simulator.leaks, []);
	});
});
