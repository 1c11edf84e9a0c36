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
/** Long enough that all are waiting before the first one is done, and spread at the end. */
const LEAST_SECONDS = 60;
const SPREAD_SECONDS = 10;
/** How long before the first one is done the memory is looked at. */
const AHEAD_MS = 5000;
const SAMPLE_MS = 100;

/** Bytes per waiting item by which n8n has grown, garbage collected, and that are left when all have ended. */
interface Memory {
	resident: number;
	inUse: number;
	left: number;
}

/** Memory of an n8n while `run` waits. */
async function memoryOf(n8n: N8n, run: () => Promise<unknown>): Promise<Memory> {
	const inUseBefore = await n8n.memoryInUse();
	const before = n8n.memory();
	const over = run();
	// What goes wrong in it is thrown further down.
	over.catch(() => {});
	await pause(LEAST_SECONDS * 1000 - AHEAD_MS);
	const inUse = await n8n.memoryInUse();
	const resident = n8n.memory();
	await over;
	const each = (bytes: number) => bytes / WAITING;
	return {
		resident: each(resident - before),
		inUse: each(inUse - inUseBefore),
		left: each((await n8n.memoryInUse()) - inUseBefore),
	};
}

const batch = (): string[] =>
	Array.from({ length: ITEMS }, (_, index) => {
		const duration = LEAST_SECONDS + (index / ITEMS) * SPREAD_SECONDS;
		return line(`[sim:slow=${duration}] [sim:big-file=0.01]`);
	});
const batches = () => Array.from({ length: EXECUTIONS }, batch);

/** Lookups per task and minute, from when all are accepted until the first is done. */
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

/** What it costs to wait for many speech tasks at the same time. */
export async function measureWaiting(setting: Setting): Promise<{ table: Table; goals: Goal[] }> {
	const options = { concurrency: ITEMS };
	const own = await ours(await setting.startN8n(), setting.account(), { options });
	const built = await handBuilt(await setting.startN8n(), setting.account());
	await warmUp([own, built]);
	await Promise.all([own, built].map(({ n8n }) => settled(n8n)));
	const [ownCost, builtCost] = await Promise.all([waitingOf(own), waitingOf(built)]);
	await Promise.all([own, built].map(({ n8n }) => setting.leave(n8n)));

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
			memory('memory in use after all have ended', 'left'),
			row('lookups per task and minute', [ownCost.lookups, builtCost.lookups], times),
		],
	};
	const goal = (name: string, bytes: number) =>
		atMost(`${name} per waiting item, ${WAITING} waiting`, 50_000, bytes, kilobytes);
	const goals = [
		goal('memory in use', ownCost.inUse),
		goal('resident memory', ownCost.resident),
		// Half of what a Poll Interval of 5 s comes to: each message restarts the pause.
		atMost(`lookups per task and minute, ${WAITING} waiting`, 6, ownCost.lookups, times),
	];
	return { table, goals };
}
