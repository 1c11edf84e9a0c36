/* `npm run demo`: the example workflows, in n8n's own engine, against the simulated service. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSimulator } from '../simulator/simulator.mts';
import { readExample } from '../tools/examples.mts';
import { runWorkflow, type WorkflowFile } from './engine.mts';

const project = join(import.meta.dirname, '..');
const out = join(project, 'out', 'demo');

/** The examples to run, and the node that makes the files. */
const EXAMPLES = [
	{ file: 'speak.json', node: 'Speak a text' },
	{ file: 'speak-list.json', node: 'Speak each line' },
	{ file: 'image.json', node: 'Make an image' },
	{ file: 'videos.json', node: 'Make the videos' },
];

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
	process.on(signal, () => stopping.abort());
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const simulator = await startSimulator({ pace: 0.5 });
const credentials = {
	mediaGenerationApi: { apiToken: simulator.token, baseUrl: simulator.baseUrl },
};
console.log(`A simulated service runs at ${simulator.baseUrl}; n8n's engine runs the workflows.\n`);

try {
	for (const example of EXAMPLES) {
		if (stopping.signal.aborted) break;
		await demonstrate(example);
	}
	console.log(
		stopping.signal.aborted
			? 'Stopped.'
			: `${simulator.creates} files, each paid for once, are in ${out}: play them. The simulator's speech is a row of tones.
Next: build with it in the complete n8n: npm run n8n`,
	);
} finally {
	await simulator.close();
}
process.exit(stopping.signal.aborted ? 130 : (process.exitCode ?? 0));

async function demonstrate({ file, node }: (typeof EXAMPLES)[number]): Promise<void> {
	const path = join(project, 'examples', file);
	const workflow: WorkflowFile = readExample(path);
	console.log(`${workflow.name}  (examples/${file})`);
	const result = await runWorkflow({
		workflow: upTo(workflow, node),
		credentials,
		onMessage: (text) => console.log(`  ${text}`),
		signal: stopping.signal,
	});
	for (const hint of result.hints(node)) console.log(`  Hint: ${hint.message}`);
	if (result.error && !stopping.signal.aborted) {
		console.log(`  ${result.error.message}\n  ${result.error.description ?? ''}`);
		process.exitCode = 1;
	}
	for (const file of result.items(node).flatMap(({ binary = {} }) => Object.values(binary))) {
		const saved = join(out, file.fileName!);
		writeFileSync(saved, await result.bytes(file));
		console.log(`  → ${saved}`);
	}
	console.log();
}

/** The workflow without what follows a node: writing to disk is left to the complete n8n. */
function upTo(workflow: WorkflowFile, last: string): WorkflowFile {
	const { [last]: _, ...connections } = workflow.connections;
	const names = Object.values(connections).flatMap(({ main = [] }) =>
		main.flatMap((targets) => (targets ?? []).map(({ node }) => node)),
	);
	const kept = new Set([...Object.keys(connections), ...names]);
	return { ...workflow, connections, nodes: workflow.nodes.filter(({ name }) => kept.has(name)) };
}
