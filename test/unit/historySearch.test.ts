import type { Api } from '../../nodes/shared/api/api';
import { startDeadline } from '../../nodes/shared/async/deadline';
import type { GeneratedFile, ServiceRecord, SentRequest } from '../../nodes/shared/contract';
import { Failure, type FailureFacts } from '../../nodes/shared/failure';
import { HistoryReader } from '../../nodes/shared/generation/historyReader';
import { findInHistory } from '../../nodes/shared/generation/historySearch';
import { requestsOf } from '../../nodes/shared/generation/sentRequests';
import { sent, SENT_AT } from './sent';

/* What the history holds of a request, when a search takes it, and how often the service is asked. */

beforeEach(() => void jest.useFakeTimers({ now: SENT_AT + 1000 }));
afterEach(() => void jest.useRealTimers());

const never = new AbortController().signal;
let accounts = 0;

/** An account whose history is `list`, in pages of a hundred. */
function account(list: ServiceRecord[] = []) {
	const listHistory = jest.fn(async ({ page }: { page: number }) => ({
		items: list.slice((page - 1) * 100, page * 100),
		bare: false,
		clockOffsetMs: 0,
	}));
	const credential = {
		accountKey: `account ${accounts++}`,
		baseUrl: 'https://media.example.com',
		redact: { value: <T>(value: T) => value },
	};
	return { api: { listHistory, credential } as unknown as Api, listHistory };
}

const file = (id: string, seconds = 5): ServiceRecord => ({
	id,
	prompt: 'P',
	file_url: `https://files.example.com/${id}.mp4`,
	created_at: new Date(SENT_AT + seconds * 1000).toISOString(),
});
const many = (count: number, first: number, seconds: number) =>
	Array.from({ length: count }, (_, index) => file(`e${first + index}`, seconds));

describe('a look into the history', () => {
	const reader = new HistoryReader();
	beforeEach(() => Object.assign(reader, { last: undefined }));

	it('holds an entry once although a new one has shifted the pages meanwhile', async () => {
		const newer = many(100, 0, 60);
		const { api, listHistory } = account([...newer, newer[99]!, ...many(99, 100, -60)]);
		const entries = await reader.look(api, SENT_AT, never);
		expect(listHistory).toHaveBeenCalledTimes(2);
		expect(entries.filter(({ id }) => id === 'e99')).toHaveLength(1);
	});

	it('goes no further back than the request, and serves all who ask at once', async () => {
		const { api, listHistory } = account([...many(100, 0, -60), ...many(100, 100, -120)]);
		const times = [SENT_AT + 1000, SENT_AT];
		await Promise.all(times.map((since) => reader.look(api, since, never)));
		expect(listHistory.mock.calls.length).toBeLessThanOrEqual(2);
	});

	it('of a whole history, however short, serves earlier requests as well', async () => {
		const { api, listHistory } = account([file('a')]);
		for (const since of [SENT_AT, SENT_AT - 60_000, 0]) await reader.look(api, since, never);
		expect(listHistory).toHaveBeenCalledTimes(1);
	});
});

/** A request whose stream is lost, and the history in which it is searched for, for so many seconds. */
function searching(asked: Partial<SentRequest> = {}, seconds = 600) {
	const history: ServiceRecord[] = [];
	const over = new AbortController();
	const { api, listHistory } = account(history);
	const request = sent({ searchUntil: Date.now() + seconds * 1000, ...asked });
	requestsOf(api.credential).remember(request);
	const find = async (signal = over.signal) =>
		await findInHistory(api, request, new Failure('streamLost', { text: 'it broke' }), signal);
	/** How the search ends, and after how many seconds. */
	async function searched() {
		const began = Date.now();
		const result: { ids?: unknown[]; error?: unknown; seconds?: number } = {};
		void find()
			.then(
				(files) => (result.ids = files.map(({ id }) => id)),
				(error: unknown) => (result.error = error),
			)
			.finally(() => (result.seconds = (Date.now() - began) / 1000));
		for (let n = 0; n < 700 && result.seconds === undefined; n++) {
			await jest.advanceTimersByTimeAsync(1000);
		}
		return result;
	}
	return { history, listHistory, over, request, find, searched };
}

it.each<[title: string, asked: Partial<SentRequest>, least: number, most: number]>([
	['at once when there are just as many files as were asked for', {}, 0, 0],
	['after five minutes where images are part of the request', { withImages: true }, 290, 310],
	['after ten minutes where more were asked for', { expected: 3 }, 600, 610],
])('a file is taken %s, when nothing else has come', async (_, asked, least, most) => {
	const { history, searched } = searching(asked);
	history.push(file('mine'));
	const { ids, seconds } = await searched();
	expect(ids).toEqual(['mine']);
	expect(seconds).toBeGreaterThanOrEqual(least);
	expect(seconds).toBeLessThanOrEqual(most);
});

it('all of the files asked for are found, though they are ready one by one', async () => {
	const { history, searched } = searching({ expected: 3 });
	for (const seconds of [0, 60, 120]) {
		setTimeout(() => history.unshift(file(`e${seconds}`, seconds)), seconds * 1000);
	}
	expect((await searched()).ids).toEqual(['e0', 'e60', 'e120']);
});

it('a file is found by a look right before the deadline', async () => {
	const { history, find } = searching();
	setTimeout(() => history.push(file('mine')), 5000);
	const found = find(startDeadline(8000).signal);
	await jest.advanceTimersByTimeAsync(8000);
	expect((await found).map(({ id }) => id)).toEqual(['mine']);
});

it('with images, it is not told apart from a stranger’s that comes within those minutes', async () => {
	const { history, searched } = searching({ withImages: true });
	setTimeout(() => history.push(file('foreign')), 15_000);
	setTimeout(() => history.unshift(file('mine', 100)), 100_000);
	const { error } = await searched();
	const candidates = [{ id: 'mine' }, { id: 'foreign' }];
	expect(error).toMatchObject({ kind: 'streamLost', facts: { text: 'it broke', candidates } });
});

it.each<[string, FailureFacts, number]>([
	['pages of an edge for minutes', { status: 404, isEdge: true }, 30],
	['what a replica that lags says for some time', { status: 404, text: 'not_found' }, 4],
])('a file is found behind %s', async (_, facts, times) => {
	const { history, listHistory, searched } = searching();
	history.push(file('mine'));
	for (let n = 0; n < times; n++) listHistory.mockRejectedValueOnce(new Failure('notFound', facts));
	expect(await searched()).toMatchObject({ ids: ['mine'] });
	expect(listHistory).toHaveBeenCalledTimes(times + 1);
});

it.each([
	['that finds nothing', undefined],
	['that fails', new Failure('unavailable', { status: 502, transient: true })],
])('the last look is one %s', async (_, failure) => {
	const { listHistory, searched } = searching({}, 10);
	if (failure) listHistory.mockRejectedValue(failure);
	const { error, seconds } = await searched();
	expect(error).toMatchObject({ kind: 'streamLost', facts: { text: 'it broke' } });
	expect([listHistory.mock.calls.length, seconds]).toEqual([2, 10]);
});

/** A request for three files, one of which has come, searched for during so many seconds. */
function oneOfThree(seconds?: number) {
	const { id, file_url } = file('a');
	const files: GeneratedFile[] = [{ id: 'a', fileUrl: String(file_url), fields: {} }];
	return searching({ expected: 3, told: [String(id)], files }, seconds);
}

describe('when the service has ended the stream before all files had come', () => {
	it.each<[string, ServiceRecord[], string[]]>([
		['completes them', [file('c', 7), file('b', 6), file('a', 5)], ['a', 'b', 'c']],
		['finds nothing new', [file('a')], ['a']],
		['finds more than were asked for', [file('x'), file('y'), file('z'), file('a')], ['a']],
	])('one look %s', async (_, entries, ids) => {
		const { history, listHistory, searched } = oneOfThree(0);
		history.push(...entries);
		expect(await searched()).toMatchObject({ ids, seconds: 0 });
		expect(listHistory).toHaveBeenCalledTimes(1);
	});

	it('a look that hangs costs none of those that came', async () => {
		const { listHistory, searched } = oneOfThree(0);
		listHistory.mockReturnValue(new Promise(() => {}));
		expect(await searched()).toMatchObject({ ids: ['a'], seconds: 15 });
	});
});

describe('when the stream was cut after a file had come', () => {
	it('all that has come by the end of the search, or by the deadline, comes out', async () => {
		const { history, over, searched } = oneOfThree();
		history.push(file('a'));
		const { ids, seconds } = await searched();
		expect(ids).toEqual(['a']);
		expect(seconds).toBeGreaterThanOrEqual(600);
		// A later try has no more than the rest of that time: one look here.
		history.unshift(file('b'));
		jest.advanceTimersByTime(2000);
		expect(await searched()).toMatchObject({ ids: ['a', 'b'], seconds: 0 });
		over.abort(new Failure('timedOut'));
		expect(await searched()).toMatchObject({ ids: ['a'], seconds: 0 });
	});

	it('nothing is waited for once the history says that the others have failed', async () => {
		const { history, searched } = oneOfThree();
		const failed = ['b', 'c'].map((id) => ({ ...file(id), file_url: '', status: 'failed' }));
		history.push(...failed, file('a'));
		expect(await searched()).toMatchObject({ ids: ['a'], seconds: 0 });
	});

	it('a history that refuses costs nothing of it', async () => {
		const { listHistory, searched } = oneOfThree();
		listHistory.mockRejectedValue(new Failure('tokenRefused'));
		expect(await searched()).toMatchObject({ ids: ['a'], seconds: 0 });
	});
});
