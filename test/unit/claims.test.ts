import type { ServiceRecord, SentRequest } from '../../nodes/shared/contract';
import { Claims } from '../../nodes/shared/generation/claims';
import { readHistory } from '../../nodes/shared/generation/historyEntries';
import type { Claim } from '../../nodes/shared/generation/historyMatching';
import { readGeneratedFiles } from '../../nodes/shared/parsing/responses';
import { judge, sent, SENT_AT } from './judge';

/* Whose an entry of the history is, where several requests may have made it. */

const MINUTE = 60_000;
let claims: Claims;
beforeEach(() => {
	jest.useFakeTimers({ now: SENT_AT + MINUTE });
	claims = new Claims();
});
afterEach(() => void jest.useRealTimers());

const at = (seconds: number) => new Date(SENT_AT + seconds * 1000).toISOString();

/** The entry of this number, made so many seconds after the request as it has. */
const listed = (fields: ServiceRecord, number: number): ServiceRecord => {
	const file_url = `https://files.example.com/e${number}.mp4?sign=1`;
	return { id: `e${number}`, prompt: 'P', file_url, created_at: at(5 + number), ...fields };
};
const filesOf = (...records: ServiceRecord[]) =>
	readGeneratedFiles(records, 'https://media.example.com');

type Other = Partial<SentRequest> & {
	/** What became of it: it was lost unless told otherwise. */
	is?: 'streaming' | 'givenUp' | 'failed';
	/** What it has got. */
	got?: ServiceRecord;
};

function opened({ is, got, ...fields }: Other): Claim {
	const claim = claims.open(sent(fields));
	if (got) claims.settle(claim, filesOf(got));
	else if (is === 'failed') claims.settle(claim, []);
	else if (is === 'givenUp') claims.giveUp(claim);
	else if (is !== 'streaming') claim.state = 'lost';
	return claim;
}

/** What it gets: these entries; nothing while all that may be its own are listed, or for good. */
type Expected = number[] | 'listed' | 'hopeless';

interface Setting {
	mine?: Partial<SentRequest>;
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
	['nothing of more than it asked for', [{}, {}], 'hopeless'],
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
	['the only entry, though of another id than was told', [{}], [0], { mine: { told: ['e9'] } }],
	[
		'nothing of another id than was told, with images',
		[{}],
		'listed',
		{ mine: { ...images, told: ['e9'] }, after: 6 },
	],
	['nothing told to another', [{}, {}], [1], { others: [{ told: ['e0'] }] }],
	['nothing that somebody has', [{}, {}], [1], { others: [{ got: first }] }],
	[
		'nothing that somebody has by its address',
		[{}, {}],
		[1],
		{ others: [{ got: { ...first, id: undefined } }] },
	],
	[
		'nothing signed anew',
		[{}, {}],
		[1],
		{ others: [{ got: { file_url: String(first!.file_url).replace('1', '2') } }] },
	],
	['all that others do not have', [{}], [0], { others: [{ got: { ...elsewhere, id: 'x' } }] }],
	['its share of equal requests', [{}, {}], [1], { others: [{}] }],
	['its share as the first of them', [{}, {}], [0], { later: [{}] }],
	['the first, before the other is there', [{}], [0], { later: [{}] }],
	['nothing before the first has its own', [{}], 'listed', { others: [{}] }],
	['what nobody else waits for', [{}], [0], { others: [{ is: 'givenUp' }] }],
	['nothing of more than equal ones asked for', [{}, {}, {}], 'hopeless', { others: [{}] }],
	[
		'nothing while an equal one is on its stream',
		[{}, {}],
		'listed',
		{ later: [{ is: 'streaming' }] },
	],
	['nothing beside a different one', [{}], 'listed', { mine: images, others: [{}], after: 6 }],
	[
		'nothing of what it or a different one has made',
		[{}, {}],
		'hopeless',
		{ mine: images, others: [{}], after: 6 },
	],
	[
		'what was made before a different one was sent',
		[{}],
		[0],
		{ later: [{ ...images, sentAt: SENT_AT + 20_000 }] },
	],
	['a failed entry, when it is alone', [failed], [0]],
	['what a failed one has not made', [failed, {}], [1], { others: [{ is: 'failed' }] }],
	['nothing with images for five minutes', [{}], 'listed', { mine: images, after: 4 }],
	['the only entry after them', [{}], [0], { mine: images, after: 6 }],
	['what an event told, with images', [{}, {}], [1], { mine: { ...images, told: ['e1'] } }],
	[
		'no share of requests with images',
		[{}, {}],
		'hopeless',
		{ mine: images, others: [images], after: 6 },
	],
])('a request gets %s', (_, entries, expected, setting = {}) => {
	const { mine, others = [], later = [], after = 1 } = setting;
	for (const other of others) opened(other);
	const claim = opened(mine ?? {});
	for (const other of later) opened(other);
	jest.setSystemTime(SENT_AT + after * MINUTE);
	const all = entries.map(listed);
	const isOwn = Array.isArray(expected);
	const verdict = judge(claims, claim, all.toReversed());
	expect(verdict.own).toEqual(isOwn ? expected.map((index) => all[index]) : []);
	expect(verdict.candidates).toEqual(isOwn ? [] : all.toReversed());
	expect(verdict.isHopeless).toBe(expected === 'hopeless');
});

const made = (...fields: ServiceRecord[]) => fields.map(listed);
const own = (claim: Claim, ...history: ServiceRecord[]) => judge(claims, claim, history).own;

test('equal requests get the same share whoever looks first, and after one has ended', () => {
	const [one, two] = [opened({}), opened({ expected: 2 })];
	const [a, b, c] = made({}, {}, {});
	expect(own(two!, a!, b!, c!)).toEqual([b, c]);
	claims.settle(two!, filesOf(b!, c!));
	expect(own(one!, a!, b!, c!)).toEqual([a]);
});

test('entries of one second are shared in the order of the history, which is newest first', () => {
	const both = [opened({}), opened({})];
	const [newer, older] = made({ created_at: at(5) }, { created_at: at(5) });
	expect(both.map((claim) => own(claim, newer!, older!))).toEqual([[older], [newer]]);
});

test('beside a file that came under another name, nothing is a further one', () => {
	const claim = opened({ expected: 2 });
	claims.receive(claim, filesOf({ ...elsewhere, id: 'job' }));
	expect(own(claim, first!)).toEqual([]);
});

test('a request that was given up half an hour ago has made nothing since', () => {
	opened({ ...images, is: 'givenUp' });
	const late = opened({ sentAt: SENT_AT + 60 * MINUTE });
	const entry = { ...first, created_at: at(3605) };
	expect(own(late, entry)).toEqual([entry]);
});

test('the request’s time is one of the clock that the service had when it was sent', () => {
	const hour = 60 * MINUTE;
	const known = opened({ clockOffsetMs: hour });
	const told = { ...first, created_at: at(3605) };
	expect(judge(claims, known, [told, first!], -hour).own).toEqual([told]);
	const unknown = opened({ ...images, prompt: 'Q' });
	jest.setSystemTime(SENT_AT + 6 * MINUTE);
	expect(judge(claims, unknown, [{ ...told, prompt: 'Q' }], hour).own).toHaveLength(1);
});

describe('what an earlier attempt, perhaps in another process, has sent', () => {
	it('and not got may still be its own', () => {
		claims.recall(sent(images));
		expect(own(opened({}), first!)).toEqual([]);
	});

	it('and got is no other’s, however long ago', () => {
		claims.recall(sent(), filesOf(first!), SENT_AT - 180 * MINUTE);
		claims.recall(sent(), filesOf(), SENT_AT - 180 * MINUTE);
		expect(own(opened({}), first!)).toEqual([]);
	});

	it('is searched for as one request, however often it is told of', () => {
		const request = sent({ told: ['e0'] });
		claims.recall(request);
		const again = claims.open(request);
		claims.recall(request);
		expect(own(again, first!, ...made({}, {}).slice(1))).toEqual([first]);
	});
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
