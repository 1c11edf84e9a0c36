import type { IncomingMessage, ServerResponse } from 'node:http';
import { piecesOf, sizeOf, type StoredFile } from './files.mts';
import { cutOff, head, instead, replaces, send, type Exchange } from './http.mts';
import { htmlReply, problem, type PlainReply } from './replies.mts';
import type { FaultAction } from './types.mts';
import { tokens, type World } from './world.mts';

/** A shorter token might be in an address or header by chance. */
const LEAST_TELLING = 8;

/** Handles a request to the file origin: one that carries the token is a leak, answered 400. */
export async function handleFile(world: World, exchange: Exchange): Promise<void> {
	const { record, request } = exchange;
	if (carriesToken(world, request)) {
		world.leaks.push(record);
		send(world, exchange, { status: 400, body: { error: 'authorization_not_expected_here' } });
		return;
	}
	await serveFile(world, exchange);
}

function carriesToken(world: World, request: IncomingMessage): boolean {
	if (request.headers.authorization !== undefined) return true;
	const sent = JSON.stringify([request.url, request.headers]);
	return tokens(world).some((token) => token.length >= LEAST_TELLING && sent.includes(token));
}

/** Serves a file on either origin, with the fault ordered for it; ranges are supported. */
export async function serveFile(world: World, exchange: Exchange): Promise<void> {
	const { record, url } = exchange;
	const action = world.faults.take('file', exchange) ?? {};
	if (action.delayMs) await world.timers.pause(action.delayMs);
	if (replaces(action)) {
		instead(world, exchange, action);
		return;
	}
	const refusal = record.on === 'api' ? refusalOf(world, exchange.request) : undefined;
	if (refusal !== undefined) return send(world, exchange, refusal);
	const file = world.files.get(url.pathname);
	if (!file) return send(world, exchange, htmlReply(404, '404 Not Found'));
	if (record.method !== 'GET' && record.method !== 'HEAD') {
		return send(world, exchange, htmlReply(405, '405 Method Not Allowed'));
	}
	if (world.dialect.redirectFiles && record.on === 'api') {
		const headers = { Location: `${world.fileOrigin}${file.path}` };
		return send(world, exchange, { status: 302, body: '', headers });
	}
	if (file.expired) return send(world, exchange, htmlReply(403, '403 Request has expired'));
	await sendFile(world, exchange, file, action);
}

/** Why the API's origin does not hand out a file: the token is missing, or one proof too many. */
function refusalOf(world: World, request: IncomingMessage): PlainReply | undefined {
	const { apiFiles, signedStatus: status } = world.dialect;
	const bearsToken = request.headers.authorization !== undefined;
	if (apiFiles === 'signed' && bearsToken) {
		return { status, body: { error: 'only_one_auth_mechanism_allowed' } };
	}
	if (apiFiles === 'private' && !bearsToken) return problem(401, 'invalid_token');
	return undefined;
}

async function sendFile(
	world: World,
	exchange: Exchange,
	file: StoredFile,
	action: FaultAction,
): Promise<void> {
	const { record, request, response } = exchange;
	const size = sizeOf(file);
	const [, from = '', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
	const start = from === '' ? 0 : Number(from);
	const end = to === '' ? size : Math.min(size, Number(to) + 1);
	if (start >= end) {
		const headers = { 'Content-Range': `bytes */${size}` };
		return send(world, exchange, { status: 416, body: '', headers });
	}
	head(world, exchange, from === '' ? 200 : 206, {
		'Content-Type': file.contentType,
		'Content-Length': end - start,
		'Accept-Ranges': 'bytes',
		...(from === '' ? {} : { 'Content-Range': `bytes ${start}-${end - 1}/${size}` }),
	});
	if (record.method === 'HEAD') {
		response.end();
		return;
	}
	const stop = action.truncate === undefined ? end : Math.min(end, start + action.truncate);
	// With a cut after no bytes at all, the head must still arrive.
	response.flushHeaders();
	for (const piece of piecesOf(file, start, stop)) {
		if (response.destroyed) return;
		if (!response.write(piece)) await drained(response);
	}
	if (action.truncate === undefined) response.end();
	else cutOff(exchange);
}

/** Resolves when more can be written, or when the reader has gone. */
function drained(response: ServerResponse): Promise<void> {
	return new Promise((resolve) => {
		const done = () => {
			response.off('drain', done);
			response.off('close', done);
			resolve();
		};
		response.on('drain', done);
		response.on('close', done);
	});
}
