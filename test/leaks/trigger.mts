/*
 * npm run leaks:trigger [-- --minutes 10]: a trigger in the complete n8n, with a service that repeats
 * messages about thousands of ended tasks while new ones are made. Prints what n8n keeps in memory as
 * one line of JSON; the exit code is 1 when that is too much, or an event was missed or repeated.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parse } from 'flatted';
import type { IRunExecutionData } from 'n8n-workflow';
import { addTask } from '../n8n/memory.mts';
import { setUp } from '../n8n/setting.mts';
import { RemoteWorkflow, triggered } from '../n8n/workflows.mts';
import { createTask } from '../service/order.mts';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } });
const ROUNDS = Number(values.minutes) * 3;
const ROUND_MS = 20_000;
/** In the first minute, a task heard of only at its end can't be told from the old ones. */
const FIRST_ROUNDS = 3;
const TASKS = 3000;
const EACH_ROUND = 750;
const MIB = 2 ** 20;
const MOST_GROWN_MIB = 64;
const MOST_A_MINUTE = 60;

const { instance, simulator, rest, start, close } = await setUp({ pace: 1 });
await start();
const workflow = await RemoteWorkflow.create(rest, triggered('Every end', {}));
await workflow.publish();

const old = Array.from({ length: TASKS }, (_, n) => addTask(simulator, `old-${n}`, true).id);
const fresh: string[] = [];
const announce = (task_id: string) =>
	simulator.push({ type: 'labs_status_updated', payload: { task_id, process_percentage: 100 } });
const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
const readings = () => simulator.count('GET', '/v1/');

/** In MiB, one for each round. */
const memory: number[] = [];
const requests: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
	const end = Date.now() + ROUND_MS;
	const asked = readings();
	for (let n = 0; n < EACH_ROUND; n++) announce(old[(round * EACH_ROUND + n) % TASKS]!);
	fresh.push(await createTask(simulator, `New ${round}.`));
	if (round >= FIRST_ROUNDS) fresh.push(await makeUnheard(`Heard of at its end ${round}.`));
	await pause(end - Date.now());
	memory.push(Math.round(instance.memory() / MIB));
	requests.push(readings() - asked);
	console.error(`${round + 1} of ${ROUNDS}: ${memory.at(-1)} MiB, ${requests.at(-1)} requests`);
}

const told = new Map<string, number>();
for (const { data } of await workflow.executions()) {
	const run: IRunExecutionData = parse(data);
	const [emitted] = Object.values(run.resultData.runData);
	const taskId = String(emitted?.[0]?.data?.main?.[0]?.[0]?.json.task_id);
	told.set(taskId, (told.get(taskId) ?? 0) + 1);
}
const grownMiB = Math.max(...memory.slice(FIRST_ROUNDS)) - memory[FIRST_ROUNDS - 1]!;
const report = {
	grownMiB,
	memory,
	requestsInAMinute: Math.max(...requests.map((_, n) => sum(requests.slice(n, n + FIRST_ROUNDS)))),
	missing: fresh.filter((taskId) => !told.has(taskId)),
	twice: [...told].filter(([, times]) => times > 1).map(([taskId]) => taskId),
	oldTold: [...told.keys()].filter((taskId) => taskId.startsWith('old-')).length,
};
console.log(JSON.stringify(report));
await close();
const isWell =
	grownMiB <= MOST_GROWN_MIB &&
	report.requestsInAMinute < MOST_A_MINUTE &&
	report.missing.length + report.twice.length === 0;
process.exit(isWell ? 0 : 1);

/** A task that is not heard of before its end; returns its id. */
async function makeUnheard(text: string): Promise<string> {
	const taskId = await createTask(simulator, `${text} [sim:silent-socket]`);
	await simulator.waitFor(() => simulator.tasks.get(taskId)?.status === 'completed');
	announce(taskId);
	return taskId;
}
