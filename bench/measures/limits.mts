import { setTimeout as pause } from 'node:timers/promises';
import type { Simulator } from '../../simulator/simulator.mts';
import { compare, lines, type Contender } from '../contender.mts';
import { atMost, seconds, type Goal } from '../report.mts';

const COUNT = 50;
const SECONDS = 3;
const AT_ONCE = 8;
const RATES = [60, 30];
/** How many times as long it may take as the limit makes necessary. */
const SLACK = 1.5;

interface Outcome {
	seconds: number;
	delivered: number;
}

type Limit = Partial<Pick<Simulator, 'concurrencyLimit' | 'requestLimit'>>;

const aMinute = (requests: number): Limit => ({ requestLimit: { requests, seconds: 60 } });

async function outcomeOf(
	simulator: Simulator,
	contender: Contender,
	limit: Limit,
): Promise<Outcome> {
	const { account } = contender;
	const texts = lines(COUNT, SECONDS);
	const began = Date.now();
	Object.assign(simulator, limit);
	const ended = await contender.make('speech', texts).finally(() => {
		Object.assign(simulator, { concurrencyLimit: undefined, requestLimit: undefined });
	});
	const { files, errors } = await contender.outputs('speech');
	if (errors.length === 0) {
		await compare(contender.name, files, account.results('speech', texts));
	}
	await contender.clear('speech');
	return { seconds: (ended - began) / 1000, delivered: files.length };
}

/**
 * Measures many items with a service that answers 429 above a number of simultaneous tasks, or of requests per minute.
 * `newcomer` makes our node with a new account and without a WebSocket.
 */
export async function measureLimits(
	simulator: Simulator,
	ourNode: Contender,
	newcomer: () => Promise<Contender>,
): Promise<Goal[]> {
	const few = { concurrencyLimit: AT_ONCE };
	const ours = await outcomeOf(simulator, ourNode, few);
	const least = Math.ceil(COUNT / AT_ONCE) * SECONDS;
	const about = `${COUNT} items where the service allows ${AT_ONCE} at once`;
	const blocked = await outcomeOf(simulator, await newcomer(), few);
	const goals = [
		...goalsOf(about, ours, least),
		...goalsOf(`${about}, WebSocket blocked`, blocked, least),
	];
	for (const rate of RATES) {
		const contender = await newcomer();
		// The simulator counts requests per minute of the clock. The first minute must be a whole one.
		await pause(60_000 - (Date.now() % 60_000));
		const rated = await outcomeOf(simulator, contender, aMinute(rate));
		// Each item takes a create call and a read. All requests of the first minute may be sent at once.
		const leastByRate = 60 * (Math.ceil((2 * COUNT) / rate) - 1);
		const allows = `the service allows ${rate} requests a minute`;
		goals.push(...goalsOf(`${COUNT} items where ${allows}, WebSocket blocked`, rated, leastByRate));
	}
	return goals;
}

function goalsOf(about: string, outcome: Outcome, leastSeconds: number): Goal[] {
	return [
		atMost(`lost of ${about}`, 0, COUNT - outcome.delivered, String),
		atMost(about, SLACK * leastSeconds, outcome.seconds, seconds),
	];
}
