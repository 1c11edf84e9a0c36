import { setTimeout as pause } from 'node:timers/promises';
import type { Operation } from '../account.mts';
import { lines, warmUp, type Contender } from '../contender.mts';
import { handBuilt } from '../handBuilt.mts';
import { ours } from '../ours.mts';
import {
	atMost,
	COLUMNS,
	kilobytes,
	median,
	row,
	seconds,
	type Goal,
	type Table,
} from '../report.mts';
import type { Setting } from '../setting.mts';
import { settled } from '../settled.mts';

const MANY = 10_000;
const SECONDS = 0.2;
const CONCURRENCY = 100;
/** The share that is made when the memory is looked at. */
const SHARE = 0.8;
const SAMPLE_MS = 100;

const COSTED = 200;
const COSTED_SECONDS = 3;
const COSTED_TIMES = 3;

const milliseconds = (value: number) => `${(value * 1000).toFixed(1)} ms`;

/**
 * Has ten thousand made in one execution; throws unless each was paid once and none has failed.
 * `meanwhile` is called when most are made, with their number.
 */
async function secondsFor(
	contender: Contender,
	operation: Operation,
	meanwhile?: (made: number) => Promise<void>,
): Promise<number> {
	const { account } = contender;
	const texts = lines(MANY, SECONDS);
	const before = account.made(operation);
	const began = Date.now();
	let isOver = false;
	const making = contender.make(operation, texts).finally(() => (isOver = true));
	if (meanwhile) {
		const made = () => account.made(operation) - before;
		while (!isOver && made() < SHARE * MANY) await pause(SAMPLE_MS);
		await meanwhile(made());
	}
	const ended = await making;
	const { errors } = await contender.made(operation);
	if (errors.length > 0) throw new Error(`${contender.name}: ${errors.join('; ')}`);
	account.results(operation, texts);
	await contender.clear(operation);
	return (ended - began) / 1000;
}

/** Processor time of n8n for each item, in seconds. */
async function processorTime(contender: Contender): Promise<number> {
	const { instance } = contender.n8n;
	const found: number[] = [];
	for (let n = 0; n < COSTED_TIMES; n++) {
		const before = instance.processorSeconds();
		await contender.race('speech', lines(COSTED, COSTED_SECONDS));
		found.push((instance.processorSeconds() - before) / COSTED);
	}
	return median(found);
}

/** Ten thousand items in one execution, and the processor time of an item. */
export async function measureScale(setting: Setting): Promise<{ table: Table; goals: Goal[] }> {
	const n8n = await setting.startN8n();
	const options = { concurrency: CONCURRENCY };
	const own = await ours(n8n, setting.account(), { options });
	const addresses = await ours(n8n, setting.account(), { options, download: false });
	const built = await handBuilt(n8n, setting.account());
	await warmUp([own, built]);
	const [cost, costBuilt] = [await processorTime(own), await processorTime(built)];
	await settled(n8n);
	const speech = await secondsFor(addresses, 'speech');
	const video = await secondsFor(addresses, 'video');
	const files = await secondsFor(own, 'speech');
	const before = await n8n.memoryInUse();
	let memory = NaN;
	await secondsFor(addresses, 'speech', async (made) => {
		memory = ((await n8n.memoryInUse()) - before) / made;
	});
	await setting.leave(n8n);

	const table: Table = {
		title: `${MANY} items, and what one costs`,
		about:
			`One execution of ${MANY} items of ${SECONDS} s with concurrency ${CONCURRENCY}, which takes ` +
			`${(MANY / CONCURRENCY) * SECONDS} s at least; the hand-built workflow was not run with so ` +
			`many. Memory in use is looked at when ${SHARE * 100} % are made, garbage collected, and holds ` +
			`what n8n keeps of the input and the output. Processor time is that of n8n's process for ` +
			`${COSTED} items of ${COSTED_SECONDS} s with their files, the median of ${COSTED_TIMES} runs.`,
		columns: COLUMNS,
		rows: [
			row('speech, addresses', [speech, 'not run'], seconds),
			row('videos, addresses', [video, 'not run'], seconds),
			row('speech, files', [files, 'not run'], seconds),
			row('memory in use per item', [memory, 'not run'], kilobytes),
			row('processor time per item', [cost, costBuilt], milliseconds),
		],
	};
	const goals = [
		atMost(`${MANY} speech items of ${SECONDS} s`, 35, speech, seconds),
		atMost(`${MANY} videos of ${SECONDS} s`, 35, video, seconds),
		atMost(`${MANY} speech items of ${SECONDS} s with their files`, 60, files, seconds),
		atMost(`memory in use per item, ${MANY} items`, 30_000, memory, kilobytes),
		atMost(
			'processor time per item, beside the hand-built workflow',
			costBuilt,
			cost,
			milliseconds,
		),
	];
	return { table, goals };
}
