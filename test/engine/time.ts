import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { begin, sim } from './setup';

/* Faked time that is made to pass, beside connections that are real. */

const echo = createServer((socket) => socket.pipe(socket));
let socket: Socket;
beforeAll(async () => {
	await once(echo.listen(0, '127.0.0.1'), 'listening');
	socket = connect((echo.address() as AddressInfo).port, '127.0.0.1');
	await once(socket, 'connect');
});
afterAll(() => {
	socket.destroy();
	echo.close();
});

/** Sends a byte through the network of this machine, which brings it after all that was sent before. */
async function sendByte(): Promise<void> {
	socket.write('.');
	await once(socket, 'data');
}

/** Gives what is under way the time to go on: some rounds of the event loop and of the network. */
async function settle(): Promise<void> {
	for (let round = 0; round < 10 || isOnDisk(); round++) {
		await new Promise((next) => setImmediate(next));
		await sendByte();
	}
}

/** True while n8n reads or writes files, which takes real time, much of it on a busy machine. */
const isOnDisk = () => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));

/** Lets so many seconds of faked time pass; after each step what is under way goes on. */
export async function pass(seconds: number, step = 1): Promise<void> {
	for (let passed = 0; passed < seconds; passed += step) {
		await jest.advanceTimersByTimeAsync(step * 1000);
		await settle();
	}
}

/**
 * Lets faked time pass, `step` seconds at a time, until `holds`, and returns how many seconds that took; throws after
 * `most`.
 */
export async function passUntil(holds: () => boolean, maxSeconds = 60, step = 1): Promise<number> {
	for (let seconds = 0; seconds <= maxSeconds; seconds += step) {
		await settle();
		if (holds()) return seconds;
		await jest.advanceTimersByTimeAsync(step * 1000);
	}
	throw new Error(`It did not happen within ${maxSeconds} s`);
}

/** Lets faked time pass until `underWay` is over, which a lost connection delays. */
export async function passWhile<T>(inFlight: Promise<T>): Promise<T> {
	let isOver = false;
	const ended = () => (isOver = true);
	inFlight.then(ended, ended);
	await passUntil(() => isOver, Infinity);
	return await inFlight;
}

/** Runs it in faked time, until all is closed; returns what came of it after how many seconds. */
export const hasten = async (...run: Parameters<typeof begin>) => await hastenBy(1, ...run);

/** The same, for what waits for little: a request counts as some hundredths of a second. */
export const hastenFinely = async (...run: Parameters<typeof begin>) =>
	await hastenBy(0.02, ...run);

async function hastenBy(step: number, ...run: Parameters<typeof begin>) {
	const { finished } = await begin(...run);
	let isOver = false;
	void finished.finally(() => (isOver = true));
	const seconds = await passUntil(() => isOver, 2400, step);
	await passUntil(() => sim.countOpenSockets() === 0 && sim.countOpenConnections() === 0, 2400);
	return { result: await finished, seconds };
}
