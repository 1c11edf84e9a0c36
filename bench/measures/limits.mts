import { setTimeout as pause } from 'node:timers/promises';
import type { Simulator } from '../../simulator/simulator.mts';
import { compare, lines, type Contender } from '../contender.mts';
import { atMost, seconds, type Goal } from '../report.mts';

const COUNT = 50;
const SECONDS = 3;
const AT_ONCE = 8;
const RATES = [60, 30];
/** How much longer it may take than the limit makes necessary. */
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
	const { files, errors } = await contender.made('speech');
	if (errors.length === 0) {
		await compare(contender.name, files, account.results('speech', texts));
	}
	await contender.clear('speech');
	return { seconds: (ended - began) / 1000, delivered: files.length };
}

/**
 * What becomes of many items where the service refuses with 429: beyond some at once, and beyond some
 * requests a minute. `newcomer` makes our node without its WebSocket, with a new account.
 */
export async function measureLimits(
	simulator: Simulator,
	own: Contender,
	newcomer: () => Promise<Contender>,
): Promise<Goal[]> {
	const few = { concurrencyLimit: AT_ONCE };
	const ours = await outcomeOf(simulator, own, few);
	const least = Math.ceil(COUNT / AT_ONCE) * SECONDS;
	const about = `${COUNT} items where the service allows ${AT_ONCE} at once`;
	const blocked = await outcomeOf(simulator, await newcomer(), few);
	const goals = [
		...goalsOf(about, ours, least),
		...goalsOf(`${about}, WebSocket blocked`, blocked, least),
	];
	for (const rate of RATES) {
		const contender = await newcomer();
		// A window of the simulator's is a minute by the clock: the first one must be whole.
		await pause(60_000 - (Date.now() % 60_000));
		const rated = await outcomeOf(simulator, contender, aMinute(rate));
		// A create call and a lookup each; the first minute's requests may all be sent at once.
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
