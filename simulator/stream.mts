import { wireCompletion, type JobEvent } from './generation.mts';
import { cutOff, head, send, type Exchange } from './http.mts';
import type { Reply } from './replies.mts';
import type { GeneratedKind, RawStreamStep } from './types.mts';
import type { World } from './world.mts';

const STREAM_HEADERS = {
	'Content-Type': 'text/event-stream; charset=utf-8',
	'Cache-Control': 'no-cache',
	'X-Accel-Buffering': 'no',
};
/** Lets the last bytes reach the reader before a reset would discard them. */
const RESET_AFTER_MS = 20;

type JobReply = Extract<Reply, { job: unknown }>;

/** Answers with the events of a generation, as a stream or at the end as JSON (§6.1). */
export function sendJob(world: World, exchange: Exchange, { job, plainJson }: JobReply): void {
	if (plainJson) {
		job.tell = (event) => answerAtEnd(world, exchange, event);
		return;
	}
	const write = openStream(world, exchange);
	job.tell = (event) => stepsOf(world, job.kind, event).forEach(write);
}

/** Writes raw bytes in place of a generation's events; see `FaultAction.sse`. */
export function sendRaw(world: World, exchange: Exchange, steps: RawStreamStep[]): void {
	steps.forEach(openStream(world, exchange));
}

function answerAtEnd(world: World, exchange: Exchange, event: JobEvent): void {
	if (event.type === 'complete') {
		send(world, exchange, { status: 200, body: wireCompletion(world, event.items) });
	} else if (event.type === 'error') {
		send(world, exchange, { status: 200, body: { error: event.code } });
	} else if (event.type === 'cut') {
		cutOff(exchange);
	}
}

export function stepsOf(world: World, kind: GeneratedKind, event: JobEvent): RawStreamStep[] {
	switch (event.type) {
		case 'status':
			return [frame(world, `${kind}_generation_status`, statusData(world, event.word))];
		case 'complete': {
			const name = kind === 'image' ? world.dialect.imageEndEvent : `${kind}_generation_complete`;
			return [frame(world, name, JSON.stringify(wireCompletion(world, event.items))), 'END'];
		}
		case 'error':
			return [frame(world, 'error', errorData(world, event.status, event.code)), 'END'];
		case 'cut':
			return ['RESET'];
	}
}

function frame(world: World, name: string, data: string): string {
	const { sseComments, sseNewline, sseSpace } = world.dialect;
	const colon = sseSpace ? ': ' : ':';
	const lines = [`event${colon}${name}`, `data${colon}${data}`, '', ''];
	if (sseComments) lines.unshift(': keep-alive', '');
	return lines.join(sseNewline);
}

function statusData(world: World, word: string): string {
	if (world.dialect.sseStatus === 'bare') return word;
	return JSON.stringify(world.dialect.sseStatus === 'object' ? { status: word } : word);
}

function errorData(world: World, status: number, code: string): string {
	const shapes = {
		object: JSON.stringify({ code: status, error: code }),
		message: JSON.stringify({ message: code }),
		string: JSON.stringify(code),
		broken: `{"code": ${status}, "error": "${code}`,
	};
	return shapes[world.dialect.errorShape];
}

/** Begins a stream; returns what writes its steps in order. Those after a lost connection are dropped. */
function openStream(world: World, exchange: Exchange): (step: RawStreamStep) => void {
	const { request, response } = exchange;
	const write = async (step: RawStreamStep) => {
		// Timers that are late run in no order: a status can come after the end.
		if (response.destroyed || response.writableEnded) return;
		if (step === 'END') {
			response.end();
		} else if (step === 'RESET') {
			await world.timers.pause(RESET_AFTER_MS);
			exchange.cut = true;
			request.socket.resetAndDestroy();
		} else if (typeof step === 'object' && 'delayMs' in step) {
			await world.timers.pause(step.delayMs);
		} else {
			const data = Buffer.from(step as string);
			const size = world.dialect.sseChunk || data.length;
			for (let at = 0; at < data.length && response.writable; at += size) {
				response.write(data.subarray(at, at + size));
				// One turn of the loop between pieces keeps them apart on the wire.
				await new Promise((resolve) => setImmediate(resolve));
			}
		}
	};
	head(world, exchange, 200, STREAM_HEADERS);
	response.flushHeaders();
	let written = Promise.resolve();
	return (step) => {
		written = written.then(() => write(step));
	};
}
