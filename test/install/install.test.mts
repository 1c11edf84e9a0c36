import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { runManually } from '../../tools/n8n/executions.mts';
import { openEditor } from '../e2e/browser.mts';
import { example, setUp } from '../n8n/setting.mts';
import { followTasks, triggered } from '../n8n/workflows.mts';
import { startInternet } from './internet.mts';

/*
 * What a user does with the package in n8n's Settings → Community nodes, from the first installation
 * to the last day, by n8n's own installer. The registry is on this machine.
 */

const NAME = 'n8n-nodes-media-generation';
const PACKAGES = '/rest/community-packages';

const folder = temporaryFolder('registry');
const internet = await startInternet(folder.path);
const first = await internet.publish('1.0.0');
const editor = await openEditor(setUp({}, internet.environment, () => {}));
const { instance, simulator, rest, start, page, close, add } = editor;
after(async () => {
	await close();
	internet.close();
	folder.remove();
});

describe("n8n's own installer", { timeout: 600_000 }, () => {
	let next: string;

	/** What n8n lists as installed. */
	const installed = async () => {
		const packages: Array<Record<string, unknown>> = await rest.request('GET', PACKAGES);
		return packages.map(({ failedLoading, ...each }) => {
			assert.equal(failedLoading, false);
			return [each.packageName, each.installedVersion, each.updateAvailable];
		});
	};
	const listed = (version: string, update?: string) => [[NAME, version, update]];
	const ourNodes = async () => {
		const nodes: Array<{ name: string }> = await rest.request('GET', '/types/nodes.json');
		return nodes.map(({ name }) => name).filter((name) => name.startsWith(NAME));
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
		const workflow = await add(triggered('Every task', {}));
		await workflow.publish();
		const tasks = followTasks(simulator, workflow);

		next = await internet.publish('1.0.1');
		assert.deepEqual(await installed(), listed(first, next));
		const ended = await tasks.begin(9);
		tasks.end(ended.slice(0, 3));
		const updating = rest.request('PATCH', PACKAGES, { name: NAME, version: next });
		tasks.end(ended.slice(3, 6));
		await updating;
		tasks.end(ended.slice(6));
		assert.deepEqual(await installed(), listed(next));
		await tasks.startedOnceEach();

		const stopped = await tasks.begin(6);
		await instance.stop();
		tasks.end(stopped.slice(0, 3));
		await start();
		await simulator.waitFor(() => simulator.countOpenSockets() === 1, 60_000);
		tasks.end(stopped.slice(3));
		await tasks.startedOnceEach();
		assert.deepEqual(await installed(), listed(next));
		await workflow.unpublish();
		await runManually(rest, example('speak').id);
	});

	it('uninstalls, and what was saved goes on after the next installation', async () => {
		await rest.request('DELETE', `${PACKAGES}?name=${NAME}`);
		assert.deepEqual(await installed(), []);
		assert.deepEqual(await ourNodes(), []);
		await assert.rejects(runManually(rest, example('speak').id), /n8n-nodes-media-generation/);

		await rest.request('POST', PACKAGES, { name: NAME, version: first });
		assert.deepEqual(await installed(), listed(first, next));
		await runManually(rest, example('speak').id);
	});
});
