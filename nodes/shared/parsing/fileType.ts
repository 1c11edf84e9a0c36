import { MIME_TYPES, type FileType, type MediaKind } from '../contract';
import { asText, looksLikeHtml } from './coerce';

/** The type of a file, from its first bytes, its header and its address. Pure. */

/** Bytes needed to recognise a type. */
export const SNIFF_BYTES = 512;

/** Extensions, and the types that files with one have: the usual name of each, then its other names. */
const TYPES: ReadonlyArray<[extension: string, mimeType: string, ...others: string[]]> = [
	['mp3', 'audio/mpeg', 'audio/mp3'],
	['wav', 'audio/wav', 'audio/x-wav', 'audio/wave', 'audio/vnd.wave'],
	['ogg', 'audio/ogg'],
	['opus', 'audio/opus'],
	['flac', 'audio/flac', 'audio/x-flac'],
	['aac', 'audio/aac'],
	['m4a', 'audio/mp4', 'audio/x-m4a'],
	['weba', 'audio/webm'],
	['mp4', 'video/mp4'],
	['webm', 'video/webm'],
	['mov', 'video/quicktime'],
	['png', 'image/png'],
	['jpg', 'image/jpeg', 'image/jpg'],
	['webp', 'image/webp'],
	['gif', 'image/gif'],
	['avif', 'image/avif'],
];

/** The type in a Content-Type header, without its parameters; '' when there is none. */
const typeNamedBy = (contentType: string | undefined) =>
	contentType?.slice(0, 200).split(';')[0]!.trim().toLowerCase() ?? '';

/** What files of a type begin with, as Latin-1. */
const BEGINNINGS: ReadonlyArray<[RegExp, mimeType: string]> = [
	[/^RIFF.{4}WAVE/s, 'audio/wav'],
	[/^RIFF.{4}WEBP/s, 'image/webp'],
	[/^\x89PNG/, 'image/png'],
	[/^\xff\xd8\xff/, 'image/jpeg'],
	[/^GIF8/, 'image/gif'],
	[/^OggS/, 'audio/ogg'],
	[/^fLaC/, 'audio/flac'],
	[/^ID3/, 'audio/mpeg'],
	[/^\x1aE\xdf\xa3/, 'video/webm'],
	[/^.{4}ftypavi/s, 'image/avif'],
	[/^.{4}ftypqt {2}/s, 'video/quicktime'],
	[/^.{4}ftypM4A/s, 'audio/mp4'],
	[/^.{4}ftyp/s, 'video/mp4'],
	// The frame sync of ADTS and MPEG audio: layer bits 00 are ADTS, 01 layer III.
	[/^\xff[\xf0\xf1\xf8\xf9]/, 'audio/aac'],
	[/^\xff[\xe2\xe3\xea\xeb\xf2\xf3\xfa\xfb]/, 'audio/mpeg'],
];

/** The MIME type that the first bytes prove, else undefined. */
function sniff(bytes: Uint8Array, kind: MediaKind): string | undefined {
	const start = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
	const type = BEGINNINGS.find(([beginning]) => beginning.test(start))?.[1];
	return kind === 'speech' ? type?.replace(/^video\/(?=mp4|webm)/, 'audio/') : type;
}

/**
 * The type of a file: by its first bytes, else the Content-Type header, else the address's extension
 * (some deployments' headers and extensions name another type), else what the service usually makes.
 */
export function fileTypeOf(
	bytes: Uint8Array,
	contentType: string | undefined,
	url: string,
	kind: MediaKind,
): FileType {
	const named = (name?: string) => TYPES.find(([, ...names]) => names.includes(name ?? ''));
	const ending = /\.([a-z0-9]{2,4})$/i.exec(new URL(url).pathname)?.[1]!.toLowerCase();
	const [extension, mimeType] =
		named(sniff(bytes, kind)) ??
		named(typeNamedBy(contentType)) ??
		TYPES.find(([usual]) => usual === ending) ??
		named(MIME_TYPES[kind])!;
	return { mimeType, extension };
}

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

/** Why these first bytes are no media file, or undefined when they may be one. */
export function whyNoFile(bytes: Uint8Array, contentType: string | undefined): string | undefined {
	if (bytes.length === 0) return 'the file is empty';
	const text = Buffer.from(bytes).toString().trimStart();
	// Control characters other than tab and line ends do not occur in text.
	if (/[\x00-\x08\x0e-\x1f]/.test(text)) return undefined;
	const header = typeNamedBy(contentType);
	if (looksLikeHtml(text)) return 'a web page was returned instead of the file';
	if (/^[{[]/.test(text) || header.includes('json')) {
		return 'a JSON response was returned instead of the file';
	}
	const isText = /^text\/|xml/.test(header);
	return isText ? `text was returned instead of the file (${header})` : undefined;
}

/** `<kind>-<id>.<extension>`, with nothing in it that a file system or a header refuses. */
export function fileNameOf(kind: MediaKind, id: string, extension: string): string {
	const safe = id.replace(/[^A-Za-z0-9._-]+/g, '_').slice(0, 120) || 'file';
	return `${kind}-${safe}.${extension}`;
}

/** The kind of a history entry, by its own word or its file's extension; else undefined. */
export function kindSaid(
	entry: Record<string, unknown>,
	url: string,
): 'video' | 'image' | undefined {
	const words = [entry.type, entry.kind, entry.media_type].map(asText).join(' ').toLowerCase();
	// "image_to_video" is a video.
	if (words.includes('video')) return 'video';
	if (words.includes('image')) return 'image';
	const { pathname } = new URL(url);
	if (/\.(?:png|jpe?g|webp|gif|avif)$/i.test(pathname)) return 'image';
	return /\.(?:mp4|webm|mov)$/i.test(pathname) ? 'video' : undefined;
}

/** Whether these are the first bytes of an image. */
export const isImage = (bytes: Uint8Array): boolean =>
	sniff(bytes, 'image')?.startsWith('image/') === true;
