/* The cheap files for tests. README.md says how they were made. */
import { readFileSync } from 'node:fs';

/** Reads a file of this folder. */
const clip = (name: string): Buffer => readFileSync(new URL(`./${name}`, import.meta.url));

/** Returns a playable MP4 file. It ends with a `free` box that holds the id, so that its bytes differ for each id. */
export function videoMp4(id: string, isPortrait: boolean): Buffer {
	const idBytes = Buffer.from(id, 'utf8');
	const video = clip(isPortrait ? 'portrait.mp4' : 'landscape.mp4');
	return Buffer.concat([video, freeBoxHeader(idBytes.length), idBytes]);
}

/**
 * Returns the header of a `free` box of an MP4 file. Players ignore such a box. `bytes` is the size of its content,
 * which must be less than 4 GiB.
 */
export function freeBoxHeader(bytes: number): Buffer {
	const header = Buffer.from('\0\0\0\0free', 'latin1');
	header.writeUInt32BE(bytes + header.length, 0);
	return header;
}

/**
 * Returns a PNG file (640x360, RGB). The id is appended after the end of the image, so that the bytes differ for each
 * id.
 */
export const imagePng = (id: string): Buffer => Buffer.concat([clip('image.png'), Buffer.from(id)]);

/** Returns a playable MP3 file (MPEG-2 layer III, 24 kHz, mono, 32 kbit/s). Its length is `seconds`, rounded up. */
export const speechMp3 = (seconds: number): Buffer =>
	Buffer.concat(Array.from({ length: Math.ceil(seconds) }, () => clip('second.mp3')));
