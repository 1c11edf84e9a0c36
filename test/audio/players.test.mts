import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { openBrowser } from '../../tools/browser.mts';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { FORMATS, joinParts, lame, shownByVlc, shownMs, tone, type Encode } from './programs.mts';

/* How long joined files are in players. */

/** Each part has a tone of its own. */
const PARTS = [
	{ seconds: 17, hertz: 500 },
	{ seconds: 31, hertz: 1000 },
	{ seconds: 23, hertz: 2000 },
];
const KINDS: Record<string, Encode[]> = {
	'MP3 of other bit rates in each part': ['-b24', '-b160', '-V5'].map((rate) =>
		lame(`${rate} --resample 22.05`),
	),
};
for (const kind of [
	'WAV, 16 bit',
	'WAV, 24 bit, stereo, extensible',
	'MP3 of LAME, constant',
	'MP3 of LAME, variable',
	'MP3 of ffmpeg, joint stereo',
	'MP3 of ffmpeg, 24 kHz, bare',
]) {
	KINDS[kind] = PARTS.map(() => FORMATS[kind]!);
}
/** By how much a player's length may differ from that of all parts, in ms: some leave out an encoder's silence. */
const MOST_OFF_MS = 100;

const temporary = temporaryFolder('players');
const folder = temporary.path;
let browser: Browser;
let page: Page;
before(async () => {
	browser = await openBrowser();
	page = await browser.newPage();
});
after(async () => {
	await browser?.close();
	temporary.remove();
});

/** Gives a file to the page's player; resolves to the length in ms that it shows. */
async function load(bytes: Buffer, mimeType: string): Promise<number> {
	return await page.evaluate(
		async ([base64, type]) => {
			const data = Uint8Array.from(atob(base64!), (char) => char.charCodeAt(0));
			const player = document.createElement('audio');
			document.body.replaceChildren(player);
			player.src = URL.createObjectURL(new Blob([data], { type }));
			await new Promise((resolve, reject) => {
				player.onloadedmetadata = resolve;
				player.onerror = () => reject(new Error(player.error?.message));
			});
			return player.duration * 1000;
		},
		[bytes.toString('base64'), mimeType],
	);
}

for (const [kind, encoders] of Object.entries(KINDS)) {
	describe(kind, { timeout: 120_000 }, () => {
		let file: string;
		let sumMs = 0;
		let bytes: Buffer;
		let mimeType: string;

		before(async () => {
			const parts: Buffer[] = [];
			for (const [index, { seconds, hertz }] of PARTS.entries()) {
				const spoken = join(folder, 'tone.wav');
				const part = join(folder, `${index}.part`);
				await tone(hertz, seconds, spoken);
				await encoders[index]!(spoken, part);
				sumMs += await shownMs(part);
				parts.push(readFileSync(part));
			}
			const joined = await joinParts(parts);
			({ bytes, mimeType } = joined);
			file = join(folder, `joined.${joined.extension}`);
			writeFileSync(file, bytes);
		});

		it('has the right length in ffprobe, Chromium and VLC', async () => {
			const shown = {
				ffprobe: await shownMs(file),
				Chromium: await load(bytes, mimeType),
				VLC: await shownByVlc(file),
			};
			for (const [player, lengthMs] of Object.entries(shown)) {
				const off = Math.abs(lengthMs - sumMs);
				assert.ok(off < MOST_OFF_MS, `${player} shows ${lengthMs} ms, the parts have ${sumMs} ms`);
			}
		});
	});
}
