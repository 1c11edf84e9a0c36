import { setTimeout as pause } from 'node:timers/promises';
import type { Simulator } from '../../simulator/simulator.mts';
import { createTask } from './workflows.mts';

/** How long a socket has to have been open so that, once lost, it is opened again at once, in ms. */
const LASTING_MS = 10_500;
const OPEN_AGAIN_MS = 15_000;

/** Ways in which a socket is lost. */
export type Cut = 'twice' | 'refused';

/** Loses the socket `twice` in a row, or once while the service refuses sockets for a moment. */
async function cut(simulator: Simulator, how: Cut): Promise<number> {
	const isOpen = () => simulator.sockets() > 0;
	const { requests } = simulator;
	if (how === 'refused') {
		simulator.setWebSocketMode('refuse');
		const since = requests.length;
		simulator.dropSockets();
		const isRefused = () => requests.slice(since).some(({ status }) => status === 403);
		await simulator.waitFor(isRefused, OPEN_AGAIN_MS);
		simulator.setWebSocketMode('normal');
		await simulator.waitFor(isOpen, OPEN_AGAIN_MS);
		return 1;
	}
	for (let time = 0; time < 2; time++) {
		simulator.dropSockets();
		await simulator.waitFor(() => !isOpen(), OPEN_AGAIN_MS);
		await simulator.waitFor(isOpen, OPEN_AGAIN_MS);
	}
	return 2;
}

/** Loses the socket in each of these ways, far enough apart; returns how often that was. */
export async function cutAgainAndAgain(simulator: Simulator, ways: Cut[]): Promise<number> {
	let cuts = 0;
	for (const [index, how] of ways.entries()) {
		await pause(index === 0 ? 3000 : LASTING_MS);
		cuts += await cut(simulator, how);
	}
	return cuts;
}

/** How long a task of the waves takes, in seconds: 6 to 12, in no order. */
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
