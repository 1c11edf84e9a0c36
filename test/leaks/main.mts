/*
 * node --expose-gc test/leaks/main.mts [--runs 1000]: that many runs in n8n's engine, some of them
 * failing or canceled, while a trigger listens, and what they leave behind: sockets, timers, listeners,
 * memory. Prints one line of JSON; the exit code is 1 when anything is left.
 */
import { once } from 'node:events';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { IDataObject, IRun } from 'n8n-workflow';
import { startWorkflow, type WorkflowResult } from '../../demo/engine.mts';
import { itemWith, workflowOf } from '../faults/workflow.mts';
import { activateTrigger, triggerNode } from '../service/triggerNode.mts';

const { values } = parseArgs({ options: { runs: { type: 'string', default: '1000' } } });
const RUNS = Number(values.runs);
const AT_ONCE = 10;
const TOKEN = 'leak-test-token-7Qw2';
/** What one run may leave in memory for good, in bytes: n8n's caches, remembered ids. */
const BYTES_PER_RUN = 1024;
/** How much the heap varies from one collection to the next, in bytes. */
const NOISE_BYTES = 3 * 1024 * 1024;

const warnings: string[] = [];
process.on('warning', ({ message }) => warnings.push(message));

const service = new Worker(new URL('./service.mts', import.meta.url), { workerData: TOKEN });
const heard = async () => (await once(service, 'message'))[0];
const { baseUrl, voice } = await heard();
/** How the service stands. */
const ask = async (): Promise<{ open: number; paid: number; leaks: number }> => {
	service.postMessage('how');
	return await heard();
};
const credential = { apiToken: TOKEN, baseUrl, webSocketUrl: '' };

const speak = (text: string, options: IDataObject = {}): IDataObject => ({
	resource: 'speech',
	operation: 'speak',
	text,
	voiceId: { __rl: true, mode: 'id', value: voice },
	options: { timeout: 20, pollInterval: 1, ...options },
});
const make = (resource: string, operation: string, prompt: string, options: IDataObject = {}) => ({
	resource,
	operation,
	prompt,
	options: { timeout: 20, ...options },
});

interface Kind {
	parameters: IDataObject;
	/** Milliseconds until the run is canceled. */
	cancelAfterMs?: number;
	fails?: boolean;
}

const list = (resource: string): IDataObject => ({
	resource,
	operation: resource === 'account' ? 'get' : 'getAll',
	options: {},
});

/** Half of these succeed. */
const KINDS: Kind[] = [
	{ parameters: speak('Well.') },
	{ parameters: speak('It fails [sim:task-fails]'), fails: true },
	{ parameters: make('video', 'textToVideo', 'Well.') },
	{ parameters: make('video', 'textToVideo', 'No [sim:unsafe]'), fails: true },
	{ parameters: make('image', 'create', 'Well.') },
	{ parameters: speak('Never [sim:slow=600]'), cancelAfterMs: 30 },
	{ parameters: make('video', 'ingredientsToVideo', 'Well.') },
	{ parameters: make('image', 'create', 'Never [sim:slow=600]'), cancelAfterMs: 30 },
	{ parameters: list('history') },
	{ parameters: { resource: 'speech', operation: 'get', taskId: 'nobody' }, fails: true },
	{ parameters: list('voice') },
	{ parameters: speak('No credit [sim:no-credits]'), fails: true },
	{ parameters: list('account') },
	{ parameters: make('image', 'create', 'Plain [sim:plain-json]') },
	{ parameters: speak('Big [sim:big-file=40]'), cancelAfterMs: 60 },
];

async function runOnce({ parameters, cancelAfterMs, fails }: Kind): Promise<void> {
	const running = await startWorkflow({
		workflow: workflowOf(parameters),
		credentials: { mediaGenerationApi: credential },
		input: [itemWith()],
		binaryMode: 'filesystem',
	});
	if (cancelAfterMs) setTimeout(running.cancel, cancelAfterMs);
	const result = await running.finished;
	const expected = cancelAfterMs ? 'canceled' : fails ? 'error' : 'success';
	if (result.run.status !== expected) throw new Error(unexpected(parameters, result));
}

const unexpected = (parameters: IDataObject, { run, error }: WorkflowResult) =>
	`${JSON.stringify(parameters)} ended as ${run.status}: ${error?.message}`;

let told = 0;
/** Runs so many, while a trigger starts executions for their tasks. */
async function runMany(amount: number): Promise<void> {
	const nodes = [triggerNode({ events: ['progress', 'completed', 'failed'] })];
	const trigger = await activateTrigger(
		{ workflowId: 'listening', nodes, credential },
		(_output, _response, ending) => {
			told++;
			ending?.resolve({} as IRun);
		},
		(error) => warnings.push(error.message),
	);
	let next = 0;
	const lane = async () => {
		while (next < amount) await runOnce(KINDS[next++ % KINDS.length]!);
	};
	await Promise.all(Array.from({ length: AT_ONCE }, lane));
	await trigger.closeFunction?.();
}

/** Bytes of objects and buffers, once garbage is collected. */
async function heapAfterCollection(): Promise<number> {
	for (let round = 0; round < 4; round++) {
		global.gc!();
		await turn();
	}
	const { heapUsed, external } = process.memoryUsage();
	return heapUsed + external;
}

/** What keeps a process alive, counted by kind. */
function resources(): Record<string, number> {
	const counts: Record<string, number> = {};
	for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
	return counts;
}

/** Kinds that there are more of than before. */
const moreThan = (before: Record<string, number>) =>
	Object.entries(resources()).filter(([kind, count]) => count > (before[kind] ?? 0));

/** Waits until all is closed; returns what is not. */
async function settled(before: Record<string, number>): Promise<string[]> {
	for (let waited = 0; ; waited += 100) {
		const { open } = await ask();
		const left = moreThan(before).map(([kind, count]) => `${count} ${kind}`);
		if (open > 0) left.push(`${open} connections of the service`);
		if (left.length === 0 || waited > 8000) return left;
		await pause(100);
	}
}

const before = resources();
const began = Date.now();
// n8n's own caches fill with the first runs.
const WARM = Math.max(80, Math.round(RUNS / 5));
await runMany(WARM);
const leftAfterWarming = await settled(before);
const heapBefore = await heapAfterCollection();
await runMany(RUNS - WARM);
const left = [...leftAfterWarming, ...(await settled(before))];
const { leaks, paid } = await ask();
const grown = (await heapAfterCollection()) - heapBefore;
const allowed = NOISE_BYTES + (RUNS - WARM) * BYTES_PER_RUN;
const isGrown = grown > allowed;
const report = {
	runs: RUNS,
	seconds: Math.round((Date.now() - began) / 1000),
	left,
	warnings: [...new Set(warnings)],
	leaks,
	paid,
	told,
	heapGrownKiB: Math.round(grown / 1024),
	heapAllowedKiB: Math.round(allowed / 1024),
};
console.log(JSON.stringify(report));
// What is left would keep the process alive.
process.exit(left.length > 0 || warnings.length > 0 || leaks > 0 || told === 0 || isGrown ? 1 : 0);
