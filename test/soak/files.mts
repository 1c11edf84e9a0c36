import { gzipSync } from 'node:zlib';
import { drip } from '../service/fakeService.mts';
import { anyMood, lazy, MIB, MOODS, type Asked } from './moods.mts';

/** Files, and what comes instead of them. */

const HEADS = [
	Buffer.from('RIFF\x00\x00\x00\x00WAVEfmt ', 'latin1'),
	Buffer.from('89504e470d0a1a0a', 'hex'),
	Buffer.from('\x00\x00\x00\x18ftypisom', 'latin1'),
	Buffer.from('ID3\x03', 'latin1'),
	Buffer.alloc(12),
];

const TYPES = [
	'audio/wav',
	'image/png',
	'video/mp4',
	'text/html',
	'application/json',
	'',
	'x/y; a="b',
];

const KINDS =
	'whole whole whole whole chunked packed packedCut packedNoise empty short dribble silent redirect';

/** 320 MiB of zeros: more than is accepted unannounced. */
const bomb = lazy(() => {
	const part = () => gzipSync(Buffer.alloc(8 * MIB));
	return Buffer.concat(Array.from({ length: 40 }, part));
});

export function file(asked: Asked): void {
	const { random, response, request, token, elsewhere } = asked;
	if (random.chance(0.25)) return MOODS[anyMood(random)]!(asked);
	const body = Buffer.concat([random.pick(HEADS), random.bytes(random.pick([0, 10, 600, 5000]))]);
	const type = random.pick(TYPES);
	const headers: Record<string, string | number> = {
		...(type ? { 'content-type': type } : {}),
		...(random.chance(0.3) ? { 'content-disposition': `attachment; filename="${token}.wav"` } : {}),
	};
	const kind = random.chance(0.001) ? 'bomb' : random.word(KINDS);
	switch (kind) {
		case 'whole':
			response.writeHead(200, { ...headers, 'content-length': body.length });
			return void response.end(body);
		case 'chunked':
			response.writeHead(200, headers);
			response.write(body);
			return void response.end(body);
		case 'packed':
			response.writeHead(200, { ...headers, 'content-encoding': 'gzip' });
			return void response.end(gzipSync(body));
		case 'packedCut':
			response.writeHead(200, { ...headers, 'content-encoding': 'gzip' });
			return void response.end(gzipSync(body).subarray(0, 15));
		case 'packedNoise':
			response.writeHead(200, { ...headers, 'content-encoding': random.word('gzip br zstd') });
			return void response.end(body);
		case 'empty':
			return void response.end();
		case 'short':
			response.writeHead(200, { ...headers, 'content-length': body.length + 100 });
			response.write(body);
			return void setTimeout(() => request.socket.destroy(), 5);
		case 'dribble':
			response.writeHead(200, { ...headers, 'content-length': 1e6 });
			response.write(body);
			return drip(response, 'a', 50);
		case 'silent':
			response.writeHead(200, { ...headers, 'content-length': 1e6 });
			return void response.write(body);
		case 'redirect':
			response.writeHead(302, { location: `${elsewhere}/files/${random.whole(1, 1e9)}` });
			return void response.end();
		default:
			response.writeHead(200, { ...headers, 'content-encoding': 'gzip' });
			return void response.end(bomb());
	}
}
