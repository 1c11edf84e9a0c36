import { removeEngineFolder } from '../../demo/engine.mts';
import { assertClean, wordsOfFailure } from './check.mts';
import { drip, fileBegun, headersOnly, silent } from '../service/fakeService.mts';
import {
	always,
	answer,
	fileInFront,
	GENERATIONS,
	inFront,
	isMute,
	on,
	status,
	type Row,
} from './row.mts';
import { NODE, onStage, type Operation } from './stage.mts';

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

const neverDone = { ...on.read, ...always, ...answer(200, { id: 1, status: 'processing' }) };
const lostStream = { ...on.create, action: { sse: [status('starting'), 'END' as const] } };

const SILENCES: Array<[at: string, operations: readonly Operation[], arrange: Row['make']]> = [
	['the connection, which is accepted', TIMED, isMute],
	['the answer, after its headers', TIMED, inFront(/./, headersOnly)],
	[
		'the task, which goes on forever',
		TASKS,
		({ sim }) => {
			sim.setWebSocketMode('silent');
			sim.fault(neverDone);
		},
	],
	[
		'the result: only status events come',
		GENERATIONS,
		inFront(/^POST /, (_, response) => {
			response.writeHead(200, { 'content-type': 'text/event-stream' });
			drip(response, status('processing'), 100);
		}),
	],
	[
		'the history, which never has the result of a lost stream',
		GENERATIONS,
		({ sim }) => sim.fault(lostStream),
	],
	[
		'the history, which does not answer',
		GENERATIONS,
		({ sim }) => {
			sim.fault(lostStream);
			sim.fault({ ...on.read, ...always, action: { hang: true } });
		},
	],
	['the file, which does not answer', TIMED, fileInFront(silent)],
	['the file, after some bytes', TIMED, fileInFront(fileBegun)],
	[
		'the file, which dribbles',
		TIMED,
		fileInFront((request, response) => {
			fileBegun(request, response);
			drip(response, 'a', 200);
		}),
	],
	[
		'the WebSocket, whose handshake is not answered, and the task',
		TASKS,
		({ sim }) => {
			sim.setWebSocketMode('hang');
			sim.fault(neverDone);
		},
	],
];

const MODES = ['stopWorkflow', 'continueRegularOutput'] as const;

// Few at once: what is measured is time.
test.each(SILENCES)('silence at %s', async (_, operations, arrange) => {
	await Promise.all(
		operations.map((operation, index) =>
			onStage(operation, async (stage) => {
				await arrange?.(stage);
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
