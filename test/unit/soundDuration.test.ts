import fc from 'fast-check';
import { readWav } from '../../nodes/MediaGeneration/audio/wav';
import { SoundDuration } from '../../nodes/MediaGeneration/audio/soundDuration';
import { speechMp3 } from '../../simulator/media/clips.mts';
import { wavHeader } from '../../simulator/media/wav.mts';
import { always } from '../fuzz/check';

/* With files of other programs, and beside ffprobe: npm run test:audio. */

function lengthOf(file: Buffer, piece = file.length): number | undefined {
	const length = new SoundDuration();
	for (let at = 0; at < file.length; at += piece) length.push(file.subarray(at, at + piece));
	return length.ms();
}

const wav = (announced: number, bytes: number) =>
	Buffer.concat([wavHeader(announced), Buffer.alloc(bytes)]);

const withoutByteRate = wav(64_000, 64_000);
withoutByteRate.writeUInt32LE(0, 28);

const box = (type: string, ...parts: Buffer[]) => {
	const head = Buffer.from(`\0\0\0\0${type}`, 'latin1');
	const all = Buffer.concat([head, ...parts]);
	all.writeUInt32BE(all.length);
	return all;
};
const numbers = (...values: number[]) => {
	const bytes = Buffer.alloc(values.length * 4);
	values.forEach((value, index) => bytes.writeUInt32BE(value, index * 4));
	return bytes;
};
const header = (type: string, scale: number, units: number) =>
	box(type, numbers(0, 0, 0, scale, units));
const longHeader = (type: string, scale: number, units: number) =>
	box(type, numbers(0x0100_0000, 0, 0, 0, 0, scale, 0, units));
const BRAND = box('ftyp', Buffer.from('M4A \0\0\0\0'));
const SOUND = box('mdat', Buffer.alloc(5000));
const track = (units: number) => box('trak', box('mdia', header('mdhd', 8000, units)));
/** Two fragments: three samples of the usual length, and two that tell their own. */
const FRAGMENTS = [
	box('moof', box('traf', box('tfhd', numbers(0, 1)), box('trun', numbers(0, 3)))),
	SOUND,
	box(
		'moof',
		box('traf', box('tfhd', numbers(0, 1)), box('trun', numbers(0x300, 2, 500, 9, 700, 9))),
	),
];
const usual = box('mvex', box('trex', numbers(0, 1, 1, 1000, 0, 0)));

/** The same, where the first tells a length of its own, and the second more than it has to. */
const OTHER_FRAGMENTS = [
	box(
		'moof',
		box('traf', box('tfhd', numbers(0x0b, 1, 0, 0, 1, 1500)), box('trun', numbers(0, 2))),
	),
	SOUND,
	box(
		'moof',
		box('traf', box('tfhd', numbers(0, 1)), box('trun', numbers(0x305, 2, 99, 99, 500, 9, 700, 9))),
	),
];
const LARGE = Buffer.concat([
	numbers(1),
	Buffer.from('mdat'),
	numbers(0, 5016),
	Buffer.alloc(5000),
]);

const chunk = (id: string, content: Buffer) => {
	const head = Buffer.from(`${id}\0\0\0\0`);
	head.writeUInt32LE(content.length, 4);
	return Buffer.concat([head, content]);
};
/** Sound of this encoding in a WAV file: 8,110 bytes at 4,055 bytes per second. */
function wavOf(encoding: number, ...chunks: Buffer[]) {
	const format = Buffer.alloc(20);
	format.writeUInt16LE(encoding, 0);
	format.writeUInt16LE(1, 2);
	format.writeUInt32LE(8000, 4);
	format.writeUInt32LE(4055, 8);
	format.writeUInt16LE(256, 12);
	const all = [chunk('fmt ', format), ...chunks, chunk('data', Buffer.alloc(8110))];
	return Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVE'), ...all]);
}
const ADPCM = wavOf(0x11, chunk('fact', Buffer.from([0x20, 0x4e, 0, 0])));

/** Fifty frames of MPEG-2 (2) or MPEG-2.5 (0), 64 kbit/s, mono. */
function mp3Of(version: number, size: number) {
	const frame = Buffer.alloc(size);
	frame.writeUInt32BE(0xffe3_80c0 + version * 0x8_0000);
	return Buffer.concat(Array<Buffer>(50).fill(frame));
}

const ID3 = Buffer.from('ID3\x04\0\0\0\0\x4e\x10', 'latin1');
const tag = Buffer.concat([ID3, Buffer.alloc(0x4e * 128 + 16, 0xff)]);

const FILES: Record<string, [file: Buffer, ms: number]> = {
	WAV: [wav(64_000, 64_000), 2000],
	'WAV with something after it': [Buffer.concat([wav(64_000, 64_000), box('LIST')]), 2000],
	'WAV that was written to a pipe': [wav(0xffff_ff00, 32_000), 1000],
	'WAV that does not know its size': [wav(0, 32_000), 1000],
	'WAV that is shorter than it says': [wav(64_000, 32_000), 1000],
	'WAV that does not know its bytes per second': [withoutByteRate, 2000],
	'WAV that is compressed': [ADPCM, 2500],
	MP3: [speechMp3(3), 3024],
	'MP3 at 22 kHz': [mp3Of(2, 208), (50 * 576) / 22.05],
	'MP3 at 11 kHz': [mp3Of(0, 417), (50 * 576) / 11.025],
	'MP3 behind a picture': [Buffer.concat([tag, speechMp3(2)]), 2016],
	'M4A for streaming': [Buffer.concat([BRAND, box('moov', header('mvhd', 600, 900)), SOUND]), 1500],
	M4A: [Buffer.concat([BRAND, SOUND, box('moov', header('mvhd', 1000, 2500))]), 2500],
	'M4A with long numbers': [
		Buffer.concat([BRAND, SOUND, box('moov', longHeader('mvhd', 1000, 2500))]),
		2500,
	],
	'M4A whose track alone knows': [
		Buffer.concat([BRAND, box('moov', header('mvhd', 600, 0), track(4000)), SOUND]),
		500,
	],
	'M4A whose header knows no end': [
		Buffer.concat([BRAND, box('moov', header('mvhd', 600, 0xffff_ffff), track(4000)), LARGE]),
		500,
	],
	'M4A in fragments of other kinds': [
		Buffer.concat([
			BRAND,
			box('moov', header('mvhd', 600, 0), track(0), usual),
			...OTHER_FRAGMENTS,
		]),
		525,
	],
	'M4A behind a large box': [
		Buffer.concat([BRAND, LARGE, box('moov', header('mvhd', 1000, 2500))]),
		2500,
	],
	'M4A in fragments': [
		Buffer.concat([BRAND, box('moov', header('mvhd', 600, 0), track(0), usual), ...FRAGMENTS]),
		525,
	],
};

test.each(Object.entries(FILES))('%s', (_, [file, ms]) => {
	for (const piece of [1, 7, 1000, file.length]) expect(lengthOf(file, piece)).toBeCloseTo(ms, 5);
});

test.each<[string, Buffer]>([
	['is compressed', ADPCM],
	['has no sound', ADPCM.subarray(0, 60)],
	[
		'has half a format',
		Buffer.concat([
			ADPCM.subarray(0, 12),
			chunk('fmt ', Buffer.alloc(8)),
			chunk('data', Buffer.alloc(8)),
		]),
	],
])('WAV that %s cannot be joined', (_, file) => {
	expect(readWav(file)).toBeUndefined();
});

test('what is no such sound, or broken, has no length, and is given up in a moment', () => {
	const files = [
		'',
		'RIFF',
		'OggS',
		'RIFF    WAVEfmt ',
		'\0\0\0\x01ftyp\xff\xff',
		'\0\0\0\x08ftyp\0\0\0\x07moov',
	].map((text) => Buffer.from(text, 'latin1'));
	for (const file of files) expect(lengthOf(file)).toBeUndefined();
	const began = process.cpuUsage();
	for (const value of [0, 0x55, 0xff]) {
		expect(lengthOf(Buffer.alloc(64 * 1024 * 1024, value), 65_536)).toBeUndefined();
	}
	expect(process.cpuUsage(began).user / 1e6).toBeLessThan(5);
});

test('compressed WAV that does not count its samples has no length', () => {
	expect(lengthOf(wavOf(0x11))).toBeUndefined();
});

test('damage never throws, and gives a length or none', () => {
	const damaged = fc.tuple(
		fc.constantFrom(...Object.values(FILES)),
		fc.nat(),
		fc.nat(255),
		fc.nat(),
	);
	always(damaged, { normal: 500 }, ([[file], place, value, cut]) => {
		const copy = Buffer.from(file.subarray(0, 1 + (cut % file.length)));
		copy[place % Math.min(copy.length, 200)] = value;
		const ms = lengthOf(copy, 1000);
		expect(ms === undefined || ms > 0).toBe(true);
	});
});
