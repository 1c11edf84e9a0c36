import type { ServiceRecord, SentRequest } from '../../nodes/shared/contract';
import { readHistory } from '../../nodes/shared/generation/historyEntries';
import { matchHistory } from '../../nodes/shared/generation/historyMatching';
import { readGeneratedFiles } from '../../nodes/shared/parsing/responses';
import { sent, SENT_AT } from './sent';

/* Whose an entry of the history is, where several requests may have made it. */

const MINUTE = 60_000;
beforeEach(() => void jest.useFakeTimers({ now: SENT_AT + MINUTE }));
afterEach(() => void jest.useRealTimers());

/** What of `history`, newest first, belongs to a request. */
function match(request: SentRequest, alike: SentRequest[], history: ServiceRecord[]) {
	const entries = readHistory(history, 'https://media.example.com');
	const { own, candidates } = matchHistory(request, alike, entries);
	const records = [own, candidates].map((some) => some.map(({ record }) => record));
	return { own: records[0], candidates: records[1] };
}

const at = (seconds: number) => new Date(SENT_AT + seconds * 1000).toISOString();

/** The entry of this number, made so many seconds after the request as it has. */
const listed = (fields: ServiceRecord, number: number): ServiceRecord => {
	const file_url = `https://files.example.com/e${number}.mp4?sign=1`;
	return { id: `e${number}`, prompt: 'P', file_url, created_at: at(5 + number), ...fields };
};
const filesOf = (...records: ServiceRecord[]) =>
	readGeneratedFiles(records, 'https://media.example.com');

type Other = Partial<SentRequest> & {
	/** Its stream goes on: it was lost unless told so. */
	isHeard?: boolean;
	/** What it has got. */
	got?: ServiceRecord[];
};

/** A request whose stream was lost when it was sent. */
function lost({ isHeard, got, ...fields }: Other): SentRequest {
	const request = sent(fields);
	if (!isHeard) request.searchUntil = request.sentAt + 10 * MINUTE;
	if (got) Object.assign(request, { files: filesOf(...got), expected: got.length });
	return request;
}

/** What it gets: these entries, or nothing while all that may be its own are listed. */
type Expected = number[] | 'listed';

interface Setting {
	mine?: Other;
	/** Sent before it, and after it. */
	others?: Other[];
	later?: Other[];
	/** Minutes since it was sent. */
	after?: number;
}

const [LANDSCAPE, PORTRAIT] = ['VIDEO_ASPECT_RATIO_LANDSCAPE', 'VIDEO_ASPECT_RATIO_PORTRAIT'];
const wide = { mine: { aspectRatio: LANDSCAPE }, others: [{ aspectRatio: PORTRAIT }] };
const images = { withImages: true };
const [first] = [listed({}, 0)];
const elsewhere = { file_url: 'https://cdn.example.com/job' };
const failed = { status: 'failed', file_url: '' };

test.each<[string, entries: ServiceRecord[], Expected, Setting?]>([
	['nothing, while there is nothing', [], []],
	['the only entry', [{}], [0]],
	['a part of its entries', [{}], [0], { mine: { expected: 2 } }],
	['nothing of more than it asked for', [{}, {}], 'listed'],
	['nothing of another prompt', [{ prompt: 'Q' }, { prompt: 'p' }, { prompt: undefined }], []],
	['what has no prompt, where none was sent', [{ prompt: '' }, {}], [0], { mine: { prompt: '' } }],
	['nothing made before it', [{ created_at: at(-60) }, { created_at: 'yesterday' }], []],
	['what is of its second', [{ created_at: at(0) }], [0], { mine: { sentAt: SENT_AT + 900 } }],
	[
		'what was made after it in another time zone',
		[{ created_at: '2026-01-01T15:30:05+05:30' }],
		[0],
	],
	[
		'nothing made before it in another time zone',
		[{ created_at: '2026-01-01T10:30:05+05:30' }],
		[],
	],
	['nothing of another kind', [{ type: 'image' }], []],
	['an image without an ending', [{ file_url: '/download/17' }], [0], { mine: { kind: 'image' } }],
	['what has its own shape', [{ aspect_ratio: '9:16' }, { aspect_ratio: '16:9' }], [1], wide],
	['nothing that tells no shape, beside one of another', [{}], 'listed', wide],
	[
		'what an event told',
		[{}, { prompt: 'rewritten', created_at: undefined }],
		[1],
		{ mine: { told: ['e1'] } },
	],
	['what an event told as a number', [{ id: 42 }], [0], { mine: { told: ['42'] } }],
	['nothing of another id than was told', [{}], 'listed', { mine: { told: ['e9'] } }],
	['nothing told to another', [{}, {}], [1], { others: [{ told: ['e0'] }] }],
	['nothing that somebody has', [{}, {}], [1], { others: [{ got: [first] }] }],
	[
		'nothing that somebody has by its address',
		[{}, {}],
		[1],
		{ others: [{ got: [{ ...first, id: undefined }] }] },
	],
	[
		'all that others do not have',
		[{}],
		[0],
		{ others: [{ got: [{ ...first, ...elsewhere, id: 'x' }] }] },
	],
	['its share of equal requests', [{}, {}], [1], { others: [{}] }],
	['its share as the first of them', [{}, {}], [0], { later: [{}] }],
	['the first, before the other is there', [{}], [0], { later: [{}] }],
	['nothing before the first has its own', [{}], 'listed', { others: [{}] }],
	['nothing of more than equal ones asked for', [{}, {}, {}], 'listed', { others: [{}] }],
	[
		'nothing while an equal one is on its stream',
		[{}, {}],
		'listed',
		{ later: [{ isHeard: true }] },
	],
	['nothing beside a different one', [{}], 'listed', { mine: images, others: [{}], after: 6 }],
	[
		'what was made before a different one was sent',
		[{}],
		[0],
		{ later: [{ ...images, sentAt: SENT_AT + 20_000 }] },
	],
	['a failed entry, when it is alone', [failed], [0]],
	['what a failed one has not made', [failed, {}], [1], { others: [{ got: [] }] }],
	['nothing with images for five minutes', [{}], 'listed', { mine: images, after: 4 }],
	['the only entry after them', [{}], [0], { mine: images, after: 6 }],
	['what an event told, with images', [{}, {}], [1], { mine: { ...images, told: ['e1'] } }],
	[
		'no share of requests with images',
		[{}, {}],
		'listed',
		{ mine: images, others: [images], after: 6 },
	],
])('a request gets %s', (_, entries, expected, setting = {}) => {
	const { mine, others = [], later = [], after = 1 } = setting;
	const request = lost(mine ?? {});
	const alike = [...others.map(lost), request, ...later.map(lost)];
	jest.setSystemTime(SENT_AT + after * MINUTE);
	const all = entries.map(listed);
	const isOwn = Array.isArray(expected);
	const { own, candidates } = match(request, alike, all.toReversed());
	expect(own).toEqual(isOwn ? expected.map((index) => all[index]) : []);
	expect(candidates).toEqual(isOwn ? [] : all.toReversed());
});

const made = (...fields: ServiceRecord[]) => fields.map(listed);

test('equal requests get the same share whoever looks first, and after one has ended', () => {
	const [one, two] = [lost({}), lost({ expected: 2 })];
	const [a, b, c] = made({}, {}, {});
	expect(match(two, [one, two], [a!, b!, c!]).own).toEqual([b, c]);
	two.files = filesOf(b!, c!);
	expect(match(one, [one, two], [a!, b!, c!]).own).toEqual([a]);
});

test('entries of one second are shared in the order of the history, which is newest first', () => {
	const both = [lost({}), lost({})];
	const [newer, older] = made({ created_at: at(5) }, { created_at: at(5) });
	const shares = both.map((request) => match(request, both, [newer!, older!]).own);
	expect(shares).toEqual([[older], [newer]]);
});

test('a request that was given up half an hour ago has made nothing since', () => {
	const late = lost({ sentAt: SENT_AT + 60 * MINUTE });
	const entry = { ...first, created_at: at(3605) };
	expect(match(late, [lost(images), late], [entry]).own).toEqual([entry]);
});

test.each<[ServiceRecord, number, boolean]>([
	[{ status: 'completed', file_url: '/a.mp4' }, 1, false],
	[{ status: 'MEDIA_GENERATION_STATUS_SUCCESSFUL', file_urls: ['/a', '/b'] }, 2, false],
	[{ status: 'processing', file_url: null }, 0, false],
	[{ status: 'FAILED' }, 0, true],
	[{ status: 'cancelled', file_url: '' }, 0, true],
	[{ status: 'MEDIA_GENERATION_STATUS_FAILED' }, 0, true],
])('an entry says what came of it: %j: %d files, failed: %p', (fields, count, isFailed) => {
	const [state] = readHistory([fields], 'https://media.example.com');
	expect([state!.files.length, state!.failed]).toEqual([count, isFailed]);
});
