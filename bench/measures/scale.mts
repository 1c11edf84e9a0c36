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
/** The share that is made when the memory is looked at. */
const SHARE = 0.8;
const SAMPLE_MS = 100;

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

/** Ten thousand items in one execution. */
export async function measureScale(setting: Setting): Promise<Goal[]> {
	const n8n = await setting.startN8n();
	const options = { concurrency: CONCURRENCY };
	const own = await ours(n8n, setting.account(), { options });
	const addresses = await ours(n8n, setting.account(), { options, download: false });
	await warmUp([own]);
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

	const each = `${SECONDS} s, concurrency ${CONCURRENCY}`;
	return [
		atMost(`${MANY} speech items of ${each}`, 35, speech, seconds),
		atMost(`${MANY} videos of ${each}`, 35, video, seconds),
		atMost(`${MANY} speech items of ${each}, with their files`, 60, files, seconds),
		atMost(`memory in use per item, ${MANY} items`, 30_000, memory, kilobytes),
	];
}
