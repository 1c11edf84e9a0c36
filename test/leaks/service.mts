/* The simulated service in a thread of its own, whose memory does not count. */
import { parentPort, workerData } from 'node:worker_threads';
import { startSimulator } from '../../simulator/simulator.mts';

const { token } = workerData as { token: string };
const simulator = await startSimulator({ pace: 0.002, token });
const [voice] = simulator.voiceIds();
parentPort!.on('message', (message: 'open' | 'forget') => {
	if (message === 'forget') simulator.requests.length = 0;
	const open = simulator.sockets() + simulator.openConnections();
	parentPort!.postMessage({ open, leaks: simulator.leaks.length, paid: simulator.creates });
});
parentPort!.postMessage({ baseUrl: simulator.baseUrl, voice });
