import { failureOfStatus } from '../../nodes/shared/parsing/errorResponses';
import { startDeadline } from '../../nodes/shared/async/deadline';
import type { SpeechTask } from '../../nodes/shared/contract';
import type { Failure } from '../../nodes/shared/failure';
import type { Follower, Subscription } from '../../nodes/shared/speech/notifications';
import type { Api } from '../../nodes/shared/api/api';
import { waitForTask, type TaskWait } from '../../nodes/shared/speech/speechTask';

const JSON_404 = () => failureOfStatus(404, '{"error":"task_not_found"}');
const PAGE_404 = () => failureOfStatus(404, '<html><head><title>404 Not Found</title></head>');
const PLAIN_404 = () => failureOfStatus(404, 'default backend - 404');
const EMPTY_404 = () => failureOfStatus(404, '');
const PASSING = () => failureOfStatus(503, '');

const task = (state: SpeechTask['state']): SpeechTask => ({
	state,
	status: state,
	fields: {},
	...(state === 'completed' ? { audioUrl: 'https://files.example/a.wav' } : {}),
});
const PENDING = () => task('pending');
const DONE = () => task('completed');
const CREATED = { justCreated: true };
type Answer = () => SpeechTask | Failure;
const times = (count: number, ...answers: Answer[]) => Array<Answer[]>(count).fill(answers).flat();

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Waits for a task that is read as `answers` say, the last of them from then on. */
function start(answers: Answer[], options: Partial<TaskWait> = {}) {
	let follower: Follower | undefined;
	let readings = 0;
	const subscription = {
		isOpen: () => false,
		isLive: () => false,
		follow(_: string, added: Follower) {
			follower = added;
			return () => {};
		},
	} as unknown as Subscription;
	const api = {
		rateLimit: { cooldownMs: () => 0, turns: { lookup: async () => true }, begin: () => () => {} },
		async getTask() {
			const answer = answers[Math.min(readings++, answers.length - 1)]!();
			if ('kind' in answer) throw answer;
			return answer;
		},
	} as unknown as Api;
	const began = Date.now();
	const wait: TaskWait = {
		taskId: '12',
		signal: startDeadline(options.justCreated === true ? 3_600_000 : 1_800_000).signal,
		pollIntervalMs: 5000,
		subscription,
		justCreated: false,
		onProgress() {},
		...options,
	};
	let ended: { status?: string; kind?: string; seconds: number } | undefined;
	const seconds = () => Math.round((Date.now() - began) / 1000);
	void waitForTask(api, wait).then(
		({ status }) => (ended = { status, seconds: seconds() }),
		({ kind }: Failure) => (ended = { kind, seconds: seconds() }),
	);
	return {
		message: (percentage: number) =>
			follower!(percentage === 100 ? 'outcome' : 'progress', percentage),
		pass: async (s: number) => await jest.advanceTimersByTimeAsync(s * 1000),
		readings: () => readings,
		get ended() {
			return ended;
		},
	};
}

describe('a 404 that passes does not end the wait', () => {
	it.each<[string, Answer[], Partial<TaskWait>]>([
		['of a task created half a minute ago', [...times(11, PENDING), JSON_404, DONE], CREATED],
		['of a task of an earlier attempt', [JSON_404, DONE], { isKnown: true }],
		['of a task that was read before', [PENDING, JSON_404, DONE], {}],
		['again and again, with readings between', [...times(20, PENDING, JSON_404), DONE], {}],
		['for three quarters of a minute', [PENDING, ...times(9, JSON_404), DONE], {}],
		['with a page of an ingress, at the first reading', [PAGE_404, DONE], {}],
		['with a text of an ingress, at the first reading', [PLAIN_404, DONE], {}],
		['with a page of an ingress, later', [PENDING, PAGE_404, PAGE_404, DONE], {}],
	])('%s', async (_, answers, options) => {
		const wait = start(answers, options);
		await wait.pass(300);
		expect(wait.ended).toMatchObject({ status: 'completed' });
		expect(wait.readings()).toBe(answers.length);
	});

	it('of a task that a message announced', async () => {
		const wait = start([JSON_404, DONE]);
		wait.message(5);
		await wait.pass(10);
		expect(wait.ended).toMatchObject({ status: 'completed' });
	});
});

describe('a task that is not there', () => {
	it.each([
		['JSON', JSON_404],
		['nothing', EMPTY_404],
	])('is said at once when only a person has named it, by a 404 with %s', async (_, answer) => {
		const wait = start([answer]);
		await wait.pass(0);
		expect(wait.ended).toEqual({ kind: 'notFound', seconds: 0 });
	});

	it.each<[string, Answer[], Partial<TaskWait>, number]>([
		['created by us', [JSON_404], CREATED, 65],
		['of an earlier attempt', [JSON_404], { isKnown: true }, 60],
		['read before', [PENDING, JSON_404], {}, 65],
		['read before, beside failures that pass', [PENDING, JSON_404, PASSING, JSON_404], {}, 65],
		['hidden by an ingress', [PAGE_404], {}, 60],
	])('is said after a minute of nothing else: %s', async (_, answers, options, seconds) => {
		const wait = start(answers, options);
		await wait.pass(59);
		expect(wait.ended).toBeUndefined();
		await wait.pass(100);
		expect(wait.ended).toEqual({ kind: 'notFound', seconds });
	});

	it('is not said of two readings, however far apart', async () => {
		const wait = start([PENDING, JSON_404, JSON_404, DONE], { pollIntervalMs: 300_000 });
		await wait.pass(1000);
		expect(wait.ended).toMatchObject({ status: 'completed' });
	});
});
