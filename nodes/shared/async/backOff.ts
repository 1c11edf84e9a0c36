/** Delay before the `attempt`-th repetition (0, 1, …): doubling from 500 ms, with jitter, in ms. */
export function backOffMs(attempt: number, longestMs = 8000): number {
	const full = Math.min(longestMs, 500 * 2 ** attempt);
	return full / 2 + Math.random() * (full / 2);
}
