import { createHash } from 'node:crypto';
import { sleep } from '../async/deadline';
import { GENERATIONS, type Generation } from '../media';

interface Asked {
	generation: Generation;
	prompt: string;
	aspectRatio?: string;
}

/** Bytes hashed at a time, so that n8n can do other things in between. */
const HASHED_BYTES = 8 * 1024 * 1024;

/**
 * A digest that is equal for requests whose files are interchangeable; their number does not matter.
 * `bytes` are the request's body.
 */
export async function requestDigest(
	{ generation, aspectRatio, prompt }: Asked,
	bytes: Buffer,
): Promise<string> {
	const hash = createHash('sha256');
	hash.update(JSON.stringify([generation, aspectRatio, prompt.trim()]));
	const images = GENERATIONS[generation].withImages ? bytes : bytes.subarray(0, 0);
	for (let at = 0; at < images.length; at += HASHED_BYTES) {
		if (at > 0) await sleep(0);
		hash.update(images.subarray(at, at + HASHED_BYTES));
	}
	return hash.digest('hex').slice(0, 32);
}
