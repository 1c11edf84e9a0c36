import { basename } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { openBrowser } from '../../tools/browser.mts';
import { readExample } from '../../tools/examples.mts';
import { OWNER } from '../../tools/n8n/rest.mts';
import { setUp } from '../n8n/setting.mts';

/** A page on which the instance's owner is logged in. */
async function logIn(browser: Browser, baseUrl: string): Promise<Page> {
	const page = await browser.newPage({ viewport: { width: 1280, height: 820 } });
	page.setDefaultTimeout(60_000);
	await page.goto(`${baseUrl}/signin`);
	await page.fill('input[type=email]', OWNER.email);
	await page.fill('input[type=password]', OWNER.password);
	await page.keyboard.press('Enter');
	await page.waitForURL(/\/(?:home|workflow|projects)/);
	return page;
}

/** Starts an n8n, a fresh one unless another is given, and opens its editor. */
export async function openEditor(beginning = setUp()) {
	const setting = await beginning;
	let browser: Browser | undefined;
	const close = async () => {
		await browser?.close();
		await setting.close();
	};
	try {
		await setting.start();
		browser = await openBrowser();
		return { ...setting, page: await logIn(browser, setting.instance.baseUrl), close };
	} catch (error) {
		await close();
		throw error;
	}
}

/** What the editor's own tests know by this name. */
export const byId = (page: Page, id: string) => page.locator(`[data-test-id="${id}"]`);

/** The node of that name on the canvas. */
export const canvasNode = (page: Page, name: string) =>
	byId(page, 'canvas-node')
		.filter({ has: page.getByText(name, { exact: true }) })
		.first();

/** Waits until each of the labels can be seen. */
export async function seesLabels(page: Page, ...labels: string[]): Promise<void> {
	for (const label of labels) await page.getByText(label, { exact: true }).first().waitFor();
}

/** Opens a new workflow and imports an example as "Import from file" does, with everything chosen. */
export async function importFile(page: Page, baseUrl: string, path: string): Promise<void> {
	await page.goto(`${baseUrl}/workflow/new`);
	await byId(page, 'canvas-wrapper').waitFor();
	await page.getByText('Add first step').first().waitFor();
	await byId(page, 'workflow-import-input').setInputFiles({
		name: basename(path),
		mimeType: 'application/json',
		buffer: Buffer.from(JSON.stringify(readExample(path))),
	});
	await byId(page, 'canvas-node').first().waitFor();
}

/** Publishes the workflow that is open. */
export async function publish(page: Page): Promise<void> {
	await byId(page, 'workflow-open-publish-modal-button').click();
	await byId(page, 'workflow-publish-button').click();
	await page.getByText('Now listening').waitFor();
	await page.getByRole('button', { name: 'Got it' }).click();
}

/** Runs the workflow that is open; resolves once it has succeeded. */
export async function execute(page: Page): Promise<void> {
	// The editor's own shortcut: the canvas may cover the button while it settles.
	await page.keyboard.press('Control+Enter');
	await page.getByText('Workflow executed successfully').first().waitFor();
}

/** Opens the file in a node's output and waits until it plays; resolves to how far it got, in seconds. */
export async function playOutput(page: Page, tag: 'audio' | 'video'): Promise<number> {
	await byId(page, 'radio-button-binary').last().click();
	await byId(page, 'ndv-view-binary-data').last().click();
	const player = page.locator(tag);
	await player.waitFor();
	return await player.evaluate(
		async (element) =>
			await new Promise<number>((resolve, reject) => {
				const media = element as any;
				const look = () => media.currentTime > 0 && resolve(media.currentTime);
				media.addEventListener('timeupdate', look);
				media.addEventListener('error', () => reject(new Error(media.error?.message)));
				look();
			}),
	);
}
