import {
	fileNameOf,
	fileTypeOf,
	isImage,
	kindSaid,
	whyNoFile,
} from '../../nodes/shared/parsing/fileType';
import type { MediaKind } from '../../nodes/shared/contract';

const bytes = (text: string) => Buffer.concat([Buffer.from(text, 'latin1'), Buffer.alloc(64)]);
const HEADS = {
	wav: bytes('RIFF\x24\x00\x00\x00WAVEfmt '),
	webp: bytes('RIFF\x24\x00\x00\x00WEBPVP8 '),
	png: bytes('\x89PNG\r\n\x1a\n'),
	jpeg: bytes('\xff\xd8\xff\xe0\x00\x10JFIF'),
	gif: bytes('GIF89a'),
	ogg: bytes('OggS\x00\x02'),
	flac: bytes('fLaC\x00'),
	mp3WithTags: bytes('ID3\x04\x00'),
	mp3: bytes('\xff\xfb\x90\x64'),
	mp3OfLowRate: bytes('\xff\xf3\x40\xc4'),
	aac: bytes('\xff\xf1\x50\x80'),
	mp4: bytes('\x00\x00\x00\x20ftypisom\x00\x00\x02\x00'),
	m4a: bytes('\x00\x00\x00\x20ftypM4A \x00\x00\x02\x00'),
	mov: bytes('\x00\x00\x00\x14ftypqt  \x00\x00\x02\x00'),
	avif: bytes('\x00\x00\x00\x1cftypavif\x00\x00\x00\x00'),
	webm: bytes('\x1a\x45\xdf\xa3\x01\x00'),
	unknown: bytes('\x01\x02\x03\x04\x05'),
};
const BARE = 'https://files.example.com/file/17';
function typeOf(head: keyof typeof HEADS, header?: string, url = BARE, kind: MediaKind = 'speech') {
	const { mimeType, extension } = fileTypeOf(HEADS[head], header, url, kind);
	return `${mimeType} ${extension}`;
}

describe('the type of a file', () => {
	it.each([
		['ogg', 'speech', 'audio/ogg ogg'],
		['flac', 'speech', 'audio/flac flac'],
		['mp3WithTags', 'speech', 'audio/mpeg mp3'],
		['mp3', 'speech', 'audio/mpeg mp3'],
		['mp3OfLowRate', 'speech', 'audio/mpeg mp3'],
		['aac', 'speech', 'audio/aac aac'],
		['m4a', 'speech', 'audio/mp4 m4a'],
		['mp4', 'speech', 'audio/mp4 m4a'],
		['webm', 'speech', 'audio/webm weba'],
		['mp4', 'video', 'video/mp4 mp4'],
		['mov', 'video', 'video/quicktime mov'],
		['webm', 'video', 'video/webm webm'],
		['png', 'image', 'image/png png'],
		['jpeg', 'image', 'image/jpeg jpg'],
		['webp', 'image', 'image/webp webp'],
		['gif', 'image', 'image/gif gif'],
		['avif', 'image', 'image/avif avif'],
	] as const)(
		'is shown by the bytes of %s (%s), whatever header and address say',
		(head, kind, type) => {
			expect(typeOf(head, undefined, undefined, kind)).toBe(type);
			expect(typeOf(head, 'application/octet-stream', 'https://x.example/a.bin', kind)).toBe(type);
			expect(typeOf(head, 'text/plain', 'https://x.example/a.tiff', kind)).toBe(type);
		},
	);

	it.each([
		['audio/mpeg', 'audio/mpeg mp3'],
		['audio/mp3', 'audio/mpeg mp3'],
		['Audio/X-WAV; charset=binary', 'audio/wav wav'],
		['audio/opus', 'audio/opus opus'],
	])('is the header %s where the bytes show nothing', (header, type) => {
		expect(typeOf('unknown', header, 'https://x.example/a.flac')).toBe(type);
	});

	it.each([
		['https://x.example/a.MP3', 'audio/mpeg mp3'],
		['https://x.example/a.wav?sig=b.ogg', 'audio/wav wav'],
		['https://x.example/a.opus#t=1', 'audio/opus opus'],
	])('is the ending of %s where bytes and header show nothing', (url, type) => {
		expect(typeOf('unknown', 'application/octet-stream', url)).toBe(type);
		expect(typeOf('unknown', undefined, url)).toBe(type);
	});

	it.each([
		['speech', 'audio/mpeg mp3'],
		['video', 'video/mp4 mp4'],
		['image', 'image/png png'],
	] as const)('of %s is the usual one where nothing tells', (kind, type) => {
		expect(typeOf('unknown', undefined, undefined, kind)).toBe(type);
		expect(typeOf('unknown', '', 'https://x.example/a.com', kind)).toBe(type);
	});
});

describe('what is no media file', () => {
	// More: test/engine/downloads.test.ts, test/faults/files.mts.
	it.each([
		['a web page', '<!DOCTYPE html><p>gone</p>', 'text/html', /web page/],
		['a web page that claims to be audio', '\n<html><body>', 'audio/mpeg', /web page/],
		['JSON that claims to be audio', ' {"error":"expired"}', 'audio/mpeg', /JSON/],
		['a JSON text', '"not ready"', 'application/json; charset=utf-8', /JSON/],
		['a web page behind a byte order mark', '\ufeff<!doctype html>', 'audio/mpeg', /web page/],
	])('is %s', (_, text, header, reason) => {
		expect(whyNoFile(Buffer.from(text), header)).toMatch(reason);
	});

	it.each(Object.entries(HEADS))('is not %s, whatever its header claims', (_, head) => {
		for (const header of [undefined, 'application/octet-stream', 'text/html', 'application/json']) {
			expect(whyNoFile(head, header)).toBeUndefined();
		}
	});
});

describe('the name of a file', () => {
	it.each([
		['speech', '1204871', 'wav', 'speech-1204871.wav'],
		['video', '5f0c7c1e-8c5b', 'mp4', 'video-5f0c7c1e-8c5b.mp4'],
		['image', 'a/b\\c:d?e"f\r\ng', 'png', 'image-a_b_c_d_e_f_g.png'],
		['video', '../../etc/passwd', 'mp4', 'video-.._.._etc_passwd.mp4'],
		['image', 'Käfer 🪲', 'png', 'image-K_fer_.png'],
		['speech', '', 'mp3', 'speech-file.mp3'],
	] as const)('of %s %s is safe and stable', (kind, id, extension, name) => {
		expect(fileNameOf(kind, id, extension)).toBe(name);
	});
});

it.each([
	['its type', { type: 'image' }, '/a', 'image'],
	['its type in capitals', { type: 'IMAGE' }, '/a', 'image'],
	['its type against its ending', { type: 'video' }, '/a.png', 'video'],
	['its type when it was made from images', { type: 'image_to_video' }, '/a.mp4', 'video'],
	['its ending', {}, '/a.JPG?x=1', 'image'],
	['its ending', {}, '/a.mp4', 'video'],
	['nothing', {}, '/a', undefined],
])('the kind of an entry of the history is told by %s', (_, entry, path, expected) => {
	expect(kindSaid(entry, `https://files.example.com${path}`)).toBe(expected);
});

it.each<[boolean, Array<keyof typeof HEADS>]>([
	[true, ['png', 'jpeg', 'gif', 'webp', 'avif']],
	[false, ['mp4', 'wav', 'mp3', 'unknown']],
])('a file of unknown type is known as an image (%p) by its bytes: %j', (is, heads) => {
	expect(heads.map((head) => isImage(HEADS[head]))).toEqual(heads.map(() => is));
});
