import type { ServiceRecord } from '../../nodes/shared/contract';
import type { MediaRequest } from '../../nodes/shared/generation/requestLedger';
import { sortOldestFirst, toHistoryEntries } from '../../nodes/shared/generation/historyEntries';
import { candidatesFor, matchHistory } from '../../nodes/shared/generation/historyMatching';
import { readGeneratedFiles } from '../../nodes/shared/parsing/responses';
import { ACCOUNT, sent, SENT_AT } from './sent';

/* Whose an entry of the history is, where several requests may have made it. */

const MINUTE = 60_000;
const SERVICE = 'https://media.example.com';

const at = (seconds: number) => new Date(SENT_AT + seconds * 1000).toISOString();

/** The entry of this number, made so many seconds after the request as it has. */
const listed = (fields: ServiceRecord, number: number): ServiceRecord => {
	const file_url = `https://files.example.com/e${number}.mp4?sign=1`;
	return { id: `e${number}`, prompt: 'P', file_url, created_at: at(5 + number), ...fields };
};

type Other = Partial<MediaRequest> & {
	/** Its stream goes on: it was lost unless told so. */
	isHeard?: boolean;
	/** What it has got. */
	receivedFiles?: ServiceRecord[];
};

/** A request whose stream was lost when it was sent. */
function lost({ isHeard, receivedFiles, ...fields }: Other): MediaRequest {
	const request = sent(fields);
	if (!isHeard) request.searchUntil = request.sentAt + 10 * MINUTE;
	if (!receivedFiles) return request;
	return {
		...request,
		files: readGeneratedFiles(receivedFiles, SERVICE),
		requestedCount: receivedFiles.length,
	};
}

/** What it gets: these entries, or nothing while all that may be its own are listed. */
type Expected = number[] | 'listed';

interface Setting {
	subject?: Other;
	/** Sent before it, and after it. */
	others?: Other[];
	later?: Other[];
}

const [LANDSCAPE, PORTRAIT] = ['VIDEO_ASPECT_RATIO_LANDSCAPE', 'VIDEO_ASPECT_RATIO_PORTRAIT'];
const wide = { subject: { aspectRatio: LANDSCAPE }, others: [{ aspectRatio: PORTRAIT }] };
const images = { hasHiddenInputs: true };
const foreign = { accountKey: 'that of another token' };
const [first, second] = [listed({}, 0), listed({}, 1)];
const timeless = { created_at: undefined };
/** As a clock of that zone shows it. */
const local = (hours: number) => at(5 + hours * 3600).slice(0, 19);
const nameless = { ...first, id: undefined };
/** As a stream tells it that has other ids and addresses than the history. */
const elsewhere = {
	...first,
	id: 'of the stream',
	file_url: 'https://files.example.com/temporary.mp4',
};
const noId = { id: undefined };
const UUID = '0b4c2f6e-8a1d-4c57-9e3b-5d7f1a2c3e4f';
const renewed = 'https://files.example.com/e0.mp4?sign=2';
const clip = (number: number, fields: ServiceRecord, path = 'download') => {
	return { ...fields, file_url: `https://files.example.com/${path}?job=${number}` };
};
const late = { sentAt: SENT_AT + 20_000 };
const later = { created_at: at(25) };
const hour = { created_at: at(3605) };
const afterHour = { subject: { sentAt: SENT_AT + 60 * MINUTE } };
/** Neither its type nor its file tells its kind. */
const untyped = { prompt: undefined, file_url: 'https://files.example.com/17' };
const failed = { status: 'failed', file_url: '' };
const WORDS = 'word '.repeat(20);

test.each<[string, entries: ServiceRecord[], Expected, Setting?]>([
	['a part of its entries', [{}], [0], { subject: { requestedCount: 2 } }],
	['nothing of more than it asked for', [{}, {}], 'listed'],
	['nothing of another prompt', [{ prompt: 'Q' }, { prompt: 'P and more' }], []],
	['nothing without its very words', [{ prompt: 'p' }, { prompt: undefined }], 'listed'],
	[
		'nothing with only the beginning of its prompt',
		[{ prompt: WORDS.slice(0, 60) }],
		'listed',
		{ subject: { prompt: WORDS } },
	],
	['nothing with fewer words than that', [{ prompt: 'w' }], [], { subject: { prompt: WORDS } }],
	[
		'what has no prompt, where none was sent',
		[{ prompt: '' }, {}],
		[0],
		{ subject: { prompt: '' } },
	],
	['nothing made before it', [{ created_at: at(-3) }], []],
	['nothing without a time', [{ created_at: undefined }, { created_at: 'yesterday' }], 'listed'],
	[
		'nothing of another zone, maybe',
		[{ created_at: local(-5) }, { created_at: local(9) }],
		'listed',
	],
	['nothing of yesterday, in any zone', [{ created_at: local(-24) }], []],
	['nothing of another kind, without a time', [{ ...timeless, type: 'image' }], []],
	['what a time without a zone puts after it, as UTC', [{ created_at: local(0) }], [0]],
	[
		'nothing that another has, without a time',
		[timeless],
		[],
		{ others: [{ receivedFiles: [first] }] },
	],
	['what is of its second', [{ created_at: at(0) }], [0], { subject: { sentAt: SENT_AT + 900 } }],
	['nothing of another kind', [{ type: 'image' }], []],
	['nothing of another kind, by its file', [{ file_url: '/a.png' }], []],
	['what has no file yet', [{ file_url: '' }], [0]],
	[
		'an image without an ending',
		[{ file_url: '/download/17' }],
		[0],
		{ subject: { kind: 'image' } },
	],
	[
		'nothing made before it, beside an equal one',
		[{}, {}, later],
		[2],
		{ subject: { requestedCount: 2, ...late }, others: [{}] },
	],
	[
		'what has its own shape, by its name',
		[{ aspect_ratio: PORTRAIT }, { aspect_ratio: LANDSCAPE }],
		[1],
		wide,
	],
	['what has a shape that nobody asked for', [{ aspect_ratio: '9:16' }], [0]],
	['what has its own shape', [{ aspect_ratio: '9:16' }, { aspect_ratio: '16:9' }], [1], wide],
	['what another shape cannot have', [{ aspect_ratio: '16:9' }], [0], wide],
	['nothing that tells no shape, beside one of another', [{}], 'listed', wide],
	['what an event told', [{}, { prompt: 'other' }], [1], { subject: { announcedIds: ['e1'] } }],
	[
		'nothing older of the ID that was told, with other words: jobs and files may be counted apart',
		[{ prompt: 'other', created_at: at(-60) }],
		[],
		{ subject: { announcedIds: ['e0'] } },
	],
	[
		'what has other words, the ID that was told, and a time without a zone',
		[{ prompt: 'other', created_at: local(-5) }],
		[0],
		{ subject: { announcedIds: ['e0'] } },
	],
	[
		'nothing of another kind of the ID that was told, as kinds may be counted apart',
		[{ type: 'image' }, {}],
		[1],
		{ subject: { announcedIds: ['e0', 'e1'] } },
	],
	[
		'what has an older time, but the words and the ID that was told',
		[{ created_at: at(-60) }],
		[0],
		{ subject: { announcedIds: ['e0'] } },
	],
	[
		'what a UUID proves, with other words, another type and only a day',
		[{ id: UUID, prompt: 'other', type: 'image', created_at: '2026-01-01' }],
		[0],
		{ subject: { announcedIds: [UUID] } },
	],
	[
		'what a UUID proves, with the very words of another request',
		[{ id: UUID, prompt: 'Q' }],
		[0],
		{ subject: { announcedIds: [UUID] }, others: [{ prompt: 'Q' }] },
	],
	[
		'nothing with the very words of another request by a short ID: that of its file may be its own job’s',
		[{ prompt: 'Q' }],
		[],
		{ subject: { announcedIds: ['e0'] }, others: [{ prompt: 'Q' }] },
	],
	[
		'nothing of another kind by a short ID, as its file shows',
		[{ file_url: '/a.png' }],
		[],
		{ subject: { announcedIds: ['e0'] } },
	],
	[
		'nothing of another shape by a short ID',
		[{ aspect_ratio: '9:16' }],
		[],
		{ subject: { announcedIds: ['e0'], aspectRatio: LANDSCAPE } },
	],
	[
		'nothing that an equal one has, whose file has the ID of its own job',
		[{}],
		[],
		{ subject: { announcedIds: ['e0'] }, others: [{ receivedFiles: [first] }] },
	],
	[
		'nothing that one with another prompt has, where the history shows none',
		[{ prompt: undefined }],
		[],
		{ subject: { announcedIds: ['e0'] }, others: [{ prompt: 'Q', receivedFiles: [first] }] },
	],
	[
		'nothing that one with another prompt has, where the history changes it',
		[{ prompt: 'Q, in colour' }],
		[],
		{
			subject: { ...images, announcedIds: ['e0'] },
			others: [{ prompt: 'Q', receivedFiles: [first] }],
		},
	],
	[
		'nothing that an equal one with other images has, either',
		[{}],
		[],
		{
			subject: { ...images, announcedIds: ['e0'] },
			others: [{ ...images, receivedFiles: [first] }],
		},
	],
	[
		'nothing older that an earlier one of a constant prompt has',
		[{ created_at: at(-60) }],
		[],
		{
			subject: { announcedIds: ['e0'] },
			others: [{ sentAt: SENT_AT - MINUTE, receivedFiles: [first] }],
		},
	],
	[
		'nothing of an ID that was told to two, as kinds may be counted apart',
		[untyped],
		'listed',
		{ subject: { announcedIds: ['e0'] }, others: [{ kind: 'image', announcedIds: ['e0'] }] },
	],
	[
		'nothing of more entries with the ID that was told than it asked for',
		[untyped, { id: 'e0' }],
		'listed',
		{ subject: { ...images, announcedIds: ['e0'] } },
	],
	[
		'what came after a failure with the same ID',
		[failed, { id: 'e0' }],
		[0, 1],
		{ subject: { ...images, announcedIds: ['e0'] } },
	],
	['nothing of another id than was told', [{}], 'listed', { subject: { announcedIds: ['e9'] } }],
	[
		'nothing told to another, also where an image has the same ID',
		[{ type: 'video' }, { type: 'video' }],
		[1],
		{ others: [{ announcedIds: ['e0'] }, { kind: 'image', announcedIds: ['e0'] }] },
	],
	['nothing told to another', [{}, {}], [1], { others: [{ announcedIds: ['e0'] }] }],
	['nothing that somebody has', [{}, {}], [1], { others: [{ receivedFiles: [first] }] }],
	[
		'nothing that may be what somebody has',
		[{}],
		'listed',
		{ others: [{ receivedFiles: [elsewhere] }] },
	],
	[
		'what one that had ended before it cannot have got',
		[{}],
		[0],
		{ others: [{ receivedFiles: [elsewhere], sentAt: SENT_AT - 11 * MINUTE }] },
	],
	[
		'nothing in the place of the one that failed, if nobody knows which that is',
		[{}],
		'listed',
		{ subject: { requestedCount: 2, announcedIds: ['e9'], failedIds: [null] } },
	],
	[
		'nothing whose address somebody has',
		[{}, {}],
		[1],
		{ others: [{ receivedFiles: [nameless] }] },
	],
	[
		'nothing that somebody has, signed anew',
		[{ ...noId, file_url: renewed }, {}],
		[1],
		{ others: [{ receivedFiles: [first] }] },
	],
	[
		'what a query tells apart',
		[clip(0, noId), clip(1, noId)],
		[1],
		{ others: [{ receivedFiles: [clip(0, noId)] }] },
	],
	[
		'what ids tell apart',
		[clip(0, {}, 'c.mp4'), clip(1, {}, 'c.mp4')],
		[1],
		{ others: [{ receivedFiles: [{ id: 'e0', ...clip(0, {}, 'c.mp4') }] }] },
	],
	['its share of equal requests', [{}, {}], [1], { others: [{}] }],
	['its share as the first of them', [{}, {}], [0], { later: [{}] }],
	['the first, before the other is there', [{}], [0], { later: [{}] }],
	[
		'the same share, though another got its own',
		[{}, {}],
		[0],
		{ later: [{ receivedFiles: [second] }] },
	],
	['the older of one second, as the first', [{ created_at: at(6) }, {}], [0], { later: [{}] }],
	['nothing before the first has its own', [{}], 'listed', { others: [{}] }],
	['nothing of more than equal ones asked for', [{}, {}, {}], 'listed', { others: [{}] }],
	['nothing beside an equal one on its stream', [{}, {}], 'listed', { later: [{ isHeard: true }] }],
	['nothing beside a different one', [{}], 'listed', { subject: images, others: [{}] }],
	['nothing beside one of another seed', [{}], 'listed', { others: [{ contentDigest: 'seed 7' }] }],
	['nothing beside one with images', [{}, {}], 'listed', { others: [images] }],
	['what a different one cannot have made', [{}], [0], { later: [{ ...images, ...late }] }],
	[
		'what one on its stream cannot have made',
		[{}, later],
		[0],
		{ later: [{ isHeard: true, ...late }] },
	],
	[
		'what a different one cannot have made, beside its own',
		[{}, later],
		[0],
		{ later: [{ ...images, ...late }] },
	],
	[
		'nothing that one given up a quarter of an hour ago may have',
		[{ created_at: at(25 * 60) }],
		'listed',
		{ subject: { sentAt: SENT_AT + 20 * MINUTE }, others: [images] },
	],
	['what one given up long ago cannot have', [hour], [0], { ...afterHour, others: [images] }],
	['no failed entry by its prompt: another process may have asked for it', [failed], []],
	['a failed entry that an event told', [failed], [0], { subject: { announcedIds: ['e0'] } }],
	['what a failed one has not made', [failed, {}], [1], { others: [{ receivedFiles: [] }] }],
	[
		'nothing with images: another may have sent the same words',
		[{}],
		'listed',
		{ subject: images },
	],
	[
		'nothing without a prompt, which the service may have written',
		[{ prompt: 'A boat' }],
		'listed',
		{ subject: { ...images, prompt: '' } },
	],
	[
		'nothing with another token: it may be of another account',
		[{}],
		'listed',
		{ subject: foreign },
	],
	[
		'what an event told, with another token',
		[{}],
		[0],
		{ subject: { ...foreign, announcedIds: ['e0'] } },
	],
	['no share with another token', [{}, {}], 'listed', { others: [foreign] }],
	[
		'what an event told, with images',
		[{}, {}],
		[1],
		{ subject: { ...images, announcedIds: ['e1'] } },
	],
	['no share with images', [{}, {}], 'listed', { subject: images, others: [images] }],
])('a request gets %s', (_, entries, expected, setting = {}) => {
	const { subject = {}, others = [], later = [] } = setting;
	const request = lost(subject);
	const alike = [...others.map(lost), request, ...later.map(lost)];
	const all = entries.map(listed);
	const history = sortOldestFirst(toHistoryEntries(all.toReversed(), SERVICE));
	const matched = matchHistory(request, alike, history, ACCOUNT);
	const candidates = matched.some(({ hasFailed }) => !hasFailed)
		? []
		: candidatesFor(request, alike, history);
	const isOwn = Array.isArray(expected);
	const records = [matched, candidates].map((some) => some.map(({ record }) => record));
	const none = expected === 'listed' ? all.toReversed() : [];
	expect(records).toEqual([isOwn ? expected.map((index) => all[index]) : [], none]);
});

test.each([
	['have all they asked for', (number: number) => ({ announcedIds: [`e${number}`] })],
	['lack something', () => ({})],
])('900 earlier requests of its long prompt that %s hold nobody up', (_, fields) => {
	const prompt = 'word, '.repeat(4000).trim();
	const all = Array.from({ length: 2000 }, (_, number) => listed({ prompt }, number));
	const history = sortOldestFirst(toHistoryEntries(all.toReversed(), SERVICE));
	const earlier = Array.from({ length: 900 }, (_, number) => lost({ prompt, ...fields(number) }));
	const request = lost({ prompt });
	const before = process.cpuUsage();
	for (let look = 0; look < 5; look++)
		matchHistory(request, [...earlier, request], history, ACCOUNT);
	const { user, system } = process.cpuUsage(before);
	expect((user + system) / 1000).toBeLessThan(1000);
});

test('many lost requests with long prompts hold nobody up while they look', () => {
	const prompts = Array.from({ length: 500 }, (_, number) => `${'word, '.repeat(300)}${number}`);
	const all = prompts.map((prompt, number) => listed({ prompt }, number));
	const history = sortOldestFirst(toHistoryEntries(all.toReversed(), SERVICE));
	const before = process.cpuUsage();
	for (let number = 0; number < 400; number++) {
		const request = lost({ prompt: `${prompts[number]} more` });
		expect(matchHistory(request, [request], history, ACCOUNT)).toEqual([]);
	}
	const { user, system } = process.cpuUsage(before);
	expect((user + system) / 1000).toBeLessThan(1000);
});

test('an entry whose files would be shared by two equal requests goes to neither, but is named', () => {
	const created_at = new Date(1_000_000).toISOString();
	const entry = (id: string, count: number) => ({
		...{ id, prompt: 'P', created_at },
		file_urls: Array.from({ length: count }, (_, n) => `https://files.example.com/${id}${n}.mp4`),
	});
	const entries = toHistoryEntries([entry('b', 4), entry('a', 3)], 'https://media.example.com');
	const times = { sentAt: 999_000, searchUntil: 1_600_000, requestedCount: 4 };
	const both = [sent({ ...times, prompt: 'P' }), sent({ ...times, prompt: 'P' })];
	const [first, second] = both.map((one) => matchHistory(one, both, entries, ACCOUNT));
	expect(first!.map(({ id }) => id)).toEqual(['a']);
	expect(second).toEqual([]);
	expect(candidatesFor(both[1]!, both, entries).map(({ id }) => id)).toContain('b');
});
