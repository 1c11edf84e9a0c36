import { basename } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { openBrowser } from '../../tools/browser.mts';
import { readExample } from '../../tools/examples.mts';
import { OWNER, Rest } from '../../tools/n8n/rest.mts';
import { setUp, type Setting } from '../n8n/setting.mts';

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

/** A complete n8n, and a page of its editor. */
export interface Editor {
	setting: Setting;
	page: Page;
	close(): Promise<void>;
}

/** Starts an n8n, a fresh one unless another is given, and opens its editor. */
export async function openEditor(beginning: Promise<Setting> = setUp()): Promise<Editor> {
	const setting = await beginning;
	let browser: Browser | undefined;
	const close = async () => {
		await browser?.close();
		await setting.close();
	};
	try {
		await setting.instance.start();
		await new Rest(setting.instance.baseUrl).logIn();
		browser = await openBrowser();
		return { setting, page: await logIn(browser, setting.instance.baseUrl), close };
	} catch (error) {
		await close();
		throw error;
	}
}

/** The node of that name on the canvas. */
export const canvasNode = (page: Page, name: string) =>
	page.locator('[data-test-id="canvas-node"]').filter({ hasText: name }).first();

/** Opens a new workflow and puts an example into it, as "Import from file" does, with all that is to be chosen. */
export async function importFile(page: Page, baseUrl: string, path: string): Promise<void> {
	await page.goto(`${baseUrl}/workflow/new`);
	await page.locator('[data-test-id="canvas-wrapper"]').waitFor();
	await page.getByText('Add first step').first().waitFor();
	await page.locator('[data-test-id="workflow-import-input"]').setInputFiles({
		name: basename(path),
		mimeType: 'application/json',
		buffer: Buffer.from(JSON.stringify(readExample(path))),
	});
	await page.locator('[data-test-id="canvas-node"]').first().waitFor();
}

/** Runs the workflow that is open, to its good end. */
export async function execute(page: Page): Promise<void> {
	// The editor's own shortcut: the canvas may cover the button while it settles.
	await page.keyboard.press('Control+Enter');
	await page.getByText('Workflow executed successfully').first().waitFor();
}

/** Opens the file of a node's output, and waits until it plays. Returns where it has got to, in seconds. */
export async function playOutput(page: Page, tag: 'audio' | 'video'): Promise<number> {
	await page.locator('[data-test-id="radio-button-binary"]').last().click();
	await page.locator('[data-test-id="ndv-view-binary-data"]').first().click();
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
