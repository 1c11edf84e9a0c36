import { types } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Drawing } from './drawing.mts';
import type { Speech, Spoken } from './speaking.mts';

/** What the thread is asked for; it answers in the order in which it was asked. */
export type Order = ['speak', Speech] | ['image' | 'video', Drawing];

/** Renders files in a thread of its own, one at a time, so that the service goes on meanwhile. */
export class Renderer {
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

	/** The speech's file, and its subtitles. */
	async speak(speech: Speech): Promise<Spoken & { file: Buffer }> {
		const { file, cues } = await this.#order<Spoken>(['speak', speech]);
		return { file: Buffer.from(file), cues };
	}

	image = async (drawing: Drawing) =>
		Buffer.from(await this.#order<Uint8Array>(['image', drawing]));
	video = async (drawing: Drawing) =>
		Buffer.from(await this.#order<Uint8Array>(['video', drawing]));
	close = () => void this.#thread.terminate();

	#order<Made>(order: Order): Promise<Made> {
		const result = Promise.withResolvers<Made>();
		this.#waiting.push(result);
		this.#thread.postMessage(order);
		return result.promise;
	}
}
