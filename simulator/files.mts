import { freeBoxHeader, imagePng, speechMp3, videoMp4 } from './media/clips.mts';
import { speechSeconds, speechWav, wavHeader } from './media/wav.mts';
import { figure, scenarioOf, type Scenario } from './scenarios.mts';
import type { HistoryItem, TaskRecord } from './types.mts';
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
}

/** Low, uneven bytes: quiet noise in a WAV file, and no two offsets of a line alike. */
const filler = Buffer.alloc(FILLER_BYTES);
for (let i = 0; i < FILLER_BYTES; i += 2) filler[i] = (i * 7 + (i >> 8)) & 0x7f;

/** Puts the sound file of a speech task up and returns its address as the API gives it. */
export function storeSpeech(world: World, { id, input, voiceId }: TaskRecord, s: Scenario): string {
	if (s.has('mp3')) {
		return store(
			world,
			`/files/audio/${id}.mp3`,
			'audio/mpeg',
			() => speechMp3(speechSeconds(input)),
			s,
		);
	}
	const big = bigSize(s, LEAST_SPEECH);
	const head = big ? () => wavHeader(big - 44) : () => speechWav(input, voiceId);
	return store(world, `/files/audio/${id}.wav`, 'audio/wav', head, s, big);
}

/** Puts the file of a generated video or image up and returns its address. */
export function storeGenerated(world: World, item: HistoryItem): string {
	const { id, prompt, type, aspect_ratio: ratio = '' } = item;
	const scenario = scenarioOf(prompt);
	const big = bigSize(scenario);
	if (type === 'image') {
		return store(world, `/files/image/${id}.png`, 'image/png', () => imagePng(id), scenario, big);
	}
	const head = () => {
		const video = videoMp4(id, ratio.endsWith('PORTRAIT'));
		return big ? Buffer.concat([video, freeBoxHeader(big - video.length - 8)]) : video;
	};
	return store(world, `/files/video/${id}.mp4`, 'video/mp4', head, scenario, big);
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
	});
	const { redirectFiles, apiFiles } = world.dialect;
	return `${redirectFiles || apiFiles !== 'open' ? world.baseUrl : world.fileOrigin}${path}`;
}

/** Size of a file in bytes. */
export function sizeOf(file: StoredFile): number {
	return file.size ?? file.head().length;
}

/** The first bytes of a file up to `end`, in pieces of at most 64 KiB behind the head. */
export function* piecesOf(file: StoredFile, end: number): Generator<Buffer> {
	const head = file.head();
	yield head.subarray(0, end);
	for (let at = head.length; at < end; at += FILLER_BYTES) {
		yield filler.subarray(0, Math.min(FILLER_BYTES, end - at));
	}
}

/** All bytes of a file by its address or path; undefined when unknown or above 512 MiB. */
export function bytesOf(world: World, url: string): Buffer | undefined {
	const file = world.files.get(new URL(url, world.fileOrigin).pathname);
	if (!file || sizeOf(file) > MOST_IN_MEMORY) return undefined;
	return file.size === undefined ? file.head() : Buffer.concat([...piecesOf(file, file.size)]);
}
