import { ENCODER_BYTES, INDEX_BYTES, readHeader, type Mp3 } from './mp3';

/**
 * The frame that comes before those of a joined file and tells players how many there are and where, as
 * Xing's and LAME's do: without it, they guess the length, and where to jump to.
 */
export function indexFrame(parts: Mp3[]): Buffer {
	const [first, last] = [parts[0]!, parts.at(-1)!];
	const { header, kbps, encoder } = first;
	const sizes = parts.flatMap((part) => part.sizes);
	const needed = 4 + header.sideBytes + INDEX_BYTES + ENCODER_BYTES;
	// The same header, but without checksum or padding, and of a bit rate that leaves room for the index.
	const head = Buffer.from(header.bytes);
	head[1]! |= 1;
	let own = header;
	for (let rate = header.bytes[2]! >> 4, size = 0; size < needed && rate < 15; rate++) {
		head[2] = (rate << 4) | (header.bytes[2]! & 0x0c);
		own = readHeader(head, 0)!;
		size = own.size;
	}
	const { size } = own;
	const frame = Buffer.alloc(size);
	head.copy(frame);
	// Players that don't know "Info" take the bit rate of this frame for that of all.
	const isConstant = [own, ...parts].every((one) => one.kbps === kbps);

	const at = 4 + header.sideBytes;
	const bytes = sizes.reduce((sum, one) => sum + one, size);
	frame.write(isConstant ? 'Info' : 'Xing', at, 'latin1');
	frame.writeUInt32BE(encoder ? 15 : 7, at + 4);
	frame.writeUInt32BE(sizes.length, at + 8);
	frame.writeUInt32BE(bytes, at + 12);
	let place = size;
	let percent = 0;
	for (const [index, one] of sizes.entries()) {
		for (; percent * sizes.length < (index + 1) * 100; percent++) {
			frame[at + 16 + percent] = Math.min(255, Math.floor((place * 256) / bytes));
		}
		place += one;
	}
	if (encoder) writeEncoder(frame, at + INDEX_BYTES, encoder, last.encoder, bytes);
	return frame;
}

/** What the first file's encoder says, with the silence that the last one ends with. */
function writeEncoder(
	frame: Buffer,
	at: number,
	first: Buffer,
	last: Buffer | undefined,
	bytes: number,
): void {
	first.copy(frame, at);
	const tag = at + 4;
	// Twelve bits of samples before the sound, and twelve after it.
	const before = first.readUIntBE(4 + 21, 3) >> 12;
	const after = last ? last.readUIntBE(4 + 21, 3) & 0xfff : 0;
	frame.writeUIntBE((before << 12) | after, tag + 21, 3);
	frame.writeUInt32BE(bytes, tag + 28);
	// There is no checksum of the sound, but one of this frame.
	frame.writeUInt16BE(0, tag + 32);
	frame.writeUInt16BE(crc16(frame.subarray(0, tag + 34)), tag + 34);
}

/** CRC-16 with the polynomial 0x8005, bits reversed. */
function crc16(bytes: Uint8Array): number {
	let crc = 0;
	for (const byte of bytes) {
		crc ^= byte;
		for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >> 1) ^ 0xa001 : crc >> 1;
	}
	return crc;
}
