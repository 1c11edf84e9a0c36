/* The simulated service in a thread of its own, whose memory does not count. */
import { parentPort, workerData } from 'node:worker_threads';
import { startSimulator, type SimulatorOptions } from '../../simulator/simulator.mts';
import { order } from '../service/order.mts';

const {
	token,
	dialect,
	old = 0,
} = workerData as {
	token: string;
	dialect?: SimulatorOptions['dialect'];
	/** How many entries the history has from the beginning, one a minute. */
	old?: number;
};
const simulator = await startSimulator({ pace: 0.002, token, ...(dialect && { dialect }) });
const [voice] = simulator.voiceIds();
for (let n = 0; n < old; n++) {
	simulator.history.push({
		id: `old-${n}`,
		prompt: 'Long ago',
		type: 'video',
		file_url: `${simulator.fileOrigin}/files/video/old-${n}.mp4`,
		status: 'completed',
		created_at: new Date(Date.now() - (n + 1) * 60_000).toISOString(),
	});
}

/** Makes an image, at a time of the asking thread's clock. */
async function makeAt(time: number): Promise<void> {
	await order(simulator, 'video/create-image', { prompt: `An image at ${time}` });
	simulator.history[0]!.created_at = new Date(time).toISOString();
}

async function answer(message: 'open' | 'forget' | { makeAt: number }): Promise<void> {
	if (typeof message === 'object') await makeAt(message.makeAt);
	const looks = simulator.count('GET', '/v1/video/histories');
	if (message === 'forget') simulator.requests.length = 0;
	const open = simulator.sockets() + simulator.openConnections();
	const { creates: paid } = simulator;
	parentPort!.postMessage({ open, leaks: simulator.leaks.length, paid, looks });
}
parentPort!.on('message', (message) => void answer(message));
parentPort!.postMessage({ baseUrl: simulator.baseUrl, voice });
