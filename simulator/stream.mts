import { wireCompletion, type JobEvent } from './generation.mts';
import { cutOff, head, send, type Exchange } from './http.mts';
import type { Reply } from './replies.mts';
import type { RawStreamStep } from './types.mts';
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
export function sendJob(world: World, exchange: Exchange, reply: JobReply): void {
	const { job } = reply;
	const stream = reply.plainJson ? undefined : new StreamWriter(world, exchange);
	const listener = (event: JobEvent) => {
		if (stream) writeEvent(world, stream, job.kind, event);
		else answerAtEnd(world, exchange, event);
	};
	job.listeners.add(listener);
	exchange.response.on('close', () => job.listeners.delete(listener));
}

/** Writes raw bytes in place of a generation's events; see `FaultAction.sse`. */
export function sendRaw(world: World, exchange: Exchange, steps: RawStreamStep[]): void {
	const stream = new StreamWriter(world, exchange);
	for (const step of steps) {
		if (step === 'END') stream.end();
		else if (step === 'RESET') stream.reset();
		else if (typeof step === 'string' || Buffer.isBuffer(step)) stream.write(step);
		else stream.pause(step.delayMs);
	}
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

function writeEvent(
	world: World,
	stream: StreamWriter,
	kind: 'video' | 'image',
	event: JobEvent,
): void {
	if (event.type === 'status') {
		stream.write(frame(world, `${kind}_generation_status`, statusData(world, event.word)));
	} else if (event.type === 'complete') {
		const name = kind === 'video' ? 'video_generation_complete' : world.dialect.imageEndEvent;
		stream.write(frame(world, name, JSON.stringify(wireCompletion(world, event.items))));
		stream.end();
	} else if (event.type === 'error') {
		stream.write(frame(world, 'error', errorData(world, event.status, event.code)));
		stream.end();
	} else if (event.reset) {
		stream.reset();
	} else {
		stream.end();
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

/** Writes a stream piece by piece in order; what follows a lost connection is dropped. */
class StreamWriter {
	readonly #world: World;
	readonly #exchange: Exchange;
	#queue: Promise<void> = Promise.resolve();

	constructor(world: World, exchange: Exchange) {
		this.#world = world;
		this.#exchange = exchange;
		head(world, exchange, 200, STREAM_HEADERS);
		exchange.response.flushHeaders();
	}

	write(bytes: string | Buffer): void {
		const data = Buffer.from(bytes as string);
		this.#then(async () => {
			const { response } = this.#exchange;
			const size = this.#world.dialect.sseChunk || data.length;
			for (let at = 0; at < data.length && response.writable; at += size) {
				response.write(data.subarray(at, at + size));
				// One turn of the loop between pieces keeps them apart on the wire.
				await new Promise((resolve) => setImmediate(resolve));
			}
		});
	}

	pause(ms: number): void {
		this.#then(() => this.#world.timers.pause(ms));
	}

	end(): void {
		this.#then(() => void this.#exchange.response.end());
	}

	reset(): void {
		this.#then(async () => {
			await this.#world.timers.pause(RESET_AFTER_MS);
			this.#exchange.cut = true;
			this.#exchange.request.socket.resetAndDestroy();
		});
	}

	#then(act: () => Promise<void> | void): void {
		this.#queue = this.#queue.then(() => {
			const { destroyed, writableEnded } = this.#exchange.response;
			// Timers that are late run in no order: a status can come after the end.
			if (!destroyed && !writableEnded) return act();
		});
	}
}
