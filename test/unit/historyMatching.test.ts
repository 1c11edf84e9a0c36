import { askedOf, Claims } from '../../nodes/shared/generation/claims';
import type { ServiceRecord } from '../../nodes/shared/contract';
import type { HistoryEntry } from '../../nodes/shared/generation/historyEntries';
import { matchHistory, type Claim } from '../../nodes/shared/generation/historyMatching';
import { judge as judged } from './judge';

/* Whose an entry is when several requests of one prompt may have made it. */

const BEGAN = Date.parse('2026-01-01T10:00:00Z');
const at = (seconds: number) => new Date(BEGAN + seconds * 1000).toISOString();

let claims: Claims;
let count = 0;
beforeEach(() => {
	jest.useFakeTimers({ now: BEGAN + 60_000 });
	claims = new Claims();
	count = 0;
});
afterEach(() => void jest.useRealTimers());

const entry = (fields: ServiceRecord = {}): ServiceRecord => {
	const id = `e${++count}`;
	const file_url = `https://files.example.com/${id}.mp4?sign=1`;
	return { id, prompt: 'a beetle', file_url, created_at: at(5 + count), ...fields };
};
type Order = Parameters<Claims['begin']>[0];
const running = (body: string, order: Partial<Order> = {}) =>
	claims.begin({ prompt: 'a beetle', began: BEGAN, expected: 1, kind: 'video', body, ...order });
const lost = (body: string, order: Partial<Order> = {}) =>
	Object.assign(running(body, order), { lost: true });
const fileOf = ({ id, file_url }: ServiceRecord, changes: ServiceRecord = {}) => ({
	...{ id: String(id), fileUrl: String(file_url), fields: {} },
	...changes,
});
const judge = (claim: Claim, ...history: ServiceRecord[]) => judged(claims, claim, history);
const own = (claim: Claim, ...history: ServiceRecord[]) => judge(claim, ...history).own;

/* The match by itself: `mine` beside `others` of its prompt, the entries by number, the oldest first. */

const claimed = (fields: Partial<Claim>): Claim => ({
	...{ key: 'k', prompt: 'P', began: 1000, expected: 1, kind: 'video', body: 'x' },
	...{ withImages: false, ids: new Set(), lost: true, until: Infinity, wants: 1, got: 0 },
	marks: new Set(),
	...fields,
});
const listed = (fields: Partial<HistoryEntry>, index: number): HistoryEntry => {
	const id = `e${index}`;
	const files = fields.failed ? [] : [{ id, fileUrl: `https://a.example/${id}`, fields: {} }];
	const own = { record: {}, id, prompt: 'P', createdAt: 2000 + index, failed: false };
	return { ...own, files, place: -index, marks: [id], ...fields };
};

interface Row {
	mine?: Partial<Claim>;
	others?: Array<Partial<Claim>>;
	entries: Array<Partial<HistoryEntry>>;
	toldToOthers?: string;
	taken?: string;
	own?: number[];
	candidates?: number[];
	hopeless?: boolean;
}

const two = { expected: 2, wants: 2 };
const named = (id: string) => ({ ids: new Set([id]) });

test.each<[title: string, row: Row]>([
	['nothing, while there is nothing', { entries: [] }],
	['the only entry', { entries: [{}], own: [0] }],
	['a part of its entries', { mine: two, entries: [{}], own: [0] }],
	['nothing of too many', { entries: [{}, {}], candidates: [1, 0], hopeless: true }],
	['nothing of another prompt', { entries: [{ prompt: 'Q' }] }],
	['nothing made before it', { entries: [{ createdAt: -5000 }] }],
	['nothing made after its end', { mine: { until: 1500 }, entries: [{}] }],
	['nothing of another kind', { entries: [{ record: { type: 'image' } }] }],
	['nothing that somebody has', { entries: [{}, {}], taken: 'e0', own: [1] }],
	['what an event told', { mine: named('e1'), entries: [{}, {}, {}], own: [1] }],
	['nothing told to two', { mine: named('e0'), entries: [{}], toldToOthers: 'e0' }],
	['nothing told to another', { entries: [{}, {}], toldToOthers: 'e0', own: [1] }],
	['nothing beside a file under another name', { mine: { ...two, got: 1 }, entries: [{}] }],
	['its share of equal requests', { others: [{ began: 500 }], entries: [{}, {}], own: [1] }],
	['nothing of a share that is not even', { others: [{}], entries: [{}], candidates: [0] }],
	[
		'nothing while an equal one is on its stream',
		{ others: [{ lost: false }], entries: [{}, {}], candidates: [1, 0] },
	],
	[
		'nothing beside a different one',
		{ others: [{ body: 'y' }], entries: [{}, {}], candidates: [1, 0], hopeless: true },
	],
	[
		'nothing while an id of a different one is awaited',
		{ others: [{ body: 'y', ...named('e9') }], entries: [{}, {}], candidates: [1, 0] },
	],
	[
		'what a failed one has not made',
		{ others: [{ wants: 0 }], entries: [{ failed: true }, {}], own: [1] },
	],
	[
		'what is likely, while an id that was told is awaited',
		{ mine: named('e9'), entries: [{}], own: [0], candidates: [0] },
	],
	[
		'what is likely, where images are part of it',
		{ mine: { withImages: true }, entries: [{}], own: [0], candidates: [0] },
	],
	[
		'nothing by its prompt, where images are part of it and an id is awaited',
		{ mine: { withImages: true, ...named('e9') }, entries: [{}], candidates: [0] },
	],
])('a request gets %s', (_, row) => {
	const mine = claimed(row.mine ?? {});
	const all = row.entries.map(listed);
	const verdict = matchHistory(mine, {
		all,
		sharing: [mine, ...(row.others ?? []).map(claimed)],
		toldToOthers: new Set([row.toldToOthers ?? '']),
		taken: new Set([row.taken ?? '']),
	});
	const numbers = (entries: HistoryEntry[]) => entries.map((entry) => all.indexOf(entry));
	expect({
		own: numbers(verdict.own),
		candidates: numbers(verdict.candidates),
		hopeless: verdict.hopeless,
		waits: verdict.waitMs !== undefined,
	}).toEqual({
		own: row.own ?? [],
		candidates: row.candidates ?? [],
		hopeless: row.hopeless ?? false,
		waits: row.own !== undefined && row.candidates !== undefined,
	});
});

describe('requests of one prompt that differ', () => {
	test('get nothing by the prompt, and give up once all that they may have made is there', () => {
		const both = [lost('x'), lost('y')];
		const [one, two] = [entry(), entry()];
		for (const claim of both) {
			expect(judge(claim, one)).toEqual({ own: [], candidates: [one], hopeless: false });
			expect(judge(claim, two, one)).toEqual({ own: [], candidates: [two, one], hopeless: true });
		}
	});

	test('get nothing while one of them is on its stream, which may still tell an id', () => {
		const mine = lost('x');
		running('y');
		expect(judge(mine, entry(), entry())).toMatchObject({ own: [], hopeless: false });
	});

	test('get what their streams told of; then what is left is the other one’s', () => {
		const [told, untold] = [lost('x'), lost('y')];
		told.ids.add('e2');
		const [one, two] = [entry(), entry()];
		expect(own(told, two, one)).toEqual([two]);
		expect(own(untold, two, one)).toEqual([one]);
	});

	test('get nothing while an id that a stream told of is not there yet', () => {
		const [told, untold] = [lost('x'), lost('y')];
		told.ids.add('e9');
		const made = [entry(), entry()];
		expect(judge(untold, ...made)).toMatchObject({ own: [], hopeless: false });
		expect(judge(told, ...made)).toMatchObject({ own: [], hopeless: false });
	});

	test('do not stand in each other’s way where entries say which of them they are', () => {
		const [wide, tall] = ['LANDSCAPE', 'PORTRAIT'].map((name) => `VIDEO_ASPECT_RATIO_${name}`);
		const claim = lost('x', { aspectRatio: wide });
		lost('y', { aspectRatio: tall });
		const [forTall, forWide] = [entry({ aspect_ratio: tall }), entry({ aspect_ratio: wide })];
		expect(own(claim, forWide, forTall)).toEqual([forWide]);
		expect(own(claim, entry())).toEqual([]);
	});

	test('do not stand in each other’s way before they are sent', () => {
		const claim = lost('x');
		running('y', { began: Infinity });
		running('z', { began: BEGAN + 30_000 });
		const mine = entry();
		expect(own(claim, mine)).toEqual([mine]);
	});
});

describe('a request that is over', () => {
	test('may have made the entry under another id and at another address', () => {
		const mine = lost('x');
		const done = running('y');
		const theirs = entry();
		claims.end(done, [fileOf(theirs, { id: 'job', fileUrl: 'https://cdn.example.com/job' })]);
		expect(judge(mine, theirs)).toMatchObject({ own: [], candidates: [theirs] });
	});

	test.each([
		['id', { fileUrl: 'https://cdn.example.com/job' }],
		['address', { id: 'job' }],
		['address, signed anew', { id: 'job', fileUrl: 'https://files.example.com/e1.mp4?sign=2' }],
	])('has made the entry with its %s, and no other', (_, changes) => {
		const mine = lost('x');
		const theirs = entry();
		const madeForMe = entry();
		claims.end(running('y'), [fileOf(theirs, changes)]);
		expect(own(mine, theirs)).toEqual([]);
		expect(own(mine, madeForMe, theirs)).toEqual([madeForMe]);
	});

	test('has not made what a query alone tells from its file', () => {
		const [theirs, madeForMe] = [1, 2].map((n) =>
			entry({ file_url: `https://files.example.com/download?file=${n}` }),
		);
		const mine = lost('x');
		claims.end(running('y'), [fileOf(theirs!, { id: 'job' })]);
		expect(own(mine, madeForMe!, theirs!)).toEqual([madeForMe]);
	});

	test('has made nothing after its end', () => {
		const done = running('y');
		jest.setSystemTime(BEGAN + 1000);
		claims.end(done, [fileOf(entry(), { id: 'job', fileUrl: 'https://cdn.example.com/job' })]);
		const mine = entry();
		expect(own(lost('x', { began: BEGAN + 4000 }), mine)).toEqual([mine]);
	});

	test('may still come to be for half an hour when it was given up', () => {
		claims.leave(running('y'));
		const mine = lost('x');
		expect(own(mine, entry())).toEqual([]);
		claims.end(mine, []);
		const late = lost('x', { began: BEGAN + 3_600_000 });
		const made = entry({ created_at: at(3605) });
		expect(own(late, made)).toEqual([made]);
	});

	test('and has failed has left the failed entry', () => {
		const mine = lost('x');
		claims.end(running('x'), []);
		const failed = entry({ status: 'failed', file_url: '' });
		expect(own(mine, failed)).toEqual([]);
		const made = entry();
		expect(own(mine, made, failed)).toEqual([made]);
	});
});

describe('equal requests', () => {
	test('share the entries of one second in the order of the history, which is newest first', () => {
		const both = [lost('x'), lost('x', { began: BEGAN + 1 })];
		const [older, newer] = [1, 2].map(() => entry({ created_at: at(5) }));
		expect(both.map((claim) => own(claim, newer!, older!))).toEqual([[older], [newer]]);
	});

	test('get nothing where it does not come out even', () => {
		const early = lost('x');
		const late = lost('x', { began: BEGAN + 20_000 });
		const made = [entry(), entry()];
		for (const claim of [early, late]) expect(own(claim, ...made)).toEqual([]);
	});

	test('share with one that has its file under another name', () => {
		const first = running('x');
		const second = lost('x', { began: BEGAN + 1 });
		const [one, two] = [entry(), entry()];
		claims.end(first, [fileOf(one, { id: 'job', fileUrl: 'https://cdn.example.com/job' })]);
		expect(own(second, one)).toEqual([]);
		expect(own(second, two, one)).toEqual([two]);
	});

	test('are not proved by an id that both streams told of', () => {
		const both = [lost('x'), lost('x')];
		for (const claim of both) claim.ids.add('e1');
		const made = entry();
		expect(both.map((claim) => own(claim, made))).toEqual([[], []]);
	});
});

describe('images in a request', () => {
	const images = { withImages: true };

	test('leave what the prompt says open until nothing else comes', () => {
		const made = entry();
		const verdict = { own: [made], candidates: [made], hopeless: false, waitMs: 300_000 };
		expect(judge(lost('x', images), made)).toEqual(verdict);
		expect(judge(lost('x', images), made)).not.toHaveProperty('own', [made]);
	});

	test('leave nothing open where an id tells', () => {
		const claim = lost('x', images);
		const [other, mine] = [entry(), entry()];
		claim.ids.add('e2');
		expect(judge(claim, other)).toEqual({ own: [], candidates: [other], hopeless: false });
		expect(judge(claim, mine, other)).toEqual({ own: [mine], candidates: [], hopeless: false });
	});
});

describe('what an earlier try, in another process, asked for', () => {
	/** As kept with the execution. */
	const kept = (order: Partial<Order>, told: string[] = []) => {
		const claim = new Claims().begin({
			...{ prompt: 'a beetle', began: BEGAN, expected: 1, kind: 'video' as const, told },
			...order,
		});
		return JSON.parse(JSON.stringify(askedOf(claim))) as ReturnType<typeof askedOf>;
	};

	test('and got belongs to it', () => {
		const theirs = entry();
		claims.recall(kept({ body: 'x' }), [fileOf(theirs)], BEGAN + 9000);
		const mine = lost('x');
		expect(own(mine, theirs)).toEqual([]);
	});

	test('and has not got yet is waited for as for its own requests', () => {
		claims.recall(kept({ body: 'y' }));
		expect(own(lost('x'), entry())).toEqual([]);
	});

	test('is searched for as one request, however often it is told of', () => {
		const asked = kept({ body: 'x' }, ['e1']);
		claims.recall(asked);
		const again = Object.assign(claims.begin(asked), { lost: true });
		claims.recall(asked);
		const made = entry();
		expect(own(again, made, entry())).toEqual([made]);
	});
});
