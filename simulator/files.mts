import { freeBoxHeader, imagePng, speechMp3, videoMp4 } from './media/clips.mts';
import type { Renderer } from './media/renderer.mts';
import type { Speech } from './media/speaking.mts';
import { cuesFor, subtitlesOf, TYPES } from './media/subtitles.mts';
import { speechSeconds, speechWav, wavHeader } from './media/wav.mts';
import { figure, scenarioOf, withoutScenario, type Scenario } from './scenarios.mts';
import type { GeneratedKind, HistoryItem, TaskRecord } from './types.mts';
import type { World } from './world.mts';

const MEBIBYTE = 1024 * 1024;
const FILLER_BYTES = 64 * 1024;
/** A WAV file needs no more than its header and something to hear. */
const LEAST_SPEECH = 1024;
const MOST_IN_MEMORY = 512 * MEBIBYTE;

type Made = Buffer | Promise<Buffer>;

/** A file that can be downloaded: a head, and for a big one repeated filler up to `size`. */
export interface StoredFile {
	path: string;
	contentType: string;
	/** The first (for most files: all) bytes; made on first use, a promise of them where they are rendered. */
	head(): Made;
	/** Whole size in bytes, for files that go on after the head. */
	size: number | undefined;
}

/** Low, uneven bytes: quiet noise in a WAV file, and no two offsets of a line alike. */
const filler = Buffer.alloc(FILLER_BYTES);
for (let i = 0; i < FILLER_BYTES; i += 2) filler[i] = (i * 7 + (i >> 8)) & 0x7f;

/** Puts the files of a speech task up and returns their addresses as the API gives them. */
export function storeSpeech(
	world: World,
	{ id, input, voiceId, settings }: TaskRecord,
	s: Scenario,
): Pick<TaskRecord, 'audioUrl' | 'subtitleUrl'> {
	const format = s.has('mp3') ? 'mp3' : 'wav';
	const big = format === 'mp3' ? undefined : bigSize(s, LEAST_SPEECH);
	let speech: ReturnType<Renderer['speak']> | undefined;
	const speak = big ? undefined : speaker(world, input, voiceId, format, Number(settings.speed));
	const once = speak && (() => (speech ??= speak()));
	const cheap = {
		mp3: () => speechMp3(speechSeconds(input)),
		wav: () => (big ? wavHeader(big - 44) : speechWav(input, voiceId)),
	}[format];
	const make = once ? async () => (await once()).file : cheap;
	const type = format === 'mp3' ? 'audio/mpeg' : 'audio/wav';
	const audioUrl = store(world, `/files/audio/${id}.${format}`, type, make, s, big);
	if (s.get('subtitles') === 'none') return { audioUrl };
	const kind = s.get('subtitles') === 'vtt' ? 'vtt' : 'srt';
	const subtitles = once
		? async () => subtitlesOf((await once()).cues, kind)
		: () => subtitlesOf(cuesFor(input, speechSeconds(input)), kind);
	const path = `/files/subtitle/${id}.${kind}`;
	return { audioUrl, subtitleUrl: store(world, path, TYPES[kind], subtitles) };
}

/** What speaks a text as a voice of the catalog does; undefined where files are cheap. */
function speaker(
	{ renderer, voices }: World,
	input: string,
	id: string,
	format: Speech['format'] = 'wav',
	speed = 1,
): (() => ReturnType<Renderer['speak']>) | undefined {
	const { language, gender } = voices.find(({ voice_id }) => voice_id === id)!;
	const voice = { id, language: language?.trim() ?? '', gender: gender?.trim() ?? '', speed };
	return renderer && (() => renderer.speak({ text: withoutScenario(input), voice, format }));
}

/** Puts the sample of a voice up and returns its address. */
export function storePreview(world: World, id: string, text: string): string {
	const speak = speaker(world, text, id);
	const make = speak ? async () => (await speak()).file : () => speechWav(text, id);
	return store(world, `/files/preview/${id}.wav`, 'audio/wav', make);
}

/** Puts the file of a generation up and returns its address. */
export function storeGenerated(world: World, item: HistoryItem): string {
	const { id, prompt, type, aspect_ratio: ratio = '' } = item;
	const scenario = scenarioOf(prompt);
	const big = bigSize(scenario);
	const { renderer } = world;
	const drawing = { id, prompt: withoutScenario(prompt), portrait: ratio.endsWith('PORTRAIT') };
	const fill = (video: Buffer) =>
		big ? Buffer.concat([video, freeBoxHeader(big - video.length - 8)]) : video;
	const files: Record<GeneratedKind, [extension: string, mimeType: string, make: () => Made]> = {
		video: [
			...(['mp4', 'video/mp4'] as const),
			renderer
				? async () => fill(await renderer.video(drawing))
				: () => fill(videoMp4(id, drawing.portrait)),
		],
		image: ['png', 'image/png', renderer ? () => renderer.image(drawing) : () => imagePng(id)],
	};
	const [extension, mimeType, make] = files[type];
	return store(world, `/files/${type}/${id}.${extension}`, mimeType, make, scenario, big);
}

function bigSize(scenario: Scenario, least = MEBIBYTE): number | undefined {
	if (!scenario.has('big-file')) return undefined;
	// Above 4 GiB neither the WAV header nor the box length can say the size.
	const bytes = Math.round(Math.min(4095, figure(scenario, 'big-file', 64)) * MEBIBYTE);
	return Math.max(least, bytes);
}

/** Puts a file up, one of `size` bytes beyond its head if told, and returns its address. */
function store(
	world: World,
	path: string,
	type: string,
	make: () => Made,
	scenario: Scenario = new Map(),
	size?: number,
): string {
	let content: Made | undefined;
	const wrong = scenario.get('wrong-type');
	world.files.set(path, {
		path,
		contentType: wrong === undefined ? type : wrong || 'application/octet-stream',
		head: () => (content ??= make()),
		size,
	});
	const { redirectFiles, apiFiles } = world.dialect;
	return `${redirectFiles || apiFiles !== 'open' ? world.baseUrl : world.fileOrigin}${path}`;
}

/** The first bytes of a file up to `end`, in pieces of at most 64 KiB behind the head. */
export function* piecesOf(head: Buffer, end: number): Generator<Buffer> {
	yield head.subarray(0, end);
	for (let at = head.length; at < end; at += FILLER_BYTES) {
		yield filler.subarray(0, Math.min(FILLER_BYTES, end - at));
	}
}

/** All bytes of a file by its address or path; undefined when unknown, rendered or above 512 MiB. */
export function bytesOf(world: World, url: string): Buffer | undefined {
	const file = world.files.get(new URL(url, world.fileOrigin).pathname);
	const head = file?.head();
	if (!file || !Buffer.isBuffer(head)) return undefined;
	const { size = head.length } = file;
	return size > MOST_IN_MEMORY ? undefined : Buffer.concat([...piecesOf(head, size)]);
}
