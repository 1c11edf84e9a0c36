import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';

const audio = '../../dist/nodes/MediaGeneration/audio';
const require = createRequire(import.meta.url);
const { joinAudio } = require(`${audio}/joinAudio.js`);
const { SoundDuration } = require(`${audio}/soundDuration.js`);

/** The length that the node tells of a file that comes in pieces, in ms. */
export function toldMs(file: Buffer): number {
	const length = new SoundDuration();
	const bound = randomInt(1, 10_000);
	for (let at = 0; at < file.length; at += bound) length.push(file.subarray(at, at + bound));
	return length.ms();
}

/** Joins files as the node does. */
export const joinParts = async (parts: Buffer[]) =>
	await joinAudio(parts.map((part) => ({ bytes: part.length, read: async () => part })));

const runFile = promisify(execFile);

/** Runs a program to its end; throws when it prints anything on its error output. */
async function run(program: string, ...args: string[]): Promise<Buffer> {
	const options = { encoding: 'buffer', maxBuffer: 1 << 30 } as const;
	const { stdout, stderr } = await runFile(program, args, options);
	if (stderr.length > 0) throw new Error(`${program} ${args.join(' ')}: ${stderr.toString()}`);
	return stdout;
}

const ffmpeg = async (...args: string[]) =>
	await run('ffmpeg', '-nostdin', '-v', 'error', '-y', ...args);

/** Makes a file of a format out of a WAV file as espeak-ng writes it: 16 bit, mono, 22 050 Hz. */
type Encode = (wav: string, file: string) => Promise<unknown>;

/** Those that encode take the program's options as one text. */
const wav = (options: string): Encode => {
	return async (from, to) => await ffmpeg('-i', from, ...options.split(' '), '-f', 'wav', to);
};
const lame = (options: string): Encode => {
	return async (from, to) => await run('lame', '--silent', ...options.split(' '), from, to);
};
const mp3 = (options: string): Encode => {
	return async (from, to) =>
		await ffmpeg('-i', from, '-c:a', 'libmp3lame', ...options.split(' '), '-f', 'mp3', to);
};
/** A different one for each part: the bit rate may differ between parts that are joined. */
const oneOf = (...encoders: Encode[]): Encode => {
	return async (from, to) => await encoders[randomInt(encoders.length)]!(from, to);
};

export const FORMATS: Record<string, Encode> = {
	'WAV, 16 bit': wav('-c:a pcm_s16le'),
	'WAV, 8 bit, mono': wav('-c:a pcm_u8'),
	'WAV, 24 bit, stereo, extensible': wav('-c:a pcm_s24le -ac 2 -ar 48000'),
	'WAV, 32 bit floating point': wav('-c:a pcm_f32le'),
	'WAV, A-law': wav('-c:a pcm_alaw -ar 8000'),
	'WAV, µ-law': wav('-c:a pcm_mulaw -ar 8000'),
	'WAV with tags, of a size that was not known': async (from, to) => {
		const command = `ffmpeg -nostdin -v error -i "${from}" -metadata title=odd -f wav - > "${to}"`;
		await run('sh', '-c', command);
	},
	'MP3 of LAME, constant': lame('-b 64'),
	'MP3 of LAME, variable': lame('-V 5 --resample 44.1'),
	'MP3 of LAME, average, 16 kHz': lame('--abr 40 --resample 16'),
	'MP3 of LAME, 8 kHz': lame('--resample 8'),
	'MP3 of LAME, 48 kHz, with checksums': lame('-p --resample 48 -b 96'),
	'MP3 of LAME, without an index': lame('-t -b 48'),
	'MP3 of LAME with all tags': lame('-b 56 --add-id3v2 --pad-id3v2 --tt Part --ta Me'),
	'MP3 of ffmpeg, joint stereo': mp3('-ac 2 -ar 44100 -b:a 128k'),
	'MP3 of ffmpeg, 24 kHz, bare': mp3('-ar 24000 -b:a 48k -write_xing 0 -id3v2_version 0'),
	'MP3 of ffmpeg, 32 kHz, ID3v1': mp3('-ar 32000 -q:a 4 -write_id3v1 1'),
	'MP3 of different bit rates': oneOf(lame('-b 32'), lame('-b 64'), lame('-V 3')),
};

const mp4 = (options: string): Encode => {
	return async (from, to) => await ffmpeg('-i', from, ...options.split(' '), to);
};

/** What cannot be joined: its length is told all the same. */
export const OTHERS: Record<string, Encode> = {
	m4a: mp4('-c:a aac'),
	'for streaming.m4a': mp4('-c:a aac -ar 8000 -movflags +faststart'),
	'in fragments.m4a': mp4('-c:a aac -movflags frag_keyframe+empty_moov -frag_duration 500000'),
	'dash.mp4': mp4('-c:a aac -movflags dash+empty_moov -frag_duration 1000000'),
	'brand.mp4': mp4('-c:a aac -brand mp42'),
	'lossless.m4a': mp4('-c:a alac'),
	'packed.wav': mp4('-c:a adpcm_ms'),
};

/**
 * The samples of all channels, including those at both ends that players leave out; with `isWhole`,
 * throws when a single frame of the file is damaged.
 */
export async function decode(file: string, isWhole = false) {
	const probed = await probe(file, 'stream=channels');
	const strict = isWhole ? ['-xerror'] : [];
	const bytes = await ffmpeg(...strict, '-flags2', '+skip_manual', '-i', file, '-f', 'f32le', '-');
	return {
		samples: new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4),
		channels: Number(probed),
	};
}

const probe = async (file: string, what: string) =>
	String(await run('ffprobe', '-v', 'error', '-show_entries', what, '-of', 'csv=p=0', file)).trim();

/** The length that a player shows, in ms. */
export const shownMs = async (file: string): Promise<number> =>
	Number(await probe(file, 'format=duration')) * 1000;

/** Speaks a text into a WAV file. */
export async function speak(voice: string, text: string, file: string): Promise<void> {
	await run('espeak-ng', '-v', voice, '-s', '300', '-w', file, text);
}

/** The length that a browser's player shows, in ms. */
export async function shownByChromium(page: Page, bytes: Buffer, mimeType: string) {
	return await page.evaluate(
		async ([base64, type]) => {
			const data = Uint8Array.from(atob(base64!), (char) => char.charCodeAt(0));
			const player = document.createElement('audio');
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

/** The length that VLC shows, in ms. */
export async function shownByVlc(file: string): Promise<number> {
	// Only the system's own Python knows its library; another one may come first in the PATH.
	const script = join(import.meta.dirname, 'vlcLength.py');
	return Number(await run('/usr/bin/python3', script, file));
}
