import type { GeneratedFile, ServiceRecord } from '../../nodes/shared/contract';
import { Claims } from '../../nodes/shared/generation/claims';
import { startDeadline } from '../../nodes/shared/async/deadline';
import { Failure, type FailureFacts } from '../../nodes/shared/failure';
import { HistoryReader } from '../../nodes/shared/generation/historyReader';
import { findLost, findRest } from '../../nodes/shared/generation/historyRecovery';
import type { Api } from '../../nodes/shared/api/api';

const SINCE = Date.parse('2026-01-01T10:00:00Z');
/** So far back, by our clock. */
const since = (laterMs = 0) => ({ ours: SINCE + laterMs, service: Infinity });
const never = new AbortController().signal;
const address = { baseUrl: 'https://media.example.com' };

/** A service whose history is these pages; counts how often it is asked. */
function historyOf(pages: ServiceRecord[][]) {
	let asked = 0;
	const histories = async ({ page }: { page: number }) => {
		asked++;
		return { items: pages[page - 1] ?? [], bare: false, clockOffsetMs: 0 };
	};
	return {
		watch: new HistoryReader({ listHistory: histories, credential: address } as unknown as Api),
		asked: () => asked,
	};
}
const entries = (count: number, first: number, secondsAfter: number) =>
	Array.from({ length: count }, (_, index) => ({
		id: `e${first + index}`,
		created_at: new Date(SINCE + secondsAfter * 1000).toISOString(),
	}));

describe('a look into the history', () => {
	it('holds an entry once although a new one has shifted the pages meanwhile', async () => {
		const newer = entries(100, 0, 60);
		const { watch, asked } = historyOf([newer, [newer[99]!, ...entries(99, 100, -60)]]);
		const items = await watch.newest(since(), never);
		expect(asked()).toBe(2);
		expect(items.filter(({ id }) => id === 'e99')).toHaveLength(1);
	});

	it('goes no further back than the request, and serves all who ask at once', async () => {
		const { watch, asked } = historyOf([entries(100, 0, -60), entries(100, 100, -120)]);
		await Promise.all([watch.newest(since(), never), watch.newest(since(1000), never)]);
		expect(asked()).toBe(1);
	});
});

describe('what the history holds of a request', () => {
	beforeEach(() => void jest.useFakeTimers({ now: SINCE + 1000 }));
	afterEach(() => void jest.useRealTimers());

	const file = (id: string, seconds = 5): ServiceRecord => ({
		id,
		prompt: 'P',
		file_url: `https://files.example.com/${id}.mp4`,
		created_at: new Date(SINCE + seconds * 1000).toISOString(),
	});

	/** What a stream has told of these. */
	const came = (...ids: string[]): GeneratedFile[] =>
		ids.map((id) => ({ id, fileUrl: String(file(id).file_url), fields: {} }));

	/** A request that was sent at SINCE, and the history in which it is searched for. */
	function searching(asked: { expected?: number; withImages?: boolean; told?: string[] } = {}) {
		const history: ServiceRecord[] = [];
		const over = new AbortController();
		const histories = jest.fn(async () => ({ items: [...history], bare: false, clockOffsetMs: 0 }));
		const api = { listHistory: histories, credential: address } as unknown as Api;
		const claims = new Claims();
		const claim = claims.begin({ prompt: 'P', began: SINCE, kind: 'video', expected: 1, ...asked });
		const { signal } = over;
		const search = { claim, claims, signal, shared: signal, reason: 'it broke' };
		const watch = new HistoryReader(api);
		/** How the search ends, and after how many seconds. */
		async function searched(got?: GeneratedFile[]) {
			const began = Date.now();
			const result: { ids?: unknown[]; error?: unknown; seconds?: number } = {};
			void findLost(api, watch, search, got)
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
		return { api, history, histories, over, claim, search, watch, searched };
	}

	it.each<[title: string, asked: Parameters<typeof searching>[0], least: number, most: number]>([
		['at once when there are just as many files as were asked for', {}, 0, 0],
		['five minutes later where images are part of the request', { withImages: true }, 299, 314],
		['a minute and a half later where more were asked for', { expected: 3 }, 90, 90],
		['a minute and a half later where the id told is not there', { told: ['id'] }, 90, 90],
	])('is taken %s, when nothing else has come', async (_, asked, least, most) => {
		const { history, searched } = searching(asked);
		history.push(file('mine'));
		const { ids, seconds } = await searched();
		expect(ids).toEqual(['mine']);
		expect(seconds).toBeGreaterThanOrEqual(least);
		expect(seconds).toBeLessThanOrEqual(most);
	});

	it('is all of the files asked for, though they are ready one by one', async () => {
		const { history, searched } = searching({ expected: 3 });
		for (const seconds of [0, 60, 120]) {
			setTimeout(() => history.unshift(file(`e${seconds}`, seconds)), seconds * 1000);
		}
		const { ids } = await searched();
		expect(ids).toEqual(['e0', 'e60', 'e120']);
	});

	it('is found by a look right before the deadline', async () => {
		const { api, history, search, watch } = searching();
		const { signal } = startDeadline(8000);
		setTimeout(() => history.push(file('mine')), 5000);
		const found = findLost(api, watch, { ...search, signal });
		await jest.advanceTimersByTimeAsync(8000);
		expect((await found).map(({ id }) => id)).toEqual(['mine']);
	});

	it('is found beside one that has come, though the history has other ids than the events', async () => {
		const { history, searched } = searching({ expected: 2 });
		history.push(file('mine'), file('rest', 1));
		const got = came('mine').map((one) => ({ ...one, id: 'number-of-an-event' }));
		const { ids, seconds } = await searched(got);
		expect(ids).toEqual(['number-of-an-event', 'rest']);
		expect(seconds).toBeLessThan(75);
	});

	it('is not told apart from a stranger’s that comes within those minutes', async () => {
		const { history, searched } = searching({ withImages: true });
		setTimeout(() => history.push(file('foreign')), 15_000);
		setTimeout(() => history.unshift(file('mine', 100)), 100_000);
		const { error } = await searched();
		const candidates = [{ id: 'mine' }, { id: 'foreign' }];
		expect(error).toMatchObject({ kind: 'streamLost', facts: { candidates } });
	});

	it.each<[string, FailureFacts, number]>([
		['one page of an edge', { status: 404, isEdge: true }, 1],
		['pages of an edge for minutes', { status: 404, isEdge: true }, 30],
		['what a replica that lags says for some time', { status: 404, text: 'not_found' }, 4],
	])('is found behind %s', async (_, facts, times) => {
		const { history, histories, searched } = searching();
		history.push(file('mine'));
		for (let n = 0; n < times; n++) histories.mockRejectedValueOnce(new Failure('notFound', facts));
		expect(await searched()).toMatchObject({ ids: ['mine'] });
		expect(histories).toHaveBeenCalledTimes(times + 1);
	});

	it('is given up as lost after a minute where the service has no history', async () => {
		const { histories, searched } = searching();
		histories.mockRejectedValue(new Failure('notFound', { status: 404, text: 'not_found' }));
		const { error, seconds } = await searched();
		expect(error).toMatchObject({ kind: 'streamLost', facts: { text: 'it broke' } });
		expect(seconds).toBeGreaterThanOrEqual(59);
		expect(seconds).toBeLessThan(75);
	});

	it('is completed by one look, made after the stream has ended', async () => {
		const { history, histories, search, watch } = searching({ expected: 3 });
		await watch.newest(since(), never);
		history.push(file('c', 7), file('b', 6), file('a', 5));
		await jest.advanceTimersByTimeAsync(10);
		const files = await findRest(watch, search, came('a', 'b'));
		expect(files.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
		expect(histories).toHaveBeenCalledTimes(2);
	});

	const alsoAt = (...file_urls: string[]) => ({ ...file('a'), file_urls });
	it.each<[string, ServiceRecord[], string[]]>([
		['another of the same entry', [alsoAt('/a2.mp4')], ['a.mp4', 'a2.mp4']],
		['no more of it than asked for', [alsoAt('/a2.mp4', '/a3.mp4')], ['a.mp4', 'a2.mp4']],
		['nothing new', [file('a')], ['a.mp4']],
		['more than were asked for', [file('x'), file('y'), file('a')], ['a.mp4']],
		['one under another name', [file('x')], ['a.mp4']],
		['it signed anew', [{ ...file('a'), id: 'x', file_url: `${file('a').file_url}?s` }], ['a.mp4']],
	])('holds besides a file that came: %s', async (_, entries, names) => {
		const { history, search, watch } = searching({ expected: 2 });
		history.push(...entries);
		const files = await findRest(watch, search, came('a'));
		expect(files.map(({ fileUrl }) => fileUrl.split('/').pop())).toEqual(names);
	});

	describe('besides the files that came before the stream was cut', () => {
		/** A search for three files, one of which has come. */
		const searchingRest = () => {
			const setting = searching({ expected: 3 });
			setting.claim.cutAt = Date.now();
			return { ...setting, searched: async () => await setting.searched(came('a')) };
		};

		it('is waited for, as long as for a lost one', async () => {
			const { history, searched } = searchingRest();
			history.push(file('a'));
			setTimeout(() => history.unshift(file('c', 300), file('b', 290)), 300_000);
			const { ids, seconds } = await searched();
			expect(ids).toEqual(['a', 'b', 'c']);
			expect(seconds).toBeLessThan(320);
		});

		it('is all that has come by the end of the search, or by the deadline', async () => {
			const { history, over, searched } = searchingRest();
			history.push(file('a'));
			const { ids, seconds } = await searched();
			expect(ids).toEqual(['a']);
			expect(seconds).toBeGreaterThanOrEqual(599);
			// A later try has no more than the rest of that time: one look here.
			history.unshift(file('b'));
			expect(await searched()).toMatchObject({ ids: ['a', 'b'], seconds: 15 });
			over.abort(new Failure('timedOut'));
			expect(await searched()).toMatchObject({ ids: ['a'], seconds: 0 });
		});

		it('is not waited for once the history says that the others have failed', async () => {
			const { history, searched } = searchingRest();
			const failed = ['b', 'c'].map((id) => ({ ...file(id), file_url: '', status: 'failed' }));
			history.push(...failed, file('a'));
			expect(await searched()).toMatchObject({ ids: ['a'], seconds: 0 });
		});

		it('costs none of these when the history refuses', async () => {
			const { histories, searched } = searchingRest();
			histories.mockRejectedValue(new Failure('tokenRefused'));
			expect(await searched()).toMatchObject({ ids: ['a'], seconds: 0 });
		});
	});

	it('costs no file when the look hangs', async () => {
		const { histories, search, watch } = searching({ expected: 2 });
		histories.mockReturnValue(new Promise(() => {}));
		const files = findRest(watch, search, came('a'));
		await jest.advanceTimersByTimeAsync(15_000);
		expect(await files).toEqual(came('a'));
	});
});
