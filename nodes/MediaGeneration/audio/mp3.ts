import type { ByteReading, Sound } from './sound';

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
/** Bytes in which there are two frames, of 1441 bytes at most. */
const WINDOW = 4096;
/** Bytes after which a file that shows no frame is given up. */
const MAX_STRANGE = 64 * 1024;
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

const msOf = ({ samples, hertz }: Frame) => (samples * 1000) / hertz;

/** Whether a frame holds an encoder's index, and no sound. */
const isIndex = (file: Buffer, at: number) =>
	/Xing|Info|VBRI/.test(file.toString('latin1', at + 4, at + 46));

/** Finds the frames of a file, one after another. */
class Frames {
	/** The format of the first frame, which all others must have. */
	private format: string | undefined;
	private isInSync = false;

	/** How far to go on from `at`, in bytes, and the frame there, if there is one with sound. */
	next(file: Buffer, at: number): { bytes: number; frame?: Frame } {
		const wholeAt = (place: number, like: string | undefined) => {
			const frame = frameAt(file, place);
			const fits = frame && place + frame.size <= file.length && (!like || frame.format === like);
			return fits ? frame : undefined;
		};
		const frame = wholeAt(at, this.format);
		const end = at + (frame?.size ?? 0);
		// After something else, one counts only if another follows: any bytes may look like a header.
		const isFollowed = () => end === file.length || wholeAt(end, frame?.format) !== undefined;
		this.isInSync = frame !== undefined && (this.isInSync || isFollowed());
		if (!frame || !this.isInSync) return { bytes: tagBytes(file, at) || 1 };
		if (isIndex(file, at)) return { bytes: frame.size };
		this.format ??= frame.format;
		return { bytes: frame.size, frame };
	}
}

/** The frames with sound, in order; tags and whatever else there is are passed over. */
function* framesOf(file: Buffer): Generator<Frame & { at: number }> {
	const frames = new Frames();
	for (let at = 0; at < file.length;) {
		const { bytes, frame } = frames.next(file, at);
		if (frame) yield { ...frame, at };
		at += bytes;
	}
}

/** Reads how long an MP3 file is, in ms; 0 when it has no sound. */
export function* readMp3Length(): ByteReading<number> {
	const frames = new Frames();
	let ms = 0;
	let strange = 0;
	for (let file = yield WINDOW; file.length > 0 && strange < MAX_STRANGE; file = yield WINDOW) {
		const { bytes, frame } = frames.next(file, 0);
		strange = bytes > 1 ? 0 : strange + 1;
		if (frame) ms += msOf(frame);
		yield -bytes;
	}
	return ms;
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
	const frameMs = msOf(first);
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
