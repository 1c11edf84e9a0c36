import type { Api } from '../../nodes/shared/api/api';
import { CoalescedReads } from '../../nodes/shared/async/coalescedReads';
import { startDeadline, throwIfAborted, whenAborted } from '../../nodes/shared/async/deadline';
import type { ServiceRecord } from '../../nodes/shared/contract';
import { Failure } from '../../nodes/shared/failure';
import { readHistorySince } from '../../nodes/shared/generation/historyReader';
import { findInHistory, findRenewedFile } from '../../nodes/shared/generation/historySearch';
import {
	type MediaRequest,
	allRequests,
	ledgerOf,
} from '../../nodes/shared/generation/requestLedger';
import { failureOfStatus } from '../../nodes/shared/parsing/errors';
import { readGeneratedFiles } from '../../nodes/shared/parsing/responses';
import { sent as sentBy, SENT_AT } from './sent';

/* What the history holds of a request, when a search takes it, and how often the service is asked. */

beforeEach(() => void jest.useFakeTimers({ now: SENT_AT + 1000 }));
afterEach(() => void jest.useRealTimers());
/** The requests of one test are not those of another token in the next. */
afterEach(() => allRequests().forEach((request) => (request.prompt = '')));

const file = (id: string, seconds = 5): ServiceRecord => ({
	id,
	prompt: 'P',
	file_url: `https://files.example.com/${id}.mp4`,
	created_at: new Date(SENT_AT + seconds * 1000).toISOString(),
});
const failed = (id: string) => ({ ...file(id), file_url: '', status: 'failed' });

interface Setting {
	requested?: Partial<MediaRequest>;
	/** What is listed, newest first, once so many seconds have passed. */
	after?: number;
	/** What each look meets first. */
	meets?: Array<Failure | 'hangs'>;
	/** How long the search may take, and the item, in seconds. */
	search?: number;
	limit?: number;
}

/** Each test has an account of its own. */
let accounts = 0;
beforeEach(() => void accounts++);
const accountKey = () => `account ${accounts}`;
const sent = (fields: Partial<MediaRequest> = {}) =>
	sentBy({ accountKey: accountKey(), ...fields });

/** The account of this test, whose history is listed so. */
function apiOf(listHistory: unknown): Api {
	const redact = { value: <T>(value: T) => value };
	const baseUrl = 'https://media.example.com';
	const credential = { accountKey: accountKey(), baseUrl, redact };
	const coalescedReads = new CoalescedReads();
	return { listHistory, credential, coalescedReads } as unknown as Api;
}
const pageOf = (list: ServiceRecord[], page: number) => {
	return {
		items: list.slice((page - 1) * 100, page * 100),
		clockOffsetMs: 0,
	};
};

/** The ids that a search finds, or its words; after how many seconds; and the pages that it reads. */
async function search(list: ServiceRecord[], setting: Setting) {
	const { requested, after = 0, meets = [], search: seconds = 600, limit = 1000 } = setting;
	const began = Date.now();
	const listHistory = jest.fn(async ({ page }: { page: number }) => {
		const met = meets.shift();
		if (met === 'hangs') return await new Promise<never>(() => {});
		if (met) throw met;
		return pageOf(Date.now() < began + after * 1000 ? [] : list, page);
	});
	const api = apiOf(listHistory);
	const request = sent({ searchUntil: began + seconds * 1000, ...requested });
	const lost = new Failure('streamLost', { reason: 'it broke' });
	const { signal } = startDeadline(limit * 1000);
	const searched = findInHistory(api, request, lost, signal).then(
		(files) => files.map(({ id }) => id).join(),
		({ facts: { reason: text, candidates = [] } }: Failure) =>
			[text, ...candidates.map(({ id }) => id)].join(': '),
	);
	const ended = searched.then((found) => ({ found, seconds: (Date.now() - began) / 1000 }));
	await jest.advanceTimersByTimeAsync(700_000);
	return { ...(await ended), looks: listHistory.mock.calls.length };
}

const times = (count: number, failure: Failure) => Array.from({ length: count }, () => failure);
const edge = new Failure('foreignServer', { status: 404, transient: true });
const lagging = failureOfStatus(404, '{"error":"not_found"}');
const down = new Failure('unavailable', { status: 502, transient: true });
const refused = new Failure('tokenRefused');
const old = Array.from({ length: 300 }, (_, index) => file(`old ${index}`, -60));
const [one, images, three] = [[file('a')], { hasHiddenInputs: true }, { requestedCount: 3 }];
/** Of three files that were asked for one has come. */
const requested = {
	...{ requestedCount: 3, announcedIds: ['a'] },
	files: [{ id: 'a', fileUrl: 'https://files.example.com/a.mp4', raw: {} }],
};
const allTold = { ...requested, announcedIds: ['a', 'b', 'c'] };
const [all, more] = [
	['c', 'b', 'a'].map((id) => file(id)),
	['x', 'y', 'z', 'a'].map((id) => file(id)),
];
const signedAnew = { ...file('a'), id: undefined, file_url: 'https://files.example.com/a.mp4?s=2' };
const urlOfX = 'https://files.example.com/x.mp4';
const hangs = { search: 0, meets: ['hangs' as const] };
/** The videos of one job, newest first, and a request of which the first has come with the ID of the job. */
const ofJob = ['b', 'a'].map((id) => ({ ...file(id), task_id: 'job' }));
const ofJobFields = { requestedCount: 2, announcedIds: ['job'] };
const cameOfJob = { ...ofJobFields, files: [{ ...requested.files[0]!, id: 'job' }] };
const aSignedAnew = { ...ofJob[1]!, file_url: 'https://files.example.com/s2/a.mp4' };
const others = [failed('b'), failed('c'), file('a')];
const bad = { ...failed('a'), error: 'UNSAFE' };
const expired = { ...failed('a'), status: 'expired', error: 'Too late' };

test.each<[string, ServiceRecord[], Setting, found: string, seconds: number, looks: number]>([
	['at once, on one page', [...one, ...old], {}, 'a', 0, 1],
	[
		'one of two, before the time is up',
		one,
		{ requested: { requestedCount: 2 }, limit: 60 },
		'a',
		58,
		7,
	],
	['nothing with images, to the end', one, { requested: images }, 'it broke: a', 600, 61],
	['nothing with images, by a retry', one, { requested: images, search: 0 }, 'it broke: a', 0, 1],
	['at the end, of more that were asked for', one, { requested: three }, 'a', 600, 61],
	['right before the deadline', one, { after: 5, limit: 8 }, 'a', 7.2, 2],
	['behind pages of an edge', one, { meets: times(30, edge) }, 'a', 300, 31],
	['behind a replica that lags', one, { meets: times(4, lagging) }, 'a', 40, 5],
	['by no look, the last right at the end', [], { search: 10 }, 'it broke', 10, 2],
	['by none, and the last fails', [], { search: 10, meets: times(9, down) }, 'it broke', 10, 2],
	['all, where one had come and the stream is over', all, { requested, search: 0 }, 'a,b,c', 0, 1],
	['nothing new', one, { requested, search: 0 }, 'a', 0, 1],
	['nothing new, signed anew and without an ID', [signedAnew], { requested, search: 0 }, 'a', 0, 1],
	['more than were asked for', more, { requested, search: 0 }, 'a', 0, 1],
	['the one that came, by a look after one that hangs', one, { requested, ...hangs }, 'a', 13.5, 2],
	['the one that came, at the end', one, { requested }, 'a', 600, 61],
	['the one that came, right before the deadline', one, { requested, limit: 30 }, 'a', 28, 4],
	['the one that came, as the others failed', others, { requested: allTold }, 'a', 0, 1],
	[
		'the one that came, as the stream said that the other failed',
		one,
		{ requested: { ...requested, requestedCount: 2, failedIds: [null] } },
		...(['a', 0, 1] as const),
	],
	[
		'the one that came, though others failed that no event told',
		others,
		{ requested },
		'a',
		600,
		61,
	],
	['all of a job', ofJob, { requested: ofJobFields }, 'a,b', 0, 1],
	[
		'all of a job, and nothing of another',
		[file('x'), ...ofJob],
		{ requested: ofJobFields },
		'a,b',
		0,
		1,
	],
	['what is missing of a job', ofJob, { requested: cameOfJob }, 'job,b', 0, 1],
	[
		'what is missing of a job, signed anew in its path',
		[ofJob[0]!, aSignedAnew],
		{ requested: cameOfJob },
		'job,b',
		0,
		1,
	],
	[
		'what is missing, before the history has the file of the one that came',
		[file('b'), { ...file('a'), file_url: '' }],
		{ requested: { ...requested, requestedCount: 2, announcedIds: ['a', 'b'] } },
		'a,b',
		0,
		1,
	],
	[
		'the one of a job that came, signed anew in its path, as the other failed',
		[{ ...failed('b'), task_id: 'job' }, aSignedAnew],
		{ requested: cameOfJob },
		'job',
		0,
		1,
	],
	[
		'the one of a job that came, signed anew in its path, before the other is there',
		[{ ...ofJob[0]!, file_url: '' }, aSignedAnew],
		{ requested: cameOfJob, limit: 30 },
		'job',
		28,
		4,
	],
	['why all have failed', [bad], { requested: { announcedIds: ['a'] } }, 'UNSAFE', 0, 1],
	['why one has expired', [expired], { requested: { announcedIds: ['a'] } }, 'Too late', 0, 1],
	['the one that came, as the history refuses', one, { requested, meets: [refused] }, 'a', 0, 1],
])('a search finds: %s', async (_, list, setting, found, seconds, looks) => {
	expect(await search(list, setting)).toEqual({ found, seconds, looks });
});

test.each<[string, came: object, entry: object]>([
	[
		'by its own ID',
		{ id: 'a', file_url: '/v?n=a&s=1' },
		{ videos: ['b', 'a'].map((id) => ({ id, file_url: `/v?n=${id}&s=2` })) },
	],
	[
		'by its own path, without an extension',
		{ id: 'job', file_url: '/v/a?n=a&s=1' },
		{ id: 'job', file_urls: ['/v/b?n=b&s=2', '/v/a?n=a&s=2'] },
	],
	[
		'as the first, if nothing else tells them apart',
		{ id: 'job', file_url: '/v?n=a&s=1' },
		{ id: 'job', file_urls: ['/v?n=a&s=2', '/v?n=b&s=2'] },
	],
])('a file that came is known within an entry of several %s', async (_, came, entry) => {
	const list = [{ ...file('job'), file_url: undefined, ...entry }];
	const api = apiOf(async ({ page }: { page: number }) => pageOf(list, page));
	const files = readGeneratedFiles(came, 'https://media.example.com');
	const announcedIds = files.map(({ id }) => id!);
	const request = sent({ requestedCount: 2, searchUntil: Date.now(), announcedIds, files });
	const lost = new Failure('streamLost');
	const found = await findInHistory(api, request, lost, new AbortController().signal);
	expect(found.map(({ fileUrl }) => new URL(fileUrl).searchParams.get('n'))).toEqual(['a', 'b']);
});

test('a file that came is not found again where the history has only one of two, signed anew', async () => {
	const list = [{ ...file('job'), file_url: '/signed/anew.mp4' }];
	const api = apiOf(async ({ page }: { page: number }) => pageOf(list, page));
	const came = { id: 'job', file_urls: ['/a.mp4', '/b.mp4'] };
	const files = readGeneratedFiles(came, 'https://media.example.com');
	const request = sent({
		requestedCount: 3,
		searchUntil: Date.now(),
		announcedIds: ['job'],
		files,
	});
	const lost = new Failure('streamLost');
	const found = await findInHistory(api, request, lost, new AbortController().signal);
	expect(found).toEqual(files);
});

test('the other one is found where only the query of the URL tells files apart', async () => {
	const urls = ['1', '2'].map((n) => `https://files.example.com/view?name=${n}`);
	const list = [{ ...file('job'), file_url: undefined, file_urls: urls }];
	const api = apiOf(async ({ page }: { page: number }) => pageOf(list, page));
	const files = readGeneratedFiles({ id: 'job', file_url: urls[1] }, 'https://media.example.com');
	const request = sent({ requestedCount: 2, searchUntil: Date.now(), files });
	const lost = new Failure('streamLost');
	const found = await findInHistory(api, request, lost, new AbortController().signal);
	expect(found.map(({ fileUrl }) => fileUrl).sort()).toEqual(urls);
});

test('none of the others is lost where the IDs of the history are those of other files', async () => {
	const videos = [...'bacde'].map((n, index) => ({
		id: String(index),
		file_url: `/v/${n}?n=${n}`,
	}));
	const list = [{ ...file('job'), file_url: undefined, videos }];
	const api = apiOf(async ({ page }: { page: number }) => pageOf(list, page));
	const files = readGeneratedFiles({ id: '0', file_url: '/v/a?n=a' }, 'https://media.example.com');
	// In the history, the ID of the video that came is that of b. Only its path tells which one came.
	const request = sent({ requestedCount: 4, searchUntil: Date.now(), announcedIds: ['0'], files });
	const lost = new Failure('streamLost');
	const found = await findInHistory(api, request, lost, new AbortController().signal);
	expect(found.map(({ fileUrl }) => new URL(fileUrl).searchParams.get('n'))).toEqual([...'abcde']);
});

test('the newest entries are found where the history lists the oldest first', async () => {
	const earlier = Array.from({ length: 150 }, (_, n) => file(`old ${n}`, n - 10_000));
	const api = apiOf(async ({ page }: { page: number }) => pageOf([...earlier, file('own')], page));
	const request = sent({ searchUntil: Date.now() });
	const lost = new Failure('streamLost');
	const found = await findInHistory(api, request, lost, new AbortController().signal);
	expect(found.map(({ id }) => id)).toEqual(['own']);
});

test('a look serves all that wait, an earlier request only if it goes back far enough', async () => {
	const listHistory = jest.fn(async ({ page }: { page: number }) => pageOf(old, page));
	const [api, never] = [apiOf(listHistory), new AbortController().signal];
	const look = async (seconds: number) =>
		await readHistorySince(api, SENT_AT + seconds * 1000, never);
	const found = await Promise.all([look(0), look(10), look(-120)]);
	expect(found.map(({ length }) => length)).toEqual([100, 100, 300]);
	expect((await look(0)).length).toBe(300);
	expect(listHistory.mock.calls.map(([{ page }]) => page)).toEqual([1, 1, 2, 3, 4]);
	jest.advanceTimersByTime(9000);
	await look(0);
	expect(listHistory).toHaveBeenCalledTimes(6);
});

test.each<[string, ServiceRecord[] | Failure, facts: object]>([
	['a generation that has failed is requested again', [bad], { kind: 'generationFailed' }],
	[
		'one that nobody can look for may be charged',
		refused,
		{ kind: 'tokenRefused', mayBeCharged: true },
	],
])('by a search, %s', async (_, list, expected) => {
	const api = apiOf(async ({ page }: { page: number }) => {
		if (list instanceof Failure) throw list;
		return pageOf(list, page);
	});
	const request = sent({ announcedIds: ['a'], searchUntil: Date.now() + 1000 });
	const { signal } = new AbortController();
	const searched = findInHistory(api, request, new Failure('streamLost'), signal);
	const failed = await searched.catch(({ kind, facts }: Failure) => ({
		kind,
		mayBeCharged: facts.mayBeCharged,
	}));
	expect(failed).toEqual(expected);
});

test('a search that ends at a time limit says so, and names what may be the result', async () => {
	const api = apiOf(async () => pageOf(one, 1));
	const request = sent({ hasHiddenInputs: true, searchUntil: Date.now() });
	const late = new Failure('timedOut', { limitMs: 1000 });
	const failed = findInHistory(api, request, late, new AbortController().signal);
	await expect(failed).rejects.toMatchObject({
		kind: 'timedOut',
		facts: { candidates: [{ id: 'a' }] },
	});
});

const urlOfB = 'https://files.example.com/b.mp4';
const received = (fileUrl: string) => ({ files: [{ fileUrl, raw: {} }], searchUntil: SENT_AT });
test.each<[string, Partial<MediaRequest>, listed: string[]]>([
	['has a listed file is of the same account, and has that file', received(urlOfB), ['b', 'a']],
	['has a listed file, signed anew, too', received(`${urlOfB}?sign=2`), ['b', 'a']],
	['has no listed file may be of another service', {}, ['a']],
])('a request with another token that %s', async (_, fields, listed) => {
	ledgerOf({ accountKey: 'another token' } as never).add(
		sentBy({ accountKey: 'another token', searchUntil: SENT_AT + 600_000, ...fields }),
	);
	const { found } = await search(
		listed.map((id) => file(id)),
		{ search: 0 },
	);
	expect(found).toBe('a');
});

test('searches that begin within seconds share what they read', async () => {
	const listHistory = jest.fn(async () => pageOf([], 1));
	const api = apiOf(listHistory);
	const searchUntil = Date.now() + 600_000;
	for (const delayMs of [3000, 0]) {
		const { signal } = startDeadline(20_000 - delayMs);
		void findInHistory(api, sent({ searchUntil }), new Failure('streamLost'), signal).catch(
			() => {},
		);
		await jest.advanceTimersByTimeAsync(delayMs);
	}
	expect(listHistory).toHaveBeenCalledTimes(1);
	await jest.advanceTimersByTimeAsync(20_000);
});

test.each<[string, limit: number, facts: object]>([
	['it has failed, once the search is over', 1000, { kind: 'generationFailed' }],
	['it may still come, if the time is up before', 30, { kind: 'streamLost' }],
])('where one of several was refused, no other comes: %s', async (_, limit, found) => {
	const request = sent({
		requestedCount: 2,
		announcedIds: ['a'],
		searchUntil: Date.now() + 600_000,
	});
	const oneRefused = new Failure('generationFailed', { reason: 'UNSAFE' });
	const api = apiOf(async () => pageOf([], 1));
	const searched = findInHistory(api, request, oneRefused, startDeadline(limit * 1000).signal);
	const failed = searched.catch(({ kind }: Failure) => ({ kind }));
	await jest.advanceTimersByTimeAsync(700_000);
	expect(await failed).toEqual(found);
});

test.each<[string, ServiceRecord | ServiceRecord[], announcedIds: string[], found: string]>([
	['one without a time', { ...file('x'), created_at: undefined }, [], 'streamLost: x'],
	['one without an ID', { ...file('x'), id: undefined }, ['a', 'b'], `streamLost: ${urlOfX}`],
	[
		'one without an ID that contains its file',
		{ ...file('x'), id: undefined, file_url: 'data:video/mp4;base64,AAAA' },
		['a', 'b'],
		'streamLost: one without an ID',
	],
	['one of another ID, as not all were told', file('x'), ['a'], 'streamLost: x'],
	['one beside that of the refused one', [file('x'), failed('a')], ['a'], 'streamLost: x'],
	['one of another ID, as none that was told is listed', file('x'), ['a', 'b'], 'streamLost: x'],
])(
	'where one of several was refused, an entry may be the other: %s',
	async (_, entries, ...ofJobFields) => {
		const [announcedIds, found] = ofJobFields;
		const hasHiddenInputs = announcedIds.length > 0;
		const searchUntil = Date.now() + 60_000;
		const request = sent({ requestedCount: 2, announcedIds, hasHiddenInputs, searchUntil });
		const oneRefused = new Failure('generationFailed', { reason: 'UNSAFE' });
		const api = apiOf(async () => pageOf([entries].flat(), 1));
		const searched = findInHistory(api, request, oneRefused, startDeadline(600_000).signal);
		const failed = searched.catch(
			({ kind, facts: { candidates } }: Failure) =>
				kind + (candidates?.length ? `: ${candidates.map(({ id }) => id).join()}` : ''),
		);
		await jest.advanceTimersByTimeAsync(700_000);
		expect(await failed).toEqual(found);
	},
);

test('who is stopped leaves at once, and the look goes on for those who wait', async () => {
	const first = new AbortController();
	let answer = (_: unknown) => {};
	const listHistory = jest.fn(async (_: unknown, signal: AbortSignal) => {
		const stopped = whenAborted(signal).then(() => throwIfAborted(signal));
		return await Promise.race([stopped, new Promise((resolve) => (answer = resolve))]);
	});
	const api = apiOf(listHistory);
	const stopped = readHistorySince(api, SENT_AT, first.signal);
	const patient = readHistorySince(api, SENT_AT, new AbortController().signal);
	await jest.advanceTimersByTimeAsync(20_000);
	const late = readHistorySince(api, SENT_AT, new AbortController().signal);
	first.abort(new Failure('canceled'));
	await expect(stopped).rejects.toMatchObject({ kind: 'canceled' });
	expect(listHistory).toHaveBeenCalledTimes(1);
	answer(pageOf(old, 1));
	expect((await patient).length).toBe(100);
	await jest.advanceTimersByTimeAsync(0);
	expect(listHistory).toHaveBeenCalledTimes(2);
	answer(pageOf(one, 1));
	expect((await late).length).toBe(1);
});

test('a look that failed serves nobody who comes later', async () => {
	const listHistory = jest.fn(async () => pageOf(one, 1)).mockRejectedValueOnce(down);
	const [api, never] = [apiOf(listHistory), new AbortController().signal];
	await expect(readHistorySince(api, SENT_AT, never)).rejects.toBe(down);
	expect((await readHistorySince(api, SENT_AT, never)).length).toBe(1);
});

/** Requests of "P", one a minute, the last a minute before; each has got the entry of its number within a minute. */
function earlier(count: number) {
	const entries = Array.from({ length: count }, (_, index) =>
		file(`${index}`, (index - count) * 60),
	);
	const requests = entries.map((entry, index) => {
		const files = readGeneratedFiles(entry, 'https://media.example.com');
		const sentAt = SENT_AT + (index - count) * 60_000 - 1000;
		return sent({ sentAt, searchUntil: sentAt + 50_000, files });
	});
	return { entries: entries.toReversed(), requests };
}

test('earlier requests of a constant prompt cost neither pages nor time', async () => {
	const { entries, requests } = earlier(900);
	const list = [...one, ...entries];
	const listHistory = jest.fn(async ({ page }: { page: number }) => pageOf(list, page));
	const api = apiOf(listHistory);
	for (const request of requests) ledgerOf(api.credential).add(request);
	const never = new AbortController().signal;
	const search = async () => {
		const request = sent({ searchUntil: Date.now() });
		return await findInHistory(api, request, new Failure('streamLost'), never);
	};
	expect((await search()).map(({ id }) => id)).toEqual(['a']);
	expect(listHistory).toHaveBeenCalledTimes(1);
});

test.each<[string, seconds: number, Partial<MediaRequest>]>([
	['was given up long ago', 3600, {}],
	['still lacks its file, but has another prompt', 600, { prompt: 'Q', searchUntil: Infinity }],
	['has its file', 600, { files: [{ ...requested.files[0]!, id: 'z', fileUrl: urlOfX }] }],
])('an earlier request that %s costs no pages', async (_, seconds, fields) => {
	const list = [...one, ...old];
	const listHistory = jest.fn(async ({ page }: { page: number }) => pageOf(list, page));
	const api = apiOf(listHistory);
	const sentAt = SENT_AT - seconds * 1000;
	ledgerOf(api.credential).add(sent({ sentAt, searchUntil: sentAt + 60_000, ...fields }));
	const request = sent({ searchUntil: Date.now() });
	const lost = new Failure('streamLost');
	const found = await findInHistory(api, request, lost, new AbortController().signal);
	expect(found.map(({ id }) => id)).toEqual(['a']);
	expect(listHistory).toHaveBeenCalledTimes(1);
});

const UUID = '0b4c2f6e-8a1d-4c57-9e3b-5d7f1a2c3e4f';
test.each([
	['the very words of another request', 'a', 'Another row', []],
	['its own words, shown otherwise', 'a', 'p', ['a']],
	['the very words of another request, but a UUID', UUID, 'Another row', [UUID]],
])('an entry with the ID of the job and %s', async (_, id, shown, ids) => {
	const api = apiOf(async ({ page }: { page: number }) =>
		pageOf([{ ...file(id), prompt: shown }], page),
	);
	ledgerOf(api.credential).add(sent({ prompt: shown }));
	const request = sent({ announcedIds: [id], searchUntil: Date.now() });
	const search = findInHistory(
		api,
		request,
		new Failure('streamLost'),
		new AbortController().signal,
	);
	expect((await search.catch(() => [])).map(({ id }) => id)).toEqual(ids);
});

test('a file without an id is recognized, although its entry is on a later page', async () => {
	const others = Array.from({ length: 150 }, (_, n) => ({ ...file(`o${n}`, -30), prompt: 'Q' }));
	const list = [file('a'), ...others, file('slow', -60)];
	const api = apiOf(async ({ page }: { page: number }) => pageOf(list, page));
	const files = [{ fileUrl: 'https://files.example.com/slow.mp4', raw: {} }];
	const slow = sent({ sentAt: SENT_AT - 60_000, searchUntil: SENT_AT + 6000, files });
	ledgerOf(api.credential).add(slow);
	const request = sent({ searchUntil: Date.now() });
	const lost = new Failure('streamLost');
	const found = await findInHistory(api, request, lost, new AbortController().signal);
	expect(found.map(({ id }) => id)).toEqual(['a']);
});

test('a request whose stream is open is still known after 10,000 requests for speech', async () => {
	const api = apiOf(async ({ page }: { page: number }) => pageOf(one, page));
	const requests = ledgerOf(api.credential);
	requests.add(sent());
	for (let count = 0; count < 10_000; count++) requests.add(sent({ kind: 'speech' }));
	const lost = new Failure('streamLost');
	const request = sent({ searchUntil: Date.now() });
	const failed = findInHistory(api, request, lost, startDeadline(60_000).signal);
	const isNamed = expect(failed).rejects.toMatchObject({ facts: { candidates: [{ id: 'a' }] } });
	await jest.advanceTimersByTimeAsync(60_000);
	await isNamed;
});

test('what may be the result is named, although the history can be read no more', async () => {
	const listHistory = jest.fn(async ({ page }: { page: number }) => {
		if (Date.now() > SENT_AT + 20_000) throw new Failure('unavailable', { transient: true });
		return pageOf(one, page);
	});
	const api = apiOf(listHistory);
	ledgerOf(api.credential).add(sent());
	const request = sent({ searchUntil: Date.now() });
	const signal = startDeadline(60_000).signal;
	const failed = findInHistory(api, request, new Failure('streamLost'), signal);
	const isNamed = expect(failed).rejects.toMatchObject({ facts: { candidates: [{ id: 'a' }] } });
	await jest.advanceTimersByTimeAsync(60_000);
	await isNamed;
});

test('what another process has found for a request is known as taken', async () => {
	const api = apiOf(async ({ page }: { page: number }) => pageOf([file('b'), file('a')], page));
	const requests = ledgerOf(api.credential);
	const [before, after] = [sent({ requestedCount: 2, searchUntil: Date.now() }), one];
	requests.add(before);
	const files = readGeneratedFiles(after, 'https://media.example.com');
	requests.restore({ ...before, files });
	requests.restore({ ...before });
	const request = sent({ hasHiddenInputs: true, searchUntil: Date.now() });
	const lost = new Failure('streamLost');
	const failed = findInHistory(api, request, lost, new AbortController().signal);
	await expect(failed).rejects.toMatchObject({ facts: { candidates: [{ id: 'b' }] } });
});

const [twins, a] = [['old1', 'old2'], { id: 'a' }];
const signed = { ...a, prompt: 'P', file_urls: ['/new1.mp4', '/new2.mp4'] };
test.each<
	[string, kept: object[], told: string[], list: ServiceRecord[] | Failure, found: string[]]
>([
	[
		'of one ID, in order',
		twins.map((url) => ({ ...a, url: `/${url}.mp4` })),
		['a'],
		[signed],
		['new1', 'new2'],
	],
	['by an ID that an event told', [{ url: '/old1.mp4' }], ['a'], [signed], ['new1']],
	[
		'by the ID of the job, if the history has other IDs than the stream',
		[{ id: 'of the stream', url: '/old1.mp4' }],
		['a'],
		[{ ...a, prompt: 'P', videos: [{ id: 'of the history', file_url: '/new1.mp4' }] }],
		['new1'],
	],
	[
		'of one ID, of which one is gone, nobody knows which: they stay',
		twins.map((url) => ({ ...a, url: `/${url}.mp4` })),
		['a'],
		[{ ...a, prompt: 'P', file_urls: ['/new1.mp4'] }],
		['old1', 'old2'],
	],
	[
		'of no ID, beside one of an ID',
		[{ url: '/old1.mp4' }, { id: 'b', url: '/old2.mp4' }],
		['a', 'b'],
		['a', 'b'].map((id) => ({ id, prompt: 'P', file_url: `/new-${id}.mp4` })),
		['new-a', 'new-b'],
	],
	['of no ID: it stays', [{ url: '/old1.mp4' }], [], [signed], ['old1']],
	['that the history lacks: it stays', [{ ...a, url: '/old1.mp4' }], ['a'], one.slice(1), ['old1']],
	['and the history refuses: it stays', [{ ...a, url: '/old1.mp4' }], ['a'], refused, ['old1']],
])('an expired address is renewed: %s', async (_, kept, announcedIds, list, found) => {
	const api = apiOf(async ({ page }: { page: number }) => {
		if (list instanceof Failure) throw list;
		return pageOf(list, page);
	});
	const host = 'https://media.example.com/';
	const files = readGeneratedFiles(kept, host);
	const request = sent({ announcedIds, files, requestedCount: files.length });
	const never = new AbortController().signal;
	const renewed = files.map(async (each) => await findRenewedFile(api, request, each, never));
	const urls = (await Promise.all(renewed)).map(({ fileUrl }) => fileUrl);
	expect(urls).toEqual(found.map((name) => `${host}${name}.mp4`));
});

test.each([
	['/1.mp4?s=', '/2.mp4?s='],
	// These differ in the query alone: then their order tells them apart.
	['/v.mp4?n=1&s=', '/v.mp4?n=2&s='],
])(
	'expired addresses of one ID are renewed, whatever the order of those with paths of their own',
	async (...paths) => {
		const ownPaths = new Set(paths.map((path) => path.split('?')[0])).size > 1;
		const listedPaths = ownPaths ? paths.toReversed() : paths;
		const list = [{ ...a, prompt: 'P', file_urls: listedPaths.map((path) => `${path}2`) }];
		const api = apiOf(async ({ page }: { page: number }) => pageOf(list, page));
		const host = 'https://media.example.com';
		const files = readGeneratedFiles(
			paths.map((path) => ({ ...a, url: `${path}1` })),
			host,
		);
		const request = sent({ announcedIds: ['a'], files });
		const never = new AbortController().signal;
		for (const [index, file] of files.entries()) {
			const { fileUrl } = await findRenewedFile(api, request, file, never);
			expect(fileUrl).toBe(`${host}${paths[index]}2`);
		}
	},
);

test('an expired address is not renewed to the file of another row, whose ID is that of the job', async () => {
	const list = [{ ...file('7', 60), prompt: 'Another row' }, { ...file('31') }];
	const api = apiOf(async ({ page }: { page: number }) => pageOf(list, page));
	ledgerOf(api.credential).add(sent({ prompt: 'Another row' }));
	const [own] = readGeneratedFiles({ id: '7', file_url: '/temporary/7.mp4' }, 'https://x.example');
	const request = sent({ announcedIds: ['7'], files: [own!] });
	const renewed = await findRenewedFile(api, request, own!, new AbortController().signal);
	expect(renewed.fileUrl).toBe(own!.fileUrl);
});

test('an expired address is renewed, also if the service has given one video to two equal requests', async () => {
	const id = '0b4c2f6e-8a1d-4c57-9e3b-5d7f1a2c3e4f';
	const api = apiOf(async ({ page }: { page: number }) => pageOf([file(id)], page));
	const [own] = readGeneratedFiles({ id, file_url: '/temporary/7.mp4' }, 'https://x.example');
	ledgerOf(api.credential).add(sent({ announcedIds: [id], files: [own!] }));
	const request = sent({ announcedIds: [id], files: [own!] });
	const renewed = await findRenewedFile(api, request, own!, new AbortController().signal);
	expect(renewed.fileUrl).toBe(file(id).file_url);
});
