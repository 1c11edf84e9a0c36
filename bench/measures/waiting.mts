import { setTimeout as pause } from 'node:timers/promises';
import { line, warmUp, type Contender } from '../contender.mts';
import { handBuilt } from '../handBuilt.mts';
import type { N8n } from '../n8n.mts';
import { ours } from '../ours.mts';
import { atMost, COLUMNS, kilobytes, row, type Goal, type Table } from '../report.mts';
import type { Setting } from '../setting.mts';
import { settled } from '../settled.mts';

const EXECUTIONS = 10;
const ITEMS = 100;
const WAITING = EXECUTIONS * ITEMS;
/** So long that all tasks are waiting before the first one is done. They end at different times. */
const LEAST_SECONDS = 60;
const SPREAD_SECONDS = 10;
/** How long before the first task is done the memory is measured. */
const AHEAD_MS = 5000;
const SAMPLE_MS = 100;

/** The growth of n8n per waiting item after a garbage collection, in bytes: while they wait, and after their end. */
interface Memory {
	resident: number;
	inUse: number;
	remaining: number;
}

/** Measures the memory of an n8n while `run` waits. */
async function memoryOf(n8n: N8n, run: () => Promise<unknown>): Promise<Memory> {
	const inUseBefore = await n8n.memoryInUse();
	const before = n8n.memory();
	const finished = run();
	// An error of it is thrown below, where it is awaited.
	finished.catch(() => {});
	await pause(LEAST_SECONDS * 1000 - AHEAD_MS);
	const inUse = await n8n.memoryInUse();
	const resident = n8n.memory();
	await finished;
	const each = (bytes: number) => bytes / WAITING;
	return {
		resident: each(resident - before),
		inUse: each(inUse - inUseBefore),
		remaining: each((await n8n.memoryInUse()) - inUseBefore),
	};
}

const batch = (): string[] =>
	Array.from({ length: ITEMS }, (_, index) => {
		const duration = LEAST_SECONDS + (index / ITEMS) * SPREAD_SECONDS;
		return line(`[sim:slow=${duration}] [sim:big-file=0.01]`);
	});
const batches = () => Array.from({ length: EXECUTIONS }, batch);

/** Returns the reads per task and minute, from the time when all are accepted until the first is done. */
async function lookupsOf({ account, name }: Contender): Promise<number> {
	const tasksBefore = account.tasks();
	const end = Date.now() + LEAST_SECONDS * 1000 - AHEAD_MS;
	while (account.tasks() < tasksBefore + WAITING) {
		if (Date.now() > end) throw new Error(`${name} took too long`);
		await pause(SAMPLE_MS);
	}
	const since = Date.now();
	await pause(end - since);
	return account.lookups(since, end) / WAITING / ((end - since) / 60_000);
}

async function waitingOf(contender: Contender) {
	const [memory, lookups] = await Promise.all([
		memoryOf(contender.n8n, async () => await contender.race('speech', ...batches())),
		lookupsOf(contender),
	]);
	return { ...memory, lookups };
}

/** Measures the cost of waiting for many speech tasks at the same time. */
export async function measureWaiting(setting: Setting): Promise<{ table: Table; goals: Goal[] }> {
	const options = { concurrency: ITEMS };
	const ourNode = await ours(await setting.startN8n(), setting.account(), { options });
	const built = await handBuilt(await setting.startN8n(), setting.account());
	await warmUp([ourNode, built]);
	await Promise.all([ourNode, built].map(({ n8n }) => settled(n8n)));
	const [ownCost, builtCost] = await Promise.all([waitingOf(ourNode), waitingOf(built)]);
	await Promise.all([ourNode, built].map(({ n8n }) => setting.leave(n8n)));

	const memory = (name: string, kind: keyof Memory) =>
		row(name, [ownCost[kind], builtCost[kind]], kilobytes);
	const times = (value: number) => value.toFixed(1);
	const table: Table = {
		title: `Waiting for ${WAITING} speech tasks at once`,
		about:
			`${EXECUTIONS} executions of ${ITEMS} items each (the node with concurrency ${ITEMS}), whose ` +
			`tasks take ${LEAST_SECONDS} to ${LEAST_SECONDS + SPREAD_SECONDS} s. The memory is what the ` +
			'process has grown by, per item. Both contenders run at the same time, each in its own n8n ' +
			'that has released the memory of its start. Most of the node’s memory is the young generation ' +
			'of V8’s heap: the garbage of 90 lookups a second makes it grow, once per process, to its ' +
			'full size of about 130 MB.',
		columns: COLUMNS,
		rows: [
			memory('resident memory, garbage collected', 'resident'),
			memory('memory in use, garbage collected', 'inUse'),
			memory('memory in use after all have ended', 'remaining'),
			row('lookups per task and minute', [ownCost.lookups, builtCost.lookups], times),
		],
	};
	const goal = (name: string, bytes: number) =>
		atMost(`${name} per waiting item, ${WAITING} waiting`, 50_000, bytes, kilobytes);
	const goals = [
		goal('memory in use', ownCost.inUse),
		goal('resident memory', ownCost.resident),
		// Half as many as with a Poll Interval of 5 s alone, because each message restarts the pause.
		atMost(`lookups per task and minute, ${WAITING} waiting`, 6, ownCost.lookups, times),
	];
	return { table, goals };
}
