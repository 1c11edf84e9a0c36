import { removeEngineFolder, runWorkflow, type WorkflowFile } from '../demo/engine.mts';
import { startSimulator, type Simulator } from '../simulator/simulator.mts';

/** Side by side in one run, as ratios: absolute figures of one machine say little on another. */

const MIB = 1024 * 1024;
/** How often n8n's own vendor nodes look a task up, in seconds (MiniMax: every 15 s). */
const VENDOR_POLL_SECONDS = 15;

function workflowOf(parameters: object): WorkflowFile {
	const place = { typeVersion: 1, position: [0, 0] as [number, number] };
	return {
		nodes: [
			{
				...place,
				id: '1',
				name: 'Start',
				type: 'n8n-nodes-base.manualTrigger',
				parameters: {},
			},
			{
				...place,
				id: '2',
				name: 'Media',
				type: 'n8n-nodes-media-generation.mediaGeneration',
				parameters: parameters as never,
				credentials: { mediaGenerationApi: { id: '1', name: 'Simulator' } },
			},
		],
		connections: { Start: { main: [[{ node: 'Media', type: 'main', index: 0 }]] } },
	};
}

async function timed(simulator: Simulator, parameters: object, items = 1): Promise<number> {
	const began = performance.now();
	const result = await runWorkflow({
		workflow: workflowOf(parameters),
		credentials: {
			mediaGenerationApi: {
				apiToken: simulator.token,
				baseUrl: simulator.baseUrl,
				webSocketUrl: '',
			},
		},
		input: Array.from({ length: items }, () => ({ json: {} })),
		binaryMode: 'filesystem',
	});
	if (result.error) throw new Error(result.error.message);
	return performance.now() - began;
}

const speak = (simulator: Simulator, options: object) => ({
	resource: 'speech',
	operation: 'speak',
	text: 'A sentence of ordinary length, to be spoken by the simulator.',
	voiceId: { __rl: true, mode: 'id', value: simulator.voiceIds()[0] },
	options,
});

/** The same sentence with progress over the WebSocket, and looked up as vendor nodes do. */
async function latency(): Promise<void> {
	const simulator = await startSimulator({ pace: 0.3 });
	const overSocket = await timed(simulator, speak(simulator, {}));
	const lookups = simulator.count('GET', '/v1/labs/task/');
	simulator.setWebSocketMode('refuse');
	const polled = await timed(simulator, speak(simulator, { pollInterval: VENDOR_POLL_SECONDS }));
	await simulator.close();
	report(`one sentence over the WebSocket, ${lookups} lookup`, overSocket, 'ms');
	report(`one sentence, looked up every ${VENDOR_POLL_SECONDS} s`, polled, 'ms');
	ratio('faster over the WebSocket', polled / overSocket);
}

async function concurrency(): Promise<void> {
	const simulator = await startSimulator({ pace: 0.1 });
	const oneByOne = await timed(simulator, speak(simulator, { concurrency: 1 }), 20);
	const together = await timed(simulator, speak(simulator, {}), 20);
	await simulator.close();
	report('20 sentences, one at a time', oneByOne, 'ms');
	report('20 sentences, automatic concurrency', together, 'ms');
	ratio('faster together', oneByOne / together);
}

async function memory(): Promise<void> {
	const simulator = await startSimulator({ pace: 0.05 });
	const sizes = [16, 1024];
	const growth: number[] = [];
	for (const size of sizes) {
		(globalThis as { gc?: () => void }).gc?.();
		const before = process.memoryUsage().rss;
		let peak = before;
		const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20);
		await timed(simulator, {
			resource: 'image',
			operation: 'create',
			prompt: `[sim:big-file=${size}] a very large picture`,
			options: {},
		});
		clearInterval(watch);
		growth.push((peak - before) / MIB);
		report(`memory growth with a file of ${size} MiB`, (peak - before) / MIB, 'MiB');
	}
	await simulator.close();
	ratio('file size to growth', sizes[1] / Math.max(1, growth[1]));
}

function report(what: string, value: number, unit: string) {
	console.log(`${what.padEnd(48)} ${value.toFixed(0).padStart(8)} ${unit}`);
}

function ratio(what: string, value: number) {
	console.log(`${`→ ${what}`.padEnd(48)} ${value.toFixed(1).padStart(8)} ×\n`);
}

await latency();
await concurrency();
await memory();
removeEngineFolder();
process.exit(0);
