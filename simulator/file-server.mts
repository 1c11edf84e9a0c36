import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { takeFault } from './faults.mts';
import { piecesOf } from './files.mts';
import { cutOff, head, instead, send, type Exchange } from './http.mts';
import { htmlReply, problem, type PlainReply } from './replies.mts';
import type { World } from './world.mts';

/** A shorter token might be in an address or header by chance. */
const LEAST_TELLING = 8;

/** Handles a request to the file origin: one that carries the token is a leak, answered 400. */
export async function handleFile(world: World, exchange: Exchange): Promise<void> {
	const { record, request } = exchange;
	if (carriesToken(world, request)) {
		world.leaks.push(record);
		return send(world, exchange, problem(400, 'authorization_not_expected_here'));
	}
	await serveFile(world, exchange);
}

function carriesToken(world: World, request: IncomingMessage): boolean {
	if (request.headers.authorization !== undefined) return true;
	const sent = JSON.stringify([request.url, request.headers]);
	return world.validTokens().some((token) => token.length >= LEAST_TELLING && sent.includes(token));
}

/** Serves a file on either origin, with the fault ordered for it. */
export async function serveFile(world: World, exchange: Exchange): Promise<void> {
	const { record, url } = exchange;
	const action = takeFault(world, 'file', exchange);
	if (action.delayMs) await world.timers.pause(action.delayMs);
	if (instead(world, exchange, action)) return;
	const refusal = record.on === 'api' ? refusalOf(world, exchange.request) : undefined;
	if (refusal !== undefined) return send(world, exchange, refusal);
	const file = world.files.get(url.pathname);
	if (!file) return send(world, exchange, htmlReply(404, '404 Not Found'));
	if (world.dialect.redirectFiles && record.on === 'api') {
		const headers = { Location: `${world.fileOrigin}${file.path}` };
		return send(world, exchange, { status: 302, body: '', headers });
	}
	const { response } = exchange;
	const start = await file.head();
	const size = file.size ?? start.length;
	head(world, exchange, 200, { 'Content-Type': file.contentType, 'Content-Length': size });
	// With a cut after no bytes at all, the head must still arrive.
	response.flushHeaders();
	const isWhole = action.truncate === undefined;
	const source = Readable.from(piecesOf(start, Math.min(size, action.truncate ?? size)));
	source.pipe(response, { end: isWhole });
	if (!isWhole) source.on('end', () => cutOff(exchange));
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
