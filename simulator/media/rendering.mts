/* The thread of a Renderer. */
import { parentPort } from 'node:worker_threads';
import { drawImage, drawVideo } from './drawing.mts';
import type { Order } from './renderer.mts';
import { speak } from './speaking.mts';

let last: Promise<unknown> = Promise.resolve();
parentPort!.on('message', (order: Order) => {
	last = last.then(async () => {
		const answer = await render(order).catch((error: unknown) => error);
		parentPort!.postMessage(answer);
	});
});

async function render([kind, what]: Order): Promise<unknown> {
	if (kind === 'speak') return speak(what);
	return kind === 'image' ? drawImage(what) : await drawVideo(what);
}
