import type { ByteReading, Sound } from './sound';

/**
 * WAV files: "Multimedia Programming Interface and Data Specifications 1.0" (IBM and Microsoft, 1991),
 * chapters "RIFF" and "WAVE"; extensible headers as in Microsoft's WAVEFORMATEXTENSIBLE. Pure.
 */

/** Whose samples are independent of each other: PCM, floating point, A-law, µ-law, and the extensible. */
const ENCODINGS = [1, 3, 6, 7, 0xfffe];
/** Bytes of a description; an extensible one has 40. */
const MIN_DESCRIPTION = 16;
const MAX_DESCRIPTION = 1024;

const name = (file: Buffer, at: number) => file.toString('latin1', at, at + 4);

/** The sound of a WAV file; undefined when it is none, holds no sound, or is packed in some way. */
export function readWav(file: Buffer): Sound | undefined {
	if (name(file, 0) !== 'RIFF' || name(file, 8) !== 'WAVE') return undefined;
	let description: Buffer | undefined;
	for (let at = 12; at + 8 <= file.length;) {
		const id = name(file, at);
		const size = file.readUInt32LE(at + 4);
		const start = at + 8;
		if (id === 'fmt ') description = file.subarray(start, start + size);
		// Written to a pipe, a file can't know its size: it says 0, or more than there is.
		const end = size === 0 ? file.length : Math.min(start + size, file.length);
		if (id === 'data' && description) return soundOf(description, file.subarray(start, end));
		// A chunk of odd length is followed by a byte that belongs to none.
		at = start + size + (size % 2);
	}
	return undefined;
}

/**
 * Reads how long a WAV file is, in ms; 0 when it does not say so. Packed sound is as long as its `fact`
 * chunk says.
 */
export function* readWavLength(reader: { at: number }): ByteReading<number> {
	yield -12;
	let description: Buffer | undefined;
	let samples = 0;
	for (;;) {
		const head = yield 12;
		if (head.length < 8) return 0;
		const id = name(head, 0);
		const size = head.readUInt32LE(4);
		if (id === 'fact' && head.length === 12) samples = head.readUInt32LE(8);
		yield -8;
		if (id === 'fmt ') description = Buffer.from(yield MIN_DESCRIPTION);
		const start = reader.at;
		// Written to a pipe, a file can't know its size.
		const isData = id === 'data';
		yield -(isData ? size || Infinity : size + (size % 2));
		if (!isData || description?.length !== MIN_DESCRIPTION) continue;
		const isPacked = !ENCODINGS.includes(description.readUInt16LE(0));
		const rate = description.readUInt32LE(4);
		if (isPacked && samples > 0) return (samples * 1000) / rate;
		const perSecond = isPacked ? description.readUInt32LE(8) : rate * description.readUInt16LE(12);
		return ((reader.at - start) * 1000) / perSecond;
	}
}

function soundOf(chunk: Buffer, data: Buffer): Sound | undefined {
	const { length } = chunk;
	if (length < MIN_DESCRIPTION || length > MAX_DESCRIPTION) return undefined;
	const description = Buffer.from(chunk);
	const encoding = description.readUInt16LE(0);
	const channels = description.readUInt16LE(2);
	const rate = description.readUInt32LE(4);
	const block = description.readUInt16LE(12);
	const bits = description.readUInt16LE(14);
	if (!ENCODINGS.includes(encoding) || channels * rate * block === 0) return undefined;
	const samples = data.subarray(0, data.length - (data.length % block));
	if (samples.length === 0) return undefined;
	return {
		type: { mimeType: 'audio/wav', extension: 'wav' },
		format: `WAV (${encoding}) with ${bits} bit, ${channels} × ${rate} Hz`,
		durationMs: (samples.length / block / rate) * 1000,
		stretches: [samples],
		headOf: (bytes) => headOf(description, bytes),
	};
}

/** The header for `bytes` bytes of samples; a 0 has to follow an odd number. */
function headOf(description: Buffer, bytes: number): Buffer {
	const [form, data] = [Buffer.from('RIFF    WAVEfmt     '), Buffer.from('data    ')];
	form.writeUInt32LE(description.length, form.length - 4);
	data.writeUInt32LE(bytes, 4);
	const head = Buffer.concat([form, description, data]);
	head.writeUInt32LE(head.length - 8 + bytes + (bytes % 2), 4);
	return head;
}
