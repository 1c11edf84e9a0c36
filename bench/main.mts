/*
 * `npm run bench`: compares this package's node with a hand-built workflow, in the complete n8n and against the simulator.
 * Writes docs/bench.md. Ends with an error if the files of a contender are not exactly the right ones.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { step } from '../tools/progress.mjs';
import { project } from '../tools/n8n/package.mts';
import { sectionOf } from '../test/pace/section.mts';
import { warmUp } from './contender.mts';
import { handBuilt } from './handBuilt.mts';
import { ours } from './ours.mts';
import { page } from './report.mts';
import { measureLatency } from './measures/latency.mts';
import { measureLimits } from './measures/limits.mts';
import { measureMemory } from './measures/memory.mts';
import { measureScale } from './measures/scale.mts';
import { measureWaiting } from './measures/waiting.mts';
import { measureWallTime } from './measures/wallTime.mts';
import { Setting } from './setting.mts';

const began = Date.now();
const [load] = loadavg();
const setting = await Setting.start();
try {
	const memory = await step('Memory of files', () => measureMemory(setting));
	const n8n = await step('Starting n8n', () => setting.startN8n());
	const ourNode = await ours(n8n, setting.account());
	const built = await handBuilt(n8n, setting.account());
	const newcomer = async () => {
		const options = { pollInterval: 2 };
		return await ours(n8n, setting.account(), { options, isBlocked: true });
	};
	const blocked = await newcomer();
	await step('Warming up', () => warmUp([ourNode, built, blocked]));
	const latency = await step('Latency', () => measureLatency(ourNode, built));
	const wallTime = await step('1 to 200 items', () => measureWallTime(ourNode, built, blocked));
	const limits = await step('Limits', () => measureLimits(setting.simulator, ourNode, newcomer));
	await setting.leave(n8n);
	const scale = await step('10,000 items', () => measureScale(setting));
	const waiting = await step('1000 items waiting', () => measureWaiting(setting));

	const all = [wallTime, memory, waiting];
	const goals = [...limits, ...scale, ...all.flatMap((each) => each.goals)];
	const text = await page(head(), goals, [latency, ...all.map(({ table }) => table)]);
	console.log(`\n${text}`);
	const file = join(project, 'docs/bench.md');
	writeFileSync(file, `${text.trimEnd()}\n\n${sectionOf(readFileSync(file, 'utf8'))}`);
} finally {
	await setting.close();
}

function head(): string {
	const seconds = ((Date.now() - began) / 1000).toFixed(0);
	const manifest = join(project, 'tools/n8n/node_modules/n8n/package.json');
	const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
	const [cpu] = cpus();
	return [
		`Written by \`npm run bench\` in one run of ${seconds} s, with n8n ${version} (Node.js`,
		`${process.versions.node}, ${cpus().length} × ${cpu?.model.trim()},`,
		`${(totalmem() / 1024 ** 3).toFixed(0)} GiB). Production executions were started by webhook and used`,
		`the simulator of this repository. The machine’s load before the run was ${load!.toFixed(1)}. A figure in brackets says how many times the first column’s figure it is.`,
		'The figures differ from machine to machine; only their order of magnitude is comparable. Every',
		'output file was compared with the service’s file, byte by byte.',
	].join(' ');
}
