import {
	GENERATIONS,
	MEDIA,
	type FileType,
	type Generation,
	type MediaKind,
	type ServiceRecord,
} from '../contract';
import { asText, looksLikeHtml } from './values';

/** The type of a file, from its first bytes, its header and its address. Pure. */

/** Bytes needed to recognise a type. */
export const SNIFF_BYTES = 512;

/**
 * Types of files: their extension, what they begin with, as Latin-1, and their usual name and others. The
 * first that fits counts.
 */
const TYPES: ReadonlyArray<
	[extension: string, beginning: RegExp | undefined, mimeType: string, ...others: string[]]
> = [
	// The frame sync of ADTS and MPEG audio: layer bits 00 are ADTS, 01 layer III.
	['aac', /^\xff[\xf0\xf1\xf8\xf9]/, 'audio/aac'],
	['mp3', /^ID3|^\xff[\xe2\xe3\xea\xeb\xf2\xf3\xfa\xfb]/, 'audio/mpeg', 'audio/mp3'],
	['wav', /^RIFF.{4}WAVE/s, 'audio/wav', 'audio/x-wav', 'audio/wave', 'audio/vnd.wave'],
	['ogg', /^OggS/, 'audio/ogg', 'audio/opus'],
	['flac', /^fLaC/, 'audio/flac', 'audio/x-flac'],
	['m4a', /^.{4}ftypM4A/s, 'audio/mp4', 'audio/m4a', 'audio/x-m4a'],
	// Samples without a header: only the service says what they are.
	['pcm', undefined, 'audio/pcm', 'audio/x-pcm', 'audio/l16', 'audio/raw', 'audio/x-raw'],
	['raw', undefined, 'audio/pcm'],
	['ulaw', undefined, 'audio/basic', 'audio/pcmu', 'audio/mulaw', 'audio/x-mulaw', 'audio/ulaw'],
	['alaw', undefined, 'audio/x-alaw-basic', 'audio/pcma', 'audio/alaw', 'audio/x-alaw'],
	['weba', undefined, 'audio/webm'],
	['webm', /^\x1aE\xdf\xa3/, 'video/webm'],
	['mov', /^.{4}ftypqt {2}/s, 'video/quicktime'],
	['avif', /^.{4}ftyp(?:avi|m[is]f1.*avif)/s, 'image/avif'],
	['heic', /^.{4}ftyp(?:he[iv]|m[is]f1)/s, 'image/heic', 'image/heif'],
	['mp4', /^.{4}ftyp/s, 'video/mp4'],
	['png', /^\x89PNG/, 'image/png'],
	['jpg', /^\xff\xd8\xff/, 'image/jpeg', 'image/jpg'],
	['jpeg', undefined, 'image/jpeg'],
	['webp', /^RIFF.{4}WEBP/s, 'image/webp'],
	['gif', /^GIF8/, 'image/gif'],
	// What follows are the file's size and four bytes of zero.
	['bmp', /^BM.{4}\0{4}/s, 'image/bmp', 'image/x-ms-bmp'],
	['tiff', /^(?:II\*\0|MM\0\*)/, 'image/tiff'],
];

/** By the extension of a container for videos: what it is called when only sound is in it. */
const SOUND_IN = new Map([
	['mp4', 'm4a'],
	['mov', 'm4a'],
	['webm', 'weba'],
]);
const RAW = ['pcm', 'raw', 'ulaw', 'alaw'];

const withExtension = (name: string | undefined) => TYPES.find(([extension]) => extension === name);

const named = (name: string) => TYPES.find(([, , ...names]) => names.includes(name));

/** The type that the first bytes prove. */
function sniff(bytes: Uint8Array) {
	const start = Buffer.from(bytes.subarray(0, 32)).toString('latin1');
	return TYPES.find(([, beginning]) => beginning?.test(start));
}

/** The type that an address's extension names. */
function typeAtEndOf(url: string) {
	const ending = /\.([a-z0-9]{2,4})$/i.exec(new URL(url).pathname)?.[1]!.toLowerCase();
	return withExtension(ending);
}

/** The type in a Content-Type header, without its parameters; '' when there is none. */
const mimeFromHeader = (contentType: string | undefined) =>
	contentType?.slice(0, 200).split(';')[0]!.trim().toLowerCase() ?? '';

/**
 * The type of a file: by its first bytes, else the Content-Type header, else the address's extension
 * (some deployments' headers and extensions name another type), else what the service usually makes.
 * A speech is sound whatever its container, and quiet samples begin as an MP3 or AAC file may.
 */
export function fileTypeOf(
	bytes: Uint8Array,
	contentType: string | undefined,
	url: string,
	kind: MediaKind,
): FileType {
	const declared = named(mimeFromHeader(contentType)) ?? typeAtEndOf(url);
	const isRaw = bytes[0] === 0xff && RAW.includes(declared?.[0] ?? '');
	const found = (isRaw ? undefined : sniff(bytes)) ?? declared ?? named(MEDIA[kind].mimeType)!;
	const sound = kind === 'speech' ? withExtension(SOUND_IN.get(found[0])) : undefined;
	const [extension, , mimeType] = sound ?? found;
	return { mimeType, extension };
}

/** Whether these are the first bytes of an image. */
export const isImage = (bytes: Uint8Array): boolean =>
	sniff(bytes)?.[2].startsWith('image/') === true;

export const SRT: FileType = { mimeType: 'application/x-subrip', extension: 'srt' };
const VTT: FileType = { mimeType: 'text/vtt', extension: 'vtt' };

/** A time in subtitles: hours may be missing, or more than 99; the fraction may be shorter, or missing. */
export const CUE_TIME = String.raw`(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?`;
const SRT_START = new RegExp(String.raw`^(?:\d+[ \t]*\n)?[ \t]*${CUE_TIME}[ \t]*-->`);

/** Without a byte order mark, and with LF at the end of each line. */
export const plainLines = (text: string): string =>
	text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');

/** The type of subtitles, by how they begin; undefined when they are neither SRT nor VTT. */
export function subtitleTypeOf(text: string): FileType | undefined {
	const start = plainLines(text);
	if (/^WEBVTT(?:[ \t\n]|$)/.test(start)) return VTT;
	return SRT_START.test(start.trimStart()) ? SRT : undefined;
}

/** Why these first bytes are no media file, or undefined when they may be one; subtitles are text. */
export function invalidFileReason(
	bytes: Uint8Array,
	contentType: string | undefined,
	areSubtitles = false,
): string | undefined {
	if (bytes.length === 0) return 'the file is empty';
	const text = Buffer.from(bytes).toString().trimStart();
	// Control characters other than tab and line ends do not occur in text.
	if (/[\x00-\x08\x0e-\x1f]/.test(text)) return undefined;
	const header = areSubtitles ? '' : mimeFromHeader(contentType);
	if (looksLikeHtml(text)) return 'a web page was returned instead of the file';
	if (/^[{[]/.test(text) || header.includes('json')) {
		return 'a JSON response was returned instead of the file';
	}
	// The last character may be cut. Quiet samples are no UTF-8, or nothing but DEL.
	const isText = /^text\/|xml/.test(header) || !/\ufffd(?!\ufffd{0,2}$)|\x7f/.test(text);
	if (areSubtitles || !isText) return undefined;
	return `text was returned instead of the file${header && ` (${header})`}`;
}

/** `<kind>-<id>.<extension>`, with nothing in it that a file system or a header refuses. */
export function fileNameOf(kind: MediaKind, id: string, extension: string): string {
	const safe = id.replace(/[^A-Za-z0-9._-]+/g, '_').slice(0, 120) || 'file';
	return `${kind}-${safe}.${extension}`;
}

/** The kinds that appear in the history. */
const GENERATED_KINDS = [...new Set(Object.values(GENERATIONS).map(({ makes }) => makes))];

/** The kind of a history entry, by its `type` or its file's extension; else undefined. */
export function declaredKind(
	{ type }: ServiceRecord,
	url: string,
): Generation['makes'] | undefined {
	const words = asText(type)?.toLowerCase() ?? '';
	// "image_to_video" is a video.
	const named = GENERATED_KINDS.find((kind) => words.includes(kind));
	const classOf = (mimeType: string) => mimeType.split('/')[0];
	const mimeType = typeAtEndOf(url)?.[2] ?? '';
	return (
		named ?? GENERATED_KINDS.find((kind) => classOf(MEDIA[kind].mimeType) === classOf(mimeType))
	);
}
