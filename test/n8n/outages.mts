import { setTimeout as pause } from 'node:timers/promises';
import type { Simulator } from '../../simulator/simulator.mts';
import { createTask } from '../service/order.mts';

const BETWEEN_CUTS_MS = 2000;
const OPEN_AGAIN_MS = 60_000;

/** Ways in which a socket is lost. */
export type Cut = 'dropped' | 'refused';

/** Drops the socket; with `refused`, the service also refuses new ones for a moment. */
async function cut(simulator: Simulator, how: Cut): Promise<void> {
	const { requests } = simulator;
	if (how === 'refused') simulator.setWebSocketMode('refuse');
	const since = requests.length;
	simulator.dropSockets();
	if (how === 'refused') {
		const isRefused = () => requests.slice(since).some(({ status }) => status === 403);
		await simulator.waitFor(isRefused, OPEN_AGAIN_MS);
		simulator.setWebSocketMode('normal');
	}
	await simulator.waitFor(() => simulator.sockets() > 0, OPEN_AGAIN_MS);
}

/**
 * Drops the socket in each of these ways, two seconds after it was last reopened; returns how long each
 * merely dropped one was missing, in ms.
 */
export async function cutAgainAndAgain(simulator: Simulator, ways: Cut[]): Promise<number[]> {
	const missing: number[] = [];
	for (const how of ways) {
		await pause(BETWEEN_CUTS_MS);
		const began = performance.now();
		await cut(simulator, how);
		if (how === 'dropped') missing.push(Math.round(performance.now() - began));
	}
	return missing;
}

/** How long a task of a wave takes, in seconds: 6 to 12, in no order. */
const secondsOf = (index: number) => 6 + ((index * 5) % 7);

/**
 * Creates tasks `from` to below `to`, spread over `seconds`, as if waves followed each other faster
 * than they end: their durations differ, so they overtake one another.
 */
export async function createWave(
	simulator: Simulator,
	from: number,
	to: number,
	seconds: number,
): Promise<void> {
	const creating: Array<Promise<string>> = [];
	for (let index = from; index < to; index++) {
		creating.push(createTask(simulator, `Number ${index}. [sim:slow=${secondsOf(index)}]`));
		await pause((seconds * 1000) / (to - from));
	}
	await Promise.all(creating);
}
