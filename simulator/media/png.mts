import { crc32, deflateSync } from 'node:zlib';
import { randomFrom, seedOf } from './random.mts';

const WIDTH = 640;
const HEIGHT = 360;

/** A PNG (640x360, RGB) drawn from a prompt: the same prompt gives the same picture. */
export function promptPng(prompt: string, id: string): Buffer {
	const header = Buffer.alloc(13);
	header.writeUInt32BE(WIDTH, 0);
	header.writeUInt32BE(HEIGHT, 4);
	header.set([8, 2, 0, 0, 0], 8);
	return Buffer.concat([
		Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
		chunk('IHDR', header),
		// Makes the bytes of two pictures from one prompt differ.
		chunk('tEXt', Buffer.from(`Comment\0${id}`, 'latin1')),
		chunk('IDAT', deflateSync(pixels(prompt))),
		chunk('IEND', Buffer.alloc(0)),
	]);
}

function chunk(type: string, data: Buffer): Buffer {
	const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
	const frame = Buffer.alloc(8);
	frame.writeUInt32BE(data.length, 0);
	frame.writeUInt32BE(crc32(body), 4);
	return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

/** One colour runs into another, from the top to the bottom. */
function pixels(prompt: string): Buffer {
	const random = randomFrom(seedOf(prompt));
	const [top, bottom] = [0, 1].map(() => [random() * 255, random() * 255, random() * 255]);
	// One filter byte (0, none) goes before each line.
	const lines = Array.from({ length: HEIGHT }, (_, y) => {
		const colour = top!.map((value, c) => value + ((bottom![c]! - value) * y) / HEIGHT);
		return Buffer.concat([Buffer.of(0), Buffer.alloc(WIDTH * 3, Buffer.from(colour))]);
	});
	return Buffer.concat(lines);
}
