import { MEDIA, type MediaKind } from '../../nodes/shared/contract';
import {
	fileNameOf,
	fileTypeOf,
	isImage,
	isMediaFile,
	apparentKind,
	invalidFileReason,
} from '../../nodes/shared/parsing/fileType';

const bytes = (text: string) => Buffer.concat([Buffer.from(text, 'latin1'), Buffer.alloc(64)]);

it.each<[MediaKind, type: string, head: string]>([
	['speech', 'audio/wav wav', 'RIFF\x24\x00\x00\x00WAVEfmt '],
	['speech', 'audio/ogg ogg', 'OggS\x00\x02'],
	['speech', 'audio/flac flac', 'fLaC\x00'],
	['speech', 'audio/mpeg mp3', 'ID3\x04\x00'],
	['speech', 'audio/mpeg mp3', '\xff\xfb\x90\x64'],
	['speech', 'audio/mpeg mp3', '\xff\xf3\x40\xc4'],
	['speech', 'audio/aac aac', '\xff\xf1\x50\x80'],
	['speech', 'audio/mp4 m4a', '\x00\x00\x00\x20ftypM4A \x00\x00\x02\x00'],
	...['mp42', 'isom', 'dash', 'M4B ', 'iso5'].map((brand): [MediaKind, string, string] => [
		...(['speech', 'audio/mp4 m4a'] as const),
		`\x00\x00\x00\x20ftyp${brand}\x00\x00\x02\x00`,
	]),
	['speech', 'audio/webm weba', '\x1a\x45\xdf\xa3\x01\x00'],
	['video', 'video/mp4 mp4', '\x00\x00\x00\x20ftypisom\x00\x00\x02\x00'],
	['video', 'video/quicktime mov', '\x00\x00\x00\x14ftypqt  \x00\x00\x02\x00'],
	['video', 'video/webm webm', '\x1a\x45\xdf\xa3\x01\x00'],
	['image', 'image/png png', '\x89PNG\r\n\x1a\n'],
	['image', 'image/jpeg jpg', '\xff\xd8\xff\xe0\x00\x10JFIF'],
	['image', 'image/webp webp', 'RIFF\x24\x00\x00\x00WEBPVP8 '],
	['image', 'image/gif gif', 'GIF89a'],
	['image', 'image/avif avif', '\x00\x00\x00\x1cftypavif\x00\x00\x00\x00'],
	['image', 'image/avif avif', '\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avif'],
	['image', 'image/heic heic', '\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic'],
	['image', 'image/heic heic', '\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1heic'],
	['image', 'image/bmp bmp', 'BM\x36\x10\x00\x00\x00\x00\x00\x00\x36\x00'],
	['image', 'image/tiff tiff', 'II*\x00\x08\x00\x00\x00'],
	['image', 'image/tiff tiff', 'MM\x00*\x00\x00\x00\x08'],
])('the bytes of %s tell %s, whatever header and address say: %j', (kind, type, head) => {
	const { mimeType, extension } = fileTypeOf(bytes(head), 'text/plain', 'https://x/a.tiff', kind);
	expect(`${mimeType} ${extension}`).toBe(type);
	for (const header of [undefined, 'text/html', 'application/json']) {
		expect(invalidFileReason(bytes(head), header)).toBeUndefined();
	}
	expect(isImage(bytes(head))).toBe(kind === 'image');
});

it.each([
	['application/zip zip', 'PK\x03\x04\x14\x00'],
	['application/gzip gz', '\x1f\x8b\x08\x00'],
])('an archive is no media file, but %s', (type, head) => {
	const { mimeType, extension } = fileTypeOf(bytes(head), 'video/mp4', 'https://x/a.mp4', 'video');
	expect(`${mimeType} ${extension}`).toBe(type);
	expect(isMediaFile(bytes(head))).toBe(false);
});

it.each<[header: string | undefined, path: string, MediaKind, type: string]>([
	['audio/mp3', '/a.flac', 'speech', 'audio/mpeg mp3'],
	['Audio/X-WAV; charset=binary', '/a.flac', 'speech', 'audio/wav wav'],
	['application/octet-stream', '/a.MP3', 'speech', 'audio/mpeg mp3'],
	[undefined, '/a.wav?sig=b.ogg', 'speech', 'audio/wav wav'],
	[undefined, '/a.ogg#t=1', 'speech', 'audio/ogg ogg'],
	[undefined, '/file/17', 'speech', 'audio/mpeg mp3'],
	['video/webm', '/a', 'speech', 'audio/webm weba'],
	['audio/L16;rate=24000', '/a', 'speech', 'audio/pcm pcm'],
	['audio/basic', '/a.wav', 'speech', 'audio/basic ulaw'],
	[undefined, '/a.pcm', 'speech', 'audio/pcm pcm'],
	[undefined, '/a.ulaw', 'speech', 'audio/basic ulaw'],
	['', '/a.com', 'video', 'video/mp4 mp4'],
	[undefined, '/file/17', 'image', 'image/png png'],
])('where bytes say nothing, the header does (%p), then %s, then that it is %s', (...row) => {
	const [header, path, kind, type] = row;
	const { mimeType, extension } = fileTypeOf(Buffer.alloc(64, 1), header, `https://x${path}`, kind);
	expect(`${mimeType} ${extension}`).toBe(type);
});

it('any kind of audio, not only speech, is audio in a container of video', () => {
	const extensionOf = () =>
		fileTypeOf(bytes('\x00\x00\x00\x20ftypisom'), undefined, 'https://x/a', 'image').extension;
	expect(extensionOf()).toBe('mp4');
	const image = jest.replaceProperty(MEDIA.image, 'mimeType', 'audio/mpeg' as never);
	const extensionAsAudio = extensionOf();
	image.restore();
	expect(extensionAsAudio).toBe('m4a');
});

it('a text is no image, whatever it begins with', () => {
	for (const text of ['BMW is a make of cars.', 'II* ', 'GIF']) {
		expect(isImage(Buffer.from(text))).toBe(false);
	}
});

it.each([
	['audio/x-mulaw', '/a', 'ulaw', [0xff, 0xfb, 0x7b, 0x7e]],
	['audio/pcm', '/a', 'pcm', [0xff, 0xf1, 0, 0]],
	['application/octet-stream', '/a.pcm', 'pcm', [0xff, 0xf3, 1, 0]],
	// A header that lies, about a file that shows what it is.
	['audio/pcm', '/a.pcm', 'wav', [...Buffer.from('RIFF\0\0\0\0WAVE')]],
])('samples that are %s at %s are %s, as an MP3 file they may begin', (...row) => {
	const [header, path, extension, start] = row;
	const samples = Buffer.from(start);
	expect(fileTypeOf(samples, header, `https://x${path}`, 'speech').extension).toBe(extension);
	expect(invalidFileReason(samples, header)).toBeUndefined();
});

it.each([0x7f, 0xff, 0xd5])('silence in µ-law or A-law, %i, is no text', (level) => {
	expect(invalidFileReason(Buffer.alloc(512, level), 'audio/basic')).toBeUndefined();
});

// More: docs/faults.md.
it.each([
	['<!DOCTYPE html><p>gone</p>', 'text/html', /web page/],
	['\n<html><body>', 'audio/mpeg', /web page/],
	['\ufeff<!doctype html>', 'audio/mpeg', /web page/],
	[' {"error":"expired"}', 'audio/mpeg', /JSON/],
	['Rate limit reached, try later', 'audio/mpeg', /^text .* \(audio\/mpeg\)$/],
	['Noch nicht fertig – bitte später '.repeat(20).slice(0, 500), 'audio/wav', /^text/],
	['Not found', undefined, /^text was returned instead of the file$/],
	['"not ready"', 'application/json; charset=utf-8', /JSON/],
])('%j with the type %s is no media file', (text, header, reason) => {
	expect(invalidFileReason(Buffer.from(text), header)).toMatch(reason);
});

it.each([
	['video', '5f0c7c1e-8c5b', 'mp4', 'video-5f0c7c1e-8c5b.mp4'],
	['image', 'a/b\\c:d?e"f\r\ng', 'png', 'image-a_b_c_d_e_f_g.png'],
	['video', '../../etc/passwd', 'mp4', 'video-.._.._etc_passwd.mp4'],
	['image', 'Käfer 🪲', 'png', 'image-K_fer_.png'],
	['speech', '', 'mp3', 'speech-file.mp3'],
] as const)('the file of %s %s has a safe and stable name', (kind, id, extension, name) => {
	expect(fileNameOf(kind, id, extension)).toBe(name);
});

it.each([
	[{ type: 'IMAGE' }, '/a', 'image'],
	[{ type: 'video' }, '/a.png', 'video'],
	[{ type: 'image_to_video' }, '/a.mp4', 'video'],
	[{}, '/a.JPG?x=1', 'image'],
	[{}, '/a.mp4', 'video'],
	[{}, '/a', undefined],
])('the kind of an entry of the history: %j at %s', (entry, path, expected) => {
	expect(apparentKind(entry, `https://files.example.com${path}`)).toBe(expected);
});
