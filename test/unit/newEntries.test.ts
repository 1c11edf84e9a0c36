import type { IDataObject } from 'n8n-workflow';
import { Outbox } from '../../nodes/MediaGenerationTrigger/activation/outbox';
import {
	type HistoryOutbox,
	findEndedEntries,
	readRecentEntries,
} from '../../nodes/MediaGenerationTrigger/generated/newEntries';
import type { ServiceRecord } from '../../nodes/shared/contract';
import { readPage } from '../../nodes/shared/parsing/responses';

/* What is new in a history, look by look, as a trigger remembers it. */

const BASE = 'https://media.example.com';
const MINUTE = 60_000;
const BEGAN = Date.parse('2026-11-20T10:00:00Z');

let keys = 0;
const idOf = (record: ServiceRecord) => record.id ?? record.file_url;

/** A history, newest first, and a trigger that looks into it now and then. */
class Setting {
	now = BEGAN;
	pages = 0;
	/** Called before each page is read. */
	between = () => {};
	/** Answers with a bare array. */
	isBare = false;
	data: IDataObject = {};
	private key = `node ${++keys}`;
	private accountKey = 'account';
	private store = this.open();

	/** `size`: what the service allows on a page. */
	constructor(
		public history: ServiceRecord[],
		private readonly size = 100,
	) {}

	private open(): HistoryOutbox {
		return new Outbox(() => [this.data], 'generated', this.key, true, this.now);
	}

	/** What a look tells, after these, newest first, have come on top. */
	async look(...added: ServiceRecord[]): Promise<unknown[]> {
		this.history.unshift(...added);
		this.now += MINUTE;
		this.pages = 0;
		const { accountKey } = this;
		const read = async (page: number) => {
			this.pages = page;
			this.between();
			return readPage(this.page(page))!;
		};
		const listed = await readRecentEntries(read, this.store, BASE);
		const { endedEntries, nextState } = findEndedEntries(listed, this.store, accountKey, this.now);
		Object.assign(this.store, nextState);
		for (const { fingerprint } of endedEntries) this.store.setState(fingerprint, 'done');
		this.store.save();
		return endedEntries.map(({ record }) => idOf(record));
	}

	private page(number: number): unknown {
		const { size } = this;
		const data = this.history.slice((number - 1) * size, number * size);
		if (this.isBare) return data;
		return { data, total: String(this.history.length), page: '1', page_size: String(size) };
	}

	/** n8n was killed, or the workflow taken back and published again before n8n has saved anything. */
	restart(how: 'killed' | 'closed', accountKey = this.accountKey): void {
		this.accountKey = accountKey;
		if (how === 'closed') this.store.handOver();
		else this.key = `node ${++keys}`;
		this.data = how === 'closed' ? {} : (JSON.parse(JSON.stringify(this.data)) as IDataObject);
		this.store = this.open();
	}
}

const entry = (id: unknown, minutes: number, more: ServiceRecord = {}): ServiceRecord => ({
	id,
	prompt: 'A paper boat',
	file_url: `${BASE}/${String(id)}.mp4`,
	created_at: new Date(BEGAN + minutes * MINUTE).toISOString(),
	status: 'completed',
	...more,
});
const making = (id: unknown, minutes: number) =>
	entry(id, minutes, { file_url: undefined, status: 'processing' });
const named = (name: string, amount: number) =>
	Array.from({ length: amount }, (_, n) => `${name}${n}`);
/** As many entries, newest first, the last of them made at `minutes`. */
const entries = (name: string, amount: number, minutes: number, step = 0.01) =>
	named(name, amount)
		.map((id, n) => entry(id, minutes + n * step))
		.reverse();
/** Those that were there before, three minutes apart: a page goes back for five hours. */
const old = (amount: number) => entries('old', amount, -3 * amount, 3);

/** A trigger that has looked into this history once, and told nothing of it. */
async function watching(history: ServiceRecord[], size?: number) {
	const setting = new Setting(history, size);
	expect(await setting.look()).toEqual([]);
	return setting;
}

type Change = (record: ServiceRecord) => ServiceRecord;
const unchanged: Change = (record) => record;
const without =
	(field: string): Change =>
	(record) => ({ ...record, [field]: undefined });

it.each<[string, Change]>([
	['has times', unchanged],
	['has no times', without('created_at')],
	['has the same time for all', (record) => ({ ...record, created_at: '2026-11-20' })],
	['has ids that are numbers at times', unchanged],
	['has no ids', without('id')],
])('a history that %s: each new entry is told once, though others are deleted', async (...row) => {
	const [name, change] = row;
	const setting = await watching(entries('1', 400, -1200, 3).map(change));
	for (const [wave, deleted] of [1, 50, 1, 99, 150].entries()) {
		setting.history.splice(0, deleted);
		expect(await setting.look()).toEqual([]);
		const fresh = entries(`${wave + 2}`, 3, wave).map(change);
		expect((await setting.look(...fresh)).sort()).toEqual(fresh.map(idOf).sort());
		if (!name.includes('numbers')) continue;
		setting.history = setting.history.map((record) => ({ ...record, id: Number(record.id) }));
	}
});

it('all that is new is told where pages are bare arrays, shorter than asked for', async () => {
	const setting = await watching(old(60), 20);
	setting.isBare = true;
	const fresh = entries('new', 45, 0);
	expect((await setting.look(...fresh)).sort()).toEqual(fresh.map(idOf).sort());
	expect(await setting.look()).toEqual([]);
	expect(setting.pages).toBe(1);
});

it('what stays is not told again, though a thousand others come and go', async () => {
	const setting = await watching(old(30).map(without('created_at')));
	for (let wave = 0; wave < 50; wave++) {
		const fresh = entries(`${wave} `, 25, wave).map(without('created_at'));
		expect(await setting.look(...fresh)).toHaveLength(25);
		setting.history.splice(0, 25);
		expect(await setting.look()).toEqual([]);
	}
});

it.each([
	[5, 'the order in which they began'],
	[30, 'the order in which they began'],
	[5, 'another order'],
])(
	'of %d and more, in %s, what is forgotten is not told again when all after it is deleted',
	async (amount, order) => {
		const setting = await watching(old(amount));
		for (let wave = 0; wave < 6; wave++) {
			const fresh = entries(`${wave} `, 250, 5 * wave);
			if (order === 'another order') fresh.reverse();
			expect(await setting.look(...fresh)).toHaveLength(250);
		}
		setting.history.splice(0, 1150);
		expect(await setting.look()).toEqual([]);
		// A thousand marks are remembered, not all 1,530.
		expect(JSON.stringify(setting.data).length).toBeLessThan(95_000);
	},
);

it.each([0, 100_000])('of %d entries the new are told, and little is kept', async (amount) => {
	const setting = await watching(entries('old', amount, -90_000), 1e6);
	expect(await setting.look(entry('a', 2), entry('b', 1))).toEqual(['b', 'a']);
	expect(JSON.stringify(setting.data).length).toBeLessThan(57_000);
});

it.each<[string, ServiceRecord[]]>([
	['among older ones', old(300)],
	['before all others', [entry('first', 3)]],
])('an entry that is listed late, %s, is told', async (_, history) => {
	const setting = await watching(history);
	await setting.look(entry('fast', 5));
	setting.history.splice(1, 0, entry('slow', 1));
	expect(await setting.look()).toEqual(['slow']);
});

it('a video is told beside an image that has the same number', async () => {
	const setting = await watching([entry(7, -1, { type: 'image', file_url: '/7.png' })]);
	expect(await setting.look(entry(7, 1, { type: 'video' }))).toEqual([7]);
});

it.each([100, 20])('many at once, on pages of %d, are all told', async (size) => {
	const setting = await watching(old(300), size);
	let late = 0;
	setting.between = () => setting.history.unshift(entry(`late ${late++}`, 20 + late));
	const reported = await setting.look(...entries('new', 480, 0));
	setting.between = () => {};
	reported.push(...(await setting.look()));
	expect(reported).toEqual([...named('new', 480), ...named('late ', late)]);
});

describe('an entry in the making', () => {
	it.each([
		['with times', unchanged],
		['without times', without('created_at')],
	])('is told when it has its file, wherever it is by then: %s', async (_, change) => {
		const setting = await watching([making('there', -1), ...old(300)].map(change));
		await setting.look(change(making('slow', 1)));
		expect(await setting.look(...entries('new', 250, 2, 0.2).map(change))).toHaveLength(250);
		setting.history.splice(250, 2, change(entry('slow', 1)), change(entry('there', -1)));
		expect(await setting.look()).toEqual(['there', 'slow']);
		expect(await setting.look()).toEqual([]);
		expect(setting.pages).toBe(1);
	});

	it.each([
		['two hours', unchanged],
		['two hours, without times', without('created_at')],
	])('is given up after %s', async (_, change) => {
		const setting = await watching([making('a', -1)].map(change));
		setting.now += 2 * 60 * MINUTE;
		await setting.look(change(entry('b', 120)));
		setting.history = [entry('a', -1)].map(change);
		expect(await setting.look()).toEqual([]);
	});

	it('is told, though the clock was set forward', async () => {
		const setting = await watching([making('a', -1)]);
		setting.now += 3 * 60 * MINUTE;
		await setting.look(entry('b', 1));
		setting.history[1] = entry('a', -1);
		expect(await setting.look()).toEqual(['a']);
	});
});

describe('a restart', () => {
	it.each(['killed', 'closed'] as const)('(%s) repeats nothing and misses nothing', async (how) => {
		const setting = await watching([making('slow', -1), ...old(300)]);
		await setting.look(entry('a', 1));
		setting.restart(how);
		setting.history[1] = entry('slow', -1);
		setting.now += 24 * 60 * MINUTE;
		const reported = await setting.look(...entries('meanwhile', 250, 2));
		expect(reported).toEqual(['slow', ...named('meanwhile', 250)]);
		expect(await setting.look()).toEqual([]);
	});

	it('with a new token goes on with the same history, with another account begins anew', async () => {
		const setting = await watching(old(300));
		setting.restart('killed', 'the same account, renewed');
		expect(await setting.look(entry('a', 1))).toEqual(['a']);
		setting.restart('closed', 'another account');
		setting.history = entries('other', 300, -905, 3);
		expect(await setting.look()).toEqual([]);
		expect(await setting.look(entry('b', 20))).toEqual(['b']);
	});
});

it('another account has its own watermark, and nothing of the former one is looked for', async () => {
	const setting = await watching([without('created_at')(making('slow', -1)), ...old(300)]);
	setting.restart('closed', 'another account');
	setting.history = entries('other', 900, 0, 3);
	expect(await setting.look()).toEqual([]);
	expect(await setting.look()).toEqual([]);
	expect(setting.pages).toBe(1);
	setting.history.splice(0, 700);
	expect(await setting.look()).toEqual([]);
});

it('no more pages are read than may have something new', async () => {
	const setting = await watching(old(700));
	// What a deletion has moved up is older than the watermark.
	setting.history.splice(0, 50);
	expect(await setting.look()).toEqual([]);
	expect(setting.pages).toBe(1);
	// What is gone from the history is not looked for before its time.
	await setting.look(making('gone', 1));
	setting.history.shift();
	expect(await setting.look()).toEqual([]);
	expect(setting.pages).toBe(1);
	// What the first page has is not looked for on others.
	const slow = without('created_at')(making('slow', 2));
	await setting.look(slow);
	setting.history.shift();
	expect(await setting.look(slow, ...entries('new', 150, 3))).toHaveLength(150);
	expect(setting.pages).toBe(2);
});

it('an entry in the making without an id is not looked for: it will be another one', async () => {
	const nameless = without('created_at')(without('id')(making('slow', -1)));
	const setting = await watching([nameless, ...old(300)]);
	setting.history.shift();
	expect(await setting.look()).toEqual([]);
	expect(setting.pages).toBe(1);
});

it('an entry without an id is known by its address, which may be signed anew for each look', async () => {
	const signed = (by: number) =>
		old(5)
			.map(without('id'))
			.map((record) => ({ ...record, file_url: `${String(record.file_url)}?by=${by}` }));
	const setting = await watching(signed(1));
	setting.history = signed(2);
	expect(await setting.look()).toEqual([]);
});

it('a short history is known as a whole: what is listed late is told, whenever it began', async () => {
	const setting = await watching(old(3));
	expect(await setting.look(entry('queued', -200))).toEqual(['queued']);
});

it('old entries without times, below others, are not told when deletions move them up', async () => {
	const legacy = named('legacy', 60).map((id) => without('created_at')(entry(id, 0)));
	const setting = await watching([...old(120), ...legacy]);
	for (let deleted = 0; deleted < 3; deleted++) {
		setting.history.splice(0, 20);
		expect(await setting.look()).toEqual([]);
	}
});

it('tells what began within two hours before all that was listed, and ended later', async () => {
	const setting = await watching(entries('image', 100, 0));
	expect(await setting.look(entry('video', -110), entry('old', -130))).toEqual(['video']);
});
