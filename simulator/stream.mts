import { toWireCompletion, type JobEvent } from './generation.mts';
import { cutOff, writeHead, send, type Exchange } from './http.mts';
import type { Reply } from './replies.mts';
import type { GeneratedKind, StreamStep } from './types.mts';
import type { Simulator } from './state.mts';

const STREAM_HEADERS = {
	'Content-Type': 'text/event-stream; charset=utf-8',
	'Cache-Control': 'no-cache',
	'X-Accel-Buffering': 'no',
};
/**
 * How long a reset of the connection is delayed, in ms. Without the delay, it would discard bytes that the client has
 * not read yet.
 */
const RESET_DELAY_MS = 20;

type JobReply = Extract<Reply, { job: unknown }>;

/**
 * Answers a request with the events of its generation (§6.1): as an event stream or, if `plainJson` is true, as one
 * JSON answer at the end.
 */
export function sendJob(sim: Simulator, exchange: Exchange, { job, plainJson }: JobReply): void {
	if (plainJson) {
		job.onEvent = (event) => answerAtEnd(sim, exchange, event);
		return;
	}
	const write = openStream(sim, exchange);
	job.onEvent = (event) => toStreamSteps(sim, job.kind, event).forEach(write);
}

/** Starts an event stream and writes the given steps instead of a generation's events (see `FaultAction.sse`). */
export function sendRaw(sim: Simulator, exchange: Exchange, steps: StreamStep[]): void {
	steps.forEach(openStream(sim, exchange));
}

/** Sends the JSON answer for the last event of a generation. Does nothing for a status event. */
function answerAtEnd(sim: Simulator, exchange: Exchange, event: JobEvent): void {
	if (event.type === 'complete') {
		send(sim, exchange, { status: 200, body: toWireCompletion(sim, event.items) });
	} else if (event.type === 'error') {
		send(sim, exchange, { status: 200, body: { error: event.code } });
	} else if (event.type === 'cut') {
		cutOff(exchange);
	}
}

/** Converts an event to the steps that write it to the stream, in the dialect. */
export function toStreamSteps(sim: Simulator, kind: GeneratedKind, event: JobEvent): StreamStep[] {
	switch (event.type) {
		case 'status':
			return [eventText(sim, `${kind}_generation_status`, statusData(sim, event.word))];
		case 'complete': {
			const name = kind === 'image' ? sim.dialect.imageEndEvent : `${kind}_generation_complete`;
			return [eventText(sim, name, JSON.stringify(toWireCompletion(sim, event.items))), 'END'];
		}
		case 'error':
			return [eventText(sim, 'error', errorData(sim, event.status, event.code)), 'END'];
		case 'cut':
			return ['RESET'];
	}
}

/** Returns the text of one server-sent event in the dialect. */
function eventText(sim: Simulator, name: string, data: string): string {
	const { sseComments, sseNewline, sseSpace } = sim.dialect;
	const colon = sseSpace ? ': ' : ':';
	const lines = [`event${colon}${name}`, `data${colon}${data}`, '', ''];
	if (sseComments) lines.unshift(': keep-alive', '');
	return lines.join(sseNewline);
}

/** Returns the data of a status event in the dialect. */
function statusData(sim: Simulator, word: string): string {
	if (sim.dialect.sseStatus === 'bare') return word;
	return JSON.stringify(sim.dialect.sseStatus === 'object' ? { status: word } : word);
}

/** Returns the data of an error event in the dialect. */
function errorData(sim: Simulator, status: number, code: string): string {
	const shapes = {
		object: JSON.stringify({ code: status, error: code }),
		message: JSON.stringify({ message: code }),
		string: JSON.stringify(code),
		broken: `{"code": ${status}, "error": "${code}`,
	};
	return shapes[sim.dialect.errorShape];
}

/**
 * Starts an event stream. Returns the function that writes one step, after the steps before it. Steps after the end of
 * the stream or after a lost connection are dropped.
 */
function openStream(sim: Simulator, exchange: Exchange): (step: StreamStep) => void {
	const { request, response } = exchange;
	const write = async (step: StreamStep) => {
		// On a busy machine, timers may fire in any order, so a status may come after the end.
		if (response.destroyed || response.writableEnded) return;
		if (step === 'END') {
			response.end();
		} else if (step === 'RESET') {
			await sim.timers.pause(RESET_DELAY_MS);
			exchange.cutByService = true;
			request.socket.resetAndDestroy();
		} else if (typeof step === 'object' && 'delayMs' in step) {
			await sim.timers.pause(step.delayMs);
		} else {
			const data = Buffer.from(step as string);
			const size = sim.dialect.sseChunk || data.length;
			for (let offset = 0; offset < data.length && response.writable; offset += size) {
				response.write(data.subarray(offset, offset + size));
				// A turn of the event loop between two writes keeps them in separate packets.
				await new Promise((resolve) => setImmediate(resolve));
			}
		}
	};
	writeHead(sim, exchange, 200, STREAM_HEADERS);
	response.flushHeaders();
	let previousWrites = Promise.resolve();
	return (step) => {
		previousWrites = previousWrites.then(() => write(step));
	};
}
