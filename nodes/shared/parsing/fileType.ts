import {
	GENERATED_KINDS,
	MEDIA,
	type GenerationOperation,
	type MediaKind,
	type ServiceRecord,
} from '../contract';
import { asText, isRecord, looksLikeHtml } from './values';

/* Recognizes the type of a file by its first bytes, its Content-Type header and its URL. */

/** The MIME type of a file, and its extension without the dot. */
export interface FileType {
	mimeType: string;
	extension: string;
}

/** How many bytes from the start of a file are enough to recognize its type. */
export const SNIFF_BYTES = 512;

/**
 * The known types of files; the first row that matches counts. `start` matches the first bytes of a file, read as
 * Latin-1. It is undefined if the bytes do not show the type.
 */
const TYPES: ReadonlyArray<
	[extension: string, start: RegExp | undefined, mimeType: string, ...otherMimeTypes: string[]]
> = [
	// AAC and MP3 frames begin with the same sync bits; the layer bits tell them apart.
	['aac', /^\xff[\xf0\xf1\xf8\xf9]/, 'audio/aac'],
	['mp3', /^ID3|^\xff[\xe2\xe3\xea\xeb\xf2\xf3\xfa\xfb]/, 'audio/mpeg', 'audio/mp3'],
	['wav', /^RIFF.{4}WAVE/s, 'audio/wav', 'audio/x-wav', 'audio/wave', 'audio/vnd.wave'],
	['ogg', /^OggS/, 'audio/ogg', 'audio/opus'],
	['flac', /^fLaC/, 'audio/flac', 'audio/x-flac'],
	['m4a', /^.{4}ftypM4A/s, 'audio/mp4', 'audio/m4a', 'audio/x-m4a'],
	// Files of raw audio samples have no header, so their bytes do not show what they are.
	['pcm', undefined, 'audio/pcm', 'audio/x-pcm', 'audio/l16', 'audio/raw', 'audio/x-raw'],
	['ulaw', undefined, 'audio/basic', 'audio/pcmu', 'audio/mulaw', 'audio/x-mulaw', 'audio/ulaw'],
	['weba', undefined, 'audio/webm'],
	['webm', /^\x1aE\xdf\xa3/, 'video/webm'],
	['mov', /^.{4}ftypqt {2}/s, 'video/quicktime'],
	['avif', /^.{4}ftyp(?:avi|m[is]f1.*avif)/s, 'image/avif'],
	['heic', /^.{4}ftyp(?:he[iv]|m[is]f1)/s, 'image/heic', 'image/heif'],
	['mp4', /^.{4}ftyp/s, 'video/mp4'],
	['png', /^\x89PNG/, 'image/png'],
	['jpg', /^\xff\xd8\xff/, 'image/jpeg', 'image/jpg'],
	['webp', /^RIFF.{4}WEBP/s, 'image/webp'],
	['gif', /^GIF8/, 'image/gif'],
	// “BM” alone would match text, so the reserved zero bytes must follow.
	['bmp', /^BM.{4}\0{4}/s, 'image/bmp', 'image/x-ms-bmp'],
	['tiff', /^(?:II\*\0|MM\0\*)/, 'image/tiff'],
	['zip', /^PK\x03\x04/, 'application/zip'],
	['gz', /^\x1f\x8b\x08/, 'application/gzip'],
];

/** The extension of a file that has only audio, by the usual extension of its container format. */
const AUDIO_EXTENSIONS: Record<string, string> = { mp4: 'm4a', mov: 'm4a', webm: 'weba' };
const HEADERLESS_EXTENSIONS = ['pcm', 'ulaw'];

const typeByExtension = (fileExtension: string | undefined) =>
	TYPES.find(([extension]) => extension === fileExtension);

const typeByMime = (mimeType: string) =>
	TYPES.find(([, , ...mimeTypes]) => mimeTypes.includes(mimeType));

/** Returns the row of `TYPES` that the first bytes match. */
function sniff(bytes: Uint8Array) {
	const text = Buffer.from(bytes.subarray(0, 32)).toString('latin1');
	return TYPES.find(([, start]) => start?.test(text));
}

function typeByUrl(url: string) {
	const urlExtension = /\.([a-z0-9]{2,4})$/i.exec(new URL(url).pathname)?.[1]!.toLowerCase();
	return typeByExtension(urlExtension);
}

/** Returns the MIME type in a Content-Type header, in lower case and without parameters; '' if there is none. */
export const mimeFromHeader = (contentType: string | undefined) =>
	contentType?.slice(0, 200).split(';')[0]!.trim().toLowerCase() ?? '';

/**
 * Returns the type of a file. Its first bytes usually decide, because headers and extensions of some deployments are
 * wrong. `contentType` is its Content-Type header. `url` must be absolute. If nothing else tells, `kind` decides.
 */
export function fileTypeOf(
	bytes: Uint8Array,
	contentType: string | undefined,
	url: string,
	kind: MediaKind,
): FileType {
	const declaredType = typeByMime(mimeFromHeader(contentType)) ?? typeByUrl(url);
	// Raw samples may begin with the same bytes as MP3 or AAC.
	const isHeaderless = bytes[0] === 0xff && HEADERLESS_EXTENSIONS.includes(declaredType?.[0] ?? '');
	const type =
		(isHeaderless ? undefined : sniff(bytes)) ?? declaredType ?? typeByMime(MEDIA[kind].mimeType)!;
	const isAudio = topLevelType(MEDIA[kind].mimeType) === 'audio';
	const audioType = isAudio ? typeByExtension(AUDIO_EXTENSIONS[type[0]]) : undefined;
	const [extension, , mimeType] = audioType ?? type;
	return { mimeType, extension };
}

/** True if these are the first bytes of a media file whose type is known. */
export const isMediaFile = (bytes: Uint8Array): boolean =>
	/^(?:audio|video|image)\//.test(sniff(bytes)?.[2] ?? '');

/** True if these are the first bytes of an image. */
export const isImage = (bytes: Uint8Array): boolean =>
	sniff(bytes)?.[2].startsWith('image/') === true;

/** Returns the part of a MIME type before the slash, such as `audio`. */
export const topLevelType = (mimeType: string): string => mimeType.split('/')[0]!;

const SRT: FileType = { mimeType: 'application/x-subrip', extension: 'srt' };
const VTT: FileType = { mimeType: 'text/vtt', extension: 'vtt' };

/** The pattern of a time in subtitles. Groups: hours (optional), minutes, seconds, fraction (optional). */
export const CUE_TIME_PATTERN = String.raw`(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?`;
const SRT_START = new RegExp(String.raw`^(?:\d+[ \t]*\n)?[ \t]*${CUE_TIME_PATTERN}[ \t]*-->`);

/** Returns a text without a byte order mark, and with LF line breaks. */
export const normalizeLines = (text: string): string =>
	text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');

/** Returns the type of subtitles by their first lines; undefined if they are neither SRT nor VTT. */
export function subtitleTypeOf(text: string): FileType | undefined {
	const start = normalizeLines(text);
	if (/^WEBVTT(?:[ \t\n]|$)/.test(start)) return VTT;
	return SRT_START.test(start.trimStart()) ? SRT : undefined;
}

/** Returns why a file with these first bytes is no media file, in words; undefined if it may be one. */
export function invalidFileReason(
	bytes: Uint8Array,
	contentType: string | undefined,
): string | undefined {
	if (bytes.length === 0) return 'the file is empty';
	const text = Buffer.from(bytes).toString().trimStart();
	// A text has no control characters other than white space, so this is a binary file.
	if (/[\x00-\x08\x0e-\x1f]/.test(text)) return undefined;
	const headerType = mimeFromHeader(contentType);
	if (looksLikeHtml(text)) return 'a web page was returned instead of the file';
	if (/^[{[]/.test(text) || headerType.includes('json')) {
		return 'a JSON response was returned instead of the file';
	}
	// Raw audio samples are usually invalid UTF-8, or contain DEL. These first bytes of a text may end within a
	// character, so one to three invalid characters at the end are ignored.
	const isText = /^text\/|xml/.test(headerType) || !/\ufffd(?!\ufffd{0,2}$)|\x7f/.test(text);
	return isText
		? `text was returned instead of the file${headerType && ` (${headerType})`}`
		: undefined;
}

/** Returns the name `<kind>-<id>.<extension>` for a file; unusual characters of the id become `_`. */
export function fileNameOf(kind: MediaKind, id: string, extension: string): string {
	const safeId = id.replace(/[^A-Za-z0-9._-]+/g, '_').slice(0, 120) || 'file';
	return `${kind}-${safeId}.${extension}`;
}

/**
 * Returns the kind of media that the `type` of a history entry names, by the word of the kind or of its files, such as
 * `audio`; undefined if it names none.
 */
export function kindInType(entry: unknown): GenerationOperation['kind'] | undefined {
	const typeText = (isRecord(entry) && asText(entry.type)?.toLowerCase()) || '';
	const kindWith = (wordOf: (kind: GenerationOperation['kind']) => string) =>
		// The result of “image_to_video” is a video, which comes first in GENERATED_KINDS.
		GENERATED_KINDS.find((kind) => typeText.includes(wordOf(kind)));
	return kindWith((kind) => kind) ?? kindWith((kind) => topLevelType(MEDIA[kind].mimeType));
}

/** The kind of media of a history entry, by its `type` or by the extension in its URL, if one tells. */
export function apparentKind(
	entry: ServiceRecord,
	url: string | undefined,
): GenerationOperation['kind'] | undefined {
	const mimeType = (url && typeByUrl(url)?.[2]) ?? '';
	return (
		kindInType(entry) ??
		GENERATED_KINDS.find((kind) => topLevelType(MEDIA[kind].mimeType) === topLevelType(mimeType))
	);
}
