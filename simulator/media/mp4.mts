import { readFileSync } from 'node:fs';

/** The committed clips are 4 s of H.264 (yuv420p, faststart), see README.md. */
function clip(name: string): Buffer {
	return readFileSync(new URL(`./${name}.mp4`, import.meta.url));
}

/** A playable MP4 whose bytes differ for each id: a `free` box with the id ends the file. */
export function videoMp4(id: string, portrait: boolean): Buffer {
	const note = Buffer.from(id, 'utf8');
	return Buffer.concat([
		clip(portrait ? 'portrait' : 'landscape'),
		freeBoxHeader(note.length),
		note,
	]);
}

/** The header of a `free` box (ignored by players) that holds `bytes` bytes, below 4 GiB. */
export function freeBoxHeader(bytes: number): Buffer {
	const header = Buffer.from('\0\0\0\0free', 'latin1');
	header.writeUInt32BE(bytes + header.length, 0);
	return header;
}
