import { freeBoxHeader, imagePng, speechMp3, videoMp4 } from './media/clips.mts';
import type { Renderer } from './media/renderer.mts';
import type { Speech } from './media/speaking.mts';
import { cuesFor, subtitlesOf, SUBTITLE_MIME_TYPES } from './media/subtitles.mts';
import { speechSeconds, speechWav, wavHeader } from './media/wav.mts';
import { numberOf, scenariosIn, withoutScenario, type Scenarios } from './scenarios.mts';
import type { GeneratedKind, HistoryItem, TaskRecord } from './types.mts';
import type { Simulator } from './state.mts';

const MEBIBYTE = 1024 * 1024;
/** The size of the block of bytes that fills big files, in bytes. */
const FILLER_BYTES = 64 * 1024;
/** The least size of a big WAV file, in bytes: enough for the header and some sound. */
const MIN_BIG_WAV_BYTES = 1024;
/** The size of the largest file that `bytesOf` returns, in bytes. */
const MAX_BYTES_IN_MEMORY = 512 * MEBIBYTE;

/** The bytes of a file, or a promise of them if they must be rendered. */
type FileBytes = Buffer | Promise<Buffer>;

/** A file that can be downloaded. A big file has a head, followed by repeated filler up to `size`. */
export interface StoredFile {
	path: string;
	contentType: string;
	/** The first bytes of a big file, or all bytes of any other. They are made on the first call. */
	head(): FileBytes;
	/** The size in bytes of a big file; undefined for any other. */
	size: number | undefined;
}

/**
 * The block of bytes that is repeated to fill a big file. Its bytes differ, so that a test notices a chunk at the wrong
 * offset. Their values are low, so that a WAV file has only quiet noise.
 */
const filler = Buffer.alloc(FILLER_BYTES);
for (let i = 0; i < FILLER_BYTES; i += 2) filler[i] = (i * 7 + (i >> 8)) & 0x7f;

/** Stores the audio and the subtitles of a speech task and returns their URLs, as the API sends them. */
export function storeSpeech(
	sim: Simulator,
	{ id, input, voiceId, settings }: TaskRecord,
	scenarios: Scenarios,
): Pick<TaskRecord, 'audioUrl' | 'subtitleUrl'> {
	const format = scenarios.has('mp3') ? 'mp3' : 'wav';
	const bigFileSize = format === 'mp3' ? undefined : bigFileSizeOf(scenarios, MIN_BIG_WAV_BYTES);
	let speech: ReturnType<Renderer['speak']> | undefined;
	const renderSpeech = bigFileSize
		? undefined
		: speechRenderer(sim, input, voiceId, format, Number(settings.speed));
	const speakOnce = renderSpeech && (() => (speech ??= renderSpeech()));
	const makeCheapAudio = {
		mp3: () => speechMp3(speechSeconds(input)),
		wav: () => (bigFileSize ? wavHeader(bigFileSize - 44) : speechWav(input, voiceId)),
	}[format];
	const makeAudio = speakOnce ? async () => (await speakOnce()).file : makeCheapAudio;
	const type = format === 'mp3' ? 'audio/mpeg' : 'audio/wav';
	const audioUrl = store(
		sim,
		`/files/audio/${id}.${format}`,
		type,
		makeAudio,
		scenarios,
		bigFileSize,
	);
	if (scenarios.get('subtitles') === 'none') return { audioUrl };
	const subtitleFormat = scenarios.get('subtitles') === 'vtt' ? 'vtt' : 'srt';
	const makeSubtitles = speakOnce
		? async () => subtitlesOf((await speakOnce()).cues, subtitleFormat)
		: () => subtitlesOf(cuesFor(input, speechSeconds(input)), subtitleFormat);
	const path = `/files/subtitle/${id}.${subtitleFormat}`;
	return {
		audioUrl,
		subtitleUrl: store(sim, path, SUBTITLE_MIME_TYPES[subtitleFormat], makeSubtitles),
	};
}

/** Returns a function that renders a text with the voice `id` of the catalog; undefined if files are cheap. */
function speechRenderer(
	{ renderer, voices }: Simulator,
	input: string,
	id: string,
	format: Speech['format'] = 'wav',
	speed = 1,
): (() => ReturnType<Renderer['speak']>) | undefined {
	const { language, gender } = voices.find(({ voice_id }) => voice_id === id)!;
	const voice = { id, language: language?.trim() ?? '', gender: gender?.trim() ?? '', speed };
	return renderer && (() => renderer.speak({ text: withoutScenario(input), voice, format }));
}

/** Stores the audio sample of the voice `id`, which speaks `text`, and returns its URL. */
export function storePreview(sim: Simulator, id: string, text: string): string {
	const renderSpeech = speechRenderer(sim, text, id);
	const makeAudio = renderSpeech
		? async () => (await renderSpeech()).file
		: () => speechWav(text, id);
	return store(sim, `/files/preview/${id}.wav`, 'audio/wav', makeAudio);
}

/** Stores the file of a history item and returns its URL. */
export function storeGenerated(sim: Simulator, item: HistoryItem): string {
	const { id, prompt, type, aspect_ratio: ratio = '' } = item;
	const scenarios = scenariosIn(prompt);
	const bigFileSize = bigFileSizeOf(scenarios);
	const { renderer } = sim;
	const drawing = { id, prompt: withoutScenario(prompt), isPortrait: ratio.endsWith('PORTRAIT') };
	const padToBigFile = (video: Buffer) =>
		bigFileSize ? Buffer.concat([video, freeBoxHeader(bigFileSize - video.length - 8)]) : video;
	const makeImage = renderer ? () => renderer.renderImage(drawing) : () => imagePng(id);
	const files: Record<GeneratedKind, [extension: string, mimeType: string, make: () => FileBytes]> =
		{
			video: [
				...(['mp4', 'video/mp4'] as const),
				renderer
					? async () => padToBigFile(await renderer.renderVideo(drawing))
					: () => padToBigFile(videoMp4(id, drawing.isPortrait)),
			],
			image: ['png', 'image/png', makeImage],
		};
	const [extension, mimeType, make] = files[type];
	return store(sim, `/files/${type}/${id}.${extension}`, mimeType, make, scenarios, bigFileSize);
}

/**
 * Returns the size in bytes that the scenario `big-file` asks for, at least `minBytes`; undefined without that
 * scenario.
 */
function bigFileSizeOf(scenarios: Scenarios, minBytes = MEBIBYTE): number | undefined {
	if (!scenarios.has('big-file')) return undefined;
	// Neither a WAV header nor the length of an MP4 box can express 4 GiB or more.
	const bytes = Math.round(Math.min(4095, numberOf(scenarios, 'big-file', 64)) * MEBIBYTE);
	return Math.max(minBytes, bytes);
}

/**
 * Stores a file and returns its URL. `type` is its MIME type. `makeHead` is called on the first download and returns
 * the head of the file. `size` is given for a big file only, in bytes.
 */
function store(
	sim: Simulator,
	path: string,
	type: string,
	makeHead: () => FileBytes,
	scenarios: Scenarios = new Map(),
	size?: number,
): string {
	let cachedHead: FileBytes | undefined;
	const wrongType = scenarios.get('wrong-type');
	sim.files.set(path, {
		path,
		contentType: wrongType === undefined ? type : wrongType || 'application/octet-stream',
		head: () => (cachedHead ??= makeHead()),
		size,
	});
	const { redirectFiles, apiFiles } = sim.dialect;
	return `${redirectFiles || apiFiles !== 'open' ? sim.baseUrl : sim.fileOrigin}${path}`;
}

/** Yields the first `end` bytes of a file: the head, then filler in chunks of at most 64 KiB. */
export function* chunksOf(head: Buffer, end: number): Generator<Buffer> {
	yield head.subarray(0, end);
	for (let offset = head.length; offset < end; offset += FILLER_BYTES) {
		yield filler.subarray(0, Math.min(FILLER_BYTES, end - offset));
	}
}

/**
 * Returns all bytes of a stored file, by its URL or path. Returns undefined if there is no such file, if it is
 * rendered, or if it is larger than 512 MiB.
 */
export function bytesOf(sim: Simulator, url: string): Buffer | undefined {
	const file = sim.files.get(new URL(url, sim.fileOrigin).pathname);
	const head = file?.head();
	if (!file || !Buffer.isBuffer(head)) return undefined;
	const { size = head.length } = file;
	return size > MAX_BYTES_IN_MEMORY ? undefined : Buffer.concat([...chunksOf(head, size)]);
}
