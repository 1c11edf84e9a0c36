/**
 * MP3 files: frames as in ISO/IEC 11172-3, 2.4.1.3 and 2.4.2.3, with the lower sampling rates of
 * ISO/IEC 13818-3, 2.4.2.3; tags as in ID3v1, ID3v2.4 (3.1) and APEv2. Pure.
 */

/** What is known of the sound of one file. */
export interface Mp3 {
	/** In words, equal for files that can be joined. */
	format: string;
	durationMs: number;
	/** Bytes of each frame with sound. */
	sizes: number[];
	/** The first frame's header. */
	header: FrameHeader;
	/** The bit rate of all frames; undefined when it varies. */
	kbps: number | undefined;
}

interface FrameHeader {
	bytes: Buffer;
	/** Bytes of the frame. */
	size: number;
	kbps: number;
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
const HERTZ = [44_100, 48_000, 32_000];
const LAYER_3 = 1;
const MONO = 3;

/** The header of a frame of layer III; undefined when there is none, or one of a free bit rate. */
function readHeader(file: Buffer, at: number): FrameHeader | undefined {
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
		bytes: Buffer.from(file.subarray(at, at + 4)),
		size: Math.floor((samples * kbps * 125) / hertz) + ((third >> 1) & 1),
		kbps,
		hertz,
		samples,
		format: `MP3 with ${hertz} Hz, ${isMono ? 'mono' : 'stereo'}`,
		sideBytes: isFull ? (isMono ? 17 : 32) : isMono ? 9 : 17,
	};
}

const text = (file: Buffer, at: number, length: number) => file.toString('latin1', at, at + length);

/** Four bytes of seven bits. */
const syncsafe = (file: Buffer, at: number) =>
	file.subarray(at, at + 4).reduce((value, byte) => value * 128 + (byte & 127), 0);

/** Bytes of the tag that begins at `at`; 0 when none does. */
function tagBytes(file: Buffer, at: number): number {
	if (text(file, at, 3) === 'ID3' && at + 10 <= file.length) {
		const footer = file[at + 5]! & 0x10 ? 10 : 0;
		return 10 + syncsafe(file, at + 6) + footer;
	}
	if (text(file, at, 8) === 'APETAGEX' && at + 32 <= file.length) {
		return 32 + file.readUInt32LE(at + 12);
	}
	return 0;
}

/** Where the tags at the end of a file begin. */
function soundEnd(file: Buffer): number {
	let end = file.length;
	for (;;) {
		if (end >= 128 && text(file, end - 128, 3) === 'TAG') end -= 128;
		else if (end >= 32 && text(file, end - 32, 8) === 'APETAGEX') {
			const hasHeader = file.readUInt32LE(end - 12) >>> 31;
			// A tag that names fewer bytes than it has itself would keep this going forever.
			end -= Math.max(32, file.readUInt32LE(end - 20)) + 32 * hasHeader;
		} else return Math.max(0, end);
	}
}

/** Whether a frame holds an index, and no sound. */
function isIndex(file: Buffer, at: number, { sideBytes }: FrameHeader): boolean {
	// Some encoders count the checksum that may follow the header, some don't.
	const places = [at + 4 + sideBytes, at + 6 + sideBytes];
	return (
		places.some((place) => /^(?:Xing|Info)$/.test(text(file, place, 4))) ||
		text(file, at + 36, 4) === 'VBRI'
	);
}

/** The frames with sound up to `end`, in order; indexes, tags and whatever else there is are passed over. */
function* framesOf(file: Buffer, end: number): Generator<{ at: number; header: FrameHeader }> {
	/** The format of the first frame, which all others must have. */
	let format: string | undefined;
	let isInSync = false;
	const frameAt = (at: number, like = format) => {
		const header = readHeader(file, at);
		const fits = header && at + header.size <= end && (!like || header.format === like);
		return fits ? header : undefined;
	};
	for (let at = 0; at < end;) {
		const header = frameAt(at);
		const next = at + (header?.size ?? 0);
		// After something else, one counts only if another follows: any bytes may look like a header.
		if (!header || !(isInSync || next === end || frameAt(next, header.format))) {
			isInSync = false;
			at += tagBytes(file, at) || 1;
			continue;
		}
		if (!isIndex(file, at, header)) {
			format ??= header.format;
			yield { at, header };
		}
		isInSync = true;
		at = next;
	}
}

/** The frames with sound of an MP3 file, as stretches of it; undefined when there are none. */
export function readMp3(file: Buffer): { sound: Mp3; stretches: Buffer[] } | undefined {
	let first: FrameHeader | undefined;
	let isConstant = true;
	const sizes: number[] = [];
	const stretches: Array<{ start: number; end: number }> = [];
	for (const { at, header } of framesOf(file, soundEnd(file))) {
		first ??= header;
		isConstant &&= header.kbps === first.kbps;
		sizes.push(header.size);
		const last = stretches.at(-1);
		if (last?.end === at) last.end += header.size;
		else stretches.push({ start: at, end: at + header.size });
	}
	if (!first) return undefined;
	const sound = {
		format: first.format,
		durationMs: (sizes.length * first.samples * 1000) / first.hertz,
		sizes,
		header: first,
		kbps: isConstant ? first.kbps : undefined,
	};
	return { sound, stretches: stretches.map(({ start, end }) => file.subarray(start, end)) };
}

/** Bytes of an index: its name, what it has, frames, bytes and a table of 100 places. */
const INDEX_BYTES = 4 + 4 + 4 + 4 + 100;

/**
 * The frame that comes before those of a joined file and tells players how many there are and where, as
 * Xing's does: without it, they guess the length, and where to jump to.
 */
export function indexFrame(parts: Mp3[]): Buffer {
	const { header, kbps } = parts[0]!;
	const sizes = parts.flatMap((part) => part.sizes);
	const at = 4 + header.sideBytes;
	// The same header, but without checksum or padding, and of a bit rate that leaves room for the index.
	const head = Buffer.from(header.bytes);
	head[1]! |= 1;
	let rate = header.bytes[2]! >> 4;
	let own: FrameHeader;
	do {
		head[2] = (rate << 4) | (header.bytes[2]! & 0x0c);
		own = readHeader(head, 0)!;
	} while (own.size < at + INDEX_BYTES && ++rate < 15);
	const frame = Buffer.alloc(own.size);
	head.copy(frame);
	// Players that don't know "Info" take the bit rate of this frame for that of all.
	const isConstant = [own, ...parts].every((one) => one.kbps === kbps);
	const bytes = sizes.reduce((sum, size) => sum + size, own.size);
	frame.write(isConstant ? 'Info' : 'Xing', at, 'latin1');
	frame.writeUInt32BE(7, at + 4);
	frame.writeUInt32BE(sizes.length, at + 8);
	frame.writeUInt32BE(bytes, at + 12);
	let place = own.size;
	let percent = 0;
	for (const [index, size] of sizes.entries()) {
		for (; percent * sizes.length < (index + 1) * 100; percent++) {
			frame[at + 16 + percent] = Math.min(255, Math.floor((place * 256) / bytes));
		}
		place += size;
	}
	return frame;
}
