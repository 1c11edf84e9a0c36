import { once } from 'node:events';
import { WebSocket } from 'ws';
import {
	startSimulator,
	type Simulator,
	type SimulatorOptions,
} from '../../simulator/simulator.mts';

let simulator: Simulator;
let sockets: WebSocket[] = [];

beforeEach(async () => await start());

afterEach(async () => {
	for (const socket of sockets) socket.terminate();
	sockets = [];
	await simulator.close();
});

/** Starts a simulator with these options, instead of the one that each test begins with. */
async function start(options: SimulatorOptions = {}) {
	await simulator?.close();
	simulator = await startSimulator({ pace: 0.02, ...options });
}

function api(path: string, init: { method?: string; body?: unknown; token?: string } = {}) {
	const { body, token = simulator.token, method = body === undefined ? 'GET' : 'POST' } = init;
	const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
	return fetch(simulator.baseUrl + path, { method, headers, body: JSON.stringify(body) });
}

/** The body of an answer that is JSON. */
const told = async (...call: Parameters<typeof api>) => await (await api(...call)).json();

const order = (input: string) => ({
	...{ input, voice_id: simulator.voiceIds()[0], model_id: 'labs_v3' },
});

/** Creates a task and returns its id. */
async function speak(input: string, extra = {}): Promise<string> {
	const created = await api('/v1/labs/task', { body: { ...order(input), ...extra } });
	expect(created.status).toBe(200);
	return (await created.json()).task_id;
}

const read = async (id: string) => await told(`/v1/labs/task/${id}`);

const completed = async (id: string) =>
	await simulator.waitFor(() => simulator.tasks.get(id)?.status === 'completed');

/** Makes an image; resolves with what the stream held, once it is over. */
async function draw(): Promise<string> {
	return await (await api('/v1/video/create-image', { body: { prompt: 'A tree' } })).text();
}

async function listen(token = simulator.token) {
	const socket = new WebSocket(`${simulator.webSocketUrl}/ws?token=${token}`);
	sockets.push(socket);
	const messages: any[] = [];
	socket.on('message', (data) => messages.push(JSON.parse(String(data))));
	await once(socket, 'open');
	return messages;
}

async function bytes(url: string) {
	const response = await fetch(url);
	expect(response.status).toBe(200);
	return Buffer.from(await response.arrayBuffer());
}

describe('speech', () => {
	it('runs a task to a playable file, with messages to the sockets of its token alone', async () => {
		await start({ otherTokens: ['other-token'] });
		const mine = await listen();
		const theirs = await listen('other-token');
		expect(simulator.sockets()).toBe(2);
		const text = 'A text of some length, so that it takes two seconds.';
		const id = await speak(text);
		expect(typeof id).toBe('string');
		expect(await read(id)).toMatchObject({ id: Number(id), input: text });
		await completed(id);

		const task = await read(id);
		expect(task).toMatchObject({ status: 'completed', process_percentage: 100, input: text });
		const wav = await bytes(task.audio_url);
		expect(wav.toString('latin1', 0, 4)).toBe('RIFF');
		expect(wav.length).toBe(44 + Math.round((text.length / 15) * 16_000) * 2);
		expect(wav.equals(simulator.fileBytes(task.audio_url)!)).toBe(true);
		while (mine.length < 6) await once(sockets[0]!, 'message');
		expect(mine.map((m) => m.payload.process_percentage)).toEqual([21, 43, 57, 71, 93, 100]);
		expect(mine[0]).toMatchObject({ type: 'labs_status_updated', payload: { task_id: id } });
		expect(theirs).toEqual([]);
		expect((await api(`/v1/labs/task/${id}`, { token: 'other-token' })).status).toBe(404);
		expect(simulator.creates).toBe(1);
	});

	it.each([
		[{ input: '' }, 'input_required'],
		[{ voice_id: 'nobody' }, 'invalid_voice_id'],
		[{ model_id: 'labs_v9' }, 'invalid_model_id'],
		[{ speed: 1.3 }, 'invalid_speed'],
		[{ stability: '0.5' }, 'invalid_stability'],
	])('refuses %j unpaid', async (extra, error) => {
		const answer = await api('/v1/labs/task', { body: { ...order('Hello'), ...extra } });
		expect(answer.status).toBe(400);
		expect(await answer.json()).toEqual({ error });
		expect(simulator.creates).toBe(0);
	});
});

describe('video and images', () => {
	it('streams the contract events and keeps the items in the history', async () => {
		const answer = await api('/v1/video/text-to-video', {
			body: { prompt: 'A boat', aspect_ratio: 'VIDEO_ASPECT_RATIO_PORTRAIT', number_of_videos: 2 },
		});
		expect(answer.headers.get('content-type')).toContain('text/event-stream');
		const events = (await answer.text()).trim().split('\n\n');
		expect(events.slice(0, 2)).toEqual([
			'event: video_generation_status\ndata: "starting"',
			'event: video_generation_status\ndata: "processing"',
		]);
		const [name, data] = events[2]!.split('\n');
		expect(name).toBe('event: video_generation_complete');
		const items = JSON.parse(data!.slice('data: '.length));
		expect(items).toHaveLength(2);
		expect(items[0].created_at).toMatch(/\+00:00$/);
		const files = await Promise.all(items.map((item: any) => bytes(item.file_url)));
		expect(files[0].toString('latin1', 4, 8)).toBe('ftyp');
		expect(files[0].equals(files[1])).toBe(false);
		const history = await told('/v1/video/histories?page=1&page_size=1');
		expect(history).toHaveLength(1);
		expect(items).toContainEqual(history[0]);
		expect(simulator.creates).toBe(1);
	});
});

describe('faults', () => {
	it('records a token that reaches the file origin', async () => {
		await start({ dialect: { redirectFiles: true } });
		await draw();
		const url = simulator.history[0]!.file_url;
		expect(url.startsWith(simulator.baseUrl)).toBe(true);
		await bytes(url);
		expect(simulator.leaks).toEqual([]);
		const file = simulator.fileOrigin + new URL(url).pathname;
		const leaked = await fetch(file, { headers: { Authorization: 'Bearer demo-token' } });
		expect(leaked.status).toBe(400);
		expect(simulator.leaks).toHaveLength(1);
	});
});
