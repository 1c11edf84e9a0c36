/* The worker thread of a Renderer. */
import { parentPort } from 'node:worker_threads';
import { drawImage, drawVideo } from './drawing.mts';
import type { RenderOrder } from './renderer.mts';
import { speak } from './speaking.mts';

let previous: Promise<unknown> = Promise.resolve();
parentPort!.on('message', (order: RenderOrder) => {
	previous = previous.then(async () => {
		const answer = await render(order).catch((error: unknown) => error);
		parentPort!.postMessage(answer);
	});
});

/** Renders the file that a message asks for. */
async function render([kind, input]: RenderOrder): Promise<unknown> {
	if (kind === 'speak') return speak(input);
	return kind === 'image' ? drawImage(input) : await drawVideo(input);
}
