import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { eventually } from '../../tools/eventually.mts';
import { execute } from '../../tools/n8n/executions.mts';
import { openEditor } from '../e2e/browser.mts';
import { example, setUp } from '../n8n/setting.mts';
import { RemoteWorkflow, triggered } from '../n8n/workflows.mts';
import { createTask } from '../service/order.mts';
import { startInternet } from './internet.mts';
import { startRegistry } from './registry.mts';

/*
 * What a user does with the package in n8n's Settings → Community nodes, from the first installation
 * to the last day, by n8n's own installer. The registry is on this machine.
 */

const NAME = 'n8n-nodes-media-generation';
const PACKAGES = '/rest/community-packages';

const folder = temporaryFolder('registry');
const registry = await startRegistry(folder.path);
const first = await registry.publish('1.0.0');
const internet = await startInternet(registry.port, folder.path);
const editor = await openEditor(setUp({}, internet.environment, () => {}));
const { instance, simulator, rest, start, page, close } = editor;
after(async () => {
	await close();
	internet.close();
	await registry.close();
	folder.remove();
});

describe("n8n's own installer", { timeout: 600_000 }, () => {
	let next: string;

	/** What n8n lists as installed. */
	const installed = async () => {
		const packages: Array<Record<string, unknown>> = await rest.request('GET', PACKAGES);
		return packages.map(({ packageName, installedVersion, updateAvailable, failedLoading }) => ({
			packageName,
			installedVersion,
			updateAvailable,
			failedLoading,
		}));
	};
	const listed = (installedVersion: string, updateAvailable?: string) => [
		{ packageName: NAME, installedVersion, updateAvailable, failedLoading: false },
	];
	const ourNodes = async () => {
		const nodes: Array<{ name: string }> = await rest.request('GET', '/types/nodes.json');
		return nodes.map(({ name }) => name).filter((name) => name.startsWith(NAME));
	};
	/** One execution for each of these tasks, and no other. */
	const assertOnceEach = async (workflow: RemoteWorkflow, taskIds: string[]) => {
		const executions = await workflow
			.ended(taskIds.length, 60_000)
			.catch(async () => await workflow.executions());
		const amounts = taskIds.map(
			(id) => executions.filter(({ data }) => data.includes(`"${id}"`)).length,
		);
		assert.deepEqual(
			amounts,
			taskIds.map(() => 1),
		);
		assert.equal(executions.length, taskIds.length);
	};

	it('installs what is typed into the editor', async () => {
		assert.deepEqual(await ourNodes(), []);
		await page.goto(`${instance.baseUrl}/settings/community-nodes`);
		await page.getByRole('button', { name: 'Install a community node' }).click();
		await page.getByPlaceholder('e.g. n8n-nodes-chatwork').fill(NAME);
		await page.getByText('I understand the risks').click();
		await page.getByRole('button', { name: 'Install', exact: true }).click();
		await page.getByText(`v${first}`).waitFor();
		assert.deepEqual(await installed(), listed(first));
		const names = ['mediaGeneration', 'mediaGenerationTool', 'mediaGenerationTrigger'];
		assert.deepEqual(
			(await ourNodes()).sort(),
			names.map((name) => `${NAME}.${name}`),
		);
	});

	it('the examples go on as they are in n8n 3, as its migration report says', async () => {
		const path = '/rest/breaking-changes/report?version=v3';
		const { report } = await rest.request('GET', path);
		const rules: Array<{ nbAffectedWorkflows: number }> = report.workflowResults;
		assert.deepEqual(
			rules.filter(({ nbAffectedWorkflows }) => nbAffectedWorkflows > 0),
			[],
		);
	});

	it('an update and a restart lose no event of an active workflow, and repeat none', async () => {
		const workflow = await RemoteWorkflow.create(rest, triggered('Every task', {}));
		await workflow.publish();
		const tasks: string[] = [];
		/** Tasks that take long unless they are told to end, once n8n has saved that they are under way. */
		const begin = async (amount: number) => {
			const begun = await Promise.all(
				Array.from({ length: amount }, () =>
					createTask(simulator, '[sim:messages-first] [sim:slow=3000]'),
				),
			);
			const percentages = () => begun.map((id) => simulator.tasks.get(id)?.percentage ?? 0);
			await simulator.waitFor(() => percentages().every((percentage) => percentage > 0), 60_000);
			// n8n saves what a trigger remembers when that starts an execution.
			const short = await createTask(simulator, 'Short.');
			await eventually('every task under way to be saved', 60_000, async () => {
				const saved = new Set(await workflow.remembered());
				return begun.every((id) => saved.has(id));
			});
			tasks.push(...begun, short);
			return begun;
		};
		const end = (ids: string[]) => ids.forEach((id) => simulator.endTask(id));

		next = await registry.publish('1.0.1');
		assert.deepEqual(await installed(), listed(first, next));
		const over = await begin(9);
		end(over.slice(0, 3));
		const updating = rest.request('PATCH', PACKAGES, { name: NAME, version: next });
		end(over.slice(3, 6));
		await updating;
		end(over.slice(6));
		assert.deepEqual(await installed(), listed(next));
		await assertOnceEach(workflow, tasks);
		await execute(rest, example('speak').id);
		tasks.push([...simulator.tasks.keys()].at(-1)!);
		await assertOnceEach(workflow, tasks);

		const [first3, others] = [await begin(3), await begin(3)];
		await instance.stop();
		end(first3);
		await start();
		await simulator.waitFor(() => simulator.sockets() === 1, 60_000);
		end(others);
		await assertOnceEach(workflow, tasks);
		assert.deepEqual(await installed(), listed(next));
		await workflow.unpublish();
	});

	it('uninstalls, and what was saved goes on after the next installation', async () => {
		await rest.request('DELETE', `${PACKAGES}?name=${NAME}`);
		assert.deepEqual(await installed(), []);
		assert.deepEqual(await ourNodes(), []);
		await assert.rejects(execute(rest, example('speak').id), /n8n-nodes-media-generation/);

		await rest.request('POST', PACKAGES, { name: NAME, version: first });
		assert.deepEqual(await installed(), listed(first, next));
		await execute(rest, example('speak').id);
	});
});
