import type { GeneratedFile } from '../../nodes/shared/contract';
import { Failure } from '../../nodes/shared/failure';
import { GenerationEvents, type StreamResult } from '../../nodes/shared/parsing/generationEvents';
import { redactor } from '../../nodes/shared/parsing/redaction';

/* What a stream says, however it is cut. The plainest streams: docs/faults.md; any stream: test/fuzz. */

const HOST = 'https://files.example.com';
const FILE = `${HOST}/v1.mp4`;
const ITEM = {
	id: 'v1',
	prompt: 'Ein Käfer 🪲 läuft',
	file_url: FILE,
	status: 'completed',
	created_at: '2026-01-01T10:00:00+02:00',
};
const SOURCE = { baseUrl: 'https://media.example.com', redact: redactor('') };

/** An outcome as a record. */
function shown(outcome: GenerationEvents['outcome']) {
	if (outcome instanceof Failure) return { kind: outcome.kind, text: outcome.facts.reason };
	if (outcome?.files.length === 0) return { kind: 'lost', text: outcome.interruptionReason };
	return { kind: 'complete', ...outcome };
}
const filesOf = (outcome: object) => (outcome as { files?: GeneratedFile[] }).files ?? [];

type Ending = 'finish' | 'finishBroken';
const ENDINGS: Ending[] = ['finish', 'finishBroken'];
/** What comes of these parts when so many files were asked for; `early`: before the stream had ended. */
function readAll(parts: Array<string | Uint8Array>, ending: Ending = 'finish', expected?: number) {
	const progress: Array<{ status: string; id?: string }> = [];
	const note = (status: string, id?: string) => void progress.push({ status, id });
	const events = new GenerationEvents(SOURCE, 'video', note, expected);
	let early = false;
	for (const part of parts) early = events.push(Buffer.from(part)) !== undefined;
	const outcome = shown(events[ending]());
	return { outcome, early, progress, words: progress.map(({ status }) => status) };
}

const event = (name: string, data: string) => `event: ${name}\ndata: ${data}\n\n`;
const status = (data: unknown) => event('video_generation_status', JSON.stringify(data));
const completion = (...entries: unknown[]) =>
	event('video_generation_complete', JSON.stringify(entries));
const COMPLETE = completion(ITEM);
const WORDS = ['starting', 'processing'];
const STREAM = WORDS.map(status).join('') + COMPLETE;
const COMPLETED = { kind: 'complete', files: [{ id: 'v1', fileUrl: FILE, raw: ITEM }] };

const failed = (text?: string) => ({ kind: 'generationFailed', text });
const lost = (text: RegExp) => ({ kind: 'lost', text: expect.stringMatching(text) as unknown });
const withoutFile = { id: 'v1', status: 'completed', file_url: '' };
const unsafe = (word: string) => ({ id: 'v1', status: word, error_message: 'UNSAFE_GENERATION' });
const filtered = { status: 'MEDIA_GENERATION_STATUS_FILTERED', prompt: 'too many requests' };
const pending = { id: 'v1', status: 'MEDIA_GENERATION_STATUS_PENDING' };
const NOT_CHARGED = 'Veo could not generate 1 videos. You will not be charged. Try rephrasing.';
const RAI = JSON.stringify({ response: { videos: [], raiMediaFilteredReasons: [NOT_CHARGED] } });
const twoFiles = '{"id":"i","file_urls":["/a.png","/b.png"]}';
const overLines = STREAM.replace('[{', '[\ndata: {').replace('}]', '}\ndata: ]');
const NDJSON = [...WORDS.map((word) => ({ status: word })), ITEM]
	.map((line) => JSON.stringify(line))
	.join('\n');

it.each<[string, stream: string, outcome: object, words?: string[]]>([
	['line ends LF', STREAM, COMPLETED, WORDS],
	['line ends CRLF', STREAM.replaceAll('\n', '\r\n'), COMPLETED, WORDS],
	['line ends CR', STREAM.replaceAll('\n', '\r'), COMPLETED, WORDS],
	['a byte order mark', `\uFEFF${STREAM}`, COMPLETED, WORDS],
	['no final blank line', STREAM.trimEnd(), COMPLETED, WORDS],
	['data over several lines', overLines, COMPLETED, WORDS],
	['JSON inside a JSON string', status(JSON.stringify([ITEM])), COMPLETED],
	['an object instead of events', JSON.stringify(ITEM), COMPLETED],
	['an envelope', JSON.stringify({ data: [ITEM], error: null }), COMPLETED],
	['JSON over several lines', JSON.stringify([ITEM], null, 2), COMPLETED],
	['a line of JSON for each event', `${NDJSON}\n`, COMPLETED, WORDS],
	['such lines, the last without its end', NDJSON, COMPLETED, WORDS],
	['such lines with blank ones between', NDJSON.replaceAll('\n', ' \r\n\n '), COMPLETED, WORDS],
	['such lines that end CRLF', NDJSON.replaceAll('\n', '\r\n'), COMPLETED, WORDS],
	['such a line that is an error', '{"status":"starting"}\n{"error":"No"}', failed('No')],
	['such lines without a file', '{"status":"starting"}\n{"status":"x"}', lost(/ended early/)],
	['JSON behind a byte order mark', `\uFEFF${JSON.stringify([ITEM])}`, COMPLETED],
	['an end of another name', event('image_ready', twoFiles), { kind: 'complete' }],
	['an end without a name', `data: {"url":"${FILE}"}\n\n`, { kind: 'complete' }],
	['an end without a file', completion(withoutFile), { kind: 'lost' }],
	['an end with words', event('a_complete', '{"message":"Come back"}'), lost(/no file: Come back/)],
	['an empty end', event('video_generation_complete', '[]'), { kind: 'lost' }],
	['all failed', completion(unsafe('FAILED')), failed('UNSAFE_GENERATION')],
	['all cancelled, plainly', JSON.stringify([unsafe('Cancelled')]), failed('UNSAFE_GENERATION')],
	['an end that says why, deep inside', event('done_complete', RAI), failed(NOT_CHARGED)],
	['an item that was filtered', completion(filtered), failed(filtered.status)],
	['a task that failed', status({ task: { status: 'failed', error: 'Blue' } }), failed('Blue')],
	['an output that failed', status({ output: { task_status: 'CANCELED' } }), failed()],
	[
		'a task that failed before',
		status({ status: 'retrying', task: { status: 'failed' } }),
		lost(/ended early/),
	],
	['a reason in words of its own', completion({ failureReason: 'Blue' }), failed('Blue')],
	['a last status with a reason', status({ status: 'rejected', message: 'NSFW' }), failed('NSFW')],
	['last words', status({ message: 'NSFW is off' }), lost(/ended early: NSFW is off$/)],
	['a mark of the end', `${status('x y')}data: [DONE]\n\n`, lost(/ended early: x y$/)],
	['the words of an error field', status({ error_message: 'NSFW' }), failed('NSFW')],
	[
		'those of another name',
		completion({ id: 'v1', failMsg: 'NSFW content' }),
		failed('NSFW content'),
	],
	['those of JSON', '{"errMsg":"Insufficient credits"}', { kind: 'outOfCredit' }],
	['an error field without an error', '{"error_message":"SUCCESS"}', lost(/no file/)],
	['one that tells of no refusal', '{"error_message":"All is well"}', lost(/no file/)],
	['a status that denies a failure', status({ id: 'v1', status: 'No error' }), lost(/early$/)],
	['one in bare words', status('not rejected') + COMPLETE, COMPLETED],
	['a status of a refusal', status({ status: 'MODERATION_BLOCKED' }), failed('MODERATION_BLOCKED')],
	['one of its reason', status('content_policy_violation'), failed('content_policy_violation')],
	[
		'words of progress in an end',
		completion(pending),
		lost(/response ended early/),
		[pending.status],
	],
	[
		'progress with words of a refusal',
		completion({ ...pending, message: 'Safety check' }),
		lost(/response ended early/),
		[pending.status],
	],
	['half an end', COMPLETE.slice(0, COMPLETE.indexOf('file_url') + 20), { kind: 'lost' }],
	['an error of bare words', event('error', 'It failed'), failed('It failed')],
	['an error of another name', event('image_generation_failed', '"quota"'), failed('quota')],
	['one with a dot', event('video.failed', '{"reason":"quota"}'), failed('quota')],
	['one with a hyphen', event('task-failed', '"quota"'), failed('quota')],
	['half a JSON answer', '[{"id":"v1","file_ur', lost(/cut off/)],
	['JSON without a file', '{"status":"unknown"}', lost(/no file/)],
	['JSON of a job that goes on', '{"status":"accepted"}', lost(/response ended early/)],
	[
		'JSON of one that waits',
		'{"status":"queued","message":"No credits left"}',
		lost(/ended early/),
	],
	[
		'JSON that counts what is left of a quota',
		'{"message":"Submitted: 3 of 10 videos of your daily limit"}',
		lost(/no file/),
	],
	[
		'an event of such words',
		event('video_generation_status', '{"message":"Submitted: 3 of your daily limit"}'),
		lost(/ended early/),
	],
	[
		'a list of such',
		'{"data":[{"status":"queued","message":"No credits left"}]}',
		lost(/ended early/),
	],
	['nothing', '', lost(/empty/)],
	['a page', '\n<html><body>502</body></html>', { kind: 'foreignServer' }],
	...[{ success: false }, { error: 'Upstream is busy, retrying' }, { code: 429 }].map(
		(more): [string, string, object] => [
			`an entry in progress with ${Object.keys(more).join()}`,
			status({ id: 'v1', status: 'processing', ...more }) + COMPLETE,
			COMPLETED,
		],
	),
	[
		'an entry in progress that says why none will come',
		status({ id: 'v1', status: 'processing', error: 'UNSAFE' }) + COMPLETE,
		failed('UNSAFE'),
	],
	['a failure told by a status', status({ status: 'FAILED', message: 'No' }), failed('No')],
	['one without a reason', status('failed'), failed()],
	['one in a longer word', status('TASK_STATUS_FAILED'), failed('TASK_STATUS_FAILED')],
])('%s', (...row) => {
	const [, stream, outcome, words] = row;
	for (const parts of [[stream], [...stream]]) {
		const received = readAll(parts);
		expect(received.outcome).toMatchObject(outcome);
		if (words) expect(received.words).toEqual(words);
	}
});

it('an answer that is the file itself is the result, unless it breaks off', () => {
	const file = Buffer.concat([Buffer.from('\0\0\0\x18ftypmp42\n\n{'), Buffer.alloc(99, 0xff)]);
	const parts = [file.subarray(0, 20), file.subarray(20)];
	const [made] = filesOf(readAll(parts).outcome);
	const [, base64 = ''] = made!.fileUrl.split('data:;base64,');
	expect(Buffer.from(base64, 'base64').equals(file)).toBe(true);
	expect(made!.raw).toEqual({});
	expect(readAll(parts, 'finishBroken').outcome).toEqual(lost(/response ended early/));
});

it('an answer that broke off was not empty', () => {
	for (const part of ['[{"id":"v1","file_ur', ': beat\n\n'])
		expect(readAll([part], 'finishBroken').outcome).toEqual(lost(/response ended early/));
	expect(readAll([], 'finishBroken').outcome).toEqual(lost(/empty/));
});

it('the files are there as soon as the completion is, and an end without one tells the id', () => {
	expect(readAll([STREAM])).toMatchObject({ early: true });
	expect(readAll([completion(withoutFile)]).progress).toMatchObject([{ id: 'v1' }]);
});

describe('completions that come one per video', () => {
	const made = (...ids: string[]) => ids.map((id) => ({ id, file_url: `${FILE}?${id}` }));
	const [one = '', other = '', third = ''] = made('a', 'b', 'c').map((file) => completion(file));
	const half = third.slice(0, 60);

	it.each<[string, string[], early: boolean, ids: string[], cutBy: Ending[]]>([
		['an array each', [third, one, other], true, ['c', 'a', 'b'], []],
		['those before repeated', [one, completion(...made('a', 'b', 'c'))], true, ['a', 'b', 'c'], []],
		['the stream ends', [one, other], false, ['a', 'b'], ENDINGS],
		['a status tells of a failure', [one, other, status('failed')], false, ['a', 'b'], []],
		['one has failed', [one, other, completion(unsafe('failed'))], true, ['a', 'b'], []],
		['a completion is cut in two', [one, other, half], false, ['a', 'b'], ENDINGS],
	])('all count, in the order they came: %s', (_, events, early, ids, cutBy) => {
		for (const ending of ENDINGS) {
			const received = readAll(events, ending, 3);
			const isCut =
				'interruptionReason' in received.outcome &&
				received.outcome.interruptionReason !== undefined;
			const found = {
				early: received.early,
				ids: filesOf(received.outcome).map(({ id }) => id),
				isCut,
			};
			expect(found).toEqual({ early, ids, isCut: cutBy.includes(ending) });
		}
	});

	const addressesOf = (...events: string[]) =>
		filesOf(readAll(events, 'finish', 3).outcome).map(({ fileUrl }) => fileUrl.slice(26));

	it('are the same files when they are repeated with addresses signed anew', () => {
		const repeated = ['a', 'ab', 'abc'].map((paths, time) =>
			completion(...[...paths].map((id) => ({ id, file_url: `${HOST}/${id}?signature=${time}` }))),
		);
		expect(addressesOf(...repeated)).toEqual(['a?signature=2', 'b?signature=2', 'c?signature=2']);
		const unnamed = ['a', 'a', 'ab', 'abc'].map((paths, time) =>
			completion(...[...paths].map((path) => ({ file_url: `${HOST}/${path}?signature=${time}` }))),
		);
		expect(addressesOf(...unnamed)).toEqual(['a?signature=3', 'b?signature=3', 'c?signature=3']);
		// The path may be signed, too, or that of a preview.
		const elsewhere = ['a', 'a', 'b', 'ab', 'abc'].map((ids, time) =>
			completion(...[...ids].map((id) => ({ id, file_url: `${HOST}/${time}/${id}` }))),
		);
		expect(addressesOf(...elsewhere)).toEqual(['4/a', '4/b', '4/c']);
		// Without an id only the rest of the address tells them apart.
		const nameless = [1, 2, 3].map((n) => completion({ file_url: `${FILE}?signature=${n}` }));
		expect(addressesOf(...nameless)).toHaveLength(3);
		const ofOneId = completion({ id: 'a', file_urls: [1, 2].map((n) => `${FILE}?file=${n}`) });
		expect(addressesOf(ofOneId)).toHaveLength(2);
		// An id that all files have is that of their job.
		const ofOneJob = ['x', 'y', 'z'].map((path) => completion({ id: 'job', file_url: `/${path}` }));
		expect(addressesOf(...ofOneJob)).toHaveLength(3);
	});

	it('are a failure when all have failed', () => {
		const all = ['a', 'b', 'c'].map((id) => completion({ ...unsafe('failed'), id }));
		const { early, outcome } = readAll(all, 'finish', 3);
		expect({ early, ...outcome }).toEqual({ early: true, ...failed('UNSAFE_GENERATION') });
		const plain = JSON.stringify(['a', 'b', 'c'].map((id) => ({ ...unsafe('failed'), id })));
		expect(readAll([plain], 'finish', 3).outcome).toEqual(failed('UNSAFE_GENERATION'));
	});
});

it.each([
	['JSON in place of a stream', (data: unknown) => JSON.stringify(data)],
	['an event', status],
])('the ID in an envelope in %s is told', (_, tell) => {
	for (const more of [{}, { status: 'processing' }, { status: 'completed' }]) {
		const { progress } = readAll([tell({ success: true, data: { id: 'v1', ...more } })]);
		expect(progress.map(({ id }) => id)).toContain('v1');
	}
	const refused = { success: true, data: { ...unsafe('failed'), id: 'x' } };
	expect(readAll([tell(refused)]).outcome).toMatchObject(failed('UNSAFE_GENERATION'));
});

test('the ids beside an error are none of files that still come', () => {
	const { outcome, progress } = readAll(
		[status({ error: 'UNSAFE', ids: ['a', 'b'] })],
		'finish',
		2,
	);
	expect({ outcome, progress }).toEqual({ outcome: failed('UNSAFE'), progress: [] });
});

test('what is beside a file is not another file in progress', () => {
	const { outcome, progress } = readAll(
		[status({ ...ITEM, data: { id: 'details' } })],
		'finish',
		2,
	);
	expect(outcome).toMatchObject({ files: [{ id: 'v1' }], interruptionReason: undefined });
	expect(progress.map(({ id }) => id)).toEqual(['v1']);
});

it.each([
	['JSON in place of a stream', (data: unknown) => JSON.stringify(data)],
	['an event', status],
])('the details in an envelope of a refusal in %s are no progress', (_, tell) => {
	for (const data of [{ status: 429 }, { message: 'Slow down' }]) {
		const { progress } = readAll([tell({ success: false, message: 'Too many requests', data })]);
		expect(progress).toEqual([]);
	}
});

describe('one of several that is refused', () => {
	const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => completion({ id, file_url: `/${id}.mp4` }));
	const error = (data: unknown) => event('error', JSON.stringify(data));
	const [own, bare] = [error({ id: 'x', error: 'UNSAFE' }), error({ error: 'UNSAFE' })];
	const three = ['a', 'b', 'c'];
	const jobFiles = three.map((path) => ({ id: 'job', file_url: `/${path}.mp4` }));
	const ofJob = jobFiles.map((file) => completion(file));
	const all = [...three, 'd'];

	it.each<[string, Array<string | undefined>, early: boolean, ids: unknown[], reason: unknown]>([
		['with its id, before the others', [own, a, b, c], true, three, 'UNSAFE'],
		['with its id, after them', [a, b, c, own], true, three, 'UNSAFE'],
		[
			'with its id and for lack of credit, before the others',
			[error({ id: 'x', error: 'insufficient_credits' }), a, b, c],
			true,
			three,
			'insufficient_credits',
		],
		['and made after all', [error({ id: 'a', error: 'UNSAFE' }), a, b, c, d], true, all, undefined],
		['before the others', [bare, a, b, c], false, three, 'UNSAFE'],
		['among them, told twice', [a, bare, bare, b, c], false, three, 'UNSAFE'],
		['after them', [a, b, c, bare], false, three, 'UNSAFE'],
		['by a word', [status('failed'), a, b, c], false, three, undefined],
		['by words, then with a reason', [status('failed'), a, b, error('No'), c], false, three, 'No'],
		['and another', [bare, a, own, b], false, ['a', 'b'], 'UNSAFE'],
		[
			'two in one array',
			[
				a,
				error([
					{ id: 'x', error: 'A' },
					{ id: 'y', error: 'B' },
				]),
				b,
			],
			true,
			['a', 'b'],
			'B',
		],
		['but all come, at once', [bare, [a, b, c, d].join('')], true, all, 'UNSAFE'],
		['but all come, one by one', [a, bare, b, c, d], true, all, 'UNSAFE'],
		[
			'for load, once others are begun',
			[status('starting'), error('Too many tasks'), a, b, c],
			false,
			three,
			'Too many tasks',
		],
		[
			'in a list within a record',
			[
				event(
					'complete',
					'{"data":[{"id":"x","status":"failed","error":"No"},{"id":"a","file_url":"/a.mp4"},{"id":"b","file_url":"/b.mp4"},{"id":"c","file_url":"/c.mp4"}]}',
				),
			],
			true,
			three,
			'No',
		],
		[
			'in plain JSON',
			['[{"error":"No"},{"file_url":"/a.mp4"},{"file_url":"/b.mp4"},{"file_url":"/c.mp4"}]'],
			false,
			[undefined, undefined, undefined],
			'No',
		],
	])('%s: the others are heard', (_, events, early, ids, reason) => {
		const received = readAll(events as string[], 'finish', 4);
		const outcome = received.outcome as {
			files: GeneratedFile[];
			interruptionReason?: string;
			reason?: string;
		};
		expect({ early: received.early, ids: outcome.files.map(({ id }) => id) }).toEqual({
			early,
			ids,
		});
		expect([outcome.interruptionReason, outcome.reason]).toEqual([undefined, reason]);
	});

	it('is one of those that a failed job lists, and the job itself is none', () => {
		const job = { id: 'job', status: 'failed', error: 'One failed' };
		const going = { id: 'a', status: 'processing' };
		const reported = status({ ...job, data: [{ id: 'x', status: 'failed', error: 'No' }, going] });
		expect(readAll([reported, a!], 'finish', 2).outcome).toMatchObject({
			files: [{ id: 'a' }],
			failedIds: ['x'],
			reason: 'No',
		});
	});

	it.each<[string, unknown]>([
		['by itself', [{ id: 'x', error: 'No' }, pending, { id: 'a', file_url: '/a.mp4' }]],
		[
			'within a record',
			{
				id: 'job',
				error: 'One failed',
				data: [
					{ id: 'x', status: 'failed', error: 'No' },
					pending,
					{ id: 'a', file_url: '/a.mp4' },
				],
			},
		],
	])('in a list beside others, %s: an error event tells of them all', (_, data) => {
		const { outcome, progress } = readAll([error(data), b!], 'finish', 4);
		const isFile = (id: string) => expect.objectContaining({ id }) as unknown;
		expect(outcome).toMatchObject({
			files: [isFile('a'), isFile('b')],
			failedIds: ['x'],
			reason: 'No',
			interruptionReason: expect.stringContaining('early') as unknown,
		});
		expect(progress.map(({ id }) => id)).toEqual(expect.arrayContaining(['x', 'v1', 'a', 'b']));
	});

	it.each<[string, object[]]>([
		['one is there, and another in the making', [{ id: 'a', file_url: '/a.mp4' }, pending]],
		['one has failed, and another is in the making', [{ ...unsafe('failed'), id: 'x' }, pending]],
		['all are in the making', [pending, { id: 'b', status: 'generating' }]],
	])('a list within a record says what it says by itself: %s', (_, list) => {
		const inRecord = { id: 'job', status: 'processing', data: list };
		for (const tell of [status, (data: unknown) => event('done_complete', JSON.stringify(data))])
			for (const reported of [[], [bare]]) {
				const [alone, within] = [list, inRecord].map((data) => {
					const { progress, ...received } = readAll([tell(data), ...reported], 'finish', 3);
					const ids = new Set(progress.map(({ id }) => id));
					ids.delete('job');
					// Only the words of a record are quoted.
					const outcome = { ...received.outcome, text: undefined };
					return { ...received, outcome, words: [], ids };
				});
				expect(within).toEqual(alone);
			}
	});

	it.each<[string, unknown]>([
		['IDs', [{ id: 'upload' }, { id: 'other', status: 'uploaded' }]],
		['content', ['iVBORw0KGgo', 'iVBORw0KGgo']],
		['words of progress', [{ id: 'upload', status: 'pending' }]],
		['URLs', [{ id: 'upload', url: `${HOST}/photo.png` }, `${HOST}/photo.png`]],
	])('images of the request, with their %s, are none of its files', (_, images) => {
		const { progress } = readAll([status({ id: 'v1', status: 'uploading_images', images })]);
		expect(progress).toEqual([{ status: 'uploading_images', id: 'v1' }]);
		const refusal = error({ id: 'v1', error: 'UNSAFE', images });
		expect(readAll([refusal, a!], 'finish', 3).outcome).toMatchObject({ failedIds: ['v1'] });
	});

	it('counts for no other one once its file has come', () => {
		const takenBack = error({ id: 'a', error: 'UNSAFE' });
		const { outcome } = readAll([takenBack, a!, b!, c!], 'finish', 4);
		expect(outcome).not.toHaveProperty('reason', 'UNSAFE');
		expect(outcome).toMatchObject({ failedIds: [] });
	});

	it.each([
		['one by one', ofJob],
		['at once', [ofJob.join('')]],
		['in a growing list', [1, 2, 3].map((count) => completion(...jobFiles.slice(0, count)))],
	])('is told with the ID of the job, which its files have, too: %s', (_, events) => {
		const { outcome } = readAll([error({ id: 'job', error: 'UNSAFE' }), ...events], 'finish', 4);
		expect(outcome).toMatchObject({ reason: 'UNSAFE', failedIds: [null] });
		expect((outcome as StreamResult).interruptionReason).toBeUndefined();
	});

	it('is told with the ID of the job, which the file before it has, too', () => {
		const { outcome } = readAll([ofJob[0]!, error({ id: 'job', error: 'UNSAFE' })], 'finish', 2);
		expect(outcome).toMatchObject({ files: [{ id: 'job' }], reason: 'UNSAFE', failedIds: [null] });
	});

	it('is one of all: nothing else was told', () => {
		const isAll = { early: false, outcome: { kind: 'generationFailed', text: 'UNSAFE' } };
		expect(readAll([bare], 'finish', 4)).toMatchObject(isAll);
		// Where nothing says that the stream is over, the error may be about one of them.
		const silent = new GenerationEvents(SOURCE, 'video', undefined, 4);
		silent.push(Buffer.from(bare));
		expect(silent.finishBroken('silent')).toMatchObject({
			files: [],
			interruptionReason: 'silent: UNSAFE',
			reason: 'UNSAFE',
			failure: undefined,
		});
		// Nor is it about all of them if the service says afterwards that it goes on.
		const ended = new GenerationEvents(SOURCE, 'video', undefined, 4);
		ended.push(Buffer.from(bare + status('processing')));
		expect(ended.finish()).toMatchObject({ files: [], reason: 'UNSAFE', failure: undefined });
		const done = new GenerationEvents(SOURCE, 'video', undefined, 4);
		done.push(Buffer.from(bare + event('end', '[DONE]')));
		expect(done.finish()).toMatchObject({ kind: 'generationFailed' });
		expect(readAll([error([])], 'finish', 4).outcome.kind).toBe('generationFailed');
		// Where others may be in progress, the history is searched although the service ended the stream.
		const isSearched = { outcome: { kind: 'lost' } };
		const entries = [{ status: 'failed', error: 'UNSAFE' }, { status: 'processing' }];
		const lists = [entries, entries.toReversed(), { data: entries }].map((list) => [status(list)]);
		const reported = [[bare, status('processing')], [own], [own, status('processing')]];
		for (const events of [...reported, ...lists]) {
			expect(readAll(events, 'finish', 4)).toMatchObject(isSearched);
		}
		// An entry that has failed is not in progress, whatever its status says.
		const stale = status({ status: 'processing', error: 'UNSAFE' });
		expect(readAll([stale], 'finish', 4).outcome.kind).toBe('generationFailed');
		// So are the entries of a failed record that say nothing of themselves.
		const silentEntries = { status: 'failed', data: [{ id: 'a' }, { id: 'b' }] };
		expect(readAll([status(silentEntries)], 'finish', 4).outcome.kind).toBe('generationFailed');
		// An error about a job tells of all failures in its list.
		const failures = ['a', 'b'].map((id) => ({ id, status: 'failed' }));
		const listing = error({ id: 'job', error: 'UNSAFE', data: failures });
		expect(readAll([listing], 'finish', 2)).toMatchObject({
			outcome: failed('UNSAFE'),
			early: true,
		});
		expect(readAll([bare], 'finish', 1)).toMatchObject({ ...isAll, early: true });
		expect(readAll([error('Too many tasks')], 'finish', 4)).toMatchObject({ early: false });
	});

	it('leaves the others to the history where the stream breaks', () => {
		const [isLost, isCut] = [{ kind: 'lost' }, { interruptionReason: 'broken' }];
		const broken = (...events: Array<string | undefined>) => {
			const reported = new GenerationEvents(SOURCE, 'video', undefined, 4);
			for (const one of events) reported.push(Buffer.from(one!));
			return shown(reported.finishBroken('broken'));
		};
		expect(broken(own)).toMatchObject(isLost);
		expect(broken(bare, status('processing'))).toMatchObject(isLost);
		expect(broken(bare, a)).toMatchObject(isCut);
		expect(broken(own, a, b)).toMatchObject(isCut);
		expect(broken(bare, a, b, c)).toMatchObject({ interruptionReason: undefined });
		// If each is told by itself, the end of the stream may be too early, too.
		const isEarly = {
			outcome: { interruptionReason: expect.stringContaining('early') as unknown },
		};
		expect(readAll([own, a!, b!], 'finish', 4)).toMatchObject(isEarly);
		const listed = event(
			'done_complete',
			JSON.stringify({ data: [{ ...unsafe('failed'), id: 'x' }] }),
		);
		expect(readAll([listed, a!, b!], 'finish', 4)).toMatchObject(isEarly);
	});

	it('lets nobody wait for files that have all come', () => {
		const words = (...events: string[]) => readAll(events, 'finish', 2).words;
		const [one, two] = ['1', '2'].map((id) => ({ ...ITEM, id, file_url: `${FILE}?${id}` }));
		expect(words(completion(one, two))).toEqual([]);
		expect(words(completion(one), completion(two))).toEqual(['partially completed']);
		expect(words(completion(one, unsafe('FAILED')))).toEqual(['failed']);
	});

	it('tells its id, by which the history knows it', () => {
		expect(readAll([own], 'finish', 4).progress).toEqual([{ status: 'failed', id: 'x' }]);
	});
});

describe('of lines of JSON', () => {
	const line = (value: unknown) => `${JSON.stringify(value)}\n`;

	it('a file that came before the stream broke is kept', () => {
		const inline = `data:image/png;base64,${'iVBORw0KGgo'.padEnd(31_000, 'A')}`;
		const parts = [line({ status: 'starting' }), line({ id: 'v1', file_url: inline }), '{"st'];
		expect(filesOf(readAll(parts, 'finishBroken', 2).outcome)).toHaveLength(1);
	});

	it('each counts when it comes, also after a long one', () => {
		const preview = line({ status: 'processing', preview: 'A'.repeat(40_000) });
		expect(readAll([preview, line(ITEM)])).toMatchObject({ early: true, outcome: COMPLETED });
	});
});

it('a file that is told without its ID first is the same file', () => {
	const [a, b] = ['a', 'b'].map((id) => ({ ...ITEM, id, file_url: `${HOST}/${id}.mp4` }));
	const first = completion({ ...a, id: undefined });
	expect(readAll([first, completion(a)], 'finish', 2).early).toBe(false);
	expect(filesOf(readAll([first, completion(a, b)], 'finish', 2).outcome)).toHaveLength(2);
});
