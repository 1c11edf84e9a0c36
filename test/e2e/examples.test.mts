import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { imagePng } from '../../simulator/media/clips.mts';
import { readExamples } from '../../tools/n8n/examples.mts';
import { example } from '../n8n/setting.mts';
import {
	byId,
	canvasNode,
	execute,
	importFile,
	openEditor,
	playOutput,
	publish,
} from './browser.mts';
import { takePicture } from './pictures.mts';

/* Each example, imported from its file and run by hand. */

const { simulator, instance, page, close } = await openEditor();
after(close);

describe('an example from its file', { timeout: 900_000 }, () => {
	for (const { name, path, nodeName, runsAlone, isTriggered } of readExamples()) {
		if (runsAlone) {
			it(`${name} runs`, async () => {
				const paid = simulator.creates;
				await importFile(page, instance.baseUrl, path);
				await execute(page);
				assert.ok(simulator.creates > paid);
			});
		} else if (isTriggered) {
			it(`${name} listens, once it is published`, async () => {
				await importFile(page, instance.baseUrl, path);
				await publish(page);
				await simulator.waitFor(() => simulator.sockets() === 1);
			});
		} else {
			it(`${name} shows the node as what it is used for`, async () => {
				await importFile(page, instance.baseUrl, path);
				await canvasNode(page, nodeName).dblclick();
				const label = page.getByText('Resource', { exact: true });
				await label.or(page.getByText('Trigger On')).first().waitFor();
			});
		}
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

	it('a tool offers neither operations nor fields that need files', async () => {
		await importFile(page, instance.baseUrl, example('agent').path);
		await canvasNode(page, 'Create an image').dblclick();
		await byId(page, 'parameter-input-resource').locator('input').first().click();
		await page.getByRole('option', { name: 'Video', exact: true }).click();
		await byId(page, 'parameter-input-operation').locator('input').first().click();
		await page.getByRole('option', { name: /Text to Video/ }).waitFor();
		await takePicture(page, 'tool');
		assert.equal(await page.getByRole('option', { name: /Ordered Images to Video/ }).count(), 0);
		assert.equal(await page.getByText('Download File').count(), 0);
	});

	it('the videos play in the output', async () => {
		await importFile(page, instance.baseUrl, example('images-and-videos').path);
		await execute(page);
		await canvasNode(page, 'Make the videos').dblclick();
		assert.ok((await playOutput(page, 'video')) > 0);
		const width = await page.locator('video').evaluate((video) => (video as any).videoWidth);
		assert.ok(width > 0, 'there is a picture');
		await takePicture(page, 'video');
	});
});
