/* What the measures in one process share: the service in a thread of its own, and a look at the heap. */
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Answer, Question, ServiceOptions } from './service.mts';

/** Starts the simulated service, whose memory does not count; `ask` says something to it. */
export async function startService(workerData: ServiceOptions) {
	const worker = new Worker(new URL('./service.mts', import.meta.url), { workerData });
	const heard = async () => (await once(worker, 'message'))[0];
	const { baseUrl, voice } = (await heard()) as { baseUrl: string; voice: string };
	const ask = async (what: Question): Promise<Answer> => {
		worker.postMessage(what);
		return await heard();
	};
	return { baseUrl, voice, ask };
}

/** Bytes of objects and buffers, once garbage is collected. Needs --expose-gc. */
export async function heapAfterCollection(): Promise<number> {
	for (let round = 0; round < 4; round++) {
		global.gc!();
		await turn();
	}
	const { heapUsed, external } = process.memoryUsage();
	return heapUsed + external;
}
