import type { Api } from '../../nodes/shared/api/api';
import { startDeadline } from '../../nodes/shared/async/deadline';
import type { SpeechTask } from '../../nodes/shared/contract';
import type { Failure } from '../../nodes/shared/failure';
import { failureOfStatus } from '../../nodes/shared/parsing/errors';
import { CoalescedReads } from '../../nodes/shared/async/coalescedReads';
import { Throttle } from '../../nodes/shared/pace/throttle';
import type { AccountSocket } from '../../nodes/shared/speech/accountSocket';
import { waitForTask, type TaskWait } from '../../nodes/shared/speech/speechTask';

const JSON_404 = () => failureOfStatus(404, '{"error":"task_not_found"}');
const PAGE_404 = () => failureOfStatus(404, '<html><head><title>404 Not Found</title></head>');
const PASSING = () => failureOfStatus(503, '');
const THROTTLED = () => failureOfStatus(429, '{"error":"Too many requests"}');

const task = (end?: SpeechTask['end']): SpeechTask => ({
	end,
	isEndCertain: end !== undefined,
	status: end ?? 'pending',
	raw: {},
	...(end === 'completed' ? { audioUrl: 'https://files.example/a.wav' } : {}),
});
const PENDING = () => task();
const DONE = () => task('completed');
/** Words of other services, beside what they need to be an end. */
const SUCCEEDED = (): SpeechTask => ({
	...task('completed'),
	...{ status: 'succeeded', isEndCertain: false },
});
const EXPIRED = (): SpeechTask => ({
	...{ ...task('error'), status: 'expired', isEndCertain: false },
	reason: 'Too late',
});
const OVERLOADED = (): SpeechTask => ({ ...task('error'), reason: 'Too many concurrent tasks' });
const NO_ADDRESS = (): SpeechTask => ({ ...task('completed'), audioUrl: undefined });
/** `seconds`: since the first reading. */
type Answer = (seconds: number) => SpeechTask | Failure;
/** The service is there again after so many seconds. */
const outage = (forSeconds: number, failure: Answer): Answer[] => [
	(seconds) => (seconds < forSeconds ? failure(seconds) : DONE()),
];
const times = (count: number, ...answers: Answer[]) => Array<Answer[]>(count).fill(answers).flat();

beforeEach(() => {
	jest.useFakeTimers();
	jest.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
	jest.useRealTimers();
	jest.restoreAllMocks();
});

const MODES = {
	created: { readFirst: false },
	'of an earlier attempt': { readFirst: true },
	announced: { readFirst: false, isBackground: true },
	stored: { readFirst: true, isBackground: true },
};
/** When it is first read, in seconds. */
const FIRST = { created: 5, 'of an earlier attempt': 0, announced: 5, stored: 0 };

/** Waits for a task that is read as `answers` say, the last of them from then on. */
async function outcomeOf(
	mode: keyof typeof FIRST,
	answers: Answer[],
	{ timeoutMs = 1_800_000, announcedMs = 1_700_000 } = {},
) {
	const began = Date.now();
	let reads = 0;
	let first: number | undefined;
	const api = {
		throttle: new Throttle(),
		coalescedReads: new CoalescedReads(),
		async getTask(...[, , options]: Parameters<Api['getTask']>) {
			options?.onSend?.();
			first ??= Date.now();
			const answer = answers[Math.min(reads++, answers.length - 1)]!((Date.now() - first) / 1000);
			if ('kind' in answer) throw answer;
			return answer;
		},
	} as unknown as Api;
	const subscribeToTask: AccountSocket['subscribeToTask'] = (_, onEvent) => {
		const announcing = setTimeout(() => onEvent('announced', 100), announcedMs);
		return () => clearTimeout(announcing);
	};
	const accountSocket = { isOpen: false, subscribeToTask } as unknown as AccountSocket;
	const wait: TaskWait = {
		taskId: '12',
		...MODES[mode],
		signal: startDeadline(timeoutMs).signal,
		pollIntervalMs: 5000,
		accountSocket,
		onProgress() {},
	};
	const end = waitForTask(api, wait).then(
		({ status }) => ({ status }),
		({ kind, facts }: Failure) => ({ kind, status: facts.lastKnownStatus }),
	);
	const ended = end.then((found) => ({
		...found,
		seconds: Math.round((Date.now() - began) / 1000),
		reads,
		inFlight: api.throttle.inFlight,
		isHeldUp: api.throttle.limit.delayMs(0) > 0,
	}));
	await jest.advanceTimersByTimeAsync(300_000);
	return await Promise.race([ended, Promise.resolve(undefined)]);
}

const REPEATED = times(20, PENDING, JSON_404);
const passing = [PENDING, JSON_404, PASSING, JSON_404];

/** How it ends, and from when to when after the first reading, in seconds. */
describe.each(Object.keys(FIRST) as Array<keyof typeof FIRST>)('a task %s', (mode) => {
	it.each<[string, Answer[], end: object, from: number, to: number]>([
		['is there', [DONE], { status: 'completed' }, 0, 0],
		['is missed by a replica that lags', [JSON_404, JSON_404, DONE], { reads: 3 }, 0, 11],
		['is missed now and then', [...REPEATED, DONE], { status: 'completed', reads: 41 }, 1, 300],
		['is not found for ten seconds', [JSON_404], { kind: 'notFound' }, 10, 11],
		['is there after an outage', outage(90, PASSING), { status: 'completed' }, 90, 100],
		['is there after an outage with pages', outage(90, PAGE_404), { status: 'completed' }, 90, 100],
		[
			'is hidden by an ingress',
			[PENDING, ...outage(90, PAGE_404)],
			{ status: 'completed' },
			90,
			100,
		],
		['is not found, beside failures', passing, { kind: 'notFound' }, 10, 16],
		['has succeeded for ten seconds', [SUCCEEDED], { status: 'completed' }, 10, 16],
		['has expired for ten seconds', [EXPIRED], { kind: 'taskFailed' }, 10, 16],
		['has expired now and then', [...times(20, EXPIRED, PENDING), DONE], { reads: 41 }, 1, 300],
		['gets no address for a minute', [NO_ADDRESS], { kind: 'noAudioUrl' }, 60, 300],
	])('%s', async (_, answers, end, from, to) => {
		const found = await outcomeOf(mode, answers);
		expect(found).toMatchObject({ ...end, inFlight: 0 });
		expect(found!.seconds - FIRST[mode]).toBeGreaterThanOrEqual(from);
		expect(found!.seconds - FIRST[mode]).toBeLessThanOrEqual(to);
	});
});

const UNTIL_36_S = (earlier: Answer, later: Answer): Answer[] => [
	(at) => (at < 36 ? earlier(at) : later(at)),
];

it.each<[string, Answer[], kind: string, status: string]>([
	['never answers', [PASSING], 'unavailable', 'pending, then HTTP 503'],
	['has been read before an outage', [PENDING, PASSING], 'timedOut', 'pending, then HTTP 503'],
	['is read after an outage', UNTIL_36_S(PASSING, PENDING), 'timedOut', 'pending'],
	[
		'a replica does not know at last',
		UNTIL_36_S(PASSING, JSON_404),
		'timedOut',
		'pending, then HTTP 404',
	],
	['is never read because of a rate limit', [THROTTLED], 'timedOut', 'pending, then HTTP 429'],
])('a task that %s, when the time is up', async (_, answers, kind, status) => {
	const found = await outcomeOf('created', answers, { timeoutMs: 45_000 });
	expect(found).toMatchObject({ kind, status, seconds: 45 });
});

it.each<[string, Parameters<typeof outcomeOf>[2] & { pendings?: number }, object]>([
	['shortly before the time is up', { timeoutMs: 9000 }, { seconds: 8, reads: 2 }],
	['again in a moment, once it is announced', { announcedMs: 100 }, { seconds: 0, reads: 2 }],
	['a few times in that moment', { announcedMs: 100, pendings: 3 }, { seconds: 0, reads: 4 }],
])('a new task is read %s', async (_, { pendings = 1, ...more }, found) => {
	expect(await outcomeOf('created', [...times(pendings, PENDING), DONE], more)).toMatchObject({
		status: 'completed',
		...found,
	});
});

test.each<[keyof typeof FIRST, Answer[], isHeldUp: boolean]>([
	['created', [OVERLOADED], true],
	['of an earlier attempt', [PENDING, OVERLOADED], true],
	// It may have failed yesterday.
	['of an earlier attempt', [OVERLOADED], false],
	['announced', [PENDING, OVERLOADED], false],
])(
	'a task %s that is overloaded holds up the next one if that is news: %#',
	async (mode, ...row) => {
		const [answers, isHeldUp] = row;
		expect(await outcomeOf(mode, answers)).toMatchObject({ kind: 'taskFailed', isHeldUp });
	},
);
