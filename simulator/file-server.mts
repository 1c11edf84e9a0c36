import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { takeFault } from './faults.mts';
import { chunksOf } from './files.mts';
import { cutOff, writeHead, respondWithFault, send, type Exchange } from './http.mts';
import { htmlReply, errorReply, type PlainReply } from './replies.mts';
import type { Simulator } from './state.mts';

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
export async function handleFile(simulator: Simulator, exchange: Exchange): Promise<void> {
	const { record, request } = exchange;
	const isLeak = carriesToken(simulator, request);
	if (isLeak) simulator.leaks.push(record);
	if (isLeak || request.headers.authorization !== undefined) {
		return send(simulator, exchange, errorReply(400, 'authorization_not_expected_here'));
	}
	await serveFile(simulator, exchange);
}

/** True if a request has a valid token in its URL or in a header. */
function carriesToken(simulator: Simulator, request: IncomingMessage): boolean {
	const requestText = JSON.stringify([request.url, request.headers]);
	return simulator
		.validTokens()
		.some((token) => token.length >= MIN_TOKEN_LENGTH && requestText.includes(token));
}

/** Serves a file, on the file origin or the API's. A fault that is due replaces or delays the answer. */
export async function serveFile(simulator: Simulator, exchange: Exchange): Promise<void> {
	const { record, url } = exchange;
	const action = takeFault(simulator, 'file', exchange);
	if (action.delayMs) await simulator.timers.pause(action.delayMs);
	if (respondWithFault(simulator, exchange, action)) return;
	const refusal = record.receivedBy === 'api' ? refusalOf(simulator, exchange.request) : undefined;
	if (refusal !== undefined) return send(simulator, exchange, refusal);
	const file = simulator.files.get(url.pathname);
	if (!file) return send(simulator, exchange, htmlReply(404, '404 Not Found'));
	if (simulator.dialect.redirectFiles && record.receivedBy === 'api') {
		const headers = { Location: `${simulator.fileOrigin}${file.path}` };
		return send(simulator, exchange, { status: 302, body: '', headers });
	}
	const { response } = exchange;
	const head = await file.head();
	const size = file.size ?? head.length;
	writeHead(simulator, exchange, 200, { 'Content-Type': file.contentType, 'Content-Length': size });
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
function refusalOf(simulator: Simulator, request: IncomingMessage): PlainReply | undefined {
	const { apiFiles, signedStatus: status } = simulator.dialect;
	const bearsToken = request.headers.authorization !== undefined;
	if (apiFiles === 'signed' && bearsToken) {
		return { status, body: { error: 'only_one_auth_mechanism_allowed' } };
	}
	if (apiFiles === 'private' && !bearsToken) return errorReply(401, 'invalid_token');
	return undefined;
}
