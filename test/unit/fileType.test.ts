import {
	fileKindOf,
	fileNameOf,
	fileTypeOf,
	isImage,
	whyNoFile,
} from '../../nodes/shared/parsing/fileType';
import type { MediaKind } from '../../nodes/shared/contract';

const bytes = (text: string) => Buffer.concat([Buffer.from(text, 'latin1'), Buffer.alloc(64)]);
const UNKNOWN = bytes('\x01\x02\x03\x04\x05');
const BARE = 'https://files.example.com/file/17';
function typeOf(head: Buffer, header?: string, url = BARE, kind: MediaKind = 'speech') {
	const { mimeType, extension } = fileTypeOf(head, header, url, kind);
	return `${mimeType} ${extension}`;
}

// More: test/engine/downloads.test.ts, test/faults/files.mts.
describe('the type of a file', () => {
	it.each<[name: string, head: string, MediaKind, type: string]>([
		['wav', 'RIFF\x24\x00\x00\x00WAVEfmt ', 'speech', 'audio/wav wav'],
		['ogg', 'OggS\x00\x02', 'speech', 'audio/ogg ogg'],
		['flac', 'fLaC\x00', 'speech', 'audio/flac flac'],
		['mp3 with tags', 'ID3\x04\x00', 'speech', 'audio/mpeg mp3'],
		['mp3', '\xff\xfb\x90\x64', 'speech', 'audio/mpeg mp3'],
		['mp3 of low rate', '\xff\xf3\x40\xc4', 'speech', 'audio/mpeg mp3'],
		['aac', '\xff\xf1\x50\x80', 'speech', 'audio/aac aac'],
		['m4a', '\x00\x00\x00\x20ftypM4A \x00\x00\x02\x00', 'speech', 'audio/mp4 m4a'],
		['mp4', '\x00\x00\x00\x20ftypisom\x00\x00\x02\x00', 'speech', 'audio/mp4 m4a'],
		['mp4', '\x00\x00\x00\x20ftypisom\x00\x00\x02\x00', 'video', 'video/mp4 mp4'],
		['mov', '\x00\x00\x00\x14ftypqt  \x00\x00\x02\x00', 'video', 'video/quicktime mov'],
		['webm', '\x1a\x45\xdf\xa3\x01\x00', 'speech', 'audio/webm weba'],
		['webm', '\x1a\x45\xdf\xa3\x01\x00', 'video', 'video/webm webm'],
		['png', '\x89PNG\r\n\x1a\n', 'image', 'image/png png'],
		['jpeg', '\xff\xd8\xff\xe0\x00\x10JFIF', 'image', 'image/jpeg jpg'],
		['webp', 'RIFF\x24\x00\x00\x00WEBPVP8 ', 'image', 'image/webp webp'],
		['gif', 'GIF89a', 'image', 'image/gif gif'],
		['avif', '\x00\x00\x00\x1cftypavif\x00\x00\x00\x00', 'image', 'image/avif avif'],
	])('is shown by the bytes of %s, whatever header and address say: %j', (_, start, kind, type) => {
		const head = bytes(start);
		expect(typeOf(head, undefined, undefined, kind)).toBe(type);
		expect(typeOf(head, 'text/plain', 'https://x.example/a.tiff', kind)).toBe(type);
		for (const header of [undefined, 'text/html', 'application/json']) {
			expect(whyNoFile(head, header)).toBeUndefined();
		}
		expect(isImage(head)).toBe(kind === 'image');
	});

	it.each<[header: string | undefined, url: string, MediaKind, type: string]>([
		['audio/mp3', 'https://x.example/a.flac', 'speech', 'audio/mpeg mp3'],
		['Audio/X-WAV; charset=binary', 'https://x.example/a.flac', 'speech', 'audio/wav wav'],
		['application/octet-stream', 'https://x.example/a.MP3', 'speech', 'audio/mpeg mp3'],
		[undefined, 'https://x.example/a.wav?sig=b.ogg', 'speech', 'audio/wav wav'],
		['constructor', 'https://x.example/a.com', 'speech', 'audio/mpeg mp3'],
		[undefined, BARE, 'video', 'video/mp4 mp4'],
		['', BARE, 'image', 'image/png png'],
	])('is that of the header %s, else of %s, else the usual of %s', (header, url, kind, type) => {
		expect(typeOf(UNKNOWN, header, url, kind)).toBe(type);
		expect([whyNoFile(UNKNOWN, header), isImage(UNKNOWN)]).toEqual([undefined, false]);
	});
});

it.each([
	['nothing', '', undefined, /empty/],
	['a web page that claims to be audio', '\n<html><body>', 'audio/mpeg', /web page/],
	['an error of a file host', '<?xml version="1.0"?><Error>', 'application/xml', /web page/],
	['JSON that claims to be audio', ' {"error":"expired"}', 'audio/mpeg', /JSON/],
	['JSON without a header', '[{"error":1}]', undefined, /JSON/],
	['a JSON text', '"not ready"', 'application/json; charset=utf-8', /JSON/],
	['a web page behind a byte order mark', '\ufeff<!doctype html>', 'audio/mpeg', /web page/],
	['plain text', 'Not found', 'text/plain', /text/],
])('%s is no media file', (_, text, header, reason) => {
	expect(whyNoFile(Buffer.from(text), header)).toMatch(reason);
});

it.each([
	['speech', '1204871', 'wav', 'speech-1204871.wav'],
	['image', 'a/b\\c:d?e"f\r\ng', 'png', 'image-a_b_c_d_e_f_g.png'],
	['video', '../../etc/passwd', 'mp4', 'video-.._.._etc_passwd.mp4'],
	['image', 'Käfer 🪲', 'png', 'image-K_fer_.png'],
	['speech', '', 'mp3', 'speech-file.mp3'],
	['video', 'x'.repeat(5000), 'mp4', `video-${'x'.repeat(120)}.mp4`],
] as const)('the name of the file of %s %s is safe and stable', (kind, id, extension, name) => {
	expect(fileNameOf(kind, id, extension)).toBe(name);
});

it.each([
	[{ type: 'image' }, '/a', 'image'],
	[{ media_type: 'IMAGE' }, '/a', 'image'],
	[{ type: 'video' }, '/a.png', 'video'],
	[{ type: 'image_to_video' }, '/a', 'video'],
	[{ type: { toString: 1 } }, '/a.JPG?x=1', 'image'],
	[{}, '/a.mp4', 'video'],
	[{}, '/a', 'video'],
])('an entry of the history, %j at %s, is of the kind %s', (entry, path, expected) => {
	expect(fileKindOf(entry, `https://files.example.com${path}`)).toBe(expected);
});
