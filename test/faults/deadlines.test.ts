import { removeEngineFolder } from '../../demo/engine.mts';
import type { FaultRule } from '../../simulator/simulator.mts';
import { assertClean, wordsOfFailure } from './check.mts';
import { drip, fileBegun, headersOnly, silent, type Handler } from '../service/fakeService.mts';
import { always, answer, STREAMED, inFront, neverAnswers, on, status, type Row } from './row.mts';
import type { Operation } from '../service/operations.mts';
import { NODE, onStage } from './stage.mts';

/*
 * A service that falls silent at each stage. The parameter Timeout ends the wait. Operations without it are in
 * test/engine/patience.test.ts.
 */

afterAll(() => removeEngineFolder());

const TIMEOUT_MS = 1000;
/** How late a run may end on a busy machine, in ms. It is less than the time limit of a read, which is 30 seconds. */
const LATE_MS = 25_000;

const TASKS: readonly Operation[] = ['speech:speak', 'speech:wait'];
const TIMED = [...TASKS, ...STREAMED];

const neverDone = { ...on.read, ...always, ...answer(200, { id: 1, status: 'processing' }) };
const lostStream = { ...on.create, action: { sse: [status('starting'), 'END' as const] } };

function fileFrom(handle: Handler): Row['make'] {
	return async (stage) => (await stage.proxy()).serveFile(handle);
}
function dribbling(...file: Parameters<Handler>): void {
	fileBegun(...file);
	drip(file[1], 'a', 200);
}

const answersNothing = { ...on.read, ...always, action: { hang: true } };
const faults =
	(...rules: FaultRule[]): Row['make'] =>
	({ sim }) =>
		rules.forEach((rule) => sim.fault(rule));
const socket =
	(mode: 'silent' | 'hang'): Row['make'] =>
	({ sim }) => {
		sim.setWebSocketMode(mode);
		sim.fault(neverDone);
	};
const onlyStatus: Handler = (_, response) => {
	response.writeHead(200, { 'content-type': 'text/event-stream' });
	drip(response, status('processing'), 100);
};

const SILENCES: Array<[at: string, operations: readonly Operation[], arrange: Row['make']]> = [
	['the connection, which is accepted', TIMED, neverAnswers],
	['the answer, after its headers', TIMED, inFront(/./, headersOnly)],
	['the task, which goes on forever', TASKS, socket('silent')],
	['the WebSocket, whose handshake is not answered, and the task', TASKS, socket('hang')],
	['the result: only status events come', STREAMED, inFront(/^POST /, onlyStatus)],
	['the history, which never has the result of a lost stream', STREAMED, faults(lostStream)],
	['the history, which does not answer', STREAMED, faults(lostStream, answersNothing)],
	['the file, which does not answer', TIMED, fileFrom(silent)],
	['the file, after some bytes', TIMED, fileFrom(fileBegun)],
	['the file, which dribbles', TIMED, fileFrom(dribbling)],
];

const MODES = ['stopWorkflow', 'continueRegularOutput'] as const;

// Only few run at the same time, because the times are measured.
test.each(SILENCES)('silence at %s', async (_, operations, arrange) => {
	await Promise.all(
		operations.map((operation, index) =>
			onStage(operation, async (stage) => {
				await arrange?.(stage);
				const result = await stage.run({
					options: { timeout: TIMEOUT_MS / 1000 },
					node: { onError: MODES[index % MODES.length]! },
				});
				expect(wordsOfFailure(result)).toMatch(/No result after 1 second|result did not arrive/);
				const { executionTime } = result.task(NODE)!;
				expect(executionTime).toBeGreaterThanOrEqual(TIMEOUT_MS - 20);
				expect(executionTime).toBeLessThan(TIMEOUT_MS + LATE_MS);
				await assertClean(stage, result);
			}),
		),
	);
});
