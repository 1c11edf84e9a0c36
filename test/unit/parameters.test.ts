import { Readable } from 'node:stream';
import type { ILoadOptionsFunctions } from 'n8n-workflow';
import { returnAllField, taskIdField, type NumberField } from '../../nodes/shared/n8n/descriptions';
import type { ServiceRecord } from '../../nodes/shared/contract';
import { NodeParameters } from '../../nodes/shared/n8n/parameters';
import {
	searchPatterns,
	voiceMatches,
	searchVoices,
	voiceEntry,
} from '../../nodes/MediaGeneration/listSearch/searchVoices';
import { refusal } from './refusal';

/** The fields of an item whose parameters are these. */
function fields(parameters: Record<string, unknown>): NodeParameters {
	return new NodeParameters((name, fallback) => (name in parameters ? parameters[name] : fallback));
}
const option = (name: string, value: unknown) => fields({ options: { [name]: value } });
const field = (typeOptions: NumberField['typeOptions'], byDefault = 1): NumberField => ({
	...{ displayName: 'Setting', name: 'setting', type: 'number' },
	...{ typeOptions, default: byDefault },
});
const RATIO = { name: 'ratio', displayName: 'Ratio' };
const RATIOS = ['LANDSCAPE', 'PORTRAIT'] as const;

/** How each kind of field is read from a raw value. */
const read = {
	text: (value: unknown) => fields({ text: value }).text({ name: 'text', displayName: 'Text' }),
	voice: (value: unknown) =>
		fields({ voiceId: value }).locator({ name: 'voiceId', displayName: 'Voice' }),
	ratio: (value: unknown) =>
		fields({ ratio: value }).choice(RATIO, RATIOS, new Map([['tall', 'PORTRAIT']])),
	whole: (value: unknown) =>
		fields({ setting: value }).number(field({ minValue: 1, maxValue: 4, numberPrecision: 0 })),
	speed: (value: unknown) =>
		option('setting', value).number(field({ minValue: 0.7, maxValue: 1.2 })),
	seconds: (value: unknown) =>
		option('setting', value).duration(field({ minValue: 1, maxValue: 60 })),
	task: (value: unknown) => fields({ taskId: value }).requiredTaskIds(taskIdField, 1)[0],
	tasks: (value: unknown) => fields({ taskId: value }).requiredTaskIds(taskIdField, 2),
	output: (value: unknown) => option('outputField', value).outputField(),
	options: (options: unknown) => fields({ options }).outputField(),
	switch: (value: unknown) => fields({ returnAll: value }).flag(returnAllField),
	'switch that is on': (value: unknown) =>
		fields({ returnAll: value }).flag({ ...returnAllField, default: true }),
	option: (value: unknown) =>
		option('prompt', value).textOption({ name: 'prompt', displayName: 'Prompt' }),
	callback: (value: unknown) =>
		option('callbackUrl', value).urlOption({ name: 'callbackUrl', displayName: 'Callback URL' }),
};
type Kind = keyof typeof read;

it.each<[Kind, unknown, unknown]>([
	['text', ' Hello,\n world ', ' Hello,\n world '],
	// What cuts by length leaves half an emoji; a spreadsheet, or a PDF, control characters.
	['text', 'Hello \ud83d', 'Hello \ufffd'],
	['text', '\ude00 👍🏽❤️ e\u0301\u200d', '\ufffd 👍🏽❤️ e\u0301\u200d'],
	['text', 'a\u0000b\u001b\u0007\u009f\tc\r\nd\ve\ff\u0085g', 'ab\tc\r\nd\ne\nf\ng'],
	['voice', { __rl: true, mode: 'list', value: 'v1', cachedResultName: 'Ann' }, 'v1'],
	['voice', { __rl: true, mode: 'id', value: ' v1 \n' }, 'v1'],
	['voice', { mode: 'id', value: 42 }, '42'],
	['voice', { __rl: true, mode: 'list', value: 'Ann S' }, 'Ann S'],
	['ratio', ' Tall ', 'PORTRAIT'],
	['whole', ' 2 ', 2],
	['seconds', 2.5, 2500],
	['task', ' 5f0c7c1e-8c5b-4a35\n', '5f0c7c1e-8c5b-4a35'],
	['tasks', '12, ab', ['12', 'ab']],
	['tasks', ' 12\nab\t12 ', ['12', 'ab']],
	['tasks', '["12", "ab"]', ['12', 'ab']],
	['tasks', '[ 12345678901234567890 ]', ['12345678901234567890']],
	...[true, 'TRUE', ' yes ', 'on', 1, '1'].map((value) => ['switch', value, true] as never),
	...[false, 'false', 'No', 'off', 0, '0'].map(
		(value) => ['switch that is on', value, false] as never,
	),
	['options', { outputField: 'audio' }, 'audio'],
	...[null, 'x'].map((value) => ['options', value, 'data'] as never),
	['output', undefined, 'data'],
	['output', ' audio ', 'audio'],
	['option', ' \u200b ', undefined],
	['option', null, undefined],
	['option', ' Pan \ud83d', 'Pan \ufffd'],
	['callback', '', undefined],
	['callback', ' https://example.com/done?x=1 ', 'https://example.com/done?x=1'],
])('%s: %j is read as %j', (kind, value, expected) => {
	expect(read[kind](value)).toEqual(expected);
});

const EMPTY = /^is empty$/;
it.each<[Kind, name: string, RegExp, values: unknown[]]>([
	['text', 'Text', EMPTY, ['', '  \n', null, undefined]],
	[
		'text',
		'Text',
		EMPTY,
		['\u200b', ' \ufeff\u00ad\u2060', '\u0000', '\u3164\u2800', '\u{e0041}\ufe0f'],
	],
	['text', 'Text', /must be text/, [{}, ['a'], true]],
	['text', 'Text', /^must be text NaN$/, [NaN]],
	['speed', 'Setting', / NaN$/, [NaN]],
	['voice', 'Voice', EMPTY, [{ mode: 'list', value: '' }, { value: null }, {}, undefined]],
	[
		'voice',
		'Voice',
		/^must be an ID, not a name "Ann S"$/,
		['Ann S', { mode: 'id', value: 'Ann S' }],
	],
	['ratio', 'Ratio', /must be one of tall [^,]/, ['16:9', 'portrait', '', null, 7, 'constructor']],
	['whole', 'Setting', /whole number from 1 to 4/, [0, 5, 1.5, 'two', '', null, true, {}, [2]]],
	['speed', 'Setting', /a number from 0\.7 to 1\.2/, [0.69, 1.21, -1]],
	['seconds', 'Setting', /from 1 to 60 /, [61]],
	['task', 'Task ID', EMPTY, ['', undefined]],
	[
		'task',
		'Task ID',
		/contain only task IDs/,
		['a/b', '..', 'http://x/1', '12\ud800', '1'.repeat(501)],
	],
	['task', 'Task ID', /must be text/, [{ task_id: 1 }, true]],
	['task', 'Task ID', /lists 2 tasks, .* maximum is 1/, ['a b', ['1', '2']]],
	['tasks', 'Task ID', /lists 3 tasks, .* maximum is 2/, ['1, 2, 3']],
	['option', 'Prompt', /must be text/, [{}]],
	['switch', 'Return All', /^must be true or false/, ['maybe', ' ', 2, NaN, {}, []]],
	['output', 'Put Output File in Field', EMPTY, [' ']],
	[
		'callback',
		'Callback URL',
		/^must begin with https:\/\/ or http:\/\//,
		['example.com/done', 'javascript:alert(1)', 7],
	],
])('%s: "%s" is refused by its name, %s', (kind, name, text, values) => {
	for (const value of values) {
		const { field, reason, badValue } = refusal(() => read[kind](value));
		expect([field, [reason, badValue].filter(Boolean).join(' ')]).toEqual([
			name,
			expect.stringMatching(text),
		]);
	}
});

it('what is not set has its default, but not what is zero', () => {
	const setting = field({ minValue: 0 }, 0.75);
	expect(fields({}).number(setting)).toBe(0.75);
	expect(option('setting', 0).number(setting)).toBe(0);
	expect(fields({}).choice(RATIO, RATIOS)).toBe('LANDSCAPE');
	expect(option('ratio', 'PORTRAIT').choice(RATIO, RATIOS)).toBe('PORTRAIT');
	expect([fields({ limit: 7 }).limit(), fields({}).limit()]).toEqual([7, 50]);
	expect(fields({ returnAll: true, limit: 7 }).limit()).toBe(Infinity);
	for (const returned of [undefined, null, ''])
		expect(fields({ returnAll: returned }).flag({ ...returnAllField, default: true })).toBe(true);
});

describe('a voice in the picker', () => {
	it.each([
		[
			'a trait of several words',
			{ name: 'Ann', language: 'pt-BR', age: 'middle_aged' },
			'Ann (Brazilian Portuguese, middle aged)',
		],
		['traits under labels', { name: 'Ann', labels: { accent: 'irish' } }, 'Ann (Irish)'],
		[
			'the use that was looked for',
			{ name: 'Ann', language: 'en', use_cases: ['ads', 'audio_narration'] },
			'Ann (English · audio narration)',
		],
	])('is shown with %s', (_, voice, name) => {
		const entry = voiceEntry({ voice_id: 'v1', ...voice }, searchPatterns('ann narrator'));
		expect(entry).toEqual({ name, value: 'v1' });
	});

	const ann = {
		voice_id: 'v1',
		name: 'Ann Smith',
		language: 'en',
		use_cases: ['audio_book'],
		labels: { accent: 'Irish', gender: 'female', age: 'middle_aged', use_cases: null },
	};
	const kid = {
		voice_id: 'v2',
		name: 'Samantha',
		labels: { language: 'de', age: 'child', use_cases: ['narration', 'stories'] },
	};
	it.each<[boolean, ServiceRecord, string[]]>([
		[true, ann, ['ann irish', 'V1', 'mit', 'female', 'english', 'en', 'woman', 'audio book']],
		[true, ann, ['middle aged', 'middle-aged female']],
		[true, kid, ['Deutsch', 'deu', 'german kid', 'narrator', 'story', 'CHILD']],
		[true, { language: 'zh-CN' }, ['中文', '中文 （中国）', 'chinese']],
		[true, { language: 'French' }, ['Français', 'francais', 'fr']],
		[false, ann, ['ann german', 'male', 'de', 'dle', 'man', 'kid']],
		[false, kid, ['man']],
		[false, { language: 'Mandarin', description: 'many tones' }, ['man']],
	])('is found (%p), %j, by %j', (isFound, voice, filters) => {
		for (const filter of filters) {
			expect([filter, voiceMatches(voice, searchPatterns(filter))]).toEqual([filter, isFound]);
		}
	});
});

describe('the voice picker', () => {
	type Answer = (page: number, search?: string) => unknown;
	type Request = { qs: { page: number; search?: string }; abortSignal: AbortSignal };
	/** A picker over a service that answers each page by `answer`. */
	async function pick(answer: Answer, filter?: string, answers = true) {
		const sentQueries: Array<Record<string, unknown>> = [];
		const context = {
			// What a silent service leaves behind holds back the same account for half a minute.
			getCredentials: async () => ({
				apiToken: answers ? 'tok_1234567' : 'tok_silent',
				baseUrl: 'https://localhost',
			}),
			getNode: () => ({ name: 'Media Generation', type: 'mediaGeneration', typeVersion: 1 }),
			helpers: {
				async httpRequest({ qs, abortSignal }: Request) {
					sentQueries.push(qs);
					if (!answers) await new Promise((_, fail) => abortSignal.addEventListener('abort', fail));
					const body = Readable.from([Buffer.from(JSON.stringify(answer(qs.page, qs.search)))]);
					return { statusCode: 200, headers: {}, body };
				},
			},
		};
		const picker = context as unknown as ILoadOptionsFunctions;
		const found = await searchVoices.call(picker, filter);
		return { ...found, sentQueries, names: found.results.map(({ name }) => name) };
	}
	const voices = (count: number) =>
		Array.from({ length: count }, (_, n) => ({ voice_id: `v${n}`, name: `N${n}` }));

	it('searches all pages by itself where the search of the service finds nothing', async () => {
		const all: object[] = voices(250);
		all[222] = { ...all[222], language: 'de' };
		const { names, sentQueries } = await pick((page, search) => {
			const found = search === undefined ? all.slice(page * 100, (page + 1) * 100) : [];
			return { voices: found, total: search === undefined ? 250 : 0 };
		}, 'german');
		expect(names).toEqual(['N222 (German)']);
		expect(sentQueries).toHaveLength(4);
	});

	it('does not advise a longer Timeout, which it lacks, where the service does not respond', async () => {
		jest.useFakeTimers();
		const picked = pick(() => [], undefined, false).catch((error: unknown) => error);
		await jest.advanceTimersByTimeAsync(61_000);
		expect(await picked).toMatchObject({ message: 'The service did not respond' });
		jest.useRealTimers();
	});

	it('shows the voices of all pages', async () => {
		const all = voices(250);
		const page = (n: number) => ({ voices: all.slice(n * 100, (n + 1) * 100), total: 250 });
		expect((await pick(page)).names).toEqual(all.map(({ name }) => name));
	});

	it('shows nothing of the token that the service may say, nor hands it to the editor', async () => {
		const labels = { accent: encodeURIComponent('tok_1234567') };
		const said = voices(100).map(({ voice_id, name }) => {
			return { voice_id: `${voice_id} tok_1234567`, name: `${name} tok_1234567`, labels };
		});
		const { results, names } = await pick(() => ({ voices: said, total: 100 }));
		expect(JSON.stringify(results)).not.toContain('tok_1234567');
		expect(names[1]).toBe('N1 ***** (*****)');
	});
});
