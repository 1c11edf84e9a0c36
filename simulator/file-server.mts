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
export async function handleFile(sim: Simulator, exchange: Exchange): Promise<void> {
	const { record, request } = exchange;
	const isLeak = carriesToken(sim, request);
	if (isLeak) sim.leaks.push(record);
	if (isLeak || request.headers.authorization !== undefined) {
		return send(sim, exchange, errorReply(400, 'authorization_not_expected_here'));
	}
	await serveFile(sim, exchange);
}

/** True if a request has a valid token in its URL or in a header. */
function carriesToken(sim: Simulator, request: IncomingMessage): boolean {
	const requestText = JSON.stringify([request.url, request.headers]);
	return sim
		.validTokens()
		.some((token) => token.length >= MIN_TOKEN_LENGTH && requestText.includes(token));
}

/** Serves a file, on the file origin or the API's. A fault that is due replaces or delays the answer. */
export async function serveFile(sim: Simulator, exchange: Exchange): Promise<void> {
	const { record, url } = exchange;
	const action = takeFault(sim, 'file', exchange);
	if (action.delayMs) await sim.timers.pause(action.delayMs);
	if (respondWithFault(sim, exchange, action)) return;
	const refusal = record.receivedBy === 'api' ? refusalOf(sim, exchange.request) : undefined;
	if (refusal !== undefined) return send(sim, exchange, refusal);
	const file = sim.files.get(url.pathname);
	if (!file) return send(sim, exchange, htmlReply(404, '404 Not Found'));
	if (sim.dialect.redirectFiles && record.receivedBy === 'api') {
		const headers = { Location: `${sim.fileOrigin}${file.path}` };
		return send(sim, exchange, { status: 302, body: '', headers });
	}
	const { response } = exchange;
	const head = await file.head();
	const size = file.size ?? head.length;
	writeHead(sim, exchange, 200, { 'Content-Type': file.contentType, 'Content-Length': size });
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
function refusalOf(sim: Simulator, request: IncomingMessage): PlainReply | undefined {
	const { apiFiles, signedStatus: status } = sim.dialect;
	const bearsToken = request.headers.authorization !== undefined;
	if (apiFiles === 'signed' && bearsToken) {
		return { status, body: { error: 'only_one_auth_mechanism_allowed' } };
	}
	if (apiFiles === 'private' && !bearsToken) return errorReply(401, 'invalid_token');
	return undefined;
}
