/**
 * WAV files: "Multimedia Programming Interface and Data Specifications 1.0" (IBM and Microsoft, 1991),
 * chapters "RIFF" and "WAVE"; extensible headers as in Microsoft's WAVEFORMATEXTENSIBLE. Pure.
 */

/** What is known of the sound of one file. */
export interface Wav {
	/** In words, equal for files that can be joined. */
	format: string;
	durationMs: number;
	/** The content of the chunk `fmt `. */
	description: Buffer;
}

const PCM = 1;
const EXTENSIBLE = 0xfffe;
/** Bytes; an extensible one has 40. */
const MAX_DESCRIPTION_BYTES = 1024;
/** Those whose samples are independent of each other, so that files can be joined. */
const ENCODINGS = new Map([
	[PCM, ''],
	[3, ' floating point'],
	[6, ' A-law'],
	[7, ' µ-law'],
]);

const name = (file: Buffer, at: number) => file.toString('latin1', at, at + 4);

/** The chunks of a file: name, and where the content lies as far as the file goes. */
function* chunksOf(file: Buffer): Generator<{ id: string; start: number; size: number }> {
	for (let at = 12; at + 8 <= file.length;) {
		const id = name(file, at);
		const size = file.readUInt32LE(at + 4);
		yield { id, start: at + 8, size };
		// A chunk of odd length is followed by a byte that belongs to none.
		at += 8 + size + (size % 2);
	}
}

/** The samples of a WAV file; undefined when it is none, holds no sound, or is packed in some way. */
export function readWav(file: Buffer): { sound: Wav; stretches: Buffer[] } | undefined {
	if (name(file, 0) !== 'RIFF' || name(file, 8) !== 'WAVE') return undefined;
	let description: Buffer | undefined;
	for (const { id, start, size } of chunksOf(file)) {
		if (id === 'fmt ') description = file.subarray(start, start + size);
		if (id !== 'data' || !description) continue;
		// Written to a pipe, a file can't know its size: it says 0, or more than there is.
		const end = size === 0 ? file.length : Math.min(start + size, file.length);
		return soundOf(description, file.subarray(start, end));
	}
	return undefined;
}

function soundOf(description: Buffer, data: Buffer): ReturnType<typeof readWav> {
	if (description.length < 16 || description.length > MAX_DESCRIPTION_BYTES) return undefined;
	const tag = description.readUInt16LE(0);
	// The first two bytes of the identifier that an extensible header ends with.
	const encoding =
		tag === EXTENSIBLE && description.length >= 40 ? description.readUInt16LE(24) : tag;
	const channels = description.readUInt16LE(2);
	const rate = description.readUInt32LE(4);
	const block = description.readUInt16LE(12);
	const bits = description.readUInt16LE(14);
	const samples = block > 0 ? data.subarray(0, data.length - (data.length % block)) : data;
	const word = ENCODINGS.get(encoding);
	if (word === undefined || channels * rate * block === 0 || samples.length === 0) return undefined;
	const sound = {
		format: `WAV with ${bits} bit${word}, ${channels} × ${rate} Hz`,
		durationMs: (samples.length / block / rate) * 1000,
		description: Buffer.from(description),
	};
	return { sound, stretches: [samples] };
}

const chunk = (id: string, content: Buffer): Buffer => {
	const head = Buffer.alloc(8);
	head.write(id, 'latin1');
	head.writeUInt32LE(content.length, 4);
	return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
};

/** The header for `bytes` bytes of samples like those of `sound`; a 0 has to follow an odd number. */
export function wavHead({ description }: Wav, bytes: number): Buffer {
	const chunks = [chunk('fmt ', description)];
	if (description.readUInt16LE(0) !== PCM) {
		const count = Buffer.alloc(4);
		count.writeUInt32LE(bytes / description.readUInt16LE(12));
		chunks.push(chunk('fact', count));
	}
	const head = Buffer.concat([Buffer.from('RIFF    WAVE'), ...chunks, Buffer.from('data    ')]);
	head.writeUInt32LE(head.length - 8 + bytes + (bytes % 2), 4);
	head.writeUInt32LE(bytes, head.length - 4);
	return head;
}
