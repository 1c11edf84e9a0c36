import { setTimeout as pause } from 'node:timers/promises';
import {
	atMost,
	below,
	kilobytes,
	median,
	seconds,
	row,
	type Goal,
	type Table,
} from '../figures.mts';
import type { N8n } from '../n8n.mts';
import { lines, race, warmUp } from '../run.mts';
import type { Operation } from '../service.mts';
import type { Entrant, Setting } from '../setting.mts';
import { settled } from './settled.mts';

const MANY = 10_000;
const SECONDS = 0.2;
/** With a concurrency of 100. */
const LEAST_SECONDS = (MANY / 100) * SECONDS;
/** The share that is made when the memory is looked at. */
const SHARE = 0.8;
const SAMPLE_MS = 100;

const COSTED = 200;
const COSTED_SECONDS = 3;
const COSTED_TIMES = 3;

const milliseconds = (value: number) => `${(value * 1000).toFixed(1)} ms`;

interface Many {
	seconds: number;
	/** Bytes by which n8n has grown per item made, garbage collected. */
	memory: number;
}

/** Has ten thousand made in one execution; throws unless each was paid once and none has failed. */
async function many(
	{ contender, account }: Entrant,
	operation: Operation,
	n8n: N8n | undefined,
): Promise<Many> {
	const texts = lines(MANY, SECONDS);
	const before = await n8n?.memoryInUse();
	const tasksBefore = account.made(operation);
	const began = Date.now();
	let isOver = false;
	const making = contender.make(operation, texts).finally(() => (isOver = true));
	let memory = NaN;
	if (n8n) {
		const done = () => account.made(operation) - tasksBefore;
		while (!isOver && done() < SHARE * MANY) await pause(SAMPLE_MS);
		memory = ((await n8n.memoryInUse()) - before!) / done();
	}
	const ended = await making;
	const { errors } = await contender.made(operation);
	if (errors.length > 0) throw new Error(`${contender.name}: ${errors.join('; ')}`);
	account.results(operation, texts);
	await contender.clear(operation);
	return { seconds: (ended - began) / 1000, memory };
}

/** Processor time of n8n for each item, in seconds. */
async function processorTime(n8n: N8n, entrant: Entrant): Promise<number> {
	const found: number[] = [];
	for (let n = 0; n < COSTED_TIMES; n++) {
		const before = n8n.instance.processorSeconds();
		await race(entrant, 'speech', lines(COSTED, COSTED_SECONDS));
		found.push((n8n.instance.processorSeconds() - before) / COSTED);
	}
	return median(found);
}

/** Ten thousand items in one execution, and the processor time of an item. */
export async function measureScale(setting: Setting) {
	const arena = await setting.arena('ours100', 'oursAddresses', 'handBuilt');
	const { ours100, oursAddresses, handBuilt } = arena.entrants;
	await warmUp([ours100, handBuilt], ['speech', 'video']);
	const own = await processorTime(arena.n8n, ours100);
	const built = await processorTime(arena.n8n, handBuilt);
	await settled(arena.n8n);
	const speech = await many(oursAddresses, 'speech', undefined);
	const video = await many(oursAddresses, 'video', undefined);
	const files = await many(ours100, 'speech', undefined);
	const { memory } = await many(oursAddresses, 'speech', arena.n8n);
	await setting.leave(arena);

	const table: Table = {
		title: `${MANY} items, and what one costs`,
		about:
			`One execution of ${MANY} items of ${SECONDS} s with concurrency 100, which takes ` +
			`${LEAST_SECONDS} s at least; the hand-built workflow was not run with so many. Memory in use ` +
			`is looked at when ${SHARE * 100} % are made, garbage collected, and holds what n8n keeps of ` +
			`the input and the output. Processor time is that of n8n's process for ${COSTED} items of ` +
			`${COSTED_SECONDS} s with their files, the median of ${COSTED_TIMES} runs.`,
		columns: ['Media Generation node', 'Hand-built workflow'],
		rows: [
			row('speech, addresses', [speech.seconds, 'not run'], seconds),
			row('videos, addresses', [video.seconds, 'not run'], seconds),
			row('speech, files', [files.seconds, 'not run'], seconds),
			row('memory in use per item', [memory, 'not run'], kilobytes),
			row('processor time per item', [own, built], milliseconds),
		],
	};
	const goals: Goal[] = [
		atMost(`${MANY} speech items of ${SECONDS} s`, 35, speech.seconds, seconds),
		atMost(`${MANY} videos of ${SECONDS} s`, 35, video.seconds, seconds),
		atMost(`${MANY} speech items of ${SECONDS} s with their files`, 60, files.seconds, seconds),
		atMost(`memory in use per item, ${MANY} items`, 30_000, memory, kilobytes),
		below('processor time per item, beside the hand-built workflow', built, own, milliseconds),
	];
	return { table, goals };
}
