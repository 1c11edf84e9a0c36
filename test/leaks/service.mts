/* The simulated service in a thread of its own, whose memory does not count. */
import { parentPort, workerData } from 'node:worker_threads';
import { startSimulator } from '../../simulator/simulator.mts';

const simulator = await startSimulator({ pace: 0.002, token: workerData as string });

/** How it stands, in sockets and connections that are open; the requests are then forgotten. */
parentPort!.on('message', () => {
	const { chargedCalls: paid, leaks, requests } = simulator;
	requests.length = 0;
	const open = simulator.countOpenSockets() + simulator.countOpenConnections();
	parentPort!.postMessage({ open, paid, leaks: leaks.length });
});
parentPort!.postMessage({ baseUrl: simulator.baseUrl, voice: simulator.voiceIds()[0] });
