import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setUp } from '../n8n/setting.mts';
import { byId, openEditor, playOutput, takePicture } from './browser.mts';

/* What README's five-minute start describes, done by somebody who has never seen the node. */

const { simulator, instance, page, close } = await openEditor(setUp({ pace: 1 }));
after(close);

describe('a newcomer', { timeout: 400_000 }, () => {
	const field = (name: string) => byId(page, `parameter-input-${name}`);
	const names = () => byId(page, 'node-creator-item-name');

	it('adds a credential, and is told what is wrong with it', async () => {
		await page.goto(`${instance.baseUrl}/home/credentials/create`);
		await byId(page, 'new-credential-type-select').locator('input').fill('media gen');
		await byId(page, 'new-credential-type-select-option')
			.filter({ hasText: 'Media Generation API' })
			.click();
		await byId(page, 'new-credential-type-button').click();

		const save = async (apiToken: string, baseUrl: string) => {
			await field('apiToken').locator('input').first().fill(apiToken);
			await field('baseUrl').locator('input').first().fill(baseUrl);
			const button = byId(page, 'credential-save-button').locator('button:enabled');
			let isTested = false;
			const tested = page
				.waitForResponse(/\/rest\/credentials\/test$/)
				.then(() => (isTested = true));
			// A press while the save before still ends is lost on the editor: one presses again.
			while (!isTested) {
				if (await button.isVisible()) await button.click();
				await Promise.race([tested, page.waitForTimeout(2_000)]);
			}
		};
		const isTold = async (words: RegExp) => {
			const [more, said] = [page.getByText('More details'), page.getByText(words).first()];
			await more.or(said).first().waitFor();
			// Once opened, the details stay open.
			if (!(await said.isVisible())) await more.click();
			await said.waitFor();
		};
		await save('sk-mistyped', simulator.baseUrl);
		await isTold(/Authorization failed: the service refused the API token/);
		await takePicture(page, 'credential-refused');
		await save(simulator.token, `${simulator.fileOrigin}/wrong`);
		await isTold(/does not come from a media generation service/);
		await save(simulator.token, simulator.baseUrl);
		await page.getByText('Connection tested successfully').first().waitFor();
		// Opened once more, without n8n's notices of what was saved.
		await page.goto(`${instance.baseUrl}/home/credentials`);
		await page.getByText('Media Generation account').first().click();
		await page.getByText('Connection tested successfully').first().waitFor();
		// The button shows its word once its spinner has faded out.
		const retry = page.getByRole('button', { name: 'Retry' });
		await retry.locator('.n8n-spinner').waitFor({ state: 'detached' });
		// So far that n8n's own line is out of sight, and the last field is shown whole.
		await page.mouse.move(820, 600);
		await page.mouse.wheel(0, 31);
		await page.mouse.move(300, 600);
		await takePicture(page, 'credential');
		await page.keyboard.press('Escape');
	});

	it('finds the node by what it is to do', async () => {
		await page.goto(`${instance.baseUrl}/workflow/new`);
		await byId(page, 'node-creator-plus-button').click();
		await names().filter({ hasText: 'Trigger manually' }).click();
		await byId(page, 'canvas-handle-plus').first().click();
		await byId(page, 'node-creator-search-bar').fill('text to speech');
		await names()
			.filter({ hasText: /^Media Generation$/ })
			.first()
			.click();
		await names().filter({ hasText: 'Convert text to speech' }).waitFor();
		// So far that the last action in the window is shown whole, once the panel has slid in.
		const last = names().filter({ hasText: 'Get many videos and images from history' });
		await (await last.elementHandle())!.waitForElementState('stable');
		await page.mouse.move(1240, 600);
		await page.mouse.wheel(0, 24);
		await takePicture(page, 'panel');
		const actions = (await names().allTextContents()).join('|');
		const inOrder = /^[^|]*Convert text to speech.*Generate videos from text.*Generate image/s;
		assert.match(actions, inOrder);
		await names().filter({ hasText: 'Convert text to speech' }).click();
		await field('text').waitFor();
		await page
			.getByText('Each run charges all items. If it fails: Executions → Retry.')
			.first()
			.waitFor();
	});

	it('sees the progress, and plays what was made', async () => {
		await field('text').locator('textarea').fill('Hello, I am new here.');
		await field('voiceId').locator('[data-test-id="rlc-input"]').first().click();
		await byId(page, 'rlc-item').first().click();
		const file = page.getByText(/speech-\d+\.wav/).first();
		const lines: string[] = [];
		page.on('console', (line) => lines.push(line.text()));
		const progress = page.waitForEvent('console', (line) => /task \S+: \d+ %/.test(line.text()));
		await byId(page, 'node-execute-button').first().click();
		await progress;
		assert.equal(await file.count(), 0, 'told of while it goes on');
		await file.waitFor();
		await takePicture(page, 'editor');
		assert.ok(!lines.some((line) => line.includes(simulator.token)), 'no token there');
		assert.ok((await playOutput(page, 'audio')) > 0);
		await takePicture(page, 'audio');
		assert.equal(simulator.chargedCalls, 1);
	});
});
