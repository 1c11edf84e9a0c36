import { setTimeout as pause } from 'node:timers/promises';
import { atMost, kilobytes, seconds, times, type Goal, type Row, type Table } from '../figures.mts';
import type { Process } from '../contenders/contender.mts';
import type { N8n } from '../n8n.mts';
import { line, race, warmUp } from '../run.mts';
import type { Entrant, Setting } from '../setting.mts';
import { workflowOf } from '../workflow.mts';
import { lookupGoal } from './requests.mts';
import { settled } from './settled.mts';

const EXECUTIONS = 10;
const ITEMS = 100;
const WAITING = EXECUTIONS * ITEMS;
/** Long enough that all are waiting before the first one is done, and spread at the end. */
const LEAST_SECONDS = 60;
const SPREAD_SECONDS = 10;
/** How long before the first one is done the memory is looked at. */
const AHEAD_MS = 5000;
const SAMPLE_MS = 100;

interface Waiting {
	/** Bytes per waiting item by which the process has grown: at most, and without garbage. */
	most: number;
	resident: number;
	/** Bytes per waiting item that are in use, and that still are when all have ended. */
	inUse: number;
	left: number;
	/** Seconds from the calls of the workflow until the service had accepted all tasks. */
	accepted: number;
	/** Lookups per task and minute from then on until the first was done. */
	lookups: number;
}

/** Memory of a process while `run` waits; `work` is called meanwhile. */
async function memoryOf(
	process: Process,
	run: () => Promise<unknown>,
	work: (began: number) => Promise<void> = async () => {},
): Promise<Pick<Waiting, 'most' | 'resident' | 'inUse' | 'left'>> {
	const inUse = async () => (await process.memoryInUse?.()) ?? NaN;
	const inUseBefore = await inUse();
	const before = process.memory();
	const began = Date.now();
	let most = before;
	const watch = setInterval(() => (most = Math.max(most, process.memory())), SAMPLE_MS);
	const over = run();
	// What goes wrong in it is thrown further down.
	over.catch(() => {});
	try {
		await work(began);
		await pause(Math.max(0, began + LEAST_SECONDS * 1000 - AHEAD_MS - Date.now()));
	} finally {
		clearInterval(watch);
	}
	const inUseThen = await inUse();
	const resident = process.memory();
	await over;
	const each = (bytes: number) => bytes / WAITING;
	return {
		most: each(most - before),
		resident: each(resident - before),
		inUse: each(inUseThen - inUseBefore),
		left: each((await inUse()) - inUseBefore),
	};
}

const batch = (): string[] =>
	Array.from({ length: ITEMS }, (_, index) => {
		const duration = LEAST_SECONDS + (index / ITEMS) * SPREAD_SECONDS;
		return line(`[sim:slow=${duration}] [sim:big-file=0.01]`);
	});
const batches = () => Array.from({ length: EXECUTIONS }, batch);

async function waitingOf(entrant: Entrant): Promise<Waiting> {
	const { contender, account } = entrant;
	const tasksBefore = account.tasks();
	let accepted = 0;
	let lookups = 0;
	const memory = await memoryOf(
		contender.process,
		async () => await race(entrant, 'speech', ...batches()),
		async (began) => {
			const firstDone = began + LEAST_SECONDS * 1000;
			while (account.tasks() < tasksBefore + WAITING) {
				if (Date.now() > firstDone) throw new Error(`${contender.name} took too long`);
				await pause(SAMPLE_MS);
			}
			const since = Date.now();
			accepted = (since - began) / 1000;
			await pause(firstDone - AHEAD_MS - since);
			const minutes = (firstDone - AHEAD_MS - since) / 60_000;
			lookups = account.lookups(since, firstDone - AHEAD_MS) / WAITING / minutes;
		},
	);
	return { ...memory, accepted, lookups };
}

/** n8n without any contender: each item has one expression evaluated, and waits in a Wait node. */
async function n8nAlone(n8n: N8n) {
	const set = { assignments: [{ id: '1', name: 'a', type: 'string', value: '={{ $json.text }}' }] };
	const steps = [
		{ name: 'Set', type: 'n8n-nodes-base.set', typeVersion: 3.4, parameters: { assignments: set } },
		{
			name: 'Wait',
			type: 'n8n-nodes-base.wait',
			typeVersion: 1.1,
			parameters: { amount: LEAST_SECONDS },
		},
	];
	const workflow = await n8n.publish(workflowOf('alone', steps));
	return async () => await Promise.all(batches().map((texts) => n8n.run(workflow, texts)));
}

/** What it costs to wait for many speech tasks at the same time. */
export async function measureWaiting(setting: Setting) {
	const [own, built, alone] = await Promise.all([
		setting.arena('ours100'),
		setting.arena('handBuilt'),
		setting.arena(),
	]);
	const entrants = [own.entrants.ours100, built.entrants.handBuilt, setting.client] as const;
	await warmUp(entrants, ['speech']);
	const run = await n8nAlone(alone.n8n);
	await Promise.all(
		[alone.n8n, ...entrants.map(({ contender }) => contender.process)].map(settled),
	);
	const [aloneMemory, ours, handBuilt, client] = await Promise.all([
		memoryOf(alone.n8n, run),
		...entrants.map(waitingOf),
	]);
	await Promise.all([own, built, alone].map((arena) => setting.leave(arena)));

	const row = (name: string, kind: keyof Waiting, show: Row['show'] = kilobytes): Row => ({
		name,
		cells: [ours, handBuilt, aloneMemory as Partial<Waiting>, client].map((waiting) => {
			const value = waiting?.[kind];
			return value === undefined || Number.isNaN(value) ? '–' : value;
		}),
		show,
	});
	const table: Table = {
		title: `${WAITING} speech tasks waited for at once`,
		about:
			`${EXECUTIONS} executions of ${ITEMS} items, for the node with concurrency ${ITEMS}; tasks of ` +
			`${LEAST_SECONDS} to ${LEAST_SECONDS + SPREAD_SECONDS} s. Memory by which the process has ` +
			'grown, per item: each contender in an n8n of its own that has given back what its start ' +
			'took, all at the same time. "n8n alone" evaluates one expression for each item and waits in ' +
			'a Wait node. The MiniMax node would wait for 10 of them at once; it was not run. Most of what ' +
			'the node takes beyond n8n is the young generation of V8’s heap, which the garbage of 90 lookups ' +
			'a second makes grow to its full size of some 130 MB, once for the whole process: started with ' +
			'`--max-semi-space-size=2`, it took 44 KB an item beyond n8n alone, and 10 KB without lookups.',
		columns: ['Media Generation node', 'Hand-built workflow', 'n8n alone', 'Plain client, no n8n'],
		rows: [
			row('resident memory, at most', 'most'),
			row('resident memory, garbage collected', 'resident'),
			row('memory in use, garbage collected', 'inUse'),
			row('memory in use after all have ended', 'left'),
			row('lookups per task and minute', 'lookups', times),
			row('until all tasks are accepted', 'accepted', seconds),
		],
	};
	const goal = (name: string, bytes: number) =>
		atMost(`${name} per waiting item, ${WAITING} waiting`, 50_000, bytes, kilobytes);
	const goals: Goal[] = [
		goal('memory in use', ours!.inUse),
		goal('resident memory', ours!.resident),
		goal('resident memory, beyond what n8n alone takes,', ours!.resident - aloneMemory.resident),
		lookupGoal(`${WAITING} tasks`, ours!.lookups),
	];
	return { table, goals };
}
