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
import {
	asNumber,
	asPercentage,
	asText,
	asTime,
	looksLikeHtml,
	parseJson,
} from '../../nodes/shared/parsing/coerce';
import { readReason, saysFailure, saysNothing } from '../../nodes/shared/parsing/errors';
import { redactor } from '../../nodes/shared/parsing/redaction';

const ORIGIN = 'https://media.example.com';
const BASE = `${ORIGIN}/api`;
const FILE = 'https://files.example.com/a.mp3';

describe('texts and numbers', () => {
	it.each([
		['abc', 'abc'],
		['  padded ', 'padded'],
		[1204871, '1204871'],
		[0, '0'],
	])('the text of %p is %p', (value, expected) => {
		expect(asText(value)).toBe(expected);
	});

	it.each([
		[7, 7],
		['7', 7],
		[' 7.5 ', 7.5],
	])('the number of %p is %p', (value, expected) => {
		expect(asNumber(value)).toBe(expected);
	});

	it.each([
		[0, 0],
		[57, 57],
		['93', 93],
		[42.4, 42],
		// 100 announces the outcome.
		[99.6, 99],
		[-3, 0],
		[250, 100],
	])('the percentage of %p is %p', (value, expected) => {
		expect(asPercentage(value)).toBe(expected);
	});

	it('anything else is no text, number or percentage', () => {
		const values = ['', '  ', null, undefined, NaN, true, {}];
		expect(values.map(asText)).toEqual(values.map(() => undefined));
		const figures = ['', 'seven', 'Infinity', null, true];
		expect(figures.map(asNumber)).toEqual(figures.map(() => undefined));
		expect(['x', null].map(asPercentage)).toEqual([undefined, undefined]);
	});

	it.each([
		['2026-01-01T10:00:00+02:00', 1_767_254_400_000],
		['2026-01-01T08:00:00.000Z', 1_767_254_400_000],
		[1_767_254_400, 1_767_254_400_000],
		[1_767_254_400_000, 1_767_254_400_000],
		['1767254400.25', 1_767_254_400_250],
		['yesterday', NaN],
		[2026, Date.UTC(2026, 0)],
		[null, NaN],
	])('the time of %p is %p', (value, expected) => {
		expect(asTime(value)).toBe(expected);
	});

	it('a time without a zone is in UTC, wherever n8n runs', () => {
		const built = join(__dirname, '../../dist/nodes/shared/parsing/coerce.js');
		const texts = ['2026-01-01T08:00:00.250', '2026-01-01 08:00:00', '2026-01-01T08:00'];
		const script = `${JSON.stringify(texts)}.map(require(${JSON.stringify(built)}).asTime).join()`;
		const env = { ...process.env, TZ: 'Asia/Tokyo' };
		const times = execFileSync(process.execPath, ['-p', script], { env, encoding: 'utf8' });
		expect(times.trim()).toBe('1767254400250,1767254400000,1767254400000');
	});

	it('a number beyond 2^53 that identifies something keeps its digits', () => {
		const json = '{"data":{"task_id" : 12345678901234567890,"id":1234567890123456789},"id": 7}';
		const data = { task_id: '12345678901234567890', id: '1234567890123456789' };
		expect(parseJson(json)).toEqual({ data, id: 7 });
		const quoted = JSON.stringify({ prompt: 'say "id":12345678901234567890, please' });
		expect(parseJson(quoted)).toEqual(JSON.parse(quoted));
	});

	it('JSON is read also behind a byte order mark, and nothing else is JSON', () => {
		expect(parseJson('\uFEFF{"a":1}')).toEqual({ a: 1 });
		expect(parseJson('{"a":')).toBeUndefined();
		expect(parseJson('')).toBeUndefined();
	});

	it.each([
		['<!DOCTYPE html><p>', true],
		['\n <html lang="en">', true],
		['<?xml version="1.0"?>', true],
		['<!-- edge --><html>', true],
		['{"a":"<html>"}', false],
		['event: x', false],
		['', false],
	])('%p is a web page: %p', (text, expected) => {
		expect(looksLikeHtml(text)).toBe(expected);
	});
});

describe('the identifier of a created task', () => {
	it.each([
		['as the contract has it', { task_id: '184467' }, '184467'],
		['as a number', { task_id: 184467 }, '184467'],
		['under id', { id: '5f0c7c1e-8c5b-4a35' }, '5f0c7c1e-8c5b-4a35'],
		['in an envelope', { success: true, data: { task_id: '184467' } }, '184467'],
		['an error that says nothing beside its id', { id: '9', error: { code: 0 } }, '9'],
		['an error beside it', { task_id: '9', error: 'Voice replaced' }, '9'],
	])('is read %s', (_, raw, expected) => {
		expect(readCreatedTaskId(raw)).toBe(expected);
	});

	it.each([
		...[{}, { task_id: '' }, { task_id: null }, [], '184467', null],
		...[
			{ id: '9', error: 'Too long' },
			{ id: '9', success: false },
		],
		...[{ data: { id: '9', error: 'Too long' } }, { error: 'Too long', data: { id: '9' } }],
	])('is missing in %p', (raw) => {
		expect(readCreatedTaskId(raw)).toBeUndefined();
	});
});

describe('the address of a file', () => {
	it.each([
		['an absolute address', FILE, FILE],
		['an absolute path', '/files/a.mp3', `${ORIGIN}/files/a.mp3`],
		['a relative path', 'files/a.mp3', `${BASE}/files/a.mp3`],
		['an address without scheme', '//cdn.example.com/a.mp3', 'https://cdn.example.com/a.mp3'],
		['a list', [null, '', FILE], FILE],
		['the surest key of an object', { path: '/var/tmp/a.mp3', url: FILE }, FILE],
		['a path with a space', '/files/My Voice.mp3', `${ORIGIN}/files/My%20Voice.mp3`],
	])('is read from %s', (_, value, expected) => {
		expect(readFileUrl(value, BASE)).toBe(expected);
	});

	it.each([
		...['', '  ', null, undefined, 42, true, {}, [], { url: null }, 'not there yet', 'pending'],
		...['javascript:alert(1)', 'file:///etc/passwd', 'http://', 'N/A'],
	])('is missing in %p', (value) => {
		expect(readFileUrl(value, BASE)).toBeUndefined();
	});
});

describe('a speech task', () => {
	const task = (raw: unknown) => readSpeechTask(raw, { baseUrl: BASE, redact: redactor('') });

	it.each([
		['audio_url', { audio_url: FILE }],
		['result', { result: FILE }],
		['an object under result', { result: { url: FILE } }],
	])('has its address under %s', (_, fields) => {
		const read = task({ id: 1, status: 'completed', ...fields });
		expect(read).toMatchObject({ state: 'completed', status: 'completed', audioUrl: FILE });
	});

	it.each([
		...['pending', 'processing', 'completed', 'error'].map((status) => [status, status]),
		...['COMPLETED', ' Completed '].map((status) => [status, 'completed']),
		...['Failed', 'CANCELLED'].map((status) => [status, 'error']),
	])('with the status %p is %s', (status, state) => {
		expect(task({ status })).toMatchObject({ state, status: state });
	});

	it.each(['queued', 'rendering', '404', 'constructor'])(
		'with the unknown status %p is not finished, and keeps the word',
		(status) => {
			expect(task({ status })).toMatchObject({ state: 'processing', status });
		},
	);

	it.each([
		['subtitle', { subtitle: FILE }],
		['subtitle_url', { subtitle_url: FILE }],
	])('has its subtitles under %s', (_, fields) => {
		expect(task({ status: 'completed', audio_url: FILE, ...fields })?.subtitleUrl).toBe(FILE);
	});

	it.each([null, '', 'Hello there.', {}, 'file:///etc/passwd'])(
		'has no subtitles with %p',
		(subtitle) => {
			const read = task({ status: 'completed', audio_url: FILE, subtitle });
			expect(read?.subtitleUrl).toBeUndefined();
			expect(read?.fields.subtitle).toBe(subtitle);
		},
	);

	it('is completed by its address where a deployment leaves the status out', () => {
		expect(task({ id: 1, audio_url: FILE })).toMatchObject({ state: 'completed', audioUrl: FILE });
	});

	it.each([
		...[null, [], 'completed', {}, { id: 1 }, { error: 'Task not found' }],
		{ error: 'Task not found', url: '/v1/labs/task/1' },
	])('is not what %p is', (raw) => {
		expect(task(raw)).toBeUndefined();
	});
});

describe('a notification', () => {
	const message = (payload: unknown, type = 'labs_status_updated') =>
		readNotification(JSON.stringify({ type, payload }));

	it.each([
		['as the contract has it', { task_id: 't-1', process_percentage: 43 }, 't-1', 43],
		['with numbers', { task_id: 12, process_percentage: '71' }, '12', 71],
		['with an id', { id: 12, process_percentage: 100 }, '12', 100],
		['without a percentage', { task_id: '1' }, '1', undefined],
	])('is read %s', (_, payload, taskId, percentage) => {
		expect(message(payload)).toEqual({ taskId, percentage });
	});

	it.each([
		JSON.stringify({ type: 'hello', payload: { task_id: '1' } }),
		JSON.stringify({ type: 'labs_status_updated', payload: {} }),
		...['{"type":"labs_status_updated"}', '[1]', 'null', '{"type":', '<html></html>', ''],
	])('is not what %p is', (text) => {
		expect(readNotification(text)).toBeUndefined();
	});
});

describe('generated files', () => {
	const files = (raw: unknown) => readGeneratedFiles(raw, BASE);
	const urls = (raw: unknown) => files(raw).map(({ fileUrl }) => fileUrl);
	const A = 'https://files.example.com/a.mp4';
	const B = 'https://files.example.com/b.mp4';

	it("are the elements of the completion event, each with its id and the service's fields", () => {
		const raw = [
			{ id: 'a', prompt: 'p', file_url: A, status: 'completed' },
			{ id: 2, file_url: B, status: 'MEDIA_GENERATION_STATUS_SUCCESSFUL' },
		];
		expect(files(raw)).toEqual([
			{ id: 'a', fileUrl: A, fields: raw[0] },
			{ id: '2', fileUrl: B, fields: raw[1] },
		]);
	});

	it.each([
		['a single object', { id: 'a', file_url: A }, [A]],
		['file_urls', { id: 'a', file_urls: [A, B] }, [A, B]],
		['the same address twice', { file_url: A, file_urls: [A, B] }, [A, B]],
		['an address alone', A, [A]],
		['images of an image answer', { images: [{ url: A }] }, [A]],
		['a relative path', { file_url: '/f/a.mp4' }, [`${ORIGIN}/f/a.mp4`]],
		['one item that failed', [{ id: 1, status: 'failed', file_url: '' }, { file_url: B }], [B]],
		['file_urls beside an empty file_url', { file_url: '', file_urls: [A, B] }, [A, B]],
		['file_url beside another kind', { file_url: A, url: 'https://example.com/watch/1' }, [A]],
	])('are found in %s', (_, raw, expected) => {
		expect(urls(raw)).toEqual(expected);
	});

	it.each([
		['a status word', 'processing'],
		['a status', { id: 'a', status: 'processing', file_url: null }],
		['empty addresses', { file_url: '', file_urls: [] }],
		['an empty list', []],
		['an error', { error: 'UNSAFE_GENERATION' }],
		['a word under result', { status: 'processing', result: 'none' }],
	])('are not found in %s', (_, raw) => {
		expect(files(raw)).toEqual([]);
	});
});

describe('a page of a list', () => {
	it.each([
		['a bare array', [{ id: 1 }], { bare: true }],
		['voices', { voices: [{ id: 1 }], total: 3, page: 0, page_size: 1 }, { total: 3, pageSize: 1 }],
		['data', { data: [{ id: 1 }], total: '3', page_size: '1' }, { total: 3, pageSize: 1 }],
		['items', { items: [{ id: 1 }] }, { total: undefined, pageSize: undefined }],
	])('is read from %s', (_, raw, expected) => {
		expect(readPage(raw)).toMatchObject({ items: [{ id: 1 }], ...expected });
	});

	it.each([null, 'x', {}, { total: 3 }, { error: 'no' }, { voices: null, message: 'moved' }])(
		'is not what %p is',
		(raw) => expect(readPage(raw)).toBeUndefined(),
	);
});

describe('a reason', () => {
	const passedOn = JSON.stringify({ code: 'x', message: 'Say "please"' });
	const angles = 'speed must be > 0.7 and < 1.2, style < 1 or > 0';
	it.each<[string, unknown, string]>([
		['angle brackets that are no mark-up', { error: angles }, angles],
		['JSON that is passed on as an error', { error: passedOn }, 'Say "please"'],
	])('is found in %s', (_, value, reason) => {
		expect(readReason(value)).toBe(reason);
	});
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
		(error) => {
			expect(saysNothing(error)).toBe(false);
			expect(saysFailure({ error })).toBe(true);
		},
	);
});
