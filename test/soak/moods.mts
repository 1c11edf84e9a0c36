import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { hugeJson, lazy, MIB, PAGE } from '../service/bodies.mts';
import { drip } from '../service/fakeService.mts';
import type { Random } from './random.mts';
import { errorBody, sentence } from './words.mts';

/** One request with all that an answer may be made of. */
export interface Asked {
	request: IncomingMessage;
	response: ServerResponse;
	random: Random;
	token: string;
	/** Another origin, where the token must not go. */
	elsewhere: string;
}

const huge = hugeJson(20);
const hugePacked = lazy(() => gzipSync(huge()));

/** Without those of success, which the other moods have: there the body counts, not the status. */
const STATUSES = [
	204, 300, 301, 302, 304, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 418, 422, 425, 429,
	451, 500, 501, 502, 503, 504, 520, 599,
];

export const json = ({ response }: Asked, body: unknown, status = 200): void => {
	response.writeHead(status, { 'content-type': 'application/json' });
	response.end(JSON.stringify(body));
};

type Mood = (asked: Asked) => void;

/** Everything that is not the answer. Each is told by its name. */
export const MOODS: Record<string, Mood> = {
	hang: () => {},
	reset: ({ request }) => request.socket.resetAndDestroy(),
	close: ({ request }) => request.socket.destroy(),
	headersThenNothing({ response, random }) {
		response.writeHead(random.pick(STATUSES.filter((status) => status !== 204 && status !== 304)), {
			'content-length': 50,
		});
		response.flushHeaders();
	},
	headersThenReset({ response, request }) {
		response.writeHead(200, { 'content-length': 50 });
		response.write('{"id": ');
		setTimeout(() => request.socket.resetAndDestroy(), 5);
	},
	slowHeaders({ request }) {
		request.socket.write('HTTP/1.1 200 OK\r\nX-Slow: ');
		drip(request.socket, 'a', 50);
	},
	slowBody({ response }) {
		response.writeHead(200, { 'content-type': 'application/json' });
		drip(response, ' ', 50);
	},
	noHttp: ({ request, random }) => {
		request.socket.end(
			random.pick(['\r\n\r\n', 'SSH-2.0-OpenSSH\r\n', 'HTTP/1.1 999\r\n\r\n', random.bytes(200)]),
		);
	},
	oddHeaders({ request, random, token }) {
		const line = random.pick([
			'Content-Length: -5',
			'Content-Length: 5\r\nContent-Length: 7',
			'Content-Length: 1',
			'Content-Length: 7',
			'Transfer-Encoding: chunked',
			'Transfer-Encoding: chunked, chunked',
			`X-Big: ${'x'.repeat(20_000)}`,
			`X-Token: ${token}\r\nContent-Length: 2`,
			'Content-Encoding: gzip\r\nContent-Length: 2',
			'Content-Encoding: br\r\nContent-Length: 2',
			'Date: not a date\r\nContent-Length: 2',
		]);
		request.socket.end(`HTTP/1.1 200 OK\r\n${line}\r\n\r\n{}`);
	},
	anyStatus({ response, random, token }) {
		const status = random.pick(STATUSES);
		const after = random.pick(['', '0', '1', '-1', 'soon', '99999999', new Date().toUTCString()]);
		response.writeHead(status, after ? { 'retry-after': after } : {});
		response.end(
			random.pick([JSON.stringify(errorBody(random, token)), PAGE, '', sentence(random, token)]),
		);
	},
	errorWith200(asked) {
		json(asked, errorBody(asked.random, asked.token));
	},
	page: ({ response }) => void response.end(PAGE),
	cutJson({ response }) {
		response.end('{"task_id": "12", "data": [{"id": 1, "file_');
	},
	noise: ({ response, random }) => void response.end(random.bytes(300)),
	deepJson({ response, random }) {
		const levels = random.pick([150, 5000, 100_000]);
		response.end('{"data":'.repeat(levels) + '1' + '}'.repeat(levels));
	},
	redirect({ response, random, request, elsewhere, token }) {
		const location = random.pick([
			request.url!,
			`${elsewhere}/v1/elsewhere`,
			`${elsewhere}/?token=${encodeURIComponent(token)}`,
			'file:///etc/passwd',
			'javascript:alert(1)',
			'//',
			'http://',
			'',
			'http://127.0.0.1:1/',
		]);
		response.writeHead(random.pick([301, 302, 303, 307, 308]), { location });
		if (random.chance(0.7)) response.end();
		else response.flushHeaders();
	},
	huge({ response, random }) {
		response.writeHead(random.pick([200, 500]));
		response.end(huge());
	},
	hugePacked({ response }) {
		response.writeHead(200, { 'content-encoding': 'gzip' });
		response.end(hugePacked());
	},
	endless({ response }) {
		response.writeHead(200);
		drip(response, Buffer.alloc(MIB, '['), 20);
	},
};

const RARE = new Set(['huge', 'hugePacked', 'endless']);
const COMMON = Object.keys(MOODS).filter((name) => !RARE.has(name));

/** Any of them; those that cost this machine much, seldom. */
export function anyMood(random: Random): string {
	return random.chance(0.02) ? random.pick([...RARE]) : random.pick(COMMON);
}
