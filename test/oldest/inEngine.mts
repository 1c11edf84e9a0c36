/* What oldest.test.mts runs in the old n8n's engine: the package, rows of the matrix of faults, a trigger. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { IDataObject } from 'n8n-workflow';
import { loadPackage } from '../../demo/package.mts';
import { assertClean } from '../faults/check.mts';
import { casesOf, play } from '../faults/matrix.mts';
import { onStage } from '../faults/stage.mts';
import { OPERATIONS } from '../service/operations.mts';
import { activateTrigger, triggerNode } from '../service/triggerNode.mts';

const hasSocket = typeof WebSocket === 'function';
/** Every operation, with what an old n8n and an old Node do in their own way: streams and redirects. */
const ROWS =
	/^(?:Event data: an object|Files are on another host, behind redirects|.* is redirected|500 to a read request|The task is unknown$)/;

describe(`the oldest n8n on Node ${process.versions.node}`, { timeout: 120_000 }, () => {
	it('loads both nodes and the credential', async () => {
		const { nodeTypes, credentialTypes } = await loadPackage();
		const nodes = Object.keys(nodeTypes).sort();
		assert.deepEqual(nodes, ['mediaGeneration', 'mediaGenerationTrigger']);
		assert.deepEqual(Object.keys(credentialTypes), ['mediaGenerationApi']);
	});

	const cases = casesOf(({ fault }) => ROWS.test(fault));
	assert.equal(new Set(cases.map(([, , operation]) => operation)).size, OPERATIONS.length);
	for (const [name, ...row] of cases) it(name, async () => await play(...row));

	it('closes everything when the execution is canceled', async () => {
		await onStage('speech:speak', async (stage) => {
			const { tasks } = stage.sim;
			const running = await stage.start({ text: '[sim:slow=600] Wait.' });
			await stage.sim.waitFor(() => tasks.size === 1);
			assert.equal(stage.sim.countOpenSockets(), hasSocket ? 1 : 0);
			running.cancel();
			await assertClean(stage, await running.finished);
			const [task] = tasks.values();
			const { readCount } = task!;
			await pause(1500);
			assert.equal(task!.readCount, readCount, 'nobody looks at the canceled task any more');
		});
	});

	it('starts a workflow when a task is completed', async () => {
		await onStage('speech:wait', async ({ sim, taskId }) => {
			const credential = { apiToken: sim.token, baseUrl: sim.baseUrl };
			const listen = async (taskIds: string, onItem: (json?: IDataObject) => void) => {
				const nodes = [triggerNode({ events: ['completed'], taskIds, options: {} })];
				const setting = { workflowId: 'listening', nodes, credential };
				return await activateTrigger(setting, ([items]) => onItem(items?.[0]?.json), assert.fail);
			};
			if (!hasSocket) {
				const refused = listen('', () => {});
				await assert.rejects(refused, /runs on a version of Node\.js without WebSocket/);
			}
			let close: (() => Promise<void>) | undefined;
			const { event, task_id, audio_url } = await new Promise<IDataObject>((resolve, reject) => {
				const started = listen(taskId, (json) => resolve(json!));
				started.then(({ closeFunction }) => (close = closeFunction), reject);
			});
			await close?.();
			const { audioUrl } = sim.tasks.get(taskId)!;
			assert.deepEqual([event, task_id, audio_url], ['completed', taskId, audioUrl]);
		});
	});
});
