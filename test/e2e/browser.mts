import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';
import { OWNER } from '../../tools/n8n/rest.mts';
import { BROWSERS } from '../../tools/setup.mjs';

/** A headless browser of this machine that goes nowhere by itself. */
export async function openBrowser(): Promise<Browser> {
	const executablePath = BROWSERS.find((path) => existsSync(path));
	if (executablePath === undefined) throw new Error('No Chromium: apt-get install chromium');
	return await chromium.launch({
		executablePath,
		args: [
			'--no-sandbox',
			'--disable-gpu',
			'--disable-quic',
			'--no-first-run',
			'--disable-background-networking',
			'--disable-component-update',
			'--disable-sync',
		],
	});
}

/** A page on which the instance's owner is logged in. */
export async function logIn(browser: Browser, baseUrl: string): Promise<Page> {
	const page = await browser.newPage({ viewport: { width: 1280, height: 820 } });
	page.setDefaultTimeout(60_000);
	await page.goto(`${baseUrl}/signin`);
	await page.fill('input[type=email]', OWNER.email);
	await page.fill('input[type=password]', OWNER.password);
	await page.keyboard.press('Enter');
	await page.waitForURL(/\/(?:home|workflow|projects)/);
	return page;
}

/** The node of that name on the canvas. */
export const canvasNode = (page: Page, name: string) =>
	page.locator('[data-test-id="canvas-node"]').filter({ hasText: name }).first();
