import { once } from 'node:events';
import { WebSocket } from 'ws';
import { startSimulator, type Simulator } from '../../simulator/simulator.mts';
import { createTask, order } from '../service/order.mts';

/* What the other tests rely on without seeing it: that the service keeps accounts and hosts apart. */

let simulator: Simulator;
afterEach(async () => await simulator.close());

test('speech becomes a playable file, with messages to the sockets of its token alone', async () => {
	simulator = await startSimulator({ pace: 0.02, otherTokens: ['other-token'] });
	const { baseUrl, token, webSocketUrl, tasks } = simulator;
	const listen = async (own: string) => {
		const socket = new WebSocket(`${webSocketUrl}/ws?token=${own}`);
		const messages: any[] = [];
		socket.on('message', (data) => messages.push(JSON.parse(String(data))));
		await once(socket, 'open');
		return { socket, messages };
	};
	const [mine, theirs] = [await listen(token), await listen('other-token')];
	const text = 'A text of some length, so that it takes two seconds.';
	const id = await createTask(simulator, text);
	await simulator.waitFor(() => tasks.get(id)?.status === 'completed');
	const read = async (own: string) =>
		await fetch(`${baseUrl}/v1/labs/task/${id}`, { headers: { Authorization: `Bearer ${own}` } });
	const task = await (await read(token)).json();
	expect(task).toMatchObject({ id: Number(id), status: 'completed', input: text });
	const wav = Buffer.from(await (await fetch(task.audio_url)).arrayBuffer());
	expect(wav.toString('latin1', 0, 4)).toBe('RIFF');
	expect(wav.length).toBe(44 + Math.round((text.length / 15) * 16_000) * 2);
	while (mine.messages.length < 6) await once(mine.socket, 'message');
	const percentages = mine.messages.map(({ payload }) => payload.process_percentage);
	expect(percentages).toEqual([21, 43, 57, 71, 93, 100]);
	expect(theirs.messages).toEqual([]);
	expect((await read('other-token')).status).toBe(404);
	for (const { socket } of [mine, theirs]) socket.terminate();
});

test('a token that reaches the file origin is recorded', async () => {
	simulator = await startSimulator({ pace: 0.02, dialect: { redirectFiles: true } });
	await order(simulator, 'video/create-image', { prompt: 'A tree' });
	const url = simulator.history[0]!.file_url;
	await fetch(url);
	expect(simulator.leaks).toEqual([]);
	const file = simulator.fileOrigin + new URL(url).pathname;
	const leaked = await fetch(file, { headers: { Authorization: 'Bearer demo-token' } });
	expect([leaked.status, simulator.leaks.length]).toEqual([400, 1]);
});
