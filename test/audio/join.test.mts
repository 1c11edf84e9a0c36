import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openBrowser } from '../../tools/browser.mts';
import { temporaryFolder } from '../../tools/cleanup.mts';
import {
	decode,
	FORMATS,
	joinParts,
	OTHERS,
	shownByChromium,
	shownByVlc,
	shownMs,
	speak,
	toldMs,
} from './programs.mts';

/* Long texts, spoken by espeak-ng, encoded by LAME and ffmpeg, joined, decoded by ffmpeg, and played. */

const require = createRequire(import.meta.url);
const { splitText } = require('../../dist/nodes/MediaGeneration/resources/speech/splitText.js');

const temporary = temporaryFolder('audio');
const folder = temporary.path;
const browser = await openBrowser();
const page = await browser.newPage();
after(async () => {
	await browser.close();
	temporary.remove();
});

const KINDS = Object.keys(FORMATS);
/** How many texts are tried; each takes some seconds. */
const TEXTS = Number(process.env.AUDIO_TEXTS ?? 60);
const AT_ONCE = 4;
/** Samples of a part that the one before may reach into, through overlap and filters. */
const OVERLAP = 2304;
/** By how much a player's length may differ from that of all parts, in ms: some leave out an encoder's silence. */
const MOST_OFF_MS = 100;

const SENTENCES: Record<string, string[]> = {
	en: [
		'The boats came back.',
		'Dr. Smith waited.',
		'Did he know?',
		'It cost 3.50 at least, they said.',
	],
	de: [
		'Am 3. Mai war es kalt.',
		'Wir gingen z. B. nach Köln.',
		'Wirklich?',
		'Die Tür stand offen.',
	],
	ru: ['Он жил у моря.', 'Куда?', 'Лодки вернулись домой.', 'Было тихо и светло.'],
	cmn: ['今天天气很好。', '我们去公园吧！', '船都回来了。', '你知道吗？'],
};

const pick = <T,>(all: readonly T[]) => all[randomInt(all.length)]!;

async function tryOne(number: number): Promise<void> {
	const format = KINDS[number % KINDS.length]!;
	const voice = pick(Object.keys(SENTENCES));
	const text = Array.from({ length: 3 + randomInt(8) }, () => pick(SENTENCES[voice]!)).join(' ');
	const texts = [...splitText(text, 30 + randomInt(60))];
	const about = `${format}, ${voice}, ${texts.length} parts: ${JSON.stringify(texts)}`;
	const path = (name: string) => join(folder, `${number}-${name}`);
	const files = texts.map((_, index) => path(`${index}.part`));
	for (const [index, part] of texts.entries()) {
		await speak(voice, part, path('spoken.wav'));
		await FORMATS[format]!(path('spoken.wav'), files[index]!);
	}

	const bytes = files.map((file) => readFileSync(file));
	const joined = await joinParts(bytes);
	assert.equal(joined.why, undefined, about);
	assert.ok(joined.bytes.length < bytes.reduce((sum, part) => sum + part.length, 4096), about);
	const whole = path(`joined.${joined.extension}`);
	writeFileSync(whole, joined.bytes);

	const parts = [];
	let shown = 0;
	for (const [index, file] of files.entries()) {
		assert.ok(
			Math.abs(joined.startsMs[index] - shown) < 50,
			`${about}: start of part ${index + 1}`,
		);
		const partMs = await shownMs(file);
		shown += partMs;
		const stated = toldMs(bytes[index]!);
		assert.ok(Math.abs(stated - partMs) < 50, `${about}: ${stated} ms told of part ${index + 1}`);
		parts.push(await decode(file));
	}
	const off = (lengthMs: number) => Math.abs(lengthMs - shown);
	assert.ok(off(await shownMs(whole)) < 50, `${about}: ${shown} ms expected`);
	assert.ok(off(joined.durationMs) < 50, `${about}: ${joined.durationMs} ms told`);
	// Players take longer: each format once.
	if (number < KINDS.length) {
		const players = {
			Chromium: await shownByChromium(page, joined.bytes, joined.mimeType),
			VLC: await shownByVlc(whole),
		};
		const wrong = Object.entries(players).filter(([, lengthMs]) => off(lengthMs) > MOST_OFF_MS);
		assert.deepEqual(wrong, [], `${about}: ${shown} ms expected`);
	}
	const all = await decode(whole, true);
	const isExact = joined.extension === 'wav';
	let at = 0;
	for (const { samples, channels } of parts) {
		const overlap = isExact ? 0 : OVERLAP * channels;
		// Both are silent where they meet.
		const allowed = (index: number) => (index < overlap && at > 0 ? 0.01 : 1e-6);
		const wrong = samples.findIndex(
			(sample, index) => !(Math.abs(sample - all.samples[at + index]!) <= allowed(index)),
		);
		assert.equal(wrong, -1, `${about}: sample ${wrong} after ${at} differs`);
		at += samples.length;
	}
	assert.equal(all.samples.length, at, about);
	for (const file of files) rmSync(file);
	rmSync(whole);
}

test('the length of what cannot be joined is told as well', async () => {
	await speak('en', SENTENCES.en!.join(' '), join(folder, 'others.wav'));
	for (const [name, encode] of Object.entries(OTHERS)) {
		const file = join(folder, `other.${name}`);
		await encode(join(folder, 'others.wav'), file);
		const [stated, shown] = [toldMs(readFileSync(file)), await shownMs(file)];
		assert.ok(Math.abs(stated - shown) < 50, `${name}: ${stated} instead of ${shown} ms`);
	}
});

test(`${TEXTS} random texts in four languages and all formats are whole, sample by sample`, async () => {
	let next = 0;
	const work = async () => {
		while (next < TEXTS) await tryOne(next++);
	};
	await Promise.all(Array.from({ length: AT_ONCE }, work));
});
