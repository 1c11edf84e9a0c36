import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { project } from '../../tools/n8n/package.mts';

/** For a look afterwards. */
const FOLDER = join(project, 'out/e2e');
/** Those that README shows, in docs/. */
const SHOWN = ['panel', 'editor', 'video', 'trigger', 'credential'];
/** A picture of README is replaced when more than this share of it has changed: not for an ID in it. */
const CHANGED = 0.01;

/** Keeps a picture of what a person sees, and with it the one that README shows. */
export async function takePicture(page: Page, name: string): Promise<void> {
	mkdirSync(FOLDER, { recursive: true });
	const path = join(FOLDER, `${name}.png`);
	const picture = await page.screenshot({ path, animations: 'disabled' });
	if (!SHOWN.includes(name)) return;
	const shown = join(project, 'docs', `${name}.png`);
	const before = existsSync(shown) ? readFileSync(shown) : undefined;
	if (!before || (await difference(page, before, picture)) > CHANGED) {
		writeFileSync(shown, picture);
	}
}

/** The share of pixels that differ, from 0 to 1. */
async function difference(page: Page, ...pictures: [Buffer, Buffer]): Promise<number> {
	const aside = await page.context().browser()!.newPage();
	try {
		return await aside.evaluate(
			async (addresses) => {
				const { document, Image } = globalThis as any;
				const [one, other] = await Promise.all(
					addresses.map(async (address) => {
						const image = new Image();
						image.src = address;
						await image.decode();
						const canvas = document.createElement('canvas');
						({ width: canvas.width, height: canvas.height } = image);
						const context = canvas.getContext('2d');
						context.drawImage(image, 0, 0);
						return context.getImageData(0, 0, image.width, image.height).data as number[];
					}),
				);
				if (one!.length !== other!.length) return 1;
				let changed = 0;
				for (let at = 0; at < one!.length; at += 4) {
					const distance = [0, 1, 2].map((color) =>
						Math.abs(one![at + color]! - other![at + color]!),
					);
					if (Math.max(...distance) > 24) changed++;
				}
				return changed / (one!.length / 4);
			},
			pictures.map((picture) => `data:image/png;base64,${picture.toString('base64')}`),
		);
	} finally {
		await aside.close();
	}
}
