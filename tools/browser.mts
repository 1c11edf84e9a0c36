import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';
import { BROWSERS } from './setup.mjs';

/**
 * Starts a headless browser that is installed on this machine. Throws an Error if there is none. Close it at the end.
 */
export async function openBrowser(): Promise<Browser> {
	const executablePath = BROWSERS.find((path) => existsSync(path));
	if (executablePath === undefined) throw new Error('No Chromium: apt-get install chromium');
	return await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
}
