/* The simulated service in a thread of its own, whose memory does not count. */
import { parentPort, workerData } from 'node:worker_threads';
import { startSimulator, type SimulatorOptions } from '../../simulator/simulator.mts';
import { order } from '../service/order.mts';

export interface ServiceOptions extends Pick<SimulatorOptions, 'token' | 'dialect'> {
	/** How many entries the history has from the beginning, one a minute. */
	old?: number;
}

/** How it stands; the same once all requests are forgotten, or an image is made at a time of the asker's clock. */
export type Question = 'state' | 'forget' | { makeAt: number };

export interface Answer {
	/** Sockets and connections. */
	open: number;
	leaks: number;
	paid: number;
	/** Into the history. */
	looks: number;
}

const { old = 0, ...options } = workerData as ServiceOptions;
const simulator = await startSimulator({ pace: 0.002, ...options });
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

async function answer(question: Question): Promise<void> {
	if (typeof question === 'object') {
		await order(simulator, 'video/create-image', { prompt: `An image at ${question.makeAt}` });
		simulator.history[0]!.created_at = new Date(question.makeAt).toISOString();
	}
	const looks = simulator.count('GET', '/v1/video/histories');
	if (question === 'forget') simulator.requests.length = 0;
	const open = simulator.sockets() + simulator.openConnections();
	const { creates: paid, leaks } = simulator;
	parentPort!.postMessage({ open, leaks: leaks.length, paid, looks } satisfies Answer);
}
parentPort!.on('message', (question) => void answer(question));
parentPort!.postMessage({ baseUrl: simulator.baseUrl, voice: simulator.voiceIds()[0] });
