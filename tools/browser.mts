import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';
import { BROWSERS } from './setup.mjs';

/** A headless browser of this machine that goes nowhere by itself. */
export async function openBrowser(): Promise<Browser> {
	const executablePath = BROWSERS.find((path) => existsSync(path));
	if (executablePath === undefined) throw new Error('No Chromium: apt-get install chromium');
	return await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
}
