/* The files that were made once; README.md says how. */
import { readFileSync } from 'node:fs';

const clip = (name: string): Buffer => readFileSync(new URL(`./${name}`, import.meta.url));

/** A playable MP4 whose bytes differ for each id: a `free` box with the id ends the file. */
export function videoMp4(id: string, portrait: boolean): Buffer {
	const note = Buffer.from(id, 'utf8');
	const video = clip(portrait ? 'portrait.mp4' : 'landscape.mp4');
	return Buffer.concat([video, freeBoxHeader(note.length), note]);
}

/** The header of a `free` box (ignored by players) that holds `bytes` bytes, below 4 GiB. */
export function freeBoxHeader(bytes: number): Buffer {
	const header = Buffer.from('\0\0\0\0free', 'latin1');
	header.writeUInt32BE(bytes + header.length, 0);
	return header;
}

/** A PNG (640x360, RGB) whose bytes differ for each id: the id is behind its end. */
export const imagePng = (id: string): Buffer => Buffer.concat([clip('image.png'), Buffer.from(id)]);

/** A playable MP3 file (MPEG-2 layer III, 24 kHz, mono, 32 kbit/s) of so many seconds, rounded up. */
export const speechMp3 = (seconds: number): Buffer =>
	Buffer.concat(Array.from({ length: Math.ceil(seconds) }, () => clip('second.mp3')));
