/* Shows what is being done and how long it takes: a live line on a terminal, else plain lines. */
const terminal = process.stderr.isTTY === true;
const FRAMES = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];
const FRAME_MS = 100;
const PLAIN_LINE_MS = 15_000;

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(terminal ? 0 : 1)} s`;
const write = (text) => process.stderr.write(text);

/**
 * Runs `work` under a title. `work` receives a function that says how far it is.
 * @template T
 * @param {string} title
 * @param {(say: (detail: string) => void) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(title, work) {
	const since = performance.now();
	let detail = '';
	let frame = 0;
	const state = () => `${title} … ${seconds(since)}${detail && `, ${detail}`}`;
	const draw = () => write(`\r\x1b[2K${FRAMES[frame++ % FRAMES.length]} ${state()}`);
	if (terminal) draw();
	else write(`- ${title} …\n`);
	const timer = setInterval(
		terminal ? draw : () => write(`  ${state()}\n`),
		terminal ? FRAME_MS : PLAIN_LINE_MS,
	);
	const end = (mark) => {
		clearInterval(timer);
		write(`${terminal ? '\r\x1b[2K' : ''}${mark} ${title} (${seconds(since)})\n`);
	};
	try {
		const result = await work((text) => (detail = text));
		end('✓');
		return result;
	} catch (error) {
		end('✗');
		throw error;
	}
}
