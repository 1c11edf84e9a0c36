import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { project } from '../../tools/n8n/package.mts';

/** For a look afterwards. */
const FOLDER = join(project, 'out/e2e');
/** Those that README and its pages show, in docs/. */
const SHOWN = ['panel', 'video', 'trigger', 'credential'];
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
