/*
 * NODE_OPTIONS loads this into n8n's own process, here and in test/n8n. It tells how many bytes of objects and buffers are
 * in use after a garbage collection. The resident memory also counts pages that are free again.
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
		// The second collection frees what only a finalizer has kept alive.
		await turn();
		collectGarbage();
		const { heapUsed, external } = process.memoryUsage();
		return heapUsed + external;
	};
	createServer((_, response) => void inUse().then((bytes) => response.end(String(bytes))))
		.listen(Number(process.env.BENCH_PROBE_PORT), '127.0.0.1')
		.unref();
}
