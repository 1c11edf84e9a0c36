import fc from 'fast-check';
import * as fileTypes from '../../nodes/shared/parsing/fileType';
import { readFileUrl } from '../../nodes/shared/parsing/responses';
import { anAddress, anyJson, anyText, recordOf } from './arbitraries';
import { always, BASE } from './check';
import { contentTypes, entries } from './corpus';

const MAGIC = [
	...['RIFF\x24\x00\x00\x00WAVE', 'RIFF....WEBP', 'RIFF', '\x89PNG', '\xff\xd8\xff', 'GIF89a'],
	...['OggS', 'fLaC', 'ID3', '\x1aE\xdf\xa3', '....ftypisom', '....ftypavif', '....ftypqt  '],
	...['\xff\xf1', '\xff\xfb', '\xff', '<html>', '{"', '[', ' ', ''],
];
const bytes = fc
	.tuple(
		fc.constantFrom(...MAGIC),
		fc.oneof(fc.uint8Array({ maxLength: fileTypes.SNIFF_BYTES }), anyText.map(Buffer.from)),
	)
	.map(([start, rest]): Uint8Array => Buffer.concat([Buffer.from(start, 'latin1'), rest]));
const contentType = fc.oneof(
	fc.constantFrom(undefined, 'audio/mpeg', 'VIDEO/MP4; a=b', 'image/svg+xml', 'text/html'),
	anyText,
	anyText.map((text) => `audio/${text}`),
);
const url = anAddress
	.map((address) => readFileUrl(address, BASE))
	.filter((address) => address !== undefined);
const kind = fc.constantFrom('speech' as const, 'video' as const, 'image' as const);

describe('whatever file comes', () => {
	it('has a type of the known ones, and a name that is safe everywhere', () => {
		always(
			fc.record({ bytes, contentType, url, kind, id: anyText }),
			{
				normal: 250,
				examples: contentTypes.map((header) => ({
					bytes: Buffer.from('unknown'),
					contentType: header,
					url: `${BASE}/file`,
					kind: 'speech' as const,
					id: '1',
				})),
			},
			({ bytes: head, contentType: header, url: from, kind: of, id }) => {
				const type = fileTypes.fileTypeOf(head, header, from, of);
				expect(type.mimeType).toMatch(/^(?:audio|video|image)\/[a-z0-9.+-]+$/);
				expect(type.extension).toMatch(/^[a-z0-9]{2,4}$/);
				const name = fileTypes.fileNameOf(of, id, type.extension);
				expect(name).toMatch(/^(?:speech|video|image)-[A-Za-z0-9._-]+\.[a-z0-9]{2,4}$/);
				expect(name.length).toBeLessThanOrEqual(140);
				const wrong = fileTypes.whyNoFile(head, header);
				expect(wrong === undefined || (wrong.length > 0 && wrong.length < 300)).toBe(true);
				expect([true, false]).toContain(fileTypes.isImage(head));
			},
		);
	});

	it('is a video or an image in the history', () => {
		always(
			fc.tuple(recordOf(anyJson), url),
			{ examples: entries.map((entry): [typeof entry, string] => [entry, BASE]) },
			([entry, from]) => {
				expect(['video', 'image', undefined]).toContain(fileTypes.kindSaid(entry, from));
				expect(['video', 'image']).toContain(fileTypes.fileKindOf(entry, from));
			},
		);
	});
});
