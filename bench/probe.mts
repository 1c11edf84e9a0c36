/*
 * Loaded into n8n's own process by NODE_OPTIONS, here and in test/n8n: answers how many bytes of objects
 * and buffers are in use without garbage. From outside, pages that were used once and are free again
 * count as used.
 */
import { createServer } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

if (isMainThread && process.argv.includes('start')) {
	setFlagsFromString('--expose-gc');
	const collectGarbage = runInNewContext('gc') as () => void;
	const inUse = async () => {
		collectGarbage();
		// What only a finalizer keeps alive goes with the second pass.
		await turn();
		collectGarbage();
		const { heapUsed, external } = process.memoryUsage();
		return heapUsed + external;
	};
	createServer((_, response) => void inUse().then((bytes) => response.end(String(bytes))))
		.listen(Number(process.env.BENCH_PROBE_PORT), '127.0.0.1')
		.unref();
}
