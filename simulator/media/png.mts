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

function pixels(prompt: string): Buffer {
	const random = randomFrom(seedOf(prompt));
	const colour = () => [random() * 255, random() * 255, random() * 255];
	const top = colour();
	const bottom = colour();
	const discs = Array.from({ length: 4 + Math.floor(random() * 4) }, () => ({
		x: random() * WIDTH,
		y: random() * HEIGHT,
		square: (25 + random() * 85) ** 2,
		colour: colour(),
	}));
	// One filter byte (0, none) goes before each line.
	const data = Buffer.alloc(HEIGHT * (1 + WIDTH * 3));
	for (let y = 0, at = 0; y < HEIGHT; y++) {
		data[at++] = 0;
		for (let x = 0; x < WIDTH; x++) {
			const disc = discs.find((d) => (d.x - x) ** 2 + (d.y - y) ** 2 < d.square);
			for (let c = 0; c < 3; c++) {
				const ground = (top[c] ?? 0) + (((bottom[c] ?? 0) - (top[c] ?? 0)) * y) / HEIGHT;
				data[at++] = disc ? (disc.colour[c] ?? 0) * 0.7 + ground * 0.3 : ground;
			}
		}
	}
	return data;
}
