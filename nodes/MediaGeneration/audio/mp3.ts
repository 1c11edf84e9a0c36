import type { ByteParser, Sound } from './sound';

/* Frames: ISO/IEC 11172-3, 2.4.1.3 and 2.4.2.3. Lower sampling rates: ISO/IEC 13818-3, 2.4.2.3. Tags: ID3v2.4, 3.1. */

/** A frame, as its header of four bytes describes it. */
type Frame = NonNullable<ReturnType<typeof frameAt>>;

/** Bit rates in kbit/s, by their index in a frame header. MPEG-2.5 uses the same table as MPEG-2. */
const MPEG1_KBPS = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const MPEG2_KBPS = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
/** The index of a bit rate whose frames can hold a Xing header at every sampling rate. */
const XING_FRAME_BITRATE_INDEX = 9;
const MPEG1_SAMPLE_RATES = [44_100, 48_000, 32_000];
/** How many bytes are examined at a time: enough for two frames. */
const WINDOW_BYTES = 4096;
/** `readMp3Duration` stops after this many bytes in a row that are neither a frame nor a tag. */
const MAX_UNKNOWN_BYTES = 64 * 1024;
/** The value of the layer field in a frame header for layer III. */
const LAYER_3 = 1;
/** The value of the channel mode field in a frame header for mono. */
const MONO = 3;

/** Reads the layer III frame at `offset`; undefined if there is none, or a “free” bit rate hides its size. */
function frameAt(file: Buffer, offset: number) {
	if (offset + 4 > file.length) return undefined;
	const header = file.readUInt32BE(offset);
	const hasSyncBits = header >>> 21 === 0x7ff;
	// 3 means MPEG-1, 2 means MPEG-2, 0 means MPEG-2.5, and 1 is reserved.
	const version = (header >> 19) & 3;
	if (!hasSyncBits || version === 1 || ((header >> 17) & 3) !== LAYER_3) return undefined;
	const isMpeg1 = version === 3;
	const kbps = (isMpeg1 ? MPEG1_KBPS : MPEG2_KBPS)[(header >> 12) & 15] ?? 0;
	const mpeg1SampleRate = MPEG1_SAMPLE_RATES[(header >> 10) & 3];
	if (kbps === 0 || mpeg1SampleRate === undefined) return undefined;
	const sampleRate = mpeg1SampleRate / (isMpeg1 ? 1 : version === 2 ? 2 : 4);
	const samples = isMpeg1 ? 1152 : 576;
	const isMono = ((header >> 6) & 3) === MONO;
	return {
		/** The size of the whole frame, in bytes. */
		size: Math.floor((samples * kbps * 125) / sampleRate) + ((header >> 9) & 1),
		durationMs: (samples * 1000) / sampleRate,
		/** The sampling rate and the channels, in words. */
		format: `MP3 (${sampleRate} Hz, ${isMono ? 'mono' : 'stereo'})`,
		/** The size of the side information that follows the header, in bytes. */
		sideInfoBytes: isMpeg1 ? (isMono ? 17 : 32) : isMono ? 9 : 17,
	};
}

/**
 * Returns the size in bytes of the ID3v2 tag that begins at `offset`, or 0 if none begins there. Tags have to be
 * skipped, since a picture in a tag may contain bytes that look like a frame.
 */
function tagBytes(file: Buffer, offset: number): number {
	if (file.toString('latin1', offset, offset + 3) !== 'ID3' || offset + 10 > file.length) return 0;
	// The size is stored in four bytes, seven bits in each.
	const size = file
		.subarray(offset + 6, offset + 10)
		.reduce((sum, byte) => sum * 128 + (byte & 127), 0);
	return 10 + size;
}

/** True if the frame at `offset` tells players about the file (Xing, Info or VBRI), and so holds no sound. */
const isVbrHeader = (file: Buffer, offset: number) =>
	/Xing|Info|VBRI/.test(file.toString('latin1', offset + 4, offset + 46));

/** Finds the frames of a file. Call `scanAt` again and again, from the start of the file to its end. */
class FrameFinder {
	/** The format of the frames, once one was found. */
	private format: string | undefined;
	/** True if the bytes before the current position were a frame. The next frame then needs no check. */
	private isInSync = false;

	/** Returns the frame at `offset` if it holds sound, and how many bytes to skip before the next call. */
	scanAt(file: Buffer, offset: number): { bytesToSkip: number; frame?: Frame } {
		const completeFrameAt = (start: number, format: string | undefined) => {
			const frame = frameAt(file, start);
			const isComplete =
				frame && start + frame.size <= file.length && (!format || frame.format === format);
			return isComplete ? frame : undefined;
		};
		const frame = completeFrameAt(offset, this.format);
		const end = offset + (frame?.size ?? 0);
		// Any bytes may look like a header: out of sync, a frame counts only if a frame or the file's end follows.
		const isFollowed = () =>
			end === file.length || completeFrameAt(end, frame?.format) !== undefined;
		this.isInSync = frame !== undefined && (this.isInSync || isFollowed());
		if (!frame || !this.isInSync) return { bytesToSkip: tagBytes(file, offset) || 1 };
		if (isVbrHeader(file, offset)) return { bytesToSkip: frame.size };
		this.format ??= frame.format;
		return { bytesToSkip: frame.size, frame };
	}
}

/** Parses an MP3 file, and returns its duration in ms; 0 if no sound was found. */
export function* readMp3Duration(): ByteParser {
	const frames = new FrameFinder();
	let ms = 0;
	let unknownBytes = 0;
	for (
		let file = yield WINDOW_BYTES;
		file.length > 0 && unknownBytes < MAX_UNKNOWN_BYTES;
		file = yield WINDOW_BYTES
	) {
		const { bytesToSkip, frame } = frames.scanAt(file, 0);
		unknownBytes = bytesToSkip > 1 ? 0 : unknownBytes + 1;
		if (frame) ms += frame.durationMs;
		yield -bytesToSkip;
	}
	return ms;
}

/** Returns the sound in an MP3 file, or undefined if there is none. */
export function readMp3(file: Buffer): Sound | undefined {
	const frames = new FrameFinder();
	let first: { frame: Frame; header: Buffer } | undefined;
	let frameCount = 0;
	// Adjacent frames are stored as one buffer, because a large file has too many frames for one object each.
	const soundData: Buffer[] = [];
	let start = 0;
	let end = 0;
	for (let offset = 0; offset < file.length;) {
		const { bytesToSkip, frame } = frames.scanAt(file, offset);
		if (frame) {
			first ??= { frame, header: Buffer.from(file.subarray(offset, offset + 4)) };
			frameCount++;
			if (offset !== end) {
				soundData.push(file.subarray(start, end));
				start = offset;
			}
			end = offset + frame.size;
		}
		offset += bytesToSkip;
	}
	if (!first) return undefined;
	soundData.push(file.subarray(start, end));
	const { header } = first;
	const { format, durationMs: frameMs } = first.frame;
	return {
		type: { mimeType: 'audio/mpeg', extension: 'mp3' },
		format,
		durationMs: frameCount * frameMs,
		soundData,
		headerFor: (bytes, durationMs) =>
			makeXingFrame(header, Math.round(durationMs / frameMs), bytes),
	};
}

/**
 * Makes a Xing frame, which comes before all other frames and tells players how many frames and bytes the file has.
 * `header` is a copy of the header of one of the other frames, and is changed here. `soundBytes` is the size of all
 * other frames, in bytes.
 */
function makeXingFrame(header: Buffer, frameCount: number, soundBytes: number): Buffer {
	// The frame that is made here has no checksum and no padding.
	header[1]! |= 1;
	header[2] = (XING_FRAME_BITRATE_INDEX << 4) | (header[2]! & 0x0c);
	const { size, sideInfoBytes } = frameAt(header, 0)!;
	const frame = Buffer.alloc(size);
	const offset = header.copy(frame) + sideInfoBytes;
	// "Xing" says that the bit rate varies, so players rely on the two numbers below.
	frame.write('Xing', offset, 'latin1');
	// Flags: 1 announces the number of frames, 2 the number of bytes.
	frame.writeUInt32BE(3, offset + 4);
	frame.writeUInt32BE(frameCount, offset + 8);
	frame.writeUInt32BE(size + soundBytes, offset + 12);
	return frame;
}
