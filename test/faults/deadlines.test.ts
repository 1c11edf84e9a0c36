import { createServer, type AddressInfo } from 'node:net';
import { removeEngineFolder } from '../../demo/engine.mts';
import { assertClean, wordsOfFailure } from './check.mts';
import { drip, endless, type Handler } from '../service/fakeService.mts';
import { GENERATIONS, status } from './row.mts';
import { NODE, Stage, type Operation } from './stage.mts';

/*
 * A service that says nothing more, at each stage: `Timeout` ends it. Operations without that option
 * are in patience.test.ts.
 */

afterAll(() => removeEngineFolder());

const TIMEOUT_MS = 1000;
/** How late a run may end: n8n's engine and the machine take their part of it. */
const LATE_MS = 10_000;

const TASKS: readonly Operation[] = ['speech:speak', 'speech:wait'];
const TIMED = [...TASKS, ...GENERATIONS];
const FILE_STAGES = ['speech:speak', 'speech:wait', ...GENERATIONS] as const;

interface Silence {
	at: string;
	operations: readonly Operation[];
	arrange(stage: Stage): Promise<void> | void;
}

const hang: Handler = (_, response) => {
	response.writeHead(200, { 'content-type': 'text/event-stream' });
	response.flushHeaders();
};

const files = (handle: Handler) => async (stage: Stage) => {
	// Their addresses are on the API's origin, hence in front of it.
	Object.assign(stage.sim.dialect, { relativeAudioUrl: true, redirectFiles: true });
	const front = await stage.front();
	const file = `${front.url}/files/x`;
	front.on('GET', /^\/files\//, handle);
	front.on('GET', /^\/v1\/labs\/task\//, (_, response) => {
		response.end(JSON.stringify({ id: 1, status: 'completed', audio_url: file }));
	});
	front.on('POST', /^\/v1\/video/, (_, response) => {
		response.end(JSON.stringify([{ id: 'x', file_url: file }]));
	});
};

const SILENCES: Silence[] = [
	{
		at: 'the connection, which is accepted',
		operations: TIMED,
		async arrange(stage) {
			const server = createServer((socket) => {
				socket.on('error', () => socket.destroy());
				stage.onClose(() => void socket.destroy());
			});
			await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
			stage.onClose(() => void server.close());
			const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
			stage.credential = () => ({ apiToken: stage.sim.token, baseUrl, webSocketUrl: '' });
		},
	},
	{
		at: 'the answer, after its headers',
		operations: TIMED,
		arrange: async (stage) => {
			const front = await stage.front();
			front.on('POST', /^\/v1\//, hang);
			front.on('GET', /^\/v1\//, hang);
		},
	},
	{
		at: 'the task, which goes on for ever',
		operations: TASKS,
		arrange: ({ sim }) => {
			sim.setWebSocketMode('silent');
			const respond = { status: 200, body: { id: 1, status: 'processing' } };
			sim.fault({ method: 'GET', times: Infinity, action: { respond } });
		},
	},
	{
		at: 'the result: only status events come',
		operations: GENERATIONS,
		arrange: async (stage) => {
			(await stage.front()).on('POST', /^\/v1\//, (_, response) => {
				response.writeHead(200, { 'content-type': 'text/event-stream' });
				drip(response, endless(status('processing')), 100);
			});
		},
	},
	{
		at: 'the history, which never has the result of a lost stream',
		operations: GENERATIONS,
		arrange: ({ sim }) =>
			sim.fault({ method: 'POST', action: { sse: [status('starting'), 'END'] } }),
	},
	{
		at: 'the history, which does not answer',
		operations: GENERATIONS,
		arrange: ({ sim }) => {
			sim.fault({ method: 'POST', action: { sse: [status('starting'), 'END'] } });
			sim.fault({ method: 'GET', times: Infinity, action: { hang: true } });
		},
	},
	{
		at: 'the file, which does not answer',
		operations: FILE_STAGES,
		arrange: files(() => {}),
	},
	{
		at: 'the file, after some bytes',
		operations: FILE_STAGES,
		arrange: files((_, response) => {
			response.writeHead(200, { 'content-length': 100_000 });
			response.write(Buffer.alloc(2000, 1));
		}),
	},
	{
		at: 'the file, which dribbles',
		operations: FILE_STAGES,
		arrange: files((_, response) => {
			response.writeHead(200, { 'content-length': 100_000 });
			response.write(Buffer.alloc(2000, 1));
			drip(response, endless('a'), 200);
		}),
	},
	{
		at: 'the WebSocket, whose handshake is not answered, and the task',
		operations: TASKS,
		arrange: ({ sim }) => {
			sim.setWebSocketMode('hang');
			const respond = { status: 200, body: { id: 1, status: 'processing' } };
			sim.fault({ method: 'GET', times: Infinity, action: { respond } });
		},
	},
];

const MODES = ['stopWorkflow', 'continueRegularOutput'] as const;

// Few at once: what is measured is time.
test.each(SILENCES)('silence at $at', async ({ operations, arrange }) => {
	await Promise.all(
		operations.map(async (operation, index) => {
			const stage = await Stage.open(operation);
			try {
				await arrange(stage);
				const result = await stage.run({
					options: { timeout: TIMEOUT_MS / 1000 },
					node: { onError: MODES[index % MODES.length]! },
				});
				expect(wordsOfFailure(result)).toMatch(/No result after 1 second|stopped reporting/);
				const { executionTime } = result.task(NODE)!;
				expect(executionTime).toBeGreaterThanOrEqual(TIMEOUT_MS - 20);
				expect(executionTime).toBeLessThan(TIMEOUT_MS + LATE_MS);
				await assertClean(stage, result);
			} finally {
				await stage.close();
			}
		}),
	);
});
