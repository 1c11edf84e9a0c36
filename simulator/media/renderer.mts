import { types } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Drawing } from './drawing.mts';
import type { Speech, RenderedSpeech } from './speaking.mts';

/** A message to the worker thread: what to render. The thread answers the messages in their order. */
export type RenderOrder = ['speak', Speech] | ['image' | 'video', Drawing];

/** Renders files in a worker thread, one at a time, so that the service is not blocked. Call `close` at the end. */
export class Renderer {
	/** The promises for the orders that the thread has not answered yet, the oldest first. */
	readonly #waiting: Array<PromiseWithResolvers<any>> = [];
	readonly #thread: Worker;

	constructor() {
		this.#thread = new Worker(new URL('./rendering.mts', import.meta.url));
		this.#thread.unref();
		this.#thread.on('message', (answer) => {
			const { resolve, reject } = this.#waiting.shift()!;
			if (types.isNativeError(answer)) reject(answer);
			else resolve(answer);
		});
	}

	/** Renders speech. Resolves with the audio file and the cues of its subtitles. Throws the thread's error. */
	async speak(speech: Speech): Promise<RenderedSpeech & { file: Buffer }> {
		const { file, cues } = await this.#order<RenderedSpeech>(['speak', speech]);
		return { file: Buffer.from(file), cues };
	}

	/** Renders an image as PNG. Throws the thread's error. */
	renderImage = async (drawing: Drawing) =>
		Buffer.from(await this.#order<Uint8Array>(['image', drawing]));
	/** Renders a video as MP4. Throws the thread's error. */
	renderVideo = async (drawing: Drawing) =>
		Buffer.from(await this.#order<Uint8Array>(['video', drawing]));
	/** Ends the thread. The promises of unfinished orders never settle. */
	close = () => void this.#thread.terminate();

	/** Sends a message to the thread and resolves with its answer. */
	#order<Result>(order: RenderOrder): Promise<Result> {
		const result = Promise.withResolvers<Result>();
		this.#waiting.push(result);
		this.#thread.postMessage(order);
		return result.promise;
	}
}
