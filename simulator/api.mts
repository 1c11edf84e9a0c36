import { takeFault } from './faults.mts';
import { serveFile } from './file-server.mts';
import { respondWithFault, send, type Exchange } from './http.mts';
import { errorReply, type Call, type Reply } from './replies.mts';
import { createTask, deleteTask, readTask } from './speech.mts';
import { sendJob, sendRaw } from './stream.mts';
import type { FaultAction } from './types.mts';
import { answerVideoAreaCall } from './video.mts';
import { listVoices } from './voices.mts';
import type { Simulator } from './state.mts';

/** Handles one request to the API's origin. A fault that is due replaces or delays the answer of the contract. */
export async function handleApi(sim: Simulator, exchange: Exchange): Promise<void> {
	const { url } = exchange;
	if (url.pathname.startsWith('/files/')) return await serveFile(sim, exchange);
	const action = takeFault(sim, 'api', exchange);
	if (action.delayMs) await sim.timers.pause(action.delayMs);
	if (action.accepted) answer(sim, exchange, action);
	if (respondWithFault(sim, exchange, action)) return;
	const reply = answer(sim, exchange, action);
	if ('job' in reply) {
		if (action.sse) return sendRaw(sim, exchange, action.sse);
		return sendJob(sim, exchange, reply);
	}
	if (reply.delayMs) await sim.timers.pause(reply.delayMs);
	send(sim, exchange, reply);
}

/**
 * Does what the contract demands and returns the answer: checks the token (§5), the request limit and the body, then
 * calls the endpoint.
 */
function answer(sim: Simulator, exchange: Exchange, action: FaultAction): Reply {
	const { record, url } = exchange;
	const header = exchange.request.headers.authorization ?? '';
	const token = sim.validTokens().find((valid) => header === `Bearer ${valid}`);
	if (token === undefined) return errorReply(401, 'invalid_token');
	const overLimitReply = enforceRequestLimit(sim, token);
	if (overLimitReply) return overLimitReply;
	if (exchange.hasInvalidBody) return errorReply(400, 'invalid_json');
	const call: Call = {
		method: record.method,
		path: url.pathname,
		query: url.searchParams,
		body: record.body,
		token,
		checkedFields: new Set(),
	};
	if (action.sse) call.jobWithoutEvents = { finishesAfterMs: action.finishesInHistoryAfterMs };
	return (
		answerSpeechCall(sim, call) ?? answerVideoAreaCall(sim, call) ?? errorReply(404, 'not_found')
	);
}

/**
 * Counts a request of a token. Returns an answer with 429 if the token has exceeded its request limit, otherwise
 * undefined. The `Retry-After` of that answer is the time until the next window.
 */
function enforceRequestLimit(sim: Simulator, token: string): Reply | undefined {
	if (!sim.requestLimit) return undefined;
	const { requests, seconds } = sim.requestLimit;
	const elapsedWindows = Date.now() / 1000 / seconds;
	const window = Math.floor(elapsedWindows);
	const lastWindow = sim.requestsInWindow.get(token);
	const requestsInWindow = lastWindow?.window === window ? lastWindow.requests + 1 : 1;
	sim.requestsInWindow.set(token, { window, requests: requestsInWindow });
	if (requestsInWindow <= requests) return undefined;
	const remainingSeconds = Math.ceil((window + 1 - elapsedWindows) * seconds);
	return errorReply(429, 'rate_limited', { 'Retry-After': String(remainingSeconds) });
}

/** Answers a call about speech tasks or voices (§4.1 to §4.4). Returns undefined if it is no such call. */
function answerSpeechCall(sim: Simulator, call: Call): Reply | undefined {
	if (call.method === 'POST' && call.path === '/v1/labs/task') return createTask(sim, call);
	if (call.method === 'GET' && call.path === '/v1/labs/voices') return listVoices(sim, call);
	const [, encodedId] = /^\/v1\/labs\/task\/([^/]+)$/.exec(call.path) ?? [];
	if (encodedId === undefined) return undefined;
	const id = decodeURIComponent(encodedId);
	if (call.method === 'GET') return readTask(sim, call, id);
	return call.method === 'DELETE' ? deleteTask(sim, call, id) : undefined;
}
