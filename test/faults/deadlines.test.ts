import { removeEngineFolder } from '../../demo/engine.mts';
import { assertClean, wordsOfFailure } from './check.mts';
import { drip, fileBegun, headersOnly, silent, type Handler } from '../service/fakeService.mts';
import { always, answer, GENERATIONS, onCreate, onRead, status } from './row.mts';
import { NODE, onStage, type Operation, type Stage } from './stage.mts';

/*
 * A service that says nothing more, at each stage: `Timeout` ends it. Operations without that option
 * are in patience.test.ts.
 */

afterAll(() => removeEngineFolder());

const TIMEOUT_MS = 1000;
/** How late a run may end on a busy machine. A reading gives up by itself only after 30 seconds. */
const LATE_MS = 25_000;

const TASKS: readonly Operation[] = ['speech:speak', 'speech:wait'];
const TIMED = [...TASKS, ...GENERATIONS];

interface Silence {
	at: string;
	operations: readonly Operation[];
	arrange(stage: Stage): unknown;
}

const files = (handle: Handler) => async (stage: Stage) => await stage.fileInFront(handle);

const neverDone = { ...onRead, ...always, ...answer(200, { id: 1, status: 'processing' }) };
const lostStream = { ...onCreate, action: { sse: [status('starting'), 'END' as const] } };

const SILENCES: Silence[] = [
	{
		at: 'the connection, which is accepted',
		operations: TIMED,
		arrange: async (stage) => {
			const front = await stage.front();
			front.upgrades = 'hang';
			front.on(/./, silent);
		},
	},
	{
		at: 'the answer, after its headers',
		operations: TIMED,
		arrange: async (stage) => (await stage.front()).on(/./, headersOnly),
	},
	{
		at: 'the task, which goes on forever',
		operations: TASKS,
		arrange: ({ sim }) => {
			sim.setWebSocketMode('silent');
			sim.fault(neverDone);
		},
	},
	{
		at: 'the result: only status events come',
		operations: GENERATIONS,
		arrange: async (stage) => {
			(await stage.front()).on(/^POST /, (_, response) => {
				response.writeHead(200, { 'content-type': 'text/event-stream' });
				drip(response, status('processing'), 100);
			});
		},
	},
	{
		at: 'the history, which never has the result of a lost stream',
		operations: GENERATIONS,
		arrange: ({ sim }) => sim.fault(lostStream),
	},
	{
		at: 'the history, which does not answer',
		operations: GENERATIONS,
		arrange: ({ sim }) => {
			sim.fault(lostStream);
			sim.fault({ ...onRead, ...always, action: { hang: true } });
		},
	},
	{
		at: 'the file, which does not answer',
		operations: TIMED,
		arrange: files(silent),
	},
	{
		at: 'the file, after some bytes',
		operations: TIMED,
		arrange: files(fileBegun),
	},
	{
		at: 'the file, which dribbles',
		operations: TIMED,
		arrange: files((request, response) => {
			fileBegun(request, response);
			drip(response, 'a', 200);
		}),
	},
	{
		at: 'the WebSocket, whose handshake is not answered, and the task',
		operations: TASKS,
		arrange: ({ sim }) => {
			sim.setWebSocketMode('hang');
			sim.fault(neverDone);
		},
	},
];

const MODES = ['stopWorkflow', 'continueRegularOutput'] as const;

// Few at once: what is measured is time.
test.each(SILENCES)('silence at $at', async ({ operations, arrange }) => {
	await Promise.all(
		operations.map((operation, index) =>
			onStage(operation, async (stage) => {
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
			}),
		),
	);
});
