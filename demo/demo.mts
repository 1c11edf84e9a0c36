/* `npm run demo`: runs three of the example workflows in n8n's own engine, against the simulated service. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSimulator } from '../simulator/simulator.mts';
import { readExample } from '../tools/examples.mts';
import { runWorkflow, type WorkflowFile } from './engine.mts';

const project = join(import.meta.dirname, '..');
const outputFolder = join(project, 'out', 'demo');

const EXAMPLES = ['speak.json', 'dialogue.json', 'images-and-videos.json'];

const stopController = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
	process.on(signal, () => stopController.abort());
}

rmSync(outputFolder, { recursive: true, force: true });
mkdirSync(outputFolder, { recursive: true });
const simulator = await startSimulator({ pace: 0.5, media: 'rendered' });
const credentials = {
	mediaGenerationApi: { apiToken: simulator.token, baseUrl: simulator.baseUrl },
};
console.log(`A simulated service runs at ${simulator.baseUrl}; n8n's engine runs the workflows.\n`);

try {
	for (const example of EXAMPLES) {
		if (stopController.signal.aborted) break;
		await demonstrate(example);
	}
	console.log(
		stopController.signal.aborted
			? 'Stopped.'
			: `The files are in ${outputFolder}.
A real service would have charged ${simulator.chargedCalls} requests; this one charges nothing.
Next: build workflows in the full n8n, with npm run n8n`,
	);
} finally {
	await simulator.close();
}
process.exit(stopController.signal.aborted ? 130 : (process.exitCode ?? 0));

/** Runs an example, saves the files that our nodes output, and prints what the nodes report. */
async function demonstrate(example: string): Promise<void> {
	const workflow: WorkflowFile = readExample(join(project, 'examples', example));
	console.log(`${workflow.name}  (examples/${example})`);
	const result = await runWorkflow({
		workflow: withoutDiskNodes(workflow),
		credentials,
		onMessage: (text) => console.log(`  ${text}`),
		signal: stopController.signal,
	});
	const ourNodes = workflow.nodes.filter(({ type }) =>
		type.startsWith('n8n-nodes-media-generation.'),
	);
	for (const { name } of ourNodes) {
		for (const hint of result.hints(name)) console.log(`  Hint: ${hint.message}`);
		for (const [index, { binary = {} }] of result.items(name).entries()) {
			for (const file of Object.values(binary)) {
				const filePath = join(outputFolder, file.fileName!);
				writeFileSync(filePath, await result.bytes(file));
				console.log(`  Row ${index + 1} → ${filePath}`);
			}
		}
	}
	if (result.error && !stopController.signal.aborted) {
		console.log(`  ${result.error.message}\n  ${result.error.description ?? ''}`);
		process.exitCode = 1;
	}
	console.log();
}

/** Returns a workflow without the nodes that write to disk, which only the complete n8n has. */
function withoutDiskNodes(workflow: WorkflowFile): WorkflowFile {
	const nodes = workflow.nodes.filter(({ type }) => !type.endsWith('.readWriteFile'));
	const isKept = ({ node }: { node: string }) => nodes.some(({ name }) => name === node);
	const keptConnections = Object.entries(workflow.connections).map(([name, { main = [] }]) => {
		return [name, { main: main.map((targets) => (targets ?? []).filter(isKept)) }];
	});
	return { ...workflow, nodes, connections: Object.fromEntries(keptConnections) };
}
