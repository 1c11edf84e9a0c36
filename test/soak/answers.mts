/* Everything that a service, a proxy or a network can answer, and now and then what it should. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { bomb, hugeJson, lazy, MIB, PAGE } from '../service/bodies.mts';
import { drip } from '../service/fakeService.mts';
import type { Random } from './random.mts';

/** One request with all that an answer may be made of. */
export interface Asked {
	request: IncomingMessage;
	response: ServerResponse;
	random: Random;
	token: string;
	/** Another origin, where the token must not go. */
	elsewhere: string;
}

export const json = ({ response }: Asked, body: unknown): void => {
	response.writeHead(200, { 'content-type': 'application/json' });
	response.end(JSON.stringify(body));
};

/** Values where another kind was expected. */
export const odd = (random: Random, token: string): unknown =>
	random.pick([null, 0, -1, 1e308, '', ' ', true, [], {}, [[]], token, 'x'.repeat(5000), [null]]);

/** What a service says, with the token in it where it can be. */
function sentence(random: Random, token: string): string {
	const said = random.pick([
		'insufficient_credits',
		'Rate limit exceeded',
		'UNSAFE_GENERATION',
		'Überlastet, bitte später 🙏',
		'a'.repeat(3000),
		'<b>bold</b> <script>alert(1)</script>',
		'{"nested": "json"}',
		'%s %d %00 \u0000\u001b[31m',
	]);
	return `${said} for ${random.pick(['you', token, `Bearer ${token}`, encodeURIComponent(token)])}`;
}

/** An error in one of the shapes that deployments are known to send, and some beyond them. */
export function errorBody(random: Random, token: string): unknown {
	const text = sentence(random, token);
	return random.pick([
		{ error: text },
		{ message: text },
		{ detail: [{ msg: text, loc: ['body', 'x'] }] },
		{ error: { error: { code: 'x', message: text } } },
		{ errors: [text, { message: text }] },
		{ error: true, code: 17 },
		[text],
		text,
		null,
		{},
		{ [text]: text },
	]);
}

/** Without those of success, which the other moods have: there the body counts, not the status. */
const STATUSES = [
	204, 300, 301, 302, 304, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 418, 422, 425, 429,
	451, 500, 501, 502, 503, 504, 520, 599,
];
const huge = hugeJson(20);
const hugePacked = lazy(() => gzipSync(huge()));

/** Everything that is not the answer. Each is told by its name. */
export const MOODS: Record<string, (asked: Asked) => void> = {
	hang: () => {},
	reset: ({ request }) => request.socket.resetAndDestroy(),
	close: ({ request }) => request.socket.destroy(),
	headersThenNothing: ({ response }) =>
		response.writeHead(200, { 'content-length': 50 }).flushHeaders(),
	headersThenReset({ response, request }) {
		response.writeHead(200, { 'content-length': 50 }).write('{"id": ');
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
	noHttp: ({ request, random }) =>
		void request.socket.end(
			random.pick(['\r\n\r\n', 'SSH-2.0-OpenSSH\r\n', 'HTTP/1.1 999\r\n\r\n', random.bytes(200)]),
		),
	oddHeaders({ request, random, token }) {
		const line = random.pick([
			'Content-Length: -5',
			'Content-Length: 5\r\nContent-Length: 7',
			'Content-Length: 7',
			'Transfer-Encoding: chunked, chunked',
			`X-Big: ${'x'.repeat(20_000)}`,
			`X-Token: ${token}\r\nContent-Length: 2`,
			'Content-Encoding: br\r\nContent-Length: 2',
			'Date: not a date\r\nContent-Length: 2',
		]);
		request.socket.end(`HTTP/1.1 200 OK\r\n${line}\r\n\r\n{}`);
	},
	anyStatus({ response, random, token }) {
		const after = random.pick(['', '0', '1', '-1', 'soon', '99999999', new Date().toUTCString()]);
		response.writeHead(random.pick(STATUSES), after ? { 'retry-after': after } : {});
		response.end(random.pick([JSON.stringify(errorBody(random, token)), PAGE, '']));
	},
	errorWith200: (asked) => json(asked, errorBody(asked.random, asked.token)),
	page: ({ response }) => void response.end(PAGE),
	cutJson: ({ response }) => void response.end('{"task_id": "12", "data": [{"id": 1, "file_'),
	noise: ({ response, random }) => void response.end(random.bytes(300)),
	deepJson({ response, random }) {
		const levels = random.pick([150, 5000, 100_000]);
		response.end('{"data":'.repeat(levels) + '1' + '}'.repeat(levels));
	},
	redirect({ response, random, request, elsewhere, token }) {
		const location = random.pick([
			request.url!,
			`${elsewhere}/?token=${encodeURIComponent(token)}`,
			'file:///etc/passwd',
			'javascript:alert(1)',
			'//',
			'',
			'http://127.0.0.1:1/',
		]);
		response.writeHead(random.pick([301, 302, 303, 307, 308]), { location });
		if (random.chance(0.7)) response.end();
		else response.flushHeaders();
	},
	huge: ({ response }) => void response.end(huge()),
	hugePacked: ({ response }) =>
		void response.writeHead(200, { 'content-encoding': 'gzip' }).end(hugePacked()),
	endless({ response }) {
		response.writeHead(200);
		drip(response, Buffer.alloc(MIB, '['), 20);
	},
};

const RARE = ['huge', 'hugePacked', 'endless'];
const COMMON = Object.keys(MOODS).filter((name) => !RARE.includes(name));

/** Any of them; those that cost this machine much, seldom. */
export const anyMood = (random: Random): string => random.pick(random.chance(0.02) ? RARE : COMMON);

/** More than is accepted unannounced. */
const tooMuch = bomb(320);

/** A file, or what comes instead of one. */
export function file(asked: Asked): void {
	const { random, response, request, token, elsewhere } = asked;
	if (random.chance(0.25)) return MOODS[anyMood(random)]!(asked);
	const head = random.pick([
		'RIFF\0\0\0\0WAVEfmt ',
		'\x89PNG\r\n\x1a\n',
		'\0\0\0\x18ftypisom',
		'ID3',
	]);
	const body = Buffer.concat([Buffer.from(head, 'latin1'), random.bytes(random.pick([0, 600]))]);
	const begin = (more: object = {}) =>
		response.writeHead(200, {
			'content-type': random.pick(['audio/wav', 'video/mp4', 'text/html', '', 'x/y; a="b']),
			'content-disposition': `attachment; filename="${token}.wav"`,
			...more,
		});
	const packed = { 'content-encoding': 'gzip' };
	const kinds: Record<string, () => void> = {
		whole: () => void begin({ 'content-length': body.length }).end(body),
		chunked: () => void begin().end(body),
		packed: () => void begin(packed).end(gzipSync(body)),
		packedCut: () => void begin(packed).end(gzipSync(body).subarray(0, 15)),
		packedNoise: () => void begin(packed).end(body),
		empty: () => void response.end(),
		short() {
			begin({ 'content-length': body.length + 100 }).write(body);
			setTimeout(() => request.socket.destroy(), 5);
		},
		dribble() {
			begin({ 'content-length': 1e6 }).write(body);
			drip(response, 'a', 50);
		},
		redirect: () =>
			void response
				.writeHead(302, { location: `${elsewhere}/files/${random.whole(1, 1e9)}` })
				.end(),
		bomb: () => void begin(packed).end(tooMuch()),
	};
	const { bomb: _, ...usual } = kinds;
	const kind = random.chance(0.001) ? 'bomb' : random.pick(['whole', ...Object.keys(usual)]);
	kinds[kind]!();
}

interface Made {
	id: string;
	file_url: string;
}

/** Answers a create call with a stream that ends with `made`, or with an error: then it calls `onError`. */
export function stream(asked: Asked, made: Made[], onError: () => void): void {
	const { response, request, random, token } = asked;
	const gap = random.pick(['', ' ']);
	const event = (name: string, data: unknown) =>
		`event:${gap}${name}\ndata:${gap}${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
	const someEvent = () =>
		random.pick<string | Buffer>([
			event('video_generation_status', JSON.stringify(random.pick(['processing', token, '']))),
			event('status', { status: 'generating', id: random.pick(['', 'x', token, 7]) }),
			event('status', odd(random, token) ?? ''),
			': keep-alive\n\n\r\n\r\n\r',
			'id: 7\nretry: 1\nfoo: bar\n\n',
			`data: ${sentence(random, token)}`,
			random.bytes(40),
			'\ufeffevent: \ndata\n\n',
		]);
	const lastEvent = (): string => {
		if (random.chance(0.2)) {
			onError();
			return event('error', random.pick<unknown>(['{"code": 5, "err', errorBody(random, token)]));
		}
		const data = random.pick<unknown>([
			made,
			made[0],
			JSON.stringify(made),
			{ data: made },
			{ id: made[0]!.id, file_urls: made.map(({ file_url }) => file_url) },
			made.map(({ id, file_url: url }) => ({ id, url, extra: odd(random, token), prompt: token })),
			[],
			[{ id: 'x', file_url: 'file:///etc/passwd' }],
			odd(random, token),
		]);
		const whole = event(random.pick(['video_generation_complete', 'all_set', 'message']), data);
		return random.chance(0.9) ? whole : whole.slice(0, random.whole(1, whole.length - 1));
	};
	const steps = Array.from({ length: random.whole(0, 6) }, someEvent);
	if (random.chance(0.75)) steps.push(lastEvent());
	response.writeHead(200, {
		'content-type': random.pick(['text/event-stream', 'application/json', 'text/html']),
	});
	response.flushHeaders();
	const ending = random.pick(['end', 'end', 'reset', 'hang', 'endlessLine', 'endlessEvents']);
	const timer = setInterval(
		() => {
			if (response.destroyed) return clearInterval(timer);
			const step = steps.shift();
			if (step !== undefined) return void response.write(step);
			clearInterval(timer);
			if (ending === 'end') response.end();
			else if (ending === 'reset') request.socket.resetAndDestroy();
			else if (ending === 'endlessLine') drip(response, 'data: x'.repeat(5000), 10);
			else if (ending === 'endlessEvents') drip(response, 'data: "processing"\n\n', 5);
		},
		random.whole(1, 20),
	);
}
