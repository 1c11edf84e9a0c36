import { setTimeout as pause } from 'node:timers/promises';
import type { Operation } from '../account.mts';
import { lines, warmUp, type Contender } from '../contender.mts';
import { ours } from '../ours.mts';
import { atMost, kilobytes, seconds, type Goal } from '../report.mts';
import type { Setting } from '../setting.mts';
import { settled } from '../settled.mts';

const MANY = 10_000;
const SECONDS = 0.2;
const CONCURRENCY = 100;
/** The share of results after which the memory is measured. */
const SHARE = 0.8;
const SAMPLE_MS = 100;

/**
 * Generates ten thousand results in one execution. Throws unless each was charged once and none has failed. `meanwhile`
 * is called with the number of results once most of them are there.
 */
async function secondsFor(
	contender: Contender,
	operation: Operation,
	meanwhile?: (resultCount: number) => Promise<void>,
): Promise<number> {
	const { account } = contender;
	const texts = lines(MANY, SECONDS);
	const before = account.countResults(operation);
	const began = Date.now();
	let isOver = false;
	const making = contender.make(operation, texts).finally(() => (isOver = true));
	if (meanwhile) {
		const newResults = () => account.countResults(operation) - before;
		while (!isOver && newResults() < SHARE * MANY) await pause(SAMPLE_MS);
		await meanwhile(newResults());
	}
	const ended = await making;
	const { errors } = await contender.outputs(operation);
	if (errors.length > 0) throw new Error(`${contender.name}: ${errors.join('; ')}`);
	account.results(operation, texts);
	await contender.clear(operation);
	return (ended - began) / 1000;
}

/** Measures ten thousand items in one execution. */
export async function measureScale(setting: Setting): Promise<Goal[]> {
	const n8n = await setting.startN8n();
	const options = { concurrency: CONCURRENCY };
	const ourNode = await ours(n8n, setting.account(), { options });
	const addresses = await ours(n8n, setting.account(), { options, download: false });
	await warmUp([ourNode]);
	await settled(n8n);
	const speech = await secondsFor(addresses, 'speech');
	const video = await secondsFor(addresses, 'video');
	const files = await secondsFor(ourNode, 'speech');
	const before = await n8n.memoryInUse();
	let memory = NaN;
	await secondsFor(addresses, 'speech', async (resultCount) => {
		memory = ((await n8n.memoryInUse()) - before) / resultCount;
	});
	await setting.leave(n8n);

	const each = `${SECONDS} s, concurrency ${CONCURRENCY}`;
	return [
		atMost(`${MANY} speech items of ${each}`, 35, speech, seconds),
		atMost(`${MANY} videos of ${each}`, 35, video, seconds),
		atMost(`${MANY} speech items of ${each}, with their files`, 60, files, seconds),
		atMost(`memory in use per item, ${MANY} items`, 30_000, memory, kilobytes),
	];
}
