import { joinAudio, type JoinedSound } from '../../nodes/MediaGeneration/audio/joinAudio';
import { MAX_JOINED_BYTES } from '../../nodes/shared/limits';
import { readMp3 } from '../../nodes/MediaGeneration/audio/mp3';
import { readWav } from '../../nodes/MediaGeneration/audio/wav';

/* What real encoders and players make of it is in test/audio. */

const join = async (...files: Buffer[]) =>
	await joinAudio(files.map((file) => ({ bytes: file.length, read: async () => file })));
const joined = async (...files: Buffer[]) => {
	const result = await join(...files);
	if ('why' in result) throw new Error(result.why);
	return result;
};

const u16 = (...values: number[]) => Buffer.from(Uint16Array.from(values).buffer);
const u32 = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer);
const cat = (...parts: Buffer[]) => Buffer.concat(parts);
const chunk = (id: string, content: Buffer, size = content.length) =>
	cat(Buffer.from(id), u32(size), content, Buffer.alloc(content.length % 2));

function wav(
	samples: Buffer,
	{
		tag = 1,
		bits = 16,
		rate = 8000,
		channels = 1,
		before = [] as Buffer[],
		after = [] as Buffer[],
		size = samples.length,
	} = {},
): Buffer {
	const block = (bits / 8) * channels;
	const fmt = cat(u16(tag, channels), u32(rate, rate * block), u16(block, bits));
	const chunks = [...before, chunk('fmt ', fmt), chunk('data', samples, size), ...after];
	const body = cat(Buffer.from('WAVE'), ...chunks);
	return cat(Buffer.from('RIFF'), u32(body.length), body);
}

const one = Buffer.from([1, 0, 2, 0, 3, 0]);
const two = Buffer.from([4, 0, 5, 0]);
const samplesOf = ({ bytes }: JoinedSound) => readWav(bytes)!.stretches[0];
const LIST = chunk('LIST', Buffer.from('INFOIART\x05\0\0\0who?\0', 'latin1'));

describe('WAV', () => {
	it('is joined sample by sample, with sizes that are right', async () => {
		const sound = await joined(wav(one), wav(two));
		expect(sound.bytes).toEqual(wav(cat(one, two)));
		expect(sound).toMatchObject({ mimeType: 'audio/wav', extension: 'wav' });
		expect(sound.startsMs).toEqual([0, 3 / 8]);
	});

	it.each<[string, Buffer]>([
		['chunks before and behind', wav(one, { before: [LIST], after: [LIST] })],
		['a size of 0, from a pipe', wav(one, { size: 0 })],
		['more announced than there is', wav(one, { size: 4000 })],
		['half a sample at the end', wav(cat(one, Buffer.from([9])))],
	])('%s', async (_, first) => {
		expect(samplesOf(await joined(first, wav(two)))).toEqual(cat(one, two));
	});

	it.each<[string, Buffer, string]>([
		[
			'another rate',
			wav(two, { rate: 16_000 }),
			'part 1 is WAV (1) with 16 bit, 1 × 8000 Hz, part 2 is WAV (1) with 16 bit, 1 × 16000 Hz',
		],
		['another encoding', wav(two, { tag: 7, bits: 8 }), 'WAV (7) with 8 bit'],
		['no samples', wav(Buffer.alloc(0)), 'part 2 has no sound'],
		['an MP3', mp3(3), 'part 2 is MP3 with 24000 Hz, mono'],
	])('is not joined with %s', async (_, second, said) => {
		expect(await join(wav(one), second)).toEqual({ why: expect.stringContaining(said) });
	});
});

/** Frames of MPEG-2 layer III, 24 kHz, mono, at 64 kbit/s: 192 bytes each, told apart by their end. */
function frame(number: number, third = 0x84, fourth = 0xc0): Buffer {
	const bytes = Buffer.alloc(192, number);
	Buffer.from([0xff, 0xf3, third, fourth]).copy(bytes);
	return bytes;
}

/** The same with an index. */
function index(word = 'Info'): Buffer {
	const bytes = frame(0).fill(0, 4);
	bytes.write(word, word === 'VBRI' ? 36 : 13);
	return bytes;
}

function mp3(frames: number, from = 1): Buffer {
	return Buffer.concat(Array.from({ length: frames }, (_, number) => frame(from + number)));
}

/** Two frames in a tag, as a picture may look like. */
const PICTURE = cat(frame(99), frame(99));
const ID3_2 = cat(Buffer.from('ID3\x04\0\0\0\0\x03\0', 'latin1'), PICTURE);
const ID3_2_FOOTED = cat(
	Buffer.from('ID3\x04\0\x10\0\0\x03\0', 'latin1'),
	PICTURE,
	Buffer.from('3DI\x04\0\x10\0\0\x03\0', 'latin1'),
);
const ID3_1 = cat(Buffer.from('TAG'), Buffer.alloc(125, 0xff));
const APE = cat(Buffer.from('APETAGEX'), u32(2000, 200, 1, 0xa0000000, 0, 0), Buffer.alloc(192));

describe('MP3', () => {
	const frames = (sound: JoinedSound) => Buffer.concat(readMp3(sound.bytes)!.stretches);
	const all = cat(mp3(3), mp3(2, 11));

	/** At 40 kbit/s, with 120 bytes. */
	const low = cat(frame(1, 0x54).subarray(0, 120), frame(2, 0x54).subarray(0, 120));

	it.each<[string, Buffer, Buffer]>([
		['one bit rate', mp3(3), mp3(2, 11)],
		['different bit rates', mp3(3), low],
	])('of %s is joined frame by frame, behind one that counts them', async (_, one, other) => {
		const sound = await joined(one, other);
		expect(frames(sound)).toEqual(cat(one, other));
		const startsMs = [0, one === low ? 48 : 72];
		expect(sound).toMatchObject({ mimeType: 'audio/mpeg', extension: 'mp3', startsMs });
		const at = sound.bytes.indexOf('Xing');
		expect(at).toBe(4 + 9);
		expect(sound.bytes.readUInt32BE(at + 8)).toBe(5);
		expect(sound.bytes.readUInt32BE(at + 12)).toBe(sound.bytes.length);
	});

	it.each<[string, Buffer]>([
		['ID3v2', cat(ID3_2, ID3_2_FOOTED, mp3(3))],
		['APEv2 and ID3v1', cat(mp3(3), APE, ID3_1)],
		['an index of LAME', cat(ID3_2, index(), mp3(3))],
		['an index of Fraunhofer', cat(index('VBRI'), mp3(3))],
		['what only looks like a frame', cat(Buffer.alloc(7), frame(9).subarray(0, 50), mp3(3))],
		['something between', cat(mp3(2), Buffer.alloc(77, 0xff), ID3_2, frame(3), mp3(2, 11))],
		['files joined before', cat(index(), mp3(2), ID3_1, ID3_2, index(), frame(3), mp3(2, 11))],
	])('%s is left out', async (_, first) => {
		const rest = first.includes(frame(11)) ? [] : [mp3(2, 11)];
		expect(frames(await joined(first, ...rest))).toEqual(all);
	});

	it.each<[string, Buffer, string]>([
		[
			'another rate',
			cat(frame(1, 0x80), Buffer.alloc(16), frame(2, 0x80), Buffer.alloc(16)),
			'part 1 is MP3 with 24000 Hz, mono, part 2 is MP3 with 22050 Hz, mono',
		],
		['no frames', ID3_2, 'part 2 has no sound'],
		['only an index', index(), 'part 2 has no sound'],
	])('is not joined with %s', async (_, second, said) => {
		expect(await join(mp3(3), second)).toEqual({ why: expect.stringContaining(said) });
	});
});

test('what is too large together is not even read', async () => {
	const read = jest.fn();
	const result = await joinAudio([
		{ bytes: MAX_JOINED_BYTES, read },
		{ bytes: 1, read },
	]);
	expect(result).toEqual({ why: 'together they have more than 256 MB' });
	expect(read).not.toHaveBeenCalled();
});
