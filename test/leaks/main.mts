/*
 * node --expose-gc test/leaks/main.mts [--runs 1000]: that many runs in n8n's engine, some of them failing
 * or canceled, while a trigger listens, and what all of them together leave behind: sockets, timers,
 * listeners, memory. What one run leaves open is for test/faults and test/worlds. Prints one line of JSON;
 * the exit code is 1 when anything is left.
 */
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { IDataObject, IRun } from 'n8n-workflow';
import { startWorkflow } from '../../demo/engine.mts';
import { eventually } from '../../tools/eventually.mts';
import { itemWith, node, workflow } from '../faults/workflow.mts';
import { activateTrigger, triggerNode } from '../service/triggerNode.mts';

const { values } = parseArgs({ options: { runs: { type: 'string', default: '1000' } } });
const RUNS = Number(values.runs);
/** n8n's own caches fill with the first runs. */
const WARM = Math.max(80, Math.round(RUNS / 5));
const AT_ONCE = 10;
const TOKEN = 'leak-test-token-7Qw2';
/** What one run may leave in memory for good, in bytes: n8n's caches, remembered ids. */
const BYTES_PER_RUN = 1024;
/** How much the heap varies from one collection to the next, in bytes. */
const NOISE_BYTES = 3 * 1024 * 1024;

const warnings = new Set<string>();
process.on('warning', ({ message }) => warnings.add(message));

const service = new Worker(new URL('./service.mts', import.meta.url), { workerData: TOKEN });
const received = async () => (await once(service, 'message'))[0];
const { baseUrl, voice } = await received();
/** How the service stands. */
const ask = async (): Promise<{ open: number; paid: number; leaks: number }> => {
	service.postMessage('how');
	return await received();
};
const credential = { apiToken: TOKEN, baseUrl, webSocketUrl: '' };

/** How each run ends, what it does, and after how many milliseconds it is canceled. */
const KINDS: Array<[ends: string, operation: string, text: string, cancelAfterMs?: number]> = [
	['success', 'speech speak', 'Well.'],
	['error', 'speech speak', 'It fails [sim:task-fails]'],
	['success', 'video textToVideo', 'Well.'],
	['error', 'video textToVideo', 'No [sim:unsafe]'],
	['canceled', 'speech speak', 'Never [sim:slow=600]', 30],
	['success', 'video ingredientsToVideo', 'Well.'],
	['canceled', 'image create', 'Never [sim:slow=600]', 30],
	['success', 'history getAll', ''],
	['success', 'image create', 'Plain [sim:plain-json]'],
	['canceled', 'speech speak', 'Big [sim:big-file=40]', 60],
];

async function runOnce([ends, operation, text, cancelAfterMs]: (typeof KINDS)[number]) {
	const [resource, name] = operation.split(' ');
	const voiceId = { __rl: true, mode: 'id', value: voice as string };
	const options = { timeout: 20, pollInterval: 1 };
	const parameters: IDataObject = {
		resource,
		operation: name,
		text,
		prompt: text,
		voiceId,
		options,
	};
	const running = await startWorkflow({
		workflow: workflow(node(parameters)),
		credentials: { mediaGenerationApi: credential },
		input: [itemWith()],
		binaryMode: 'filesystem',
	});
	if (cancelAfterMs) setTimeout(running.cancel, cancelAfterMs);
	const { run, error } = await running.finished;
	if (run.status !== ends)
		throw new Error(`${operation} ended as ${run.status}: ${error?.message}`);
}

let reported = 0;
/** Runs so many, while a trigger starts executions for their tasks; then all is to be closed. */
async function runMany(amount: number): Promise<void> {
	const nodes = [triggerNode({ events: ['progress', 'completed', 'failed'] })];
	const trigger = await activateTrigger(
		{ workflowId: 'listening', nodes, credential },
		(_output, _response, ending) => {
			reported++;
			ending?.resolve({} as IRun);
		},
		(error) => void warnings.add(error.message),
	);
	let next = 0;
	const lane = async () => {
		while (next < amount) await runOnce(KINDS[next++ % KINDS.length]!);
	};
	await Promise.all(Array.from({ length: AT_ONCE }, lane));
	await trigger.closeFunction?.();
	const isClosed = async () => (await ask()).open === 0 && resources() <= resourcesBefore;
	await eventually('everything to be closed', 8000, isClosed, 100);
}

/** How much keeps this process alive. */
const resources = () => process.getActiveResourcesInfo().length;

/** Bytes of objects and buffers, once garbage is collected. */
async function heap(): Promise<number> {
	for (let round = 0; round < 4; round++) {
		global.gc!();
		await turn();
	}
	const { heapUsed, external } = process.memoryUsage();
	return heapUsed + external;
}

const resourcesBefore = resources();
await runMany(WARM);
const heapBefore = await heap();
await runMany(RUNS - WARM);
const grown = (await heap()) - heapBefore;
const { leaks, paid } = await ask();
const isGrown = grown > NOISE_BYTES + (RUNS - WARM) * BYTES_PER_RUN;
const heapGrownKiB = Math.round(grown / 1024);
console.log(
	JSON.stringify({ runs: RUNS, warnings: [...warnings], leaks, paid, reported, heapGrownKiB }),
);
// What is left would keep the process alive.
process.exit(warnings.size > 0 || leaks > 0 || reported === 0 || isGrown ? 1 : 0);
