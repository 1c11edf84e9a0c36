import type { Api } from '../../nodes/shared/api/api';
import { startDeadline } from '../../nodes/shared/async/deadline';
import type { SpeechTask } from '../../nodes/shared/contract';
import type { Failure } from '../../nodes/shared/failure';
import { failureOfStatus } from '../../nodes/shared/parsing/errors';
import type { Connection } from '../../nodes/shared/speech/notifications';
import { waitForTask, type TaskWait } from '../../nodes/shared/speech/speechTask';

const JSON_404 = () => failureOfStatus(404, '{"error":"task_not_found"}');
const PAGE_404 = () => failureOfStatus(404, '<html><head><title>404 Not Found</title></head>');
const PASSING = () => failureOfStatus(503, '');

const task = (state: SpeechTask['state']): SpeechTask => ({
	state,
	status: state,
	fields: {},
	...(state === 'completed' ? { audioUrl: 'https://files.example/a.wav' } : {}),
});
const PENDING = () => task('pending');
const DONE = () => task('completed');
const NO_ADDRESS = (): SpeechTask => ({ state: 'completed', status: 'completed', fields: {} });
type Answer = () => SpeechTask | Failure;
const times = (count: number, ...answers: Answer[]) => Array<Answer[]>(count).fill(answers).flat();

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Waits up to half an hour for a task that is read as `answers` say, the last of them from then on. */
async function outcomeOf(begins: TaskWait['begins'], answers: Answer[]) {
	const began = Date.now();
	let readings = 0;
	const api = {
		pace: {
			turns: { lookup: async () => true, watch: async () => true },
			markUnderWay: () => () => {},
			noteFailed() {},
		},
		async getTask() {
			const answer = answers[Math.min(readings++, answers.length - 1)]!();
			if ('kind' in answer) throw answer;
			return answer;
		},
	} as unknown as Api;
	const subscription = { isOpen: false, follow: () => () => {} } as unknown as Connection;
	const wait: TaskWait = {
		taskId: '12',
		begins,
		signal: startDeadline(1_800_000).signal,
		pollIntervalMs: 5000,
		subscription,
		onProgress() {},
	};
	const end = waitForTask(api, wait).then(
		({ status }) => ({ status }),
		({ kind }: Failure) => ({ kind }),
	);
	const ended = end.then((found) => ({
		...found,
		seconds: Math.round((Date.now() - began) / 1000),
		readings,
	}));
	await jest.advanceTimersByTimeAsync(300_000);
	return await Promise.race([ended, Promise.resolve(undefined)]);
}

describe.each(['created', 'kept', 'given', 'heard', 'stored'] as const)('a task %s', (begins) => {
	const first = begins === 'created' || begins === 'heard' ? 5 : 0;

	it('is read at once unless it was only just made, or a message brings its news', async () => {
		expect(await outcomeOf(begins, [DONE])).toMatchObject({ status: 'completed', seconds: first });
	});

	it.each<[string, Answer[]]>([
		['of a replica that lags', [JSON_404, JSON_404, DONE]],
		['in between', [...times(20, PENDING, JSON_404), DONE]],
	])('may not be found for a moment: a 404 %s', async (_, answers) => {
		const { length: readings } = answers;
		expect(await outcomeOf(begins, answers)).toMatchObject({ status: 'completed', readings });
	});

	it.each<[string, Answer[], number]>([
		['JSON', [JSON_404], 11],
		['a page', [PAGE_404], 11],
		['JSON, beside failures that pass', [PENDING, JSON_404, PASSING, JSON_404], 16],
	])('is not there after ten seconds of 404s with %s', async (_, answers, seconds) => {
		const found = await outcomeOf(begins, answers);
		expect(found).toMatchObject({ kind: 'notFound' });
		expect(found!.seconds).toBeGreaterThanOrEqual(10);
		expect(found!.seconds).toBeLessThanOrEqual(first + seconds);
	});

	it('that never gets an address is given up after a minute', async () => {
		const found = await outcomeOf(begins, [NO_ADDRESS]);
		expect(found).toMatchObject({ kind: 'noAddress' });
		expect(found!.seconds - first).toBeGreaterThanOrEqual(60);
	});
});

it.each<[TaskWait['begins'], object | undefined]>([
	['given', { kind: 'unavailable', seconds: 0 }],
	['created', undefined],
])(
	'a task %s: failures from the first reading on may be another address (%p)',
	async (begins, end) => {
		const found = await outcomeOf(begins, [PASSING]);
		expect(found).toEqual(end && expect.objectContaining(end));
	},
);
