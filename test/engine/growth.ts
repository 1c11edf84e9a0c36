import { setTimeout as sleep } from 'node:timers/promises';

export const MIB = 1024 * 1024;
const SAMPLE_MS = 10;

/** Peak growth of memory while `work` runs, in bytes: objects and buffers, garbage included. */
export async function growth<T>(work: () => Promise<T>): Promise<{ result: T; grown: number }> {
	const inUse = () => process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
	const before = inUse();
	let peak = before;
	let over = false;
	const watching = (async () => {
		while (!over) {
			peak = Math.max(peak, inUse());
			await sleep(SAMPLE_MS);
		}
	})();
	const result = await work();
	over = true;
	await watching;
	return { result, grown: peak - before };
}
