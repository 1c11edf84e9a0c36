import assert from 'node:assert/strict';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { openBrowser } from '../../tools/browser.mts';
import { readExample } from '../../tools/examples.mts';
import { project } from '../../tools/n8n/package.mts';
import { OWNER } from '../../tools/n8n/rest.mts';
import { setUp } from '../n8n/setting.mts';

/** A page on which the instance's owner is logged in. */
async function logIn(browser: Browser, baseUrl: string): Promise<Page> {
	// The least width at which n8n cuts none of its panels; more pixels, for screens that show them.
	const size = { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1.5 };
	const page = await browser.newPage(size);
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
	await setting.start();
	const browser = await openBrowser();
	const close = async () => {
		await browser.close();
		await setting.close();
	};
	return { ...setting, page: await logIn(browser, setting.instance.baseUrl), close };
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

/** Asserts that no sticky note of the open workflow has more text than it shows. */
export async function showsWholeNotes(page: Page): Promise<void> {
	await byId(page, 'sticky').first().waitFor();
	const cut = await page.evaluate(() =>
		[...document.querySelectorAll('[data-test-id="sticky"] *')]
			.filter(({ clientHeight }) => clientHeight > 0)
			.map(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)
			.filter((hidden) => hidden > 1),
	);
	assert.deepEqual(cut, [], 'pixels of a note that are cut');
}

/** Runs the workflow that is open; resolves once it has succeeded. */
export async function execute(page: Page): Promise<void> {
	// The editor's own shortcut: the canvas may cover the button while it settles.
	await page.keyboard.press('Control+Enter');
	await page.getByText('Workflow executed successfully').first().waitFor();
}

/** Opens the first file in a node's output and waits until it plays; resolves to how far it got, in seconds. */
export async function playOutput(page: Page, tag: 'audio' | 'video'): Promise<number> {
	await byId(page, 'radio-button-binary').last().click();
	// The first, because n8n shows the fields' expressions for the first item.
	const output = byId(page, 'output-panel');
	await output.locator('[data-test-id="ndv-view-binary-data"]').first().click();
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

/** For a look afterwards. */
const FOLDER = join(project, 'out/e2e');
/** Those that README and its pages show, in docs/. */
const SHOWN = ['canvas', 'panel', 'video', 'trigger', 'credential'];
/** A picture of README is replaced when its size in bytes differs by more than this share: not for an ID in it. */
const CHANGED = 0.003;

/** Keeps a picture of what a person sees, and with it the one that README shows. */
export async function takePicture(page: Page, name: string): Promise<void> {
	mkdirSync(FOLDER, { recursive: true });
	const path = join(FOLDER, `${name}.png`);
	// n8n's notices and tooltips cover what is to be seen.
	const cover = '.el-notification, [data-reka-popper-content-wrapper]:has([role=tooltip])';
	const style = `${cover} { display: none !important }`;
	const picture = await page.screenshot({ path, animations: 'disabled', style });
	if (!SHOWN.includes(name)) return;
	const shown = join(project, 'docs', `${name}.png`);
	const before = statSync(shown, { throwIfNoEntry: false })?.size ?? 0;
	if (Math.abs(picture.length / before - 1) > CHANGED) writeFileSync(shown, picture);
}
