import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { imagePng } from '../../simulator/media/clips.mts';
import { readExamples } from '../../tools/n8n/examples.mts';
import { changedExample, example, setUp } from '../n8n/setting.mts';
import { createTask } from '../service/order.mts';
import {
	byId,
	canvasNode,
	execute,
	importFile,
	openEditor,
	playOutput,
	seesLabels,
	showsWholeNotes,
	takePicture,
} from './browser.mts';

const { simulator, instance, page, close, add, paid } = await openEditor(
	setUp({ media: 'rendered' }),
);
after(close);
const picture = (name: string) => takePicture(page, name);

describe('in the editor', { timeout: 400_000 }, () => {
	const speak = example('speak');

	it('the example opens with our icon, and every field has its label', async () => {
		await page.goto(`${instance.baseUrl}/workflow/${speak.id}`);
		const node = canvasNode(page, speak.nodeName);
		await node.waitFor();
		const icon = node.locator('img').first();
		await icon.waitFor();
		const width = await icon.evaluate((image) => (image as any).naturalWidth);
		assert.ok(width > 0, 'the icon is drawn');

		await node.dblclick();
		const labels = ['Resource', 'Operation', 'Text', 'Voice', 'Model', 'Wait for Completion'];
		await seesLabels(page, ...labels);
		await picture('fields');
	});

	it('the voice picker lists and finds voices', async () => {
		const picker = byId(page, 'parameter-input').locator('[data-test-id="rlc-input"]');
		await picker.first().click();
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
		const { id } = await add(workflow);
		await page.goto(`${instance.baseUrl}/workflow/${id}`);
		await canvasNode(page, 'Send it').dblclick();
		await page.getByText('audio_url', { exact: true }).hover();
		await page.mouse.down();
		const url = byId(page, 'parameter-input-url').first();
		const { x, y, width, height } = (await url.boundingBox())!;
		await page.mouse.move(x + width / 2, y + height / 2, { steps: 10 });
		await page.mouse.up();
		await url.getByText('{{ $json.audio_url }}').waitFor();
		assert.equal(paid(), 0);
	});

	it('the trigger listens for one event, and shows it', async () => {
		const trigger = example('trigger-speech');
		await page.goto(`${instance.baseUrl}/workflow/${trigger.id}`);
		await canvasNode(page, trigger.nodeName).waitFor();
		await page.keyboard.press('Control+Enter');
		await page.getByText("Waiting for the next event selected in 'Trigger On'").first().waitFor();
		await simulator.waitFor(() => simulator.countOpenSockets() === 1);
		await picture('trigger-canvas');

		await canvasNode(page, trigger.nodeName).dblclick();
		await seesLabels(page, 'Listen for speech tasks, videos and images', 'Trigger On');
		await seesLabels(page, 'Task IDs', 'Download File', 'Speech Completed');
		await page.getByText('When will this node trigger my flow?').click();
		await page.getByText("Once you're happy with your workflow").first().waitFor();
		await picture('trigger-listening');
		const taskId = await createTask(simulator, 'Somebody else has this said.');
		await page.getByText(`speech-${taskId}.wav`).first().waitFor();
		await picture('trigger');
		await simulator.waitFor(() => simulator.countOpenSockets() === 0);
	});

	it('the socket closes when one stops listening', async () => {
		const button = byId(page, 'trigger-execute-button');
		await button.filter({ hasText: 'Execute step' }).click();
		await button.filter({ hasText: 'Stop Listening' }).waitFor();
		await simulator.waitFor(() => simulator.countOpenSockets() === 1);
		await button.click();
		await simulator.waitFor(() => simulator.countOpenSockets() === 0);
		await button.filter({ hasText: 'Execute step' }).waitFor();
		assert.deepEqual(simulator.leaks, []);
	});
});

/* Each example, imported from its file. */
describe('an example from its file', { timeout: 900_000 }, () => {
	for (const { name, path, nodeName, runsAlone } of readExamples()) {
		it(`${name} ${runsAlone ? 'runs' : 'shows the node as what it is used for'}`, async () => {
			await importFile(page, instance.baseUrl, path);
			await showsWholeNotes(page);
			if (runsAlone) {
				await execute(page);
				assert.ok(paid() > 0);
			} else {
				await canvasNode(page, nodeName).dblclick();
				const label = page.getByText('Resource', { exact: true });
				await label.or(page.getByText('Trigger On')).first().waitFor();
			}
		});
	}

	it('the images chosen in a form become one video', async () => {
		await importFile(page, instance.baseUrl, example('images-to-video').path);
		const opened = page.context().waitForEvent('page');
		await page.keyboard.press('Control+Enter');
		const form = await opened;
		const images = ['one', 'two', 'three'].map((name) => ({
			name: `${name}.png`,
			mimeType: 'image/png',
			buffer: imagePng(name),
		}));
		await form.locator('input[type=file]').setInputFiles(images);
		await form.locator('textarea').fill('They walk in the park');
		await form.locator('button[type=submit]').click();
		await page.getByText('Workflow executed successfully').first().waitFor();
		const sent = simulator.requests.findLast(({ path }) => path.includes('ingredients-to-video'));
		assert.equal(sent!.body.ingredients.length, 3);
	});

	it('a tool offers operations with images, which have addresses, and no fields for files', async () => {
		await importFile(page, instance.baseUrl, example('agent').path);
		await canvasNode(page, 'Generate an image').dblclick();
		await byId(page, 'parameter-input-resource').locator('input').first().click();
		await page.getByRole('option', { name: /^Video\b/ }).click();
		await byId(page, 'parameter-input-operation').locator('input').first().click();
		await page.getByRole('option', { name: /Text to Video/ }).waitFor();
		await picture('tool');
		assert.equal(await page.getByRole('option', { name: /Image Sequence to Video/ }).count(), 1);
		assert.equal(await page.getByText('Download File').count(), 0);
	});

	it('the canvas shows what each node has made', async () => {
		await importFile(page, instance.baseUrl, example('images-and-videos').path);
		await execute(page);
		// All nodes, as large as they fit; the canvas glides there, which no event tells.
		await page.keyboard.press('1');
		await page.waitForTimeout(1000);
		await picture('canvas');
	});

	it('a video plays in the output, beside the rows', async () => {
		const workflow: any = changedExample('images-and-videos', (node) => {
			const [prompts] = node('Prompts').parameters.assignments.assignments;
			prompts.value = JSON.stringify([
				...JSON.parse(prompts.value),
				'A kite above the dunes',
				'Snow falls on a quiet harbour',
			]);
			Object.assign(node('Generate videos').parameters, {
				operation: 'textToVideo',
				prompt: '={{ $json.prompt }}',
			});
		});
		workflow.connections['One item per prompt'].main[0][0].node = 'Generate videos';
		const { id } = await add(workflow);
		await page.goto(`${instance.baseUrl}/workflow/${id}`);
		await canvasNode(page, 'Generate videos').waitFor();
		await execute(page);
		await canvasNode(page, 'Generate videos').dblclick();
		const input = byId(page, 'ndv-input-panel');
		await input.locator('[data-test-id="radio-button-table"]').click();
		await input.getByText('Snow falls on a quiet harbour').waitFor();
		assert.ok((await playOutput(page, 'video')) > 0);
		const width = await page.locator('video').evaluate((video) => (video as any).videoWidth);
		assert.ok(width > 0, 'there is a picture');
		// Far enough to see that it moves.
		await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 1);
		await picture('video');
	});
});
