/*
 * `npm run bench [-- --storage]`: this package's node beside n8n's own vendor node, a workflow built by hand and a
 * plain client, in one run, in the complete n8n, against the simulator. Writes docs/bench.md and
 * docs/bench.svg, and a section of docs/storage.md (`--storage`: that alone). Ends with an error when a contender's files are not exactly the right ones.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { step } from '../tools/progress.mjs';
import { project } from '../tools/n8n/package.mts';
import { chart } from './chart.mts';
import { page, withSection } from './report.mts';
import { panels } from './panels.mts';
import { beginAside } from './measures/aside.mts';
import { measureEventStream } from './measures/eventStream.mts';
import { measureLatency } from './measures/latency.mts';
import { measureMemory } from './measures/memory.mts';
import { measureRefusals } from './measures/refusals.mts';
import { measureScale } from './measures/scale.mts';
import { measureTrigger } from './measures/trigger.mts';
import { requestFigures } from './measures/requests.mts';
import { measureStorage } from './measures/storage.mts';
import { measureWaiting } from './measures/waiting.mts';
import { measureWallTime } from './measures/wallTime.mts';
import { warmUp } from './run.mts';
import { Setting } from './setting.mts';

const began = Date.now();
const [load] = loadavg();
if (process.argv.includes('--storage')) {
	await writeStorage();
	process.exit();
}
const setting = await Setting.start();
try {
	const memory = await step('Memory of files', () => measureMemory(setting));
	const arena = await step('Starting n8n', () =>
		setting.arena('ours', 'ours50', 'ours100', 'oursBlocked', 'oursRated', 'handBuilt', 'vendor'),
	);
	const all = [...Object.values(arena.entrants), setting.client];
	await step('Warming up', () => warmUp(all, ['speech', 'video']));
	const { ends } = await beginAside(setting, arena);
	const latency = await step('Latency', () => measureLatency(setting, arena));
	const wallTime = await step('1 to 200 items', () => measureWallTime(setting, arena));
	const eventStream = await step('Event stream', () => measureEventStream(setting, arena));
	const aside = await step('The MiniMax node', () => ends);
	const refusals = await step('Refusals', () => measureRefusals(setting, arena));
	await setting.leave(arena);
	const scale = await step('10,000 items', () => measureScale(setting));
	const trigger = await step('1000 messages a second', () => measureTrigger(setting));
	const waiting = await step('1000 items waiting', () => measureWaiting(setting));

	const requests = requestFigures(wallTime.requestsOfTen, latency.videoRequests, aside);
	const tables = {
		latency: latency.table(aside.vendor.latency),
		wallTime: wallTime.table(aside),
		requests: requests.table,
		memory: memory.table,
		waiting: waiting.table,
		refusals: refusals.table,
		scale: scale.table,
		eventStream,
	};
	const goals = [
		...wallTime.goals,
		...refusals.goals,
		...scale.goals,
		trigger,
		...memory.goals,
		...waiting.goals,
		requests.goal,
	];
	const text = await page(head(), goals, Object.values(tables));
	console.log(`\n${text}`);
	writeFileSync(join(project, 'docs/bench.md'), text);
	const { label, list } = panels(tables);
	writeFileSync(join(project, 'docs/bench.svg'), chart(label, list));
	await writeStorage();
	console.log(`Written: docs/bench.md, docs/bench.svg, docs/storage.md, after ${seconds()} s`);
} finally {
	await setting.close();
}

/** The section of docs/storage.md that is measured. */
async function writeStorage(): Promise<void> {
	const table = await step('Memory of storage nodes', () => measureStorage());
	const path = join(project, 'docs/storage.md');
	writeFileSync(path, await withSection(readFileSync(path, 'utf8'), table));
}

function seconds(): string {
	return ((Date.now() - began) / 1000).toFixed(0);
}

function head(): string {
	const versionOf = (path: string) =>
		JSON.parse(readFileSync(join(project, path, 'package.json'), 'utf8')).version;
	const n8n = versionOf('tools/n8n/node_modules/n8n');
	const [cpu] = cpus();
	return [
		`Written by \`npm run bench\`, in one run of ${seconds()} s: every contender in or beside the`,
		`same n8n ${n8n} (Node.js ${process.versions.node}, ${cpus().length} × ${cpu?.model.trim()},`,
		`${(totalmem() / 1024 ** 3).toFixed(0)} GiB), production executions called by webhook, against`,
		`the simulator of this repository. Load of the machine before: ${load!.toFixed(1)}. In brackets: how many times the first column’s figure.`,
		'Figures of another machine differ; what is right of them is the order of size. Every file',
		'that came out was compared with the service’s, byte for byte.',
	].join(' ');
}
