import { gzipSync } from 'node:zlib';
import { bomb } from '../service/bodies.mts';
import { drip } from '../service/fakeService.mts';
import { anyMood, MOODS, type Asked } from './moods.mts';

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

/** More than is accepted unannounced. */
const tooMuch = bomb(320);

export function file(asked: Asked): void {
	const { random, response, request, token, elsewhere } = asked;
	if (random.chance(0.25)) return MOODS[anyMood(random)]!(asked);
	const body = Buffer.concat([random.pick(HEADS), random.bytes(random.pick([0, 10, 600, 5000]))]);
	const type = random.pick(TYPES);
	const headers = {
		...(type ? { 'content-type': type } : {}),
		...(random.chance(0.3) ? { 'content-disposition': `attachment; filename="${token}.wav"` } : {}),
	};
	const kind = random.chance(0.001) ? 'bomb' : random.word(KINDS);
	const begin = (more: object) => response.writeHead(200, { ...headers, ...more });
	switch (kind) {
		case 'whole':
			return void begin({ 'content-length': body.length }).end(body);
		case 'chunked':
			begin({}).write(body);
			return void response.end(body);
		case 'packed':
			return void begin({ 'content-encoding': 'gzip' }).end(gzipSync(body));
		case 'packedCut':
			return void begin({ 'content-encoding': 'gzip' }).end(gzipSync(body).subarray(0, 15));
		case 'packedNoise':
			return void begin({ 'content-encoding': random.word('gzip br zstd') }).end(body);
		case 'empty':
			return void response.end();
		case 'short':
			begin({ 'content-length': body.length + 100 }).write(body);
			return void setTimeout(() => request.socket.destroy(), 5);
		case 'dribble':
			begin({ 'content-length': 1e6 }).write(body);
			return drip(response, 'a', 50);
		case 'silent':
			return void begin({ 'content-length': 1e6 }).write(body);
		case 'redirect':
			response.writeHead(302, { location: `${elsewhere}/files/${random.whole(1, 1e9)}` });
			return void response.end();
		default:
			return void begin({ 'content-encoding': 'gzip' }).end(tooMuch());
	}
}
