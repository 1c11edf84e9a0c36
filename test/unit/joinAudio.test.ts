import { joinAudio, type JoinedSound } from '../../nodes/MediaGeneration/audio/joinAudio';
import { MAX_JOINED_BYTES } from '../../nodes/shared/limits';
import { readMp3 } from '../../nodes/MediaGeneration/audio/mp3';
import { readWav } from '../../nodes/MediaGeneration/audio/wav';

/* What real encoders and players make of it is in test/audio. */

const join = async (...files: Buffer[]) =>
	await joinAudio(files.map((file) => ({ bytes: file.length, read: async () => file })));
const joined = async (...files: Buffer[]) => {
	const result = await join(...files);
	if ('reason' in result) throw new Error(result.reason);
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
const samplesOf = ({ bytes }: JoinedSound) => readWav(bytes)!.soundData[0];
const LIST = chunk('LIST', Buffer.from('INFOIART\x05\0\0\0who?\0', 'latin1'));

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
const latin = (text: string) => Buffer.from(text, 'latin1');
const ID3_2 = cat(latin('ID3\x04\0\0\0\0\x03\0'), PICTURE);
const FOOT = latin('3DI\x04\0\x10\0\0\x03\0');
const ID3_2_FOOTED = cat(latin('ID3\x04\0\x10\0\0\x03\0'), PICTURE, FOOT);
const ID3_1 = cat(Buffer.from('TAG'), Buffer.alloc(125, 0xff));
const APE = cat(Buffer.from('APETAGEX'), u32(2000, 200, 1, 0xa0000000, 0, 0), Buffer.alloc(192));

/** At 40 kbit/s, with 120 bytes. */
const low = cat(frame(1, 0x54).subarray(0, 120), frame(2, 0x54).subarray(0, 120));
/** At 22,050 Hz. */
const slow = cat(frame(1, 0x80), Buffer.alloc(16), frame(2, 0x80), Buffer.alloc(16));
const framesOf = ({ bytes }: JoinedSound) => Buffer.concat(readMp3(bytes)!.soundData);

it('WAV is joined sample by sample, with sizes that are right', async () => {
	const sound = await joined(wav(one), wav(two));
	expect(sound.bytes).toEqual(wav(cat(one, two)));
	expect(sound).toMatchObject({ mimeType: 'audio/wav', extension: 'wav', startsMs: [0, 3 / 8] });
});

it.each<[string, Buffer]>([
	['chunks before and behind', wav(one, { before: [LIST], after: [LIST] })],
	['a size of 0, from a pipe', wav(one, { size: 0 })],
	['more announced than there is', wav(one, { size: 4000 })],
	['half a sample at the end', wav(cat(one, Buffer.from([9])))],
])('WAV with %s has its samples joined', async (_, first) => {
	expect(samplesOf(await joined(first, wav(two)))).toEqual(cat(one, two));
});

it.each<[string, Buffer, startsMs: number]>([
	['one bit rate', mp3(2, 11), 72],
	['different bit rates', low, 72],
])('MP3 of %s is joined frame by frame, behind one that counts them', async (...row) => {
	const [, second, startMs] = row;
	const sound = await joined(mp3(3), second);
	expect(framesOf(sound)).toEqual(cat(mp3(3), second));
	const startsMs = [0, startMs];
	expect(sound).toMatchObject({ mimeType: 'audio/mpeg', extension: 'mp3', startsMs });
	const at = sound.bytes.indexOf('Xing');
	expect(at).toBe(4 + 9);
	const counts = [sound.bytes.readUInt32BE(at + 8), sound.bytes.readUInt32BE(at + 12)];
	expect(counts).toEqual([5, sound.bytes.length]);
});

it.each<[string, Buffer]>([
	['ID3v2', cat(ID3_2, ID3_2_FOOTED, mp3(3))],
	['APEv2 and ID3v1', cat(mp3(3), APE, ID3_1)],
	['an index of LAME', cat(ID3_2, index(), mp3(3))],
	['an index of Fraunhofer', cat(index('VBRI'), mp3(3))],
	['what only looks like a frame', cat(Buffer.alloc(7), frame(9).subarray(0, 50), mp3(3))],
	['something between', cat(mp3(2), Buffer.alloc(77, 0xff), ID3_2, frame(3))],
	['files joined before', cat(index(), mp3(2), ID3_1, ID3_2, index(), frame(3))],
])('MP3: %s is left out', async (_, first) => {
	expect(framesOf(await joined(first, mp3(2, 11)))).toEqual(cat(mp3(3), mp3(2, 11)));
});

it.each<[string, first: Buffer, second: Buffer, why: string]>([
	['another rate', wav(one), wav(two, { rate: 16_000 }), 'WAV (format 1, 16-bit, 16000 Hz'],
	['another encoding', wav(one), wav(two, { tag: 7, bits: 8 }), 'WAV (format 7, 8-bit'],
	['no samples', wav(one), wav(Buffer.alloc(0)), 'part 2 has no WAV or MP3 audio'],
	['an MP3', wav(one), mp3(3), 'part 2 is MP3 (24000 Hz, mono)'],
	['another rate', mp3(3), slow, 'part 1 is MP3 (24000 Hz, mono); part 2 is MP3 (22050 Hz'],
	['no frames', mp3(3), ID3_2, 'part 2 has no WAV or MP3 audio'],
	['only an index', mp3(3), index(), 'part 2 has no WAV or MP3 audio'],
])('is not joined with %s', async (_, first, second, reason) => {
	expect(await join(first, second)).toEqual({ reason: expect.stringContaining(reason) });
});

it('WAV of an odd length is as long as it says', async () => {
	const parts = [Buffer.of(1), Buffer.of(2, 3)].map((samples) => wav(samples, { bits: 8 }));
	const { bytes } = await joined(...parts);
	expect(bytes.length).toBe(8 + bytes.readUInt32LE(4));
});

test('what is too large together is not even read', async () => {
	const read = jest.fn();
	const files = [MAX_JOINED_BYTES, 1].map((bytes) => ({ bytes, read }));
	expect(await joinAudio(files)).toEqual({ reason: 'they are larger than 256 MB in total' });
	expect(read).not.toHaveBeenCalled();
});
