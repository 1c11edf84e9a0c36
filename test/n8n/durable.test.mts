import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TaskRecord } from '../../simulator/simulator.mts';
import { runByHand, waitForStatus } from '../../tools/n8n/executions.mts';
import { Rest } from '../../tools/n8n/rest.mts';
import { importChanged, setUp, type Setting } from './setting.mts';

/*
 * examples/durable.json over a kill -9 of n8n. Two executions wait at that moment: one whose call
 * comes when n8n is up again, and one whose call comes while n8n is down, and never again.
 */

const TRIGGER = 'When clicking ‘Execute workflow’';
/** Seconds the work takes: longer than n8n needs to start again, and shorter than that. */
const LONG = 30;
const SHORT = 5;
/** Ends as a rule while n8n is down; if not, n8n's timer resumes the execution. */
const LIMIT_SECONDS = 10;

describe('a long job over a crash of n8n', { timeout: 240_000 }, () => {
	let setting: Setting;
	let rest: Rest;
	let called: { execution: string; task: TaskRecord };
	let missed: { execution: string; task: TaskRecord };

	before(async () => {
		setting = await setUp({ pace: 1 });
		const { instance, simulator } = setting;
		await importChanged(instance, 'durable', 'called', (node) => {
			node('Speak').parameters.text = `[sim:slow=${LONG}] Called when n8n is up again.`;
		});
		await importChanged(instance, 'durable', 'missed', (node) => {
			node('Speak').parameters.text = `[sim:slow=${SHORT}] Called while n8n is down.`;
			Object.assign(node('Until the service calls').parameters, {
				resumeAmount: LIMIT_SECONDS,
				resumeUnit: 'seconds',
			});
		});
		await instance.start();
		rest = new Rest(instance.baseUrl);
		await rest.logIn();
		called = await begin('called');
		missed = await begin('missed');
		await instance.crash();
		await simulator.waitFor(() => missed.task.status === 'completed', SHORT * 2000);
		await instance.start();
	});

	after(async () => await setting?.close());

	/** Runs one of the two until n8n has stored it and waits for the call. */
	async function begin(workflowId: string): Promise<typeof called> {
		const execution = await runByHand(rest, workflowId, TRIGGER);
		await waitForStatus(rest, execution, ['waiting']);
		const task = [...setting.simulator.tasks.values()].at(-1);
		assert.ok(task?.callBackUrl, 'the service knows where to call');
		assert.notEqual(task.status, 'completed', 'the crash comes before the result');
		return { execution, task };
	}

	async function assertDone({ execution, task }: typeof called): Promise<void> {
		const ends = ['success', 'error', 'crashed', 'canceled'];
		assert.equal(await waitForStatus(rest, execution, ends, 90_000), 'success');
		const written = readFileSync(join(setting.instance.files, `speech-${task.id}.wav`));
		const served = setting.simulator.fileBytes(String(task.audioUrl));
		assert.ok(served?.equals(written), 'the file is the service’s, to the byte');
	}

	it('goes on when the service calls, after n8n is up again', async () => {
		assert.notEqual(called.task.status, 'completed', 'n8n was up before the call');
		await assertDone(called);
	});

	it('goes on after its limit when the call came while n8n was down', async () => {
		await assertDone(missed);
	});

	it('was paid once each, and leaves nothing open', () => {
		const { simulator } = setting;
		assert.equal(simulator.creates, 2);
		assert.equal(simulator.sockets(), 0);
		assert.deepEqual(simulator.leaks, []);
	});
});
