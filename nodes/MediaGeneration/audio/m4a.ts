import type { ByteReading } from './sound';

/**
 * M4A and other MP4 files: boxes as in ISO/IEC 14496-12, 4.2; their headers (8.2.2, 8.4.2), and where the
 * sound comes in fragments, the lengths of these (8.8.3, 8.8.7, 8.8.8). Pure.
 */

/** Boxes that hold boxes. */
const CONTAINERS = ['moov', 'trak', 'mdia', 'mvex', 'moof', 'traf'];
const LEAVES = ['mvhd', 'mdhd', 'trex', 'tfhd', 'trun'];
/** Bytes of a box that is read. A fragment of an hour of sound has 2.5 MB of sample sizes. */
const MAX_BOX = 4 * 1024 * 1024;

/** The time scale and the length in a header of a movie or a track, in ms; 0 when it is not known. */
function headerOf(box: Buffer): { scale: number; ms: number } {
	const isLong = box[0] === 1;
	const scale = box.readUInt32BE(isLong ? 20 : 12);
	const units = isLong ? Number(box.readBigUInt64BE(24)) : box.readUInt32BE(16);
	const isKnown = scale > 0 && units < (isLong ? 2 ** 63 : 2 ** 32 - 1);
	return { scale, ms: isKnown ? (units * 1000) / scale : 0 };
}

/** Where a track's fragments have the length of a sample, in a `tfhd`; undefined when they have none. */
function sampleUnitsIn(box: Buffer): number | undefined {
	const flags = box.readUInt32BE(0);
	const at = 8 + (flags & 1 ? 8 : 0) + (flags & 2 ? 4 : 0);
	return flags & 8 ? box.readUInt32BE(at) : undefined;
}

/** The length of a `trun`, whose samples have `byDefault` units unless it says otherwise. */
function unitsOf(box: Buffer, byDefault: number): number {
	const flags = box.readUInt32BE(0);
	const count = box.readUInt32BE(4);
	if (!(flags & 0x100)) return count * byDefault;
	const start = 8 + (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0);
	// Each sample has its length first, and up to three other values.
	const size = 4 * [0x100, 0x200, 0x400, 0x800].filter((flag) => flags & flag).length;
	let units = 0;
	for (let n = 0; n < count; n++) units += box.readUInt32BE(start + n * size);
	return units;
}

/** Reads how long an MP4 file is, in ms; 0 when it does not say so. Throws a RangeError when it is broken. */
export function* readM4aLength(): ByteReading<number> {
	let track = { scale: 0, ms: 0 };
	let byDefault = 0;
	let ofFragment: number | undefined;
	let units = 0;
	for (;;) {
		const head = yield 16;
		if (head.length < 8) break;
		const type = head.toString('latin1', 4, 8);
		const short = head.readUInt32BE(0);
		// 1: the size follows, in eight bytes; 0: up to the end of the file.
		const size = short === 1 ? Number(head.readBigUInt64BE(8)) : short || Infinity;
		const start = short === 1 ? 16 : 8;
		if (size < start) break;
		yield -start;
		if (CONTAINERS.includes(type)) continue;
		const isRead = LEAVES.includes(type) && size <= MAX_BOX;
		const box = isRead ? yield size - start : head;
		const { ms } = type === 'mvhd' && isRead ? headerOf(box) : { ms: 0 };
		if (ms > 0) return ms;
		if (type === 'mdhd' && isRead) track = headerOf(box);
		if (type === 'trex' && isRead) byDefault = box.readUInt32BE(12);
		if (type === 'tfhd' && isRead) ofFragment = sampleUnitsIn(box);
		if (type === 'trun' && isRead) units += unitsOf(box, ofFragment ?? byDefault);
		yield start - size;
	}
	return track.ms || (units * 1000) / track.scale;
}
