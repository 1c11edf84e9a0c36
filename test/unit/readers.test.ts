import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import {
	readCreatedTaskId,
	readFileUrl,
	readGeneratedFiles,
	readNotification,
	readPage,
	readSpeechTask,
} from '../../nodes/shared/parsing/responses';
import * as values from '../../nodes/shared/parsing/coerce';
import { readReason, saysFailure, saysNothing } from '../../nodes/shared/parsing/errors';
import { redactor } from '../../nodes/shared/parsing/redaction';

/* What an answer says, in every shape in which deployments say it; more in docs/faults.md, test/fuzz. */

const ORIGIN = 'https://media.example.com';
const BASE = `${ORIGIN}/api`;
const FILE = 'https://files.example.com/a.mp3';
const OTHER = 'https://files.example.com/b.mp3';
const task = (raw: unknown) => readSpeechTask(raw, { baseUrl: BASE, redact: redactor('') });
const done = { id: 1, status: 'completed' };
const message = (payload: unknown, type = 'labs_status_updated') =>
	JSON.stringify({ type, payload });

/** What each reader says of a value. */
const read = {
	text: values.asText,
	number: values.asNumber,
	percentage: values.asPercentage,
	time: values.asTime,
	JSON: (text: unknown) => values.parseJson(text as string),
	'web page': (text: unknown) => values.looksLikeHtml(text as string),
	'created task': readCreatedTaskId,
	address: (raw: unknown) => readFileUrl(raw, BASE),
	'audio address': (fields: unknown) => task({ ...done, ...(fields as object) })?.audioUrl,
	'subtitle address': (fields: unknown) =>
		task({ ...done, audio_url: FILE, ...(fields as object) })?.subtitleUrl,
	notification: (text: unknown) => readNotification(text as string),
	files: (raw: unknown) => readGeneratedFiles(raw, BASE).map(({ fileUrl }) => fileUrl),
	page: readPage,
	reason: readReason,
};
type Reader = keyof typeof read;

const angles = 'speed must be > 0.7 and < 1.2, style < 1 or > 0';
const bigIds = '{"data":{"task_id" : 12345678901234567890,"id":1234567890123456789},"id": 7}';
const quoted = JSON.stringify({ prompt: 'say "id":12345678901234567890, please' });
const page = { items: [{ id: 1 }], bare: false, total: undefined, pageSize: undefined };

test.each<[Reader, unknown, unknown]>([
	['text', '  padded ', 'padded'],
	['text', 1204871, '1204871'],
	['text', 0, '0'],
	['number', ' 7.5 ', 7.5],
	['percentage', '93', 93],
	['percentage', 42.4, 42],
	// 100 announces the outcome.
	['percentage', 99.6, 99],
	['percentage', -3, 0],
	['percentage', 250, 100],
	['time', '2026-01-01T10:00:00+02:00', 1_767_254_400_000],
	['time', '2026-01-01T08:00:00.000Z', 1_767_254_400_000],
	['time', 1_767_254_400, 1_767_254_400_000],
	['time', 1_767_254_400_000, 1_767_254_400_000],
	['time', '1767254400.25', 1_767_254_400_250],
	['time', 2026, Date.UTC(2026, 0)],
	// An identifier beyond 2^53 keeps its digits.
	['JSON', bigIds, { data: { task_id: '12345678901234567890', id: '1234567890123456789' }, id: 7 }],
	['JSON', quoted, JSON.parse(quoted)],
	['JSON', '\uFEFF{"a":1}', { a: 1 }],
	['web page', '<!DOCTYPE html><p>', true],
	['web page', '\n <html lang="en">', true],
	['web page', '<?xml version="1.0"?>', true],
	['web page', '<!-- edge --><html>', true],
	['web page', '{"a":"<html>"}', false],
	['web page', 'event: x', false],
	['created task', { task_id: 184467 }, '184467'],
	['created task', { id: '5f0c7c1e-8c5b-4a35' }, '5f0c7c1e-8c5b-4a35'],
	['created task', { success: true, data: { task_id: '184467' } }, '184467'],
	['created task', { id: '9', error: { code: 0 } }, '9'],
	['created task', { task_id: '9', error: 'Voice replaced' }, '9'],
	['address', '/files/a.mp3', `${ORIGIN}/files/a.mp3`],
	['address', 'files/a.mp3', `${BASE}/files/a.mp3`],
	['address', '//cdn.example.com/a.mp3', 'https://cdn.example.com/a.mp3'],
	['address', [null, '', FILE], FILE],
	['address', { path: '/var/tmp/a.mp3', url: FILE }, FILE],
	['address', '/files/My Voice.mp3', `${ORIGIN}/files/My%20Voice.mp3`],
	['audio address', { audio_url: FILE }, FILE],
	['audio address', { result: { url: FILE } }, FILE],
	['subtitle address', { subtitle: FILE }, FILE],
	['subtitle address', { subtitle_url: FILE }, FILE],
	[
		'notification',
		message({ task_id: 't-1', process_percentage: 43 }),
		{ taskId: 't-1', percentage: 43 },
	],
	['notification', message({ id: 12, process_percentage: '71' }), { taskId: '12', percentage: 71 }],
	['notification', message({ task_id: '1' }), { taskId: '1', percentage: undefined }],
	['files', { id: 'a', file_url: FILE }, [FILE]],
	['files', { id: 'a', file_urls: [FILE, OTHER] }, [FILE, OTHER]],
	['files', { file_url: FILE, file_urls: [FILE, OTHER] }, [FILE, OTHER]],
	['files', { file_url: '', file_urls: [FILE, OTHER] }, [FILE, OTHER]],
	['files', FILE, [FILE]],
	['files', { images: [{ url: FILE }] }, [FILE]],
	['files', [{ id: 1, status: 'failed', file_url: '' }, { file_url: OTHER }], [OTHER]],
	['files', { file_url: FILE, url: 'https://example.com/watch/1' }, [FILE]],
	['page', [{ id: 1 }], { ...page, bare: true }],
	['page', { voices: [{ id: 1 }], total: 3, page_size: 1 }, { ...page, total: 3, pageSize: 1 }],
	['page', { data: [{ id: 1 }], total: '3', page_size: '1' }, { ...page, total: 3, pageSize: 1 }],
	['page', { items: [{ id: 1 }] }, page],
	['reason', { error: angles }, angles],
	['reason', { error: JSON.stringify({ code: 'x', message: 'Say "please"' }) }, 'Say "please"'],
])('%s: %j is %j', (reader, value, expected) => {
	expect(read[reader](value)).toEqual(expected);
});

const notThere = ['', '  ', null, undefined, true, {}];
test.each<[Reader, nothing: unknown, raw: unknown[]]>([
	['text', undefined, [...notThere, NaN]],
	['number', undefined, ['', 'seven', 'Infinity', null, true]],
	['percentage', undefined, ['x', null]],
	['time', NaN, ['yesterday', null]],
	['JSON', undefined, ['{"a":', '']],
	['created task', undefined, [{}, { task_id: '' }, { task_id: null }, [], '184467', null]],
	[
		'created task',
		undefined,
		[
			{ id: '9', error: 'Too long' },
			{ id: '9', success: false },
		],
	],
	['created task', undefined, [{ error: 'Too long', data: { id: '9' } }]],
	['address', undefined, [...notThere, 42, [], { url: null }, 'not there yet', 'pending', 'N/A']],
	['address', undefined, ['javascript:alert(1)', 'file:///etc/passwd', 'http://']],
	[
		'subtitle address',
		undefined,
		[null, 'Hello there.', {}, 'file:///a'].map((subtitle) => ({ subtitle })),
	],
	[
		'notification',
		undefined,
		[message({ task_id: '1' }, 'hello'), message({}), '[1]', 'null', '{"t', ''],
	],
	['files', [], ['processing', { file_url: null, status: 'processing' }, { file_urls: [] }, []]],
	['files', [], [{ error: 'UNSAFE_GENERATION' }, { status: 'processing', result: 'none' }]],
	['page', undefined, [null, 'x', {}, { total: 3 }, { error: 'no' }, { voices: null }]],
])('%s: nothing (%p) is read from %j', (reader, nothing, raw) => {
	expect(raw.map((value) => read[reader](value))).toEqual(raw.map(() => nothing));
});

test('a time without a zone is in UTC, wherever n8n runs', () => {
	const built = join(__dirname, '../../dist/nodes/shared/parsing/coerce.js');
	const texts = ['2026-01-01T08:00:00.250', '2026-01-01 08:00:00', '2026-01-01T08:00'];
	const script = `${JSON.stringify(texts)}.map(require(${JSON.stringify(built)}).asTime).join()`;
	const env = { ...process.env, TZ: 'Asia/Tokyo' };
	const times = execFileSync(process.execPath, ['-p', script], { env, encoding: 'utf8' });
	expect(times.trim()).toBe('1767254400250,1767254400000,1767254400000');
});

describe('a speech task', () => {
	it.each([
		...['pending', 'processing', 'completed', 'error'].map((status) => [status, status]),
		...['COMPLETED', ' Completed '].map((status) => [status, 'completed']),
		...['Failed', 'CANCELLED', 'canceled'].map((status) => [status, 'error']),
	])('with the status %p is %s', (status, state) => {
		expect(task({ status })).toMatchObject({ state, status: state });
	});

	it.each(['queued', 'rendering', '404', 'constructor'])(
		'with the unknown status %p is not finished, and keeps the word',
		(status) => {
			expect(task({ status })).toMatchObject({ state: 'processing', status });
		},
	);

	it('is completed by its address where a deployment leaves the status out', () => {
		expect(task({ id: 1, audio_url: FILE })).toMatchObject({ state: 'completed', audioUrl: FILE });
	});

	it('is not what has neither status nor address', () => {
		const others = [null, [], 'completed', {}, { id: 1 }];
		expect(others.map(task)).toEqual(others.map(() => undefined));
		const error = 'Task not found';
		expect([{ error }, { error, url: '/v1/labs/task/1' }].map(task)).toEqual([
			undefined,
			undefined,
		]);
	});
});

test("generated files have an id and the service's fields each", () => {
	const raw = [
		{ id: 2, prompt: 'p', file_url: FILE, status: 'MEDIA_GENERATION_STATUS_SUCCESSFUL' },
	];
	expect(readGeneratedFiles(raw, BASE)).toEqual([{ id: '2', fileUrl: FILE, fields: raw[0] }]);
});

describe('the value of an `error`', () => {
	it.each([...['', ' ', undefined, null, false, 0, [], {}, { code: 0, message: '' }]])(
		'%p says nothing',
		(error) => {
			expect(saysNothing(error)).toBe(true);
			expect(saysFailure({ error })).toBe(false);
			expect(saysFailure({ error, success: false })).toBe(true);
			expect(readReason({ error, message: 'Too long' })).toBe('Too long');
		},
	);

	it.each([...['no', 'error', 1, true, { code: 7 }, { code: 0, message: 'Too long' }]])(
		'%p says something',
		(error) => expect([saysNothing(error), saysFailure({ error })]).toEqual([false, true]),
	);
});
