import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { changedExample, example } from '../n8n/setting.mts';
import { RemoteWorkflow } from '../n8n/workflows.mts';
import { createTask } from '../service/order.mts';
import { byId, canvasNode, openEditor, seesLabels } from './browser.mts';
import { takePicture } from './pictures.mts';

const { simulator, instance, rest, page, close } = await openEditor();
after(close);

describe('in the editor', { timeout: 400_000 }, () => {
	const speak = example('speak');
	const picture = (name: string) => takePicture(page, name);

	it('the example opens with our icon, and every field has its label', async () => {
		await page.goto(`${instance.baseUrl}/workflow/${speak.id}`);
		const node = canvasNode(page, speak.nodeName);
		await node.waitFor();
		const icon = node.locator('img').first();
		await icon.waitFor();
		const width = await icon.evaluate(
			(image) => (image as unknown as { naturalWidth: number }).naturalWidth,
		);
		assert.ok(width > 0, 'the icon is drawn');

		await node.dblclick();
		const labels = ['Resource', 'Operation', 'Text', 'Voice', 'Model', 'Wait for Completion'];
		await seesLabels(page, ...labels);
		await picture('fields');
	});

	it('the voice picker lists and finds voices', async () => {
		await page
			.locator('[data-test-id="parameter-input"] [data-test-id="rlc-input"]')
			.first()
			.click();
		const entries = byId(page, 'rlc-item');
		await entries.nth(1).waitFor();
		const search = page
			.locator('[data-test-id="rlc-search"] input')
			.or(page.locator('input[data-test-id="rlc-search"]'))
			.first();
		const found = page.waitForResponse(/resource-locator-results/);
		await search.fill('Ada');
		await found;
		await entries.filter({ hasText: 'Ada' }).first().waitFor();
		// The simulated service's own search knows neither languages nor genders.
		await search.fill('german female');
		await entries
			.filter({ hasText: /German.*female/ })
			.first()
			.waitFor();
		await entries.first().hover();
		await picture('voices');
		await page.keyboard.press('Escape');
	});

	it('a field of a node that has never run is dragged into the next one', async () => {
		const workflow: any = changedExample('speak');
		const next = { type: 'n8n-nodes-base.httpRequest', typeVersion: 4.2, parameters: {} };
		workflow.nodes.push({ ...next, id: 'next', name: 'Send it', position: [600, 0] });
		workflow.connections[speak.nodeName] = {
			main: [[{ node: 'Send it', type: 'main', index: 0 }]],
		};
		const { id } = await RemoteWorkflow.create(rest, workflow);
		await page.goto(`${instance.baseUrl}/workflow/${id}`);
		await canvasNode(page, 'Send it').dblclick();
		await page.getByText('audio_url', { exact: true }).hover();
		await page.mouse.down();
		const url = byId(page, 'parameter-input-url').first();
		const { x, y, width, height } = (await url.boundingBox())!;
		await page.mouse.move(x + width / 2, y + height / 2, { steps: 10 });
		await page.mouse.up();
		await url.getByText('{{ $json.audio_url }}').waitFor();
		assert.equal(simulator.creates, 0);
	});

	it('the trigger listens for one event, and shows it', async () => {
		const trigger = example('trigger-speech');
		await page.goto(`${instance.baseUrl}/workflow/${trigger.id}`);
		await canvasNode(page, trigger.nodeName).waitFor();
		await page.keyboard.press('Control+Enter');
		await page.getByText('Waiting for the next event of a speech task').first().waitFor();
		await simulator.waitFor(() => simulator.sockets() === 1);
		await picture('trigger-canvas');

		await canvasNode(page, trigger.nodeName).dblclick();
		await seesLabels(page, 'Listen for speech tasks, videos and images', 'Trigger On');
		await seesLabels(page, 'Task IDs', 'Download File', 'Task Completed');
		await page.getByText('When will this node trigger my flow?').click();
		await page.getByText("Once you're happy with your workflow").first().waitFor();
		await picture('trigger-listening');
		const taskId = await createTask(simulator, 'Somebody else has this said.');
		await page.getByText(`speech-${taskId}.wav`).first().waitFor();
		await picture('trigger');
		await simulator.waitFor(() => simulator.sockets() === 0);
	});

	it('the socket closes when one stops listening', async () => {
		const button = byId(page, 'trigger-execute-button');
		await button.filter({ hasText: 'Execute step' }).click();
		await button.filter({ hasText: 'Stop Listening' }).waitFor();
		await simulator.waitFor(() => simulator.sockets() === 1);
		await button.click();
		await simulator.waitFor(() => simulator.sockets() === 0);
		await button.filter({ hasText: 'Execute step' }).waitFor();
		assert.deepEqual(simulator.leaks, []);
	});
});
