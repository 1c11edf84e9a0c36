import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createParser } from 'eventsource-parser';
import { WebSocket } from 'ws';

/** Where the service is, and as whom to ask it. */
export interface Access {
	baseUrl: string;
	webSocketUrl: string;
	token: string;
	voiceId: string;
}

/** The service with nothing around it, the best case: it trusts every answer and looks nothing up twice. */
export class Client {
	readonly #access: Access;
	readonly #socket: WebSocket;
	readonly #opened: Promise<unknown>;
	readonly #done = new Set<string>();
	readonly #waiting = new Map<string, () => void>();

	constructor(access: Access) {
		this.#access = access;
		this.#socket = new WebSocket(`${access.webSocketUrl}/ws?token=${access.token}`);
		this.#opened = once(this.#socket, 'open');
		this.#socket.on('message', (data) => {
			const { payload } = JSON.parse(String(data));
			if (payload.process_percentage !== 100) return;
			this.#done.add(payload.task_id);
			this.#waiting.get(payload.task_id)?.();
		});
	}

	/** Has a text spoken; returns the address of the audio. */
	async speak(input: string): Promise<string> {
		await this.#opened;
		const order = { input, voice_id: this.#access.voiceId, model_id: 'labs_multilingual_v2' };
		const created = await this.#call('/v1/labs/task', order);
		const { task_id: id } = (await created.json()) as { task_id: string };
		if (!this.#done.has(id)) {
			await new Promise<void>((resolve) => void this.#waiting.set(id, resolve));
		}
		const task = (await (await this.#call(`/v1/labs/task/${id}`)).json()) as { audio_url: string };
		return task.audio_url;
	}

	/** Has a video made; returns its address. */
	async video(prompt: string): Promise<string> {
		const order = { prompt, aspect_ratio: 'VIDEO_ASPECT_RATIO_LANDSCAPE', number_of_videos: 1 };
		const { body } = await this.#call('/v1/video/text-to-video', order);
		let address: string | undefined;
		const parser = createParser({
			onEvent({ event, data }) {
				const value = JSON.parse(data);
				if (event === 'video_generation_complete') address = value[0].file_url;
			},
		});
		for await (const part of body!.pipeThrough(new TextDecoderStream())) parser.feed(part);
		if (address === undefined) throw new Error('The stream ended without a video');
		return address;
	}

	close(): void {
		this.#socket.close();
	}

	async #call(path: string, body?: object): Promise<Response> {
		const response = await fetch(this.#access.baseUrl + path, {
			method: body ? 'POST' : 'GET',
			headers: {
				Authorization: `Bearer ${this.#access.token}`,
				'Content-Type': 'application/json',
			},
			body: body && JSON.stringify(body),
		});
		if (!response.ok) throw new Error(`${path} was answered ${response.status}`);
		return response;
	}
}

/** Streams a file to the disk. */
export async function save(address: string, path: string): Promise<void> {
	const { body } = await fetch(address);
	await pipeline(Readable.fromWeb(body as never), createWriteStream(path));
}
