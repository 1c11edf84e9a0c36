import { freeBoxHeader, videoMp4 } from './media/mp4.mts';
import { speechMp3 } from './media/mp3.mts';
import { promptPng } from './media/png.mts';
import { speechWav, wavHeader } from './media/wav.mts';
import { figure, type Scenario } from './scenarios.mts';
import type { World } from './world.mts';

const MEBIBYTE = 1024 * 1024;
const FILLER_BYTES = 64 * 1024;
/** A WAV file needs no more than its header and something to hear. */
const LEAST_SPEECH = 1024;
const MOST_IN_MEMORY = 512 * MEBIBYTE;

/** A file that can be downloaded: a head, and for a big one repeated filler up to `size`. */
export interface StoredFile {
	path: string;
	contentType: string;
	/** The first (for most files: all) bytes; made on first use. */
	head(): Buffer;
	/** Whole size in bytes, for files that go on after the head. */
	size: number | undefined;
	/** Answers 403 with an HTML page, as an address whose signature has expired. */
	expired: boolean;
}

/** Low, uneven bytes: quiet noise in a WAV file, and no two offsets of a line alike. */
const filler = Buffer.alloc(FILLER_BYTES);
for (let i = 0; i < FILLER_BYTES; i += 2) filler[i] = (i * 7 + (i >> 8)) & 0x7f;

/** Puts the sound file of a speech task up and returns its address as the API gives it. */
export function storeSpeech(
	world: World,
	id: string,
	text: string,
	voice: string,
	s: Scenario,
): string {
	if (s.has('mp3')) {
		return store(world, `/files/audio/${id}.mp3`, 'audio/mpeg', () => speechMp3(text), s);
	}
	const big = bigSize(s, LEAST_SPEECH);
	const head = big ? () => wavHeader(big - 44) : () => speechWav(text, voice);
	return store(world, `/files/audio/${id}.wav`, 'audio/wav', head, s, big);
}

/** Puts a generated video up and returns its address. */
export function storeVideo(world: World, id: string, portrait: boolean, s: Scenario): string {
	const big = bigSize(s);
	const head = () => {
		const video = videoMp4(id, portrait);
		return big ? Buffer.concat([video, freeBoxHeader(big - video.length - 8)]) : video;
	};
	return store(world, `/files/video/${id}.mp4`, 'video/mp4', head, s, big);
}

/** Puts a generated image up and returns its address. */
export function storeImage(world: World, id: string, prompt: string, s: Scenario): string {
	const head = () => promptPng(prompt, id);
	return store(world, `/files/image/${id}.png`, 'image/png', head, s, bigSize(s));
}

function bigSize(scenario: Scenario, least = MEBIBYTE): number | undefined {
	if (!scenario.has('big-file')) return undefined;
	// Above 4 GiB neither the WAV header nor the box length can say the size.
	const bytes = Math.round(Math.min(4095, figure(scenario, 'big-file', 64)) * MEBIBYTE);
	return Math.max(least, bytes);
}

/** Puts a file up, one of `size` bytes beyond its head if told, and returns its address. */
export function store(
	world: World,
	path: string,
	type: string,
	make: () => Buffer,
	scenario: Scenario = new Map(),
	size?: number,
): string {
	let made: Buffer | undefined;
	const wrong = scenario.get('wrong-type');
	world.files.set(path, {
		path,
		contentType: wrong === undefined ? type : wrong || 'application/octet-stream',
		head: () => (made ??= make()),
		size,
		expired: scenario.has('expired-file'),
	});
	const { redirectFiles, apiFiles } = world.dialect;
	return `${redirectFiles || apiFiles !== 'open' ? world.baseUrl : world.fileOrigin}${path}`;
}

/** Size of a file in bytes. */
export function sizeOf(file: StoredFile): number {
	return file.size ?? file.head().length;
}

/** The bytes `start` to `end` (excluded) of a file, in pieces of at most 64 KiB behind the head. */
export function* piecesOf(file: StoredFile, start: number, end: number): Generator<Buffer> {
	const head = file.head();
	if (start < head.length) yield head.subarray(start, Math.min(end, head.length));
	let at = Math.max(start, head.length);
	while (at < end) {
		const offset = (at - head.length) % FILLER_BYTES;
		const piece = filler.subarray(offset, Math.min(FILLER_BYTES, offset + end - at));
		yield piece;
		at += piece.length;
	}
}

/** All bytes of a file by its address or path; undefined when unknown or above 512 MiB. */
export function bytesOf(world: World, url: string): Buffer | undefined {
	const file = world.files.get(new URL(url, world.fileOrigin).pathname);
	if (!file || sizeOf(file) > MOST_IN_MEMORY) return undefined;
	return file.size === undefined ? file.head() : Buffer.concat([...piecesOf(file, 0, file.size)]);
}
