import type { IDataObject } from 'n8n-workflow';
import { EntryStore } from '../../nodes/MediaGenerationTrigger/generated/entryStore';
import { lookInto } from '../../nodes/MediaGenerationTrigger/generated/look';
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
	history: ServiceRecord[] = [];
	told: unknown[] = [];
	pages = 0;
	now = BEGAN;
	/** Called before each page is read. */
	between = (_page: number) => {};
	readonly data: IDataObject = {};
	private key = `node ${++keys}`;
	private store = this.open();

	/** `asArray`: no figures; `size`: what the service allows on a page at most. */
	constructor(private readonly form: { asArray?: boolean; size?: number; whole?: boolean } = {}) {}

	private open(account = 'account', withSaved = false) {
		if (!withSaved) return new EntryStore(this.data, this.key, account, true, this.now);
		const saved = JSON.parse(JSON.stringify(this.data)) as IDataObject;
		return new EntryStore(saved, (this.key = `node ${++keys}`), account, true, this.now);
	}

	async look(minutes = 1): Promise<unknown[]> {
		this.now += minutes * MINUTE;
		this.pages = 0;
		const { seen, floor } = await lookInto(this.store, BASE, async (page) => {
			this.between((this.pages = page));
			return readPage(this.page(page))!;
		});
		const ended = this.store.remember(seen, floor, this.now);
		for (const { mark } of ended) {
			this.store.markEmitted(mark, true);
			this.store.save();
			this.store.markOver(mark);
		}
		this.store.save();
		const ready = ended.filter(({ failed }) => !failed).map(({ record }) => idOf(record));
		this.told.push(...ready);
		return ready;
	}

	/** A look after these, newest first, have come on top. */
	async lookWith(...added: ServiceRecord[]): Promise<unknown[]> {
		this.history.unshift(...added);
		return await this.look();
	}

	private page(number: number): unknown {
		if (this.form.whole) return this.history;
		const size = Math.min(100, this.form.size ?? 100);
		const data = this.history.slice((number - 1) * size, number * size);
		if (this.form.asArray) return data;
		return { data, total: String(this.history.length), page: '1', page_size: String(size) };
	}

	/** n8n was killed, or the workflow taken back and published again. */
	restart(how: 'killed' | 'closed', account?: string): void {
		if (how === 'closed') this.store.leaveBehind();
		this.store = this.open(account, how === 'killed');
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
const making = (id: unknown, minutes: number, more: ServiceRecord = {}) =>
	entry(id, minutes, { file_url: undefined, status: 'processing', ...more });
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
async function watching(history: ServiceRecord[], form?: ConstructorParameters<typeof Setting>[0]) {
	const setting = new Setting(form);
	setting.history = history;
	expect(await setting.look()).toEqual([]);
	return setting;
}

type Change = (record: ServiceRecord) => ServiceRecord;
const unchanged: Change = (record) => record;
const atOneTime: Change = (record) => ({ ...record, created_at: '2026-11-20' });
const without =
	(field: string): Change =>
	(record) => ({ ...record, [field]: undefined });

it.each<[string, Change]>([
	['has times', unchanged],
	['has no times', without('created_at')],
	['has the same time for all', atOneTime],
	['has ids that are numbers at times', unchanged],
	['has no ids', without('id')],
])(
	'a history that %s has each new entry told once, though others are deleted',
	async (name, change) => {
		const setting = await watching(entries('1', 400, -1200, 3).map(change));
		for (const [wave, deleted] of [1, 50, 1, 99, 150].entries()) {
			setting.history.splice(0, deleted);
			expect(await setting.look()).toEqual([]);
			const fresh = entries(`${wave + 2}`, 3, wave).map(change);
			setting.history = [...fresh, ...setting.history];
			expect((await setting.look()).sort()).toEqual(fresh.map(idOf).sort());
			if (!name.includes('numbers')) continue;
			setting.history = setting.history.map((record) => ({ ...record, id: Number(record.id) }));
		}
	},
);

it.each<[string, number, object]>([
	['of no entries', 0, {}],
	['of 100,000 entries in one array', 100_000, { whole: true }],
])('a history %s has only the new ones told, and little of it kept', async (_, amount, form) => {
	const setting = await watching(entries('old', amount, -90_000), form);
	expect(await setting.lookWith(entry('a', 2), entry('b', 1))).toEqual(['b', 'a']);
	expect(JSON.stringify(setting.data).length).toBeLessThan(50_000);
});

it('an entry that is listed late, among older ones, is told', async () => {
	const setting = await watching(old(300));
	await setting.lookWith(entry('fast', 5));
	setting.history.splice(1, 0, entry('slow', 1));
	expect(await setting.look()).toEqual(['slow']);
});

describe('many at once', () => {
	it.each([
		['pages with a total', {}],
		['bare arrays', { asArray: true }],
		['small pages', { size: 20 }],
	])('are all told, in order, while more come in: %s', async (_, form) => {
		const setting = await watching(old(300), form);
		setting.history.unshift(...entries('new', 480, 0));
		let late = 0;
		setting.between = () => setting.history.unshift(entry(`late ${late++}`, 20 + late));
		await setting.look();
		setting.between = () => {};
		await setting.look();
		expect(setting.told).toEqual([...named('new', 480), ...named('late ', late)]);
	});

	it('of which one is deleted while the pages are read: another is hidden until the next look', async () => {
		const setting = await watching(old(300));
		setting.history.unshift(...entries('new', 250, 0));
		setting.between = (page) => void (page === 2 && setting.history.splice(3, 1));
		await setting.look();
		setting.between = () => {};
		await setting.look();
		expect(setting.told.sort()).toEqual(named('new', 250).sort());
	});
});

describe('an entry in the making', () => {
	it('is told when it has its file, also one that was there at first', async () => {
		const setting = await watching([making('a', -1), ...old(20)]);
		expect(await setting.lookWith(making('b', 1))).toEqual([]);
		setting.history[0] = entry('b', 1);
		expect(await setting.look()).toEqual(['b']);
		setting.history[1] = entry('a', -1);
		expect(await setting.look()).toEqual(['a']);
		expect(await setting.look()).toEqual([]);
	});

	it.each([
		['with times', unchanged],
		['without times', without('created_at')],
	])('is followed where newer ones have moved it off the first page: %s', async (_, change) => {
		const setting = await watching(old(300).map(change));
		await setting.lookWith(change(making('slow', 1)));
		expect(await setting.lookWith(...entries('new', 250, 2, 0.2).map(change))).toHaveLength(250);
		setting.history[250] = change(entry('slow', 1));
		expect(await setting.look()).toEqual(['slow']);
		await setting.look();
		expect(setting.pages).toBe(1);
	});

	it('is given up after two hours', async () => {
		const setting = await watching([]);
		await setting.lookWith(making('a', 1));
		await setting.look(2 * 60 + 1);
		setting.history = [entry('a', 1)];
		expect(await setting.look()).toEqual([]);
	});
});

describe('a restart', () => {
	it.each(['killed', 'closed'] as const)('(%s) repeats nothing and misses nothing', async (how) => {
		const setting = await watching([making('slow', -1), ...old(300)]);
		await setting.lookWith(entry('a', 1));
		setting.restart(how);
		setting.history.unshift(...entries('meanwhile', 250, 2));
		setting.history[251] = entry('slow', -1);
		setting.now += 24 * 60 * MINUTE;
		expect(await setting.look()).toEqual(['slow', ...named('meanwhile', 250)]);
		expect(await setting.look()).toEqual([]);
	});

	it('with a new token goes on with the same history, with another account begins anew', async () => {
		const setting = await watching(old(300));
		setting.restart('killed', 'the same account, renewed');
		expect(await setting.lookWith(entry('a', 1))).toEqual(['a']);
		setting.restart('closed', 'another account');
		setting.history = entries('other', 300, -905, 3);
		expect(await setting.look()).toEqual([]);
		expect(await setting.lookWith(entry('b', 20))).toEqual(['b']);
	});
});
