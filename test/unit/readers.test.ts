import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { MEDIA, type MediaKind } from '../../nodes/shared/contract';
import {
	idOf,
	readCreatedTaskId,
	readFileUrl,
	readGeneratedFiles,
	readNotification,
	readPage,
	readSpeechTask,
} from '../../nodes/shared/parsing/responses';
import * as values from '../../nodes/shared/parsing/values';
import { failureOfAnswer, readReason, reportsError } from '../../nodes/shared/parsing/errors';
import { redactor } from '../../nodes/shared/parsing/redaction';

/* What an answer says, in every shape in which deployments say it; more in docs/faults.md, test/fuzz. */

const ORIGIN = 'https://media.example.com';
const BASE = `${ORIGIN}/api`;
const FILE = 'https://files.example.com/a.mp3';
const DATA = 'data:audio/mpeg;base64,SUQz';
const OTHER = 'https://files.example.com/b.mp3';
const task = (raw: unknown) => readSpeechTask(raw, { baseUrl: BASE, redact: redactor('') });
const asStatus = (status: string) => ({ status });
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
	id: idOf,
	address: (raw: unknown) => readFileUrl(raw, BASE),
	'audio address': (fields: unknown) => task({ ...done, ...(fields as object) })?.audioUrl,
	'subtitle address': (fields: unknown) =>
		task({ ...done, audio_url: FILE, ...(fields as object) })?.subtitleUrl,
	'certain end and word of a task': (raw: unknown) => {
		const { isEndCertain, end, status } = task(raw) ?? {};
		return [isEndCertain ? end : undefined, status];
	},
	'end that a task seems to say': (raw: unknown) =>
		task(raw)?.isEndCertain ? undefined : task(raw)?.end,
	notification: (text: unknown) => readNotification(text as string),
	files: (raw: unknown) => readGeneratedFiles(raw, BASE).map(({ fileUrl }) => fileUrl),
	page: readPage,
	reason: (raw: unknown) => failureOfAnswer(raw).facts.reason,
	'`error` says a failure': (error: unknown) => reportsError({ error }),
	'reason beside an `error`': (error: unknown) => readReason({ error, message: 'Too long' }),
};
type Reader = keyof typeof read;

const bigIds = '{"data":{"task_id" : 12345678901234567890},"id": 7}';
const quoted = JSON.stringify({ prompt: 'say "id":12345678901234567890, please' });
const angles = 'speed must be > 0.7 and < 1.2, style < 1 or > 0';
const page = { items: [{ id: 1 }], total: undefined };
/** Fields that name a request, an event or a customer: beside them, a task or a file may not exist. */
const idsOfOthers = Object.fromEntries(
	['request_id', 'requestId', 'trace_id', 'event_id', 'user_id', 'uuid'].map((key) => [key, '9']),
);
const notThere = ['', '  ', null, undefined, true, {}];
const nothing = ['', ' ', undefined, null, false, 0, [], {}, { code: 0, message: '' }];

test.each<[Reader, expected: unknown, raw: unknown[]]>([
	['percentage', 100, ['100%', '100 %', ' 100% ', 100]],
	['percentage', 99, ['99.9%']],
	['percentage', undefined, ['%', 'half']],
	[
		'audio address',
		DATA,
		[{ audio_url: DATA }, { result: DATA }, { file_url: DATA }, { result: { url: DATA } }],
	],
	['files', [DATA], [{ file_url: DATA }, [{ url: DATA }], DATA, { images: [DATA] }]],
	['text', 'padded', ['  padded ']],
	['text', '0', [0, '0']],
	['text', undefined, [...notThere, NaN]],
	['number', 7.5, [' 7.5 ', 7.5]],
	['number', undefined, ['', 'seven', 'Infinity', null, true]],
	['percentage', 42, ['42', 42.4]],
	// 100 announces the outcome.
	['percentage', 99, [99.6]],
	['percentage', 0, [-3]],
	['percentage', 100, [250]],
	['percentage', undefined, ['x', null]],
	['time', 1_767_254_400_000, ['2026-01-01T10:00:00+02:00', 1_767_254_400, 1_767_254_400_000]],
	['time', 1_767_254_400_250, ['1767254400.25', '2026-01-01T08:00:00.250Z']],
	['time', Date.UTC(2026, 0), [2026]],
	['time', NaN, ['yesterday', null]],
	// An identifier beyond 2^53 keeps its digits.
	['JSON', { data: { task_id: '12345678901234567890' }, id: 7 }, [bigIds]],
	['JSON', { voice_id: '90071992547409937' }, ['{"voice_id":90071992547409937}']],
	['JSON', JSON.parse(quoted), [quoted]],
	['JSON', { a: 1 }, ['\uFEFF{"a":1}']],
	['JSON', undefined, ['{"a":', '']],
	['web page', true, ['<!DOCTYPE html><p>', '\n <html lang="en">', '<?xml version="1.0"?>']],
	['web page', true, ['<!-- edge --><html>']],
	['web page', false, ['{"a":"<html>"}', 'event: x']],
	['created task', '9', [{ task_id: 9 }, { id: '9' }, { success: true, data: { task_id: '9' } }]],
	['created task', '9', [{ id: '9', error: { code: 0 } }]],
	['created task', '9', [{ error_code: 20000000, error_message: 'SUCCESS', data: { id: '9' } }]],
	['created task', '9', [{ error_code: 'SUCCEED', data: { id: '9' } }]],
	['created task', '9', [[{ task_id: 9 }], { data: [{ id: 9 }] }, { data: { task: { id: 9 } } }]],
	['created task', undefined, [[{ task_id: 9 }, { task_id: 8 }]]],
	['created task', '9', [{ task_id: '9', error: 'Voice replaced' }]],
	['created task', undefined, [{}, { task_id: '' }, { task_id: null }, [], '184467', null]],
	['created task', undefined, [{ error: 'Too long', id: '9' }, { data: { error: 'No', id: '9' } }]],
	['created task', undefined, [{ id: '9', success: false }]],
	['created task', undefined, [{ error: 'Too long', ...idsOfOthers }]],
	['id', undefined, [idsOfOthers]],
	['created task', undefined, [{ error: 'Too long', data: { id: '9' } }]],
	['address', `${ORIGIN}/files/My%20Voice.mp3`, ['/files/My Voice.mp3']],
	['address', `${BASE}/files/a.mp3`, ['files/a.mp3']],
	['address', 'https://cdn.example.com/a.mp3', ['//cdn.example.com/a.mp3']],
	['address', FILE, [[null, '', FILE], { path: '/var/tmp/a.mp3', url: FILE }]],
	['address', undefined, [...notThere, 42, [], { url: null }, 'not there yet', 'pending', 'N/A']],
	['address', undefined, ['javascript:alert(1)', 'file:///etc/passwd', 'http://']],
	['audio address', FILE, [{ audio_url: FILE }, { result: { url: FILE } }]],
	['subtitle address', FILE, [{ subtitle: FILE }, { subtitle_url: FILE }]],
	['subtitle address', undefined, [{ subtitle: null }, { subtitle: 'Hello there.' }]],
	['certain end and word of a task', ['completed', 'completed'], [done, { status: ' Completed ' }]],
	[
		'certain end and word of a task',
		['error', 'error'],
		[{ status: 'Failed' }, { status: 'CANCELLED' }],
	],
	[
		'certain end and word of a task',
		['error', 'error'],
		[{ status: 'canceled' }, { status: 'error' }],
	],
	[
		'certain end and word of a task',
		['error', 'error'],
		[{ status: 'FAILURE' }, { status: 'fail' }],
	],
	['certain end and word of a task', ['error', 'error'], [{ status: 'GENERATE_AUDIO_FAILED' }]],
	['certain end and word of a task', [undefined, 'no_error'], [{ status: 'no_error' }]],
	['certain end and word of a task', [undefined, 'no error'], [{ status: 'No error' }]],
	[
		'certain end and word of a task',
		['error', 'error'],
		[{ state: 'failure' }, { data: { state: 'FAILED' } }],
	],
	['certain end and word of a task', [undefined, 'pending'], [{ status: 'pending' }]],
	// An envelope's own status is no task's, but the fields of a task may have no status of their own.
	[
		'certain end and word of a task',
		[undefined, 'pending'],
		[
			{ status: 'ok', data: { status: 'pending' } },
			{ status: 'ok', data: { state: 'pending' } },
		],
	],
	[
		'certain end and word of a task',
		[undefined, 'pending'],
		[{ status: 'pending', data: { id: 9 } }],
	],
	// An unknown word means: not finished yet.
	['certain end and word of a task', [undefined, 'queued'], [{ status: 'queued' }]],
	['certain end and word of a task', [undefined, 'constructor'], [{ status: 'constructor' }]],
	['end that a task seems to say', 'completed', [{ status: 'Succeeded', result: FILE }]],
	['end that a task seems to say', 'completed', [{ status: 'ready', message: 'Hi', url: FILE }]],
	['end that a task seems to say', 'completed', [{ status: 'done', error: 'none', url: FILE }]],
	[
		'end that a task seems to say',
		'completed',
		[{ status: 'done', error: { code: 'ok', message: '', log_id: '20221011224844' }, url: FILE }],
	],
	['end that a task seems to say', 'error', [{ status: 'expired', url: FILE }]],
	['end that a task seems to say', 'error', [{ status: 'expired', message: 'Too late' }]],
	[
		'end that a task seems to say',
		'error',
		[{ status: 'Task not found' }, { status: 'NOT_FOUND' }],
	],
	['end that a task seems to say', 'error', [{ status: 'CALLBACK_EXCEPTION' }]],
	['end that a task seems to say', 'error', ['deleted', 'Stopped', 'CANCEL'].map(asStatus)],
	[
		'end that a task seems to say',
		undefined,
		['THROTTLED', 'NOT_START', 'unknown', 'dreaming', 'TEXT_SUCCESS'].map((status) => ({ status })),
	],
	['end that a task seems to say', 'error', ['refused', 'Timeout'].map(asStatus)],
	// A word for a check may be about one that still runs, and not each word with these letters means a failure.
	[
		'end that a task seems to say',
		undefined,
		['moderation', 'no_error', 'No error', 'failover', 'unblocked', 'cancel_requested'].map(
			asStatus,
		),
	],
	['end that a task seems to say', 'error', [{ status: 'gone', error: 'Too late', url: FILE }]],
	['end that a task seems to say', undefined, [{ status: 'succeeded' }]],
	['end that a task seems to say', undefined, [{ status: 'generating', result: FILE }]],
	['end that a task seems to say', undefined, [{ status: 'queued', message: 'You are third' }]],
	['end that a task seems to say', undefined, [{ status: 'processing', error: 'Trying again' }]],
	[
		'end that a task seems to say',
		undefined,
		['PENDING', 'ACTIVE'].map((word) => ({ status: `MEDIA_GENERATION_STATUS_${word}`, url: FILE })),
	],
	[
		'certain end and word of a task',
		[undefined, undefined],
		[null, [], 'completed', {}, { id: 1, url: FILE }],
	],
	[
		'certain end and word of a task',
		[undefined, undefined],
		[{ error: 'Not found', url: '/v1/task/1' }],
	],
	[
		'notification',
		{ taskId: '12', percentage: 71 },
		[message({ id: 12, process_percentage: '71' })],
	],
	['notification', { taskId: '1', percentage: undefined }, [message({ task_id: '1' })]],
	['notification', undefined, [message({ task_id: '1' }, 'hello'), message({}), 'null', '{"t', '']],
	['files', [FILE], [FILE, { id: 'a', file_url: FILE }, { images: [{ url: FILE }] }]],
	['files', [FILE], ['https', 'HTTPS'].map((scheme) => FILE.replace('https', scheme))],
	['files', [DATA], ['DATA', 'Data'].map((scheme) => DATA.replace('data', scheme))],
	['files', [FILE], [{ file_url: FILE, url: 'https://example.com/watch/1' }]],
	['files', [FILE], [[{ id: 1, status: 'failed', file_url: '' }, { file_url: FILE }]]],
	['files', [FILE, OTHER], [{ file_url: '', file_urls: [FILE, OTHER] }]],
	['files', [FILE, OTHER], [{ file_url: FILE, file_urls: [FILE, OTHER] }]],
	['files', [], ['processing', { file_url: null, status: 'processing' }, { file_urls: [] }, []]],
	['files', [], [{ error: 'UNSAFE_GENERATION' }, { status: 'processing', result: 'none' }]],
	['page', { ...page, total: 3 }, [{ voices: [{ id: 1 }], total: '3', page_size: 1 }]],
	['page', page, [[{ id: 1 }], { items: [{ id: 1 }] }, { data: [{ id: 1 }] }]],
	['page', undefined, [null, 'x', {}, { total: 3 }, { error: 'no' }, { voices: null }]],
	['reason', angles, [{ error: angles }]],
	[
		'reason',
		undefined,
		[
			{ code: 0, message: 'SUCCEED' },
			{ status: 200, msg: 'ok' },
		],
	],
	// A sentence that only says that something has failed, or repeats the HTTP status, is the last one to be shown.
	[
		'reason',
		'Blood is not allowed',
		[{ message: 'Create video failed', error: 'Blood is not allowed' }],
	],
	[
		'reason',
		'Blood is not allowed',
		[{ message: 'Failed to create video.', detail: 'Blood is not allowed' }],
	],
	['reason', 'Only 2 at once', [{ error: 'Too Many Requests', message: 'Only 2 at once' }]],
	[
		'reason',
		'You already have 3 tasks in progress',
		[{ error: 'Please slow down a bit', message: 'You already have 3 tasks in progress' }],
	],
	[
		'reason',
		'Only 2 in parallel',
		[{ error: 'Generation limit reached', message: 'Only 2 in parallel' }],
	],
	[
		'reason',
		'Blood is not allowed',
		[{ status: 'failed', error: 'Blood is not allowed', message: 'Generation in progress' }],
	],
	['reason', 'Create video failed', [{ status: 'canceled', message: 'Create video failed' }]],
	[
		'reason',
		'Create video failed',
		[{ message: 'Create video failed', failed_at: '2026-01-01 08:00:00' }],
	],
	['reason', 'UNSAFE', [{ failed_at: '2026-01-01T08:00:00Z', error: 'UNSAFE' }]],
	['reason', 'Too Many Requests', [{ statusCode: 429, error: 'Too Many Requests' }]],
	['reason', 'Say "please"', [{ error: '{"code":"x","message":"Say \\"please\\""}' }]],
	// A prompt may be JSON, too, and services repeat it.
	['reason', 'It failed', [{ prompt: '{"message":"A bank refuses a loan"}', error: 'It failed' }]],
	['reason beside an `error`', 'Too long', nothing],
	['`error` says a failure', false, nothing],
	['`error` says a failure', true, ['no', 1, true, { code: 7 }, { code: 0, message: 'Too long' }]],
])('%s: %j is read from %j', (reader, expected, raw) => {
	for (const value of raw) expect([value, read[reader](value)]).toEqual([value, expected]);
});

test('a time without a zone is in UTC, wherever n8n runs', () => {
	const built = join(__dirname, '../../dist/nodes/shared/parsing/values.js');
	const texts = ['2026-01-01T08:00:00.250', '2026-01-01 08:00:00', '2026-01-01T08:00'];
	const script = `${JSON.stringify(texts)}.map(require(${JSON.stringify(built)}).asTime).join()`;
	const env = { ...process.env, TZ: 'Asia/Tokyo' };
	const times = execFileSync(process.execPath, ['-p', script], { env, encoding: 'utf8' });
	expect(times.trim()).toBe('1767254400250,1767254400000,1767254400000');
});

test("generated files have an id and the service's fields each", () => {
	const raw = [
		{ id: 2, prompt: 'p', file_url: FILE, status: 'MEDIA_GENERATION_STATUS_SUCCESSFUL' },
	];
	expect(readGeneratedFiles(raw, BASE)).toEqual([{ id: '2', fileUrl: FILE, raw: raw[0] }]);
});

test.each(Object.entries(MEDIA))(
	'a file may be named after its kind, or its type: %s',
	(kind, row) => {
		const read = (record: object) =>
			readGeneratedFiles(record, BASE, kind as MediaKind).map(({ fileUrl }) => fileUrl);
		for (const word of [kind, row.mimeType.split('/')[0]]) {
			expect(read({ [`${word}_url`]: FILE })).toEqual([FILE]);
			expect(read({ [`${word}_urls`]: [FILE, OTHER] })).toEqual([FILE, OTHER]);
			expect(read({ [`${word}_url`]: OTHER, file_url: FILE })).toEqual([FILE]);
		}
		// It may be an input of the request.
		expect(read({ mask_url: FILE })).toEqual([]);
	},
);

test.each([
	[{ url: FILE }, [FILE]],
	[{ videos: [{ url: FILE }, { url: OTHER }] }, [FILE, OTHER]],
])('a file named after its kind hides no others: %j', (record, urls) => {
	const files = readGeneratedFiles({ ...record, video_url: '/first.mp4' }, BASE, 'video');
	expect(files.map(({ fileUrl }) => fileUrl)).toEqual(urls);
});

test("a video's images are those of its request", () => {
	const files = (type: string) =>
		readGeneratedFiles({ id: 1, type, images: [{ url: '/photo.png' }] }, BASE).length;
	expect(['image_to_video', 'image', ''].map(files)).toEqual([0, 1, 1]);
});
