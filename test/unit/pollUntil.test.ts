import { startDeadline } from '../../nodes/shared/async/deadline';
import {
	pollUntil,
	type News,
	type NewsKind,
	type PollOptions,
	type Reading,
} from '../../nodes/shared/async/pollUntil';
import { Failure } from '../../nodes/shared/failure';

const pending: Reading<string> = { done: false };
const done: Reading<string> = { done: true, value: 'the result' };
const found = async () => done;
const passing = () => new Failure('unavailable', { transient: true });
/** A reading that takes so many milliseconds, unless its signal ends it. */
const slowly = (ms: number) => async (signal: AbortSignal) =>
	await new Promise<Reading<string>>((resolve, reject) => {
		setTimeout(() => resolve(done), ms);
		signal.addEventListener('abort', () => reject(passing()));
	});
const unanswered = async () => await new Promise<never>(() => {});
/** Readings that find these one after another, the last of them from then on. */
const inTurn =
	(...found: Array<Reading<string> | Failure>) =>
	async () => {
		const next = found.length > 1 ? found.shift()! : found[0]!;
		if (next instanceof Failure) throw next;
		return next;
	};

/** What is heard after so many seconds. */
type Heard = [at: number, news: NewsKind];

interface Setting extends Partial<PollOptions<string>> {
	/** Until the deadline. */
	seconds?: number;
	heard?: Heard[];
	isLive?: boolean;
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Starts a wait and notes at which second each reading took place, and how it ended. */
function start({ seconds: limit = 1e6, heard = [], isLive = false, ...options }: Setting = {}) {
	const began = Date.now();
	const seconds = () => (Date.now() - began) / 1000;
	const news: News = {
		isLive: () => isLive,
		start(onNews) {
			for (const [at, kind] of heard) {
				if (at === 0) onNews(kind);
				else setTimeout(() => onNews(kind), at * 1000);
			}
		},
	};
	const wait = {
		at: new Array<number>(),
		ended: undefined as { value?: string; error?: unknown; at: number } | undefined,
		pass: async (s: number) => await jest.advanceTimersByTimeAsync(s * 1000),
	};
	const deadline = startDeadline(limit * 1000);
	const read = options.read ?? inTurn(pending);
	void pollUntil<string>({
		pollMs: 5000,
		signal: deadline.signal,
		news,
		...options,
		async read(signal) {
			wait.at.push(seconds());
			return await read(signal);
		},
	})
		.then(
			(value) => (wait.ended = { value, at: seconds() }),
			(error: unknown) => (wait.ended = { error, at: seconds() }),
		)
		.finally(() => deadline.stop());
	return wait;
}

describe('reads', () => {
	const live = { isLive: true };
	it.each<[title: string, at: number[], setting: Setting]>([
		['every poll interval', [5, 10, 15], {}],
		['at once where the outcome may be there already', [0, 5, 10], { readFirst: true }],
		['ever more rarely beside a live channel, up to 30 s', [5, 15, 35, 65, 95], live],
		['soon after the channel was lost', [5, 15, 25], { heard: [[20, 'lost']], ...live }],
		['on when readings fail, if that may pass', [5, 10, 15], { read: inTurn(passing()) }],
		['once before a long deadline', [118], { seconds: 120, pollMs: 1e6 }],
		['then in place of a reading that hangs', [5, 9], { seconds: 10, read: slowly(60_000) }],
	])('%s', async (_, at, setting) => {
		const wait = start(setting);
		await wait.pass(at.at(-1)!);
		expect(wait.at).toEqual(at);
	});
});

describe('a wait ends', () => {
	const fatal = new Failure('taskFailed', { text: 'no' });
	const value = 'the result';
	it.each<[title: string, ended: object, setting: Setting]>([
		['with what a reading finds', { value, at: 5 }, { read: found }],
		['at once if that was before', { value, at: 0 }, { read: found, heard: [[0, 'outcome']] }],
		['with a final failure', { error: fatal, at: 5 }, { read: inTurn(fatal) }],
		['at its deadline', { error: { kind: 'timedOut' }, at: 7 }, { seconds: 7 }],
		['although a reading hangs', { at: 7 }, { seconds: 7, read: unanswered }],
	])('%s', async (_, ended, setting) => {
		const wait = start(setting);
		await wait.pass(8);
		expect(wait.ended).toMatchObject(ended);
	});

	it('with the reason of a cancel, though a reading finds the result', async () => {
		const cancel = new AbortController();
		const read = async () => {
			cancel.abort(new Failure('canceled'));
			return done;
		};
		const wait = start({ signal: cancel.signal, read });
		await wait.pass(5);
		expect(wait.ended).toMatchObject({ error: { kind: 'canceled' } });
	});
});

it('a wait goes on reading when the clock is set back', async () => {
	const wait = start();
	await wait.pass(5);
	jest.setSystemTime(Date.now() - 10_800_000);
	await wait.pass(10);
	expect(wait.at).toHaveLength(3);
});
