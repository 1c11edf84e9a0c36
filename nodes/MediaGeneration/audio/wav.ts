import type { ByteParser, Sound } from './sound';

/*
 * WAV files follow "Multimedia Programming Interface and Data Specifications 1.0" (IBM and Microsoft, 1991),
 * chapters "RIFF" and "WAVE". Extensible headers follow Microsoft's WAVEFORMATEXTENSIBLE.
 */

/** Codes of the encodings that can be joined: PCM, floating point, A-law, µ-law, and extensible. */
const JOINABLE_ENCODINGS = [1, 3, 6, 7, 0xfffe];
/** The smallest `fmt ` chunk, in bytes. */
const MIN_FORMAT_BYTES = 16;
/** The largest `fmt ` chunk that `readWav` accepts, in bytes. */
const MAX_FORMAT_BYTES = 1024;

const chunkId = (file: Buffer, offset: number) => file.toString('latin1', offset, offset + 4);

/** Returns the sound in a WAV file, or undefined if there is none that can be joined. */
export function readWav(file: Buffer): Sound | undefined {
	if (chunkId(file, 0) !== 'RIFF' || chunkId(file, 8) !== 'WAVE') return undefined;
	let formatChunk: Buffer | undefined;
	for (let offset = 12; offset + 8 <= file.length;) {
		const id = chunkId(file, offset);
		const size = file.readUInt32LE(offset + 4);
		const start = offset + 8;
		if (id === 'fmt ') formatChunk = file.subarray(start, start + size);
		// A program that writes to a pipe does not know the size beforehand: it writes 0 or a huge number.
		const end = size === 0 ? file.length : Math.min(start + size, file.length);
		if (id === 'data' && formatChunk) return soundIn(formatChunk, file.subarray(start, end));
		// A chunk of odd length is followed by one padding byte.
		offset = start + size + (size % 2);
	}
	return undefined;
}

/**
 * Parses a WAV file, and returns its duration in ms. The result is 0, NaN or Infinity if the file does not tell its
 * duration. `reader.offset` is the number of bytes that the parser has moved on so far.
 */
export function* readWavDuration(reader: { offset: number }): ByteParser {
	yield -12;
	let formatChunk: Buffer | undefined;
	let sampleCount = 0;
	for (;;) {
		const header = yield 12;
		if (header.length < 8) return 0;
		const id = chunkId(header, 0);
		const size = header.readUInt32LE(4);
		if (id === 'fact' && header.length === 12) sampleCount = header.readUInt32LE(8);
		yield -8;
		if (id === 'fmt ') formatChunk = Buffer.from(yield MIN_FORMAT_BYTES);
		const start = reader.offset;
		// A program that writes to a pipe does not know the size of the sound beforehand. It writes 0, which means that
		// the sound lasts until the end of the file.
		const isDataChunk = id === 'data';
		yield -(isDataChunk ? size || Infinity : size + (size % 2));
		if (!isDataChunk || formatChunk?.length !== MIN_FORMAT_BYTES) continue;
		const sampleRate = formatChunk.readUInt32LE(4);
		// The size of compressed sound does not tell its duration, but the number of samples does.
		const isCompressed = !JOINABLE_ENCODINGS.includes(formatChunk.readUInt16LE(0));
		if (isCompressed) return (sampleCount * 1000) / sampleRate;
		// The header also has the bytes per second, but they may be wrong, because players don't read them.
		const bytesPerSecond = sampleRate * formatChunk.readUInt16LE(12);
		return ((reader.offset - start) * 1000) / bytesPerSecond;
	}
}

/** Returns the sound in a `data` chunk, or undefined if it is empty or cannot be joined. */
function soundIn(formatChunkInFile: Buffer, data: Buffer): Sound | undefined {
	const { length } = formatChunkInFile;
	if (length < MIN_FORMAT_BYTES || length > MAX_FORMAT_BYTES) return undefined;
	// Without this copy, `headerFor` would keep the whole file in memory.
	const formatChunk = Buffer.from(formatChunkInFile);
	const encoding = formatChunk.readUInt16LE(0);
	const channels = formatChunk.readUInt16LE(2);
	const sampleRate = formatChunk.readUInt32LE(4);
	const frameBytes = formatChunk.readUInt16LE(12);
	const bitsPerSample = formatChunk.readUInt16LE(14);
	if (!JOINABLE_ENCODINGS.includes(encoding) || channels * sampleRate * frameBytes === 0)
		return undefined;
	const samples = data.subarray(0, data.length - (data.length % frameBytes));
	if (samples.length === 0) return undefined;
	return {
		type: { mimeType: 'audio/wav', extension: 'wav' },
		format: `WAV (format ${encoding}, ${bitsPerSample}-bit, ${sampleRate} Hz, ${channels} channel${channels > 1 ? 's' : ''})`,
		durationMs: (samples.length / frameBytes / sampleRate) * 1000,
		soundData: [samples],
		headerFor: (bytes) => headerFor(formatChunk, bytes),
	};
}

/** Makes the header for `bytes` bytes of samples. If `bytes` is odd, a padding byte must follow the samples. */
function headerFor(formatChunk: Buffer, bytes: number): Buffer {
	const [riffHeader, data] = [Buffer.from('RIFF    WAVEfmt     '), Buffer.from('data    ')];
	riffHeader.writeUInt32LE(formatChunk.length, riffHeader.length - 4);
	data.writeUInt32LE(bytes, 4);
	const header = Buffer.concat([riffHeader, formatChunk, data]);
	header.writeUInt32LE(header.length - 8 + bytes + (bytes % 2), 4);
	return header;
}
