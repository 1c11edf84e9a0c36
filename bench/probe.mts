/*
 * Loaded into n8n's own process by NODE_OPTIONS, here and in test/n8n: measures the memory in use.
 * From outside, pages that were used once and are free again count as used.
 */
import { createServer } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

const SAMPLE_MS = 10;

if (isMainThread && process.argv.includes('start')) {
	setFlagsFromString('--expose-gc');
	const collectGarbage = runInNewContext('gc') as () => void;
	let peak = 0;
	let watch: NodeJS.Timeout | undefined;

	/** Bytes of objects and buffers, garbage included. */
	const inUse = () => {
		const { heapUsed, external } = process.memoryUsage();
		return heapUsed + external;
	};
	const answers: Record<string, () => Promise<number>> = {
		/** Bytes in use without garbage. */
		'/in-use': async () => {
			collectGarbage();
			// What only a finalizer keeps alive goes with the second pass.
			await new Promise((resolve) => setImmediate(resolve));
			collectGarbage();
			return inUse();
		},
		/** The most bytes in use at once since the last call of this. */
		'/peak': async () => {
			clearInterval(watch);
			const found = peak;
			peak = 0;
			watch = setInterval(() => (peak = Math.max(peak, inUse())), SAMPLE_MS).unref();
			return found;
		},
	};
	const answer = async (path: string) => String(await answers[path]?.());
	createServer((request, response) => {
		void answer(request.url ?? '').then((text) => response.end(text));
	})
		.listen(Number(process.env.BENCH_PROBE_PORT), '127.0.0.1')
		.unref();
}
