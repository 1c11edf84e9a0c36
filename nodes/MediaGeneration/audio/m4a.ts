import type { ByteParser } from './sound';

/*
 * M4A and other MP4 files consist of boxes (ISO/IEC 14496-12: 4.2, 8.2.2, 8.4.2, 8.8.3, 8.8.7, 8.8.8). Durations are
 * counted in units. The time scale is the number of units per second.
 */

/** Types of boxes whose inner boxes are read. */
const CONTAINER_BOXES = ['moov', 'trak', 'mdia', 'mvex', 'moof', 'traf'];
/**
 * Types of boxes from which the duration is computed.
 *
 * - `mvhd`, `mdhd`: the duration of the whole file, or of one track.
 * - `trex`, `tfhd`: the default duration of a sample, in all fragments or in one.
 * - `trun`: the samples of a fragment, with or without the duration of each.
 */
const DURATION_BOXES = ['mvhd', 'mdhd', 'trex', 'tfhd', 'trun'];
/** The largest box that is read, in bytes. */
const MAX_BOX_BYTES = 4 * 1024 * 1024;

/** Reads the time scale and the duration from an `mvhd` or `mdhd` box. `ms` is 0 if the duration is unknown. */
function durationIn(box: Buffer): { timeScale: number; ms: number } {
	const has64BitTimes = box[0] === 1;
	const timeScale = box.readUInt32BE(has64BitTimes ? 20 : 12);
	const units = has64BitTimes ? Number(box.readBigUInt64BE(24)) : box.readUInt32BE(16);
	const isDurationKnown = timeScale > 0 && units < (has64BitTimes ? 2 ** 63 : 2 ** 32 - 1);
	return { timeScale, ms: isDurationKnown ? (units * 1000) / timeScale : 0 };
}

/** Returns the default duration of a sample in a `tfhd` box, in units; undefined if the box has none. */
function defaultSampleUnitsIn(box: Buffer): number | undefined {
	const flags = box.readUInt32BE(0);
	const offset = 8 + (flags & 1 ? 8 : 0) + (flags & 2 ? 4 : 0);
	return flags & 8 ? box.readUInt32BE(offset) : undefined;
}

/** Returns how many units all samples of a `trun` box last, those without a duration `defaultUnits` each. */
function totalUnitsIn(box: Buffer, defaultUnits: number): number {
	const flags = box.readUInt32BE(0);
	const count = box.readUInt32BE(4);
	if (!(flags & 0x100)) return count * defaultUnits;
	const start = 8 + (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0);
	// Each sample has up to four values of 4 bytes. The first one is its duration.
	const entryBytes = 4 * [0x100, 0x200, 0x400, 0x800].filter((flag) => flags & flag).length;
	let units = 0;
	for (let index = 0; index < count; index++) units += box.readUInt32BE(start + index * entryBytes);
	return units;
}

/**
 * Parses an MP4 file, and returns its duration in ms. The result is 0, NaN or Infinity if the file does not tell its
 * duration. Throws a RangeError if a box ends too early.
 */
export function* readM4aDuration(): ByteParser {
	let trackDuration = { timeScale: 0, ms: 0 };
	let defaultSampleUnits = 0;
	let fragmentSampleUnits: number | undefined;
	let units = 0;
	for (;;) {
		const header = yield 16;
		if (header.length < 8) break;
		const type = header.toString('latin1', 4, 8);
		const shortSize = header.readUInt32BE(0);
		// 1 means that an eight-byte size follows the type; 0, that the box lasts until the file's end.
		const size = shortSize === 1 ? Number(header.readBigUInt64BE(8)) : shortSize || Infinity;
		const headerBytes = shortSize === 1 ? 16 : 8;
		if (size < headerBytes) break;
		yield -headerBytes;
		if (CONTAINER_BOXES.includes(type)) continue;
		if (DURATION_BOXES.includes(type) && size <= MAX_BOX_BYTES) {
			const box = yield size - headerBytes;
			const { ms } = type === 'mvhd' ? durationIn(box) : { ms: 0 };
			if (ms > 0) return ms;
			if (type === 'mdhd') trackDuration = durationIn(box);
			if (type === 'trex') defaultSampleUnits = box.readUInt32BE(12);
			if (type === 'tfhd') fragmentSampleUnits = defaultSampleUnitsIn(box);
			if (type === 'trun') units += totalUnitsIn(box, fragmentSampleUnits ?? defaultSampleUnits);
		}
		yield headerBytes - size;
	}
	return trackDuration.ms || (units * 1000) / trackDuration.timeScale;
}
