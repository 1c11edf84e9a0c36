import { Readable } from 'node:stream';
import type { ILoadOptionsFunctions } from 'n8n-workflow';
import { returnAll, type NumberField } from '../../nodes/shared/n8n/descriptions';
import { NodeParameters } from '../../nodes/shared/n8n/parameters';
import {
	matches,
	searchVoices,
	voiceEntry,
} from '../../nodes/MediaGeneration/listSearch/searchVoices';
import { refusal } from './refusal';

/** The fields of an item whose parameters are these. */
function fields(parameters: Record<string, unknown>): NodeParameters {
	return new NodeParameters((name, fallback) => (name in parameters ? parameters[name] : fallback));
}
const option = (name: string, value: unknown) => fields({ options: { [name]: value } });
const refused = (field: string, text: RegExp) => ({
	field,
	text: expect.stringMatching(text) as string,
});

describe('a text', () => {
	const text = (value: unknown) => fields({ text: value }).text('text', 'Text');

	it('is taken exactly as it is', () => {
		expect(text(' Hello,\n world ')).toBe(' Hello,\n world ');
	});

	it('may be a number that an expression gave', () => {
		expect([0, 12.5].map(text)).toEqual(['0', '12.5']);
	});

	it.each(['', '  \n', null, undefined])('%p is refused as empty, by name', (value) => {
		expect(refusal(() => text(value))).toEqual({ field: 'Text', text: 'is empty' });
	});

	it.each([{}, ['a'], true, NaN])('%p is refused as no text', (value) => {
		expect(refusal(() => text(value))).toEqual(refused('Text', /must be text/));
	});
});

describe('a voice', () => {
	const voice = (value: unknown) => fields({ voiceId: value }).locator('voiceId', 'Voice');

	it.each([
		['from the list', { __rl: true, mode: 'list', value: 'v1', cachedResultName: 'Ann' }, 'v1'],
		['by id', { __rl: true, mode: 'id', value: ' v1 \n' }, 'v1'],
		['as an expression gives it', 'v1', 'v1'],
		['from a number', { mode: 'id', value: 42 }, '42'],
	])('is read %s', (_, value, id) => {
		expect(voice(value)).toBe(id);
	});

	it.each([{ mode: 'list', value: '' }, { mode: 'id', value: null }, {}, '', undefined])(
		'is missing in %p',
		(value) => {
			expect(refusal(() => voice(value))).toEqual({ field: 'Voice', text: 'is empty' });
		},
	);
});

describe('a choice', () => {
	const allowed = ['LANDSCAPE', 'PORTRAIT'] as const;
	const choice = (value: unknown, aliases?: Map<string, 'PORTRAIT'>) =>
		fields({ ratio: value }).choice('ratio', 'Aspect Ratio', allowed, aliases);

	it('is one of those allowed', () => {
		expect(choice('PORTRAIT')).toBe('PORTRAIT');
	});

	it('is the first where the workflow holds none', () => {
		expect(fields({}).choice('ratio', 'Aspect Ratio', allowed)).toBe('LANDSCAPE');
	});

	it.each([
		['tall', 'PORTRAIT'],
		[' Tall ', 'PORTRAIT'],
		['PORTRAIT', 'PORTRAIT'],
		['LANDSCAPE', 'LANDSCAPE'],
	])('%p stands for %s where it may be said otherwise', (value, expected) => {
		expect(choice(value, new Map([['tall', 'PORTRAIT']]))).toBe(expected);
	});

	it.each(['16:9', 'portrait', '', null, 7, 'constructor'])(
		'%p is refused with those allowed',
		(value) => {
			const expected = refused('Aspect Ratio', /LANDSCAPE, PORTRAIT/);
			expect(refusal(() => choice(value))).toEqual(expected);
		},
	);
});

describe('a number', () => {
	const field = (typeOptions: NumberField['typeOptions'], byDefault = 1): NumberField => ({
		...{ displayName: 'Setting', name: 'setting', type: 'number' },
		...{ typeOptions, default: byDefault },
	});
	const videos = (value: unknown) =>
		fields({ setting: value }).number(field({ minValue: 1, maxValue: 4, numberPrecision: 0 }));

	it.each([
		[1, 1],
		[4, 4],
		['3', 3],
		[' 2 ', 2],
	])('%p is taken as %p', (value, expected) => {
		expect(videos(value)).toBe(expected);
	});

	it.each([0, 5, 1.5, 'two', '', null, undefined, NaN, true, {}, [2]])(
		'%p is refused, with its name and range',
		(value) => {
			const expected = refused('Setting', /whole number from 1 to 4/);
			expect(refusal(() => videos(value))).toEqual(expected);
		},
	);

	it.each([
		[0.7, 1.2, [0.7, 1, 1.2], [0.69, 1.21, -1]],
		[0, 1, [0, 0.75, 1], [-0.1, 1.1]],
	])('under Options keeps its range: %p to %p', (minValue, maxValue, good, bad) => {
		const read = (value: unknown) =>
			option('setting', value).numberOption(field({ minValue, maxValue }));
		for (const value of good) expect(read(value)).toBe(value);
		for (const value of bad) expect(refusal(() => read(value)).field).toBe('Setting');
	});

	it('under Options has its default where it is not set, but not for zero', () => {
		const setting = field({ minValue: 0 }, 0.75);
		expect(fields({}).numberOption(setting)).toBe(0.75);
		expect(fields({ options: {} }).numberOption(setting)).toBe(0.75);
		expect(option('setting', 0).numberOption(setting)).toBe(0);
	});

	it('of seconds is taken in milliseconds, for a week at most unless its field says otherwise', () => {
		const read = (value: unknown, limit = {}) =>
			option('setting', value).durationOption(field({ minValue: 1, ...limit }));
		expect(read(2.5)).toBe(2500);
		expect(read(604_800)).toBe(604_800_000);
		expect(refusal(() => read(604_801)).text).toMatch(/from 1 to 604800/);
		expect(refusal(() => read(11, { maxValue: 10 })).text).toMatch(/from 1 to 10 /);
	});
});

describe('a task ID', () => {
	const taskId = (value: unknown) => fields({ taskId: value }).taskId();

	it.each([
		['184467', '184467'],
		[184467, '184467'],
		[' 184467\n', '184467'],
		['5f0c7c1e-8c5b-4a35', '5f0c7c1e-8c5b-4a35'],
	])('%p is taken as %p', (value, expected) => {
		expect(taskId(value)).toBe(expected);
	});

	it.each(['', undefined])('%p is refused as empty', (value) => {
		expect(refusal(() => taskId(value))).toEqual(refused('Task ID', /empty/));
	});

	it.each([
		...['a/b', '../me', '..', 'a b', 'http://x/1', 'a?b', 'a#b', 'a\\b'],
		...['12\ud800', '1'.repeat(501)],
	])('%p is refused', (value) => {
		expect(refusal(() => taskId(value))).toEqual(refused('Task ID', /just the ID/));
	});
});

it.each<[unknown, string[]]>([
	['12, ab', ['12', 'ab']],
	[
		['12', 'ab'],
		['12', 'ab'],
	],
	['["12", "ab"]', ['12', 'ab']],
	['[ 12345678901234567890 ]', ['12345678901234567890']],
])('the tasks of a speech are read from %j', (value, ids) => {
	expect(fields({ taskId: value }).taskIdsOfSpeech(2)).toEqual(ids);
});

describe('limit, flags and the rest', () => {
	it('a limit holds unless all are wanted', () => {
		expect(fields({ limit: 7 }).limit()).toBe(7);
		expect(fields({}).limit()).toBe(50);
		expect(fields({ returnAll: true, limit: 7 }).limit()).toBe(Infinity);
	});

	it.each([true, false])('a switch of %p may be a text, and has a default', (expected) => {
		const field = { ...returnAll, default: !expected };
		for (const value of [expected, String(expected)]) {
			expect(fields({ returnAll: value }).flag(field)).toBe(expected);
		}
		expect(fields({}).flag(field)).toBe(!expected);
	});

	it('the output field is "data" unless told', () => {
		expect(fields({}).outputField()).toBe('data');
		expect(option('outputField', ' audio ').outputField()).toBe('audio');
		const blank = refusal(() => option('outputField', ' ').outputField());
		expect(blank.field).toBe('Put Output File in Field');
	});

	it.each([
		[undefined, undefined],
		['', undefined],
		[null, undefined],
		[' https://example.com/done?x=1 ', 'https://example.com/done?x=1'],
		['http://10.0.0.7/done', 'http://10.0.0.7/done'],
	])('a callback address of %p is %p', (value, expected) => {
		expect(option('callbackUrl', value).callbackUrl()).toBe(expected);
	});

	it.each(['example.com/done', 'ftp://example.com', 'javascript:alert(1)', 7, {}])(
		'a callback address of %p is refused',
		(value) => {
			expect(refusal(() => option('callbackUrl', value).callbackUrl()).field).toBe('Callback URL');
		},
	);

	it('Options that are no object are no options', () => {
		expect(fields({ options: null }).outputField()).toBe('data');
		expect(fields({ options: 'x' }).outputField()).toBe('data');
	});
});

describe('a voice in the picker', () => {
	it.each([
		['flat traits', { name: 'Ann', language: 'en', gender: 'female' }, 'Ann (English, female)'],
		[
			'a trait of several words',
			{ name: 'Ann', language: 'pt-BR', age: 'middle_aged' },
			'Ann (Brazilian Portuguese, middle aged)',
		],
		['traits under labels', { name: 'Ann', labels: { accent: 'irish' } }, 'Ann (irish)'],
		['a null and a padded trait', { name: ' Ann ', age: null, gender: ' male ' }, 'Ann (male)'],
		['no traits', { name: 'Ann', labels: null }, 'Ann'],
		['the same trait twice', { name: 'Ann', language: 'Irish', accent: 'Irish' }, 'Ann (Irish)'],
		['no name', { name: null }, 'v1'],
	])('is shown with %s', (_, voice, name) => {
		expect(voiceEntry({ voice_id: 'v1', ...voice })).toEqual({ name, value: 'v1' });
	});

	it('may have its id elsewhere, or none and then is left out', () => {
		expect(voiceEntry({ id: 7, name: 'Ann' })).toEqual({ name: 'Ann', value: '7' });
		expect(voiceEntry({ name: 'Ann' })).toBeUndefined();
	});

	it.each([
		['a web address', 'https://media.example.com/ann.mp3', 'https://media.example.com/ann.mp3'],
		['no address', 'ann.mp3', undefined],
		['code', 'javascript:alert(1)', undefined],
		['a file of the machine', 'file:///etc/passwd', undefined],
	])('can be listened to where its preview is %s', (_, preview, url) => {
		expect(voiceEntry({ voice_id: 'v1', name: 'Ann', preview_url: preview })?.url).toBe(url);
	});

	const ann = {
		voice_id: 'v1',
		name: 'Ann Smith',
		language: 'en',
		use_cases: ['audio_book'],
		labels: { accent: 'Irish', gender: 'female', age: 'middle_aged', use_cases: null },
	};
	it.each([
		...['ann irish', 'V1', 'mit', 'female', 'english', 'en'],
		...['middle aged', 'middle-aged female', 'audio book'],
	])('is found by "%s"', (filter) => {
		expect(matches(ann, filter)).toBe(true);
	});

	it.each(['ann german', 'male', 'de', 'dle'])('is not found by "%s"', (filter) => {
		expect(matches(ann, filter)).toBe(false);
	});

	it('is found by the code of a language that is given by its name', () => {
		expect(matches({ voice_id: 'v1', language: 'German' }, 'de')).toBe(true);
	});
});

describe('the voice picker', () => {
	type Answer = (page: number, search?: string) => unknown;
	/** A picker over a service that answers each page by `answer`. */
	async function pick(answer: Answer, filter?: string, token?: string) {
		const asked: Array<Record<string, unknown>> = [];
		const context = {
			getCredentials: async () => ({ apiToken: 'tok_1234567', baseUrl: 'https://localhost' }),
			getNode: () => ({ name: 'Media Generation', type: 'mediaGeneration', typeVersion: 1 }),
			helpers: {
				async httpRequest({ qs }: { qs: { page: number; search?: string } }) {
					asked.push(qs);
					const body = Readable.from([Buffer.from(JSON.stringify(answer(qs.page, qs.search)))]);
					return { statusCode: 200, headers: {}, body };
				},
			},
		};
		const picker = context as unknown as ILoadOptionsFunctions;
		const found = await searchVoices.call(picker, filter, token);
		return { ...found, asked, names: found.results.map(({ name }) => name) };
	}
	const voice = (n: number) => ({ voice_id: `v${n}`, name: `N${n}` });
	const voices = (count: number, from = 0) =>
		Array.from({ length: count }, (_, index) => voice(from + index));

	it('searches by itself where the service ignores the search', async () => {
		const { names, asked } = await pick(() => ({ voices: voices(30) }), ' n2 ');
		expect(asked[0]).toMatchObject({ search: 'n2' });
		expect(names).toContain('N2');
		expect(names).not.toContain('N3');
	});

	it('searches all pages by itself where the search of the service finds nothing', async () => {
		const all: object[] = voices(250);
		all[222] = { ...all[222], language: 'de' };
		const { names, asked, paginationToken } = await pick(
			(page, search) =>
				search === undefined
					? { voices: all.slice(page * 100, (page + 1) * 100), total: 250 }
					: { voices: [], total: 0 },
			'german',
		);
		expect(names).toEqual(['N222 (German)']);
		expect(paginationToken).toBeUndefined();
		expect(asked).toHaveLength(4);
	});

	it('looks through a thousand voices at most', async () => {
		const { names, asked } = await pick(
			(page, search) => ({ voices: search === undefined ? voices(100, page * 100) : [] }),
			'nobody',
		);
		expect(names).toEqual([]);
		expect(asked.length).toBeLessThanOrEqual(11);
	});

	/** All names, as an editor gets them that goes on while it is told to. */
	async function pickAll(answer: Answer) {
		const names: string[] = [];
		let token: string | undefined;
		for (let pages = 0; pages < 20; pages++) {
			const found = await pick(answer, '', token);
			names.push(...found.names);
			token = found.paginationToken;
			if (token === undefined) return names;
		}
		throw new Error('it never ends');
	}
	const sliceOf = (page: number, size: number) => voices(250).slice(page * size, (page + 1) * size);

	it.each<[string, Answer]>([
		['pages', (page) => ({ voices: sliceOf(page, 100), total: 250 })],
		['pages without a total', (page) => ({ voices: sliceOf(page, 100) })],
		['bare pages', (page) => sliceOf(page, 100)],
		['smaller pages than asked for', (page) => ({ voices: sliceOf(page, 30), total: 250 })],
		['smaller pages, and says so', (page) => ({ voices: sliceOf(page, 30), page_size: 30 })],
		['one bare array', () => voices(250)],
	])('shows all voices of a service with %s', async (_, answer) => {
		expect(await pickAll(answer)).toEqual(voices(250).map(({ name }) => name));
	});

	it('shows nothing of the token that the service may say, nor hands it to the editor', async () => {
		const said = (page: number) => ({
			voices: voices(100, page * 100).map((voice) => ({
				voice_id: `${voice.voice_id} tok_1234567`,
				name: `${voice.name} tok_1234567`,
				labels: { accent: encodeURIComponent('tok_1234567') },
			})),
			total: 500,
		});
		const found = await pick(said);
		expect(found.results).toHaveLength(100);
		expect(JSON.stringify([found.results, found.paginationToken])).not.toContain('tok_1234567');
		expect(found.names[1]).toBe('N1 ***** (*****)');
	});

	it.each([
		['an object', () => ({ voices: voices(100), total: 100 })],
		['an array', () => voices(100)],
	])('ends where the service repeats its only full page, %s', async (_, answer) => {
		expect(await pickAll(answer)).toHaveLength(100);
	});
});
