/* The cheap files for tests. README.md says how they were made. */
import { readFileSync } from 'node:fs';

/** The bytes of a file in this folder. */
const clip = (name: string): Buffer => readFileSync(new URL(`./${name}`, import.meta.url));

/** A playable MP4 file. It ends with a `free` box that holds the id, so that its bytes differ for each id. */
export function videoMp4(id: string, portrait: boolean): Buffer {
	const idBytes = Buffer.from(id, 'utf8');
	const video = clip(portrait ? 'portrait.mp4' : 'landscape.mp4');
	return Buffer.concat([video, freeBoxHeader(idBytes.length), idBytes]);
}

/** The header of a `free` box for `bytes` bytes, which must be less than 4 GiB. Players ignore such a box. */
export function freeBoxHeader(bytes: number): Buffer {
	const header = Buffer.from('\0\0\0\0free', 'latin1');
	header.writeUInt32BE(bytes + header.length, 0);
	return header;
}

/** A PNG file (640x360, RGB). The id is appended after its end, so that its bytes differ for each id. */
export const imagePng = (id: string): Buffer => Buffer.concat([clip('image.png'), Buffer.from(id)]);

/** A playable MP3 file (MPEG-2 layer III, 24 kHz, mono, 32 kbit/s). Its length is `seconds`, rounded up. */
export const speechMp3 = (seconds: number): Buffer =>
	Buffer.concat(Array.from({ length: Math.ceil(seconds) }, () => clip('second.mp3')));
