import { setTimeout as pause } from 'node:timers/promises';
import type { N8n } from './n8n.mts';

/** n8n gives memory back for some 20 s after its start, on a busy machine for longer. */
const LEAST_MS = 25_000;
const LATEST_MS = 90_000;
const LOOK_MS = 8000;
const ENOUGH_BYTES = 2 * 1024 ** 2;

/** Resolves when an n8n that has just started gives no more memory back. */
export async function settled(n8n: N8n): Promise<void> {
	const began = Date.now();
	await pause(LEAST_MS);
	for (let before = Infinity; Date.now() - began < LATEST_MS;) {
		await n8n.memoryInUse();
		const now = n8n.memory();
		if (before - now < ENOUGH_BYTES) return;
		before = now;
		await pause(LOOK_MS);
	}
}
