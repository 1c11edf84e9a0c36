/* Prints which step of a command is running, and how long it takes. */
const SIGN_OF_LIFE_MS = 15_000;

/**
 * Runs `work` as one step, and prints the title of the step when it starts and ends. During a long step, prints how far
 * it is every 15 seconds: `work` gets the function `say`, to which it passes a function that returns this text.
 * @template T
 * @param {string} title
 * @param {(say: (detail: () => string) => void) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(title, work) {
	const since = performance.now();
	const seconds = () => `${((performance.now() - since) / 1000).toFixed(1)} s`;
	let detail = () => '';
	console.error(`- ${title} …`);
	const timer = setInterval(() => console.error(`  ${seconds()} ${detail()}`), SIGN_OF_LIFE_MS);
	try {
		const result = await work((count) => (detail = count));
		console.error(`✓ ${title} (${seconds()})`);
		return result;
	} catch (error) {
		console.error(`✗ ${title} (${seconds()})`);
		throw error;
	} finally {
		clearInterval(timer);
	}
}
