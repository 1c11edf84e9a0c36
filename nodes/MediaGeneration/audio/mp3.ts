import type { Sound } from './sound';

/**
 * MP3 files: frames as in ISO/IEC 11172-3, 2.4.1.3 and 2.4.2.3, with the lower sampling rates of
 * ISO/IEC 13818-3, 2.4.2.3; tags as in ID3v2.4 (3.1). Pure.
 */

interface Frame {
	/** Bytes. */
	size: number;
	hertz: number;
	/** Per channel. */
	samples: number;
	/** Equal for frames that may follow one another. */
	format: string;
	/** Bytes of the side information after the header. */
	sideBytes: number;
}

const KBPS = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const KBPS_LOW = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
/** The place of a bit rate in these whose frames have room for an index at any sampling rate. */
const ROOMY = 9;
const HERTZ = [44_100, 48_000, 32_000];
const LAYER_3 = 1;
const MONO = 3;

/** The frame of layer III that begins at `at`; undefined when there is none, or one of a free bit rate. */
function frameAt(file: Buffer, at: number): Frame | undefined {
	if (at + 4 > file.length || file[at] !== 0xff) return undefined;
	const [second, third, fourth] = [file[at + 1]!, file[at + 2]!, file[at + 3]!];
	// 3 is MPEG-1, 2 is MPEG-2 with half the rates, 0 its extension with a quarter; 1 is none.
	const version = (second >> 3) & 3;
	if (second >> 5 !== 7 || version === 1 || ((second >> 1) & 3) !== LAYER_3) return undefined;
	const isFull = version === 3;
	const kbps = (isFull ? KBPS : KBPS_LOW)[third >> 4] ?? 0;
	const full = HERTZ[(third >> 2) & 3];
	if (kbps === 0 || full === undefined) return undefined;
	const hertz = full / (isFull ? 1 : version === 2 ? 2 : 4);
	const samples = isFull ? 1152 : 576;
	const isMono = fourth >> 6 === MONO;
	return {
		size: Math.floor((samples * kbps * 125) / hertz) + ((third >> 1) & 1),
		hertz,
		samples,
		format: `MP3 with ${hertz} Hz, ${isMono ? 'mono' : 'stereo'}`,
		sideBytes: isFull ? (isMono ? 17 : 32) : isMono ? 9 : 17,
	};
}

/** Bytes of the ID3v2 tag that begins at `at`, whose pictures may look like frames; 0 when none does. */
function tagBytes(file: Buffer, at: number): number {
	if (file.toString('latin1', at, at + 3) !== 'ID3' || at + 10 > file.length) return 0;
	// Four bytes of seven bits.
	const size = file.subarray(at + 6, at + 10).reduce((sum, byte) => sum * 128 + (byte & 127), 0);
	const footer = file[at + 5]! & 0x10 ? 10 : 0;
	return 10 + size + footer;
}

/** Whether a frame holds an encoder's index, and no sound. */
const isIndex = (file: Buffer, at: number) =>
	/Xing|Info|VBRI/.test(file.toString('latin1', at + 4, at + 46));

/** The frames with sound, in order; tags and whatever else there is are passed over. */
function* framesOf(file: Buffer): Generator<Frame & { at: number }> {
	/** The format of the first frame, which all others must have. */
	let format: string | undefined;
	let isInSync = false;
	const wholeAt = (at: number, like: string | undefined) => {
		const frame = frameAt(file, at);
		const fits = frame && at + frame.size <= file.length && (!like || frame.format === like);
		return fits ? frame : undefined;
	};
	for (let at = 0; at < file.length;) {
		const frame = wholeAt(at, format);
		const next = at + (frame?.size ?? 0);
		// After something else, one counts only if another follows: any bytes may look like a header.
		const isFollowed = () => next === file.length || wholeAt(next, frame?.format) !== undefined;
		isInSync = frame !== undefined && (isInSync || isFollowed());
		if (!frame || !isInSync) {
			at += tagBytes(file, at) || 1;
			continue;
		}
		if (!isIndex(file, at)) {
			format ??= frame.format;
			yield { ...frame, at };
		}
		at = next;
	}
}

/** The sound of an MP3 file; undefined when it has none. */
export function readMp3(file: Buffer): Sound | undefined {
	let first: (Frame & { at: number }) | undefined;
	let frames = 0;
	// Neighbours are one stretch: a large file has more frames than memory should hold.
	const stretches: Buffer[] = [];
	let start = 0;
	let end = 0;
	for (const frame of framesOf(file)) {
		first ??= frame;
		frames++;
		if (frame.at !== end) {
			stretches.push(file.subarray(start, end));
			start = frame.at;
		}
		end = frame.at + frame.size;
	}
	if (!first) return undefined;
	stretches.push(file.subarray(start, end));
	const header = Buffer.from(file.subarray(first.at, first.at + 4));
	const frameMs = (first.samples * 1000) / first.hertz;
	return {
		type: { mimeType: 'audio/mpeg', extension: 'mp3' },
		format: first.format,
		durationMs: frames * frameMs,
		stretches,
		headOf: (bytes, durationMs) => infoFrame(header, Math.round(durationMs / frameMs), bytes),
	};
}

/**
 * The frame that comes before `frames` frames of `bytes` bytes, of which `header` is the header of one,
 * and tells players how many there are, as Xing's does: without it, they guess the length from the first
 * bit rate.
 */
function infoFrame(header: Buffer, frames: number, bytes: number): Buffer {
	// Without checksum and padding.
	header[1]! |= 1;
	header[2] = (ROOMY << 4) | (header[2]! & 0x0c);
	const { size, sideBytes } = frameAt(header, 0)!;
	const frame = Buffer.alloc(size);
	const at = header.copy(frame) + sideBytes;
	// The word for bit rates that may vary: players then rely on the numbers.
	frame.write('Xing', at, 'latin1');
	// What follows: the number of frames, and of bytes.
	frame.writeUInt32BE(3, at + 4);
	frame.writeUInt32BE(frames, at + 8);
	frame.writeUInt32BE(size + bytes, at + 12);
	return frame;
}
