import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { takeFault } from './faults.mts';
import { chunksOf } from './files.mts';
import { cutOff, writeHead, respondWithFault, send, type Exchange } from './http.mts';
import { htmlReply, errorReply, type PlainReply } from './replies.mts';
import type { World } from './world.mts';

/**
 * A token that is shorter than this many characters is not searched for, because it may be in a URL or header by
 * chance.
 */
const MIN_TOKEN_LENGTH = 8;

/**
 * Handles a request to the file origin. A request with an Authorization header or a valid token is answered with 400. It
 * is recorded as a leak if the token is one of this service: a port may have been that of another service a moment ago,
 * whose clients still send to it.
 */
export async function handleFile(world: World, exchange: Exchange): Promise<void> {
	const { record, request } = exchange;
	const isLeak = carriesToken(world, request);
	if (isLeak) world.leaks.push(record);
	if (isLeak || request.headers.authorization !== undefined) {
		return send(world, exchange, errorReply(400, 'authorization_not_expected_here'));
	}
	await serveFile(world, exchange);
}

/** True if a request has a valid token in its URL or in a header. */
function carriesToken(world: World, request: IncomingMessage): boolean {
	const requestText = JSON.stringify([request.url, request.headers]);
	return world
		.validTokens()
		.some((token) => token.length >= MIN_TOKEN_LENGTH && requestText.includes(token));
}

/** Serves a file, on the file origin or the API's. A fault that is due replaces or delays the answer. */
export async function serveFile(world: World, exchange: Exchange): Promise<void> {
	const { record, url } = exchange;
	const action = takeFault(world, 'file', exchange);
	if (action.delayMs) await world.timers.pause(action.delayMs);
	if (respondWithFault(world, exchange, action)) return;
	const refusal = record.receivedBy === 'api' ? refusalOf(world, exchange.request) : undefined;
	if (refusal !== undefined) return send(world, exchange, refusal);
	const file = world.files.get(url.pathname);
	if (!file) return send(world, exchange, htmlReply(404, '404 Not Found'));
	if (world.dialect.redirectFiles && record.receivedBy === 'api') {
		const headers = { Location: `${world.fileOrigin}${file.path}` };
		return send(world, exchange, { status: 302, body: '', headers });
	}
	const { response } = exchange;
	const head = await file.head();
	const size = file.size ?? head.length;
	writeHead(world, exchange, 200, { 'Content-Type': file.contentType, 'Content-Length': size });
	// The headers must arrive even if the connection is cut before the first byte of the body.
	response.flushHeaders();
	const isWhole = action.truncateAfterBytes === undefined;
	const body = Readable.from(chunksOf(head, Math.min(size, action.truncateAfterBytes ?? size)));
	body.pipe(response, { end: isWhole });
	if (!isWhole) body.on('end', () => cutOff(exchange));
}

/**
 * Returns the answer with which the API's origin refuses to serve a file: the token is missing, or the request for a
 * signed URL has a token. Returns undefined if it serves the file.
 */
function refusalOf(world: World, request: IncomingMessage): PlainReply | undefined {
	const { apiFiles, signedStatus: status } = world.dialect;
	const bearsToken = request.headers.authorization !== undefined;
	if (apiFiles === 'signed' && bearsToken) {
		return { status, body: { error: 'only_one_auth_mechanism_allowed' } };
	}
	if (apiFiles === 'private' && !bearsToken) return errorReply(401, 'invalid_token');
	return undefined;
}
