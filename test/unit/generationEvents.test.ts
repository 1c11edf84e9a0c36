import {
	GenerationEvents,
	type GenerationOutcome,
	type GenerationProgress,
} from '../../nodes/shared/parsing/generationEvents';
import { redactor } from '../../nodes/shared/parsing/redaction';

const BASE = 'https://media.example.com';
const SOURCE = { baseUrl: BASE, redact: redactor('') };
const FILE = 'https://files.example.com/v1.mp4';
const ITEM = {
	id: 'v1',
	prompt: 'Ein Käfer 🪲 läuft',
	file_url: FILE,
	status: 'completed',
	created_at: '2026-01-01T10:00:00+02:00',
};
interface Heard {
	outcome: GenerationOutcome;
	/** True when the outcome was there before the stream ended. */
	early: boolean;
	progress: GenerationProgress[];
	words: string[];
}

function hear(
	parts: Array<string | Uint8Array>,
	ending: 'end' | 'broken' = 'end',
	expected?: number,
): Heard {
	const progress: GenerationProgress[] = [];
	const events = new GenerationEvents(SOURCE, (news) => progress.push(news), expected);
	let early = false;
	for (const part of parts) early = events.push(Buffer.from(part)) !== undefined;
	const outcome = events[ending]();
	return { outcome, early, progress, words: progress.map(({ status }) => status) };
}

const outcomeOf = (...parts: string[]) => hear(parts).outcome;
const event = (name: string, data: string) => `event: ${name}\ndata: ${data}\n\n`;
const status = (data: unknown) => event('video_generation_status', JSON.stringify(data));
const completion = (...entries: unknown[]) =>
	event('video_generation_complete', JSON.stringify(entries));
const COMPLETE = completion(ITEM);
const STREAM = status('starting') + status('processing') + COMPLETE;
/** The outcome of a whole one. */
const COMPLETED = { kind: 'complete', files: [{ id: 'v1', fileUrl: FILE, fields: ITEM }] };

describe('a stream of events', () => {
	it('gives progress, and its files as soon as the completion is there', () => {
		const { outcome, early, words } = hear([STREAM]);
		expect(outcome).toEqual(COMPLETED);
		expect(early).toBe(true);
		expect(words).toEqual(['starting', 'processing']);
	});

	it('tells a status once until another comes', () => {
		const words = ['starting', 'starting', 'processing', 'starting'];
		expect(hear(words.map(status)).words).toEqual(['starting', 'processing', 'starting']);
	});

	const variants: Array<[string, string]> = [
		['line ends LF', STREAM],
		['line ends CRLF', STREAM.replaceAll('\n', '\r\n')],
		['line ends CR', STREAM.replaceAll('\n', '\r')],
		['no space after the colon', STREAM.replaceAll(': "', ':"').replace('data: [', 'data:[')],
		['comments', `: hello\n\n${STREAM.replaceAll('data:', ': ping\ndata:')}`],
		['a byte order mark', `\uFEFF${STREAM}`],
		['no final blank line', STREAM.trimEnd()],
		['no final line end, CRLF', STREAM.trimEnd().replaceAll('\n', '\r\n')],
		['one final line end', `${STREAM.trimEnd()}\n`],
		['ids and retry times', STREAM.replaceAll('event:', 'id: 7\nretry: 3000\nevent:')],
		['unknown fields', STREAM.replaceAll('data:', 'trace: x\ndata:')],
		['blank lines before it', `\n\n\n${STREAM}`],
		['data over several lines', STREAM.replace('[{', '[\ndata: {').replace('}]', '}\ndata: ]')],
	];

	it.each(variants)('is the same with %s, cut in two at every byte', (_, text) => {
		const bytes = Buffer.from(text);
		for (let cut = 0; cut <= bytes.length; cut++) {
			const { outcome, words } = hear([bytes.subarray(0, cut), bytes.subarray(cut)]);
			expect({ cut, outcome, words }).toEqual({
				cut,
				outcome: COMPLETED,
				words: ['starting', 'processing'],
			});
		}
	});

	it.each(variants)('is the same with %s, byte by byte', (_, text) => {
		const { outcome, words } = hear([...Buffer.from(text)].map((byte) => Buffer.from([byte])));
		expect(outcome).toEqual(COMPLETED);
		expect(words).toEqual(['starting', 'processing']);
	});

	it('takes the first terminal event, whatever follows', () => {
		const later = completion({ id: 'v2', file_url: '/v2.mp4' });
		expect(outcomeOf(COMPLETE + event('error', '"late"') + later)).toEqual(COMPLETED);
		const failed = { kind: 'failed', text: 'first' };
		expect(outcomeOf(event('error', '"first"'), COMPLETE)).toEqual(failed);
	});

	it('reports nothing more once it has its outcome', () => {
		expect(hear([COMPLETE, status('late')]).words).toEqual([]);
	});
});

describe('progress', () => {
	it.each([
		['a quoted word', '"processing"', { status: 'processing' }],
		['a bare word', 'processing', { status: 'processing' }],
		['an object', '{"status":"processing"}', { status: 'processing' }],
		['an object with an id', '{"status":"processing","id":7}', { status: 'processing', id: '7' }],
		['an id alone', '{"id":"v1"}', { status: 'working', id: 'v1' }],
		[
			'a file that is not there',
			'{"status":"processing","file_url":null}',
			{ status: 'processing' },
		],
		['JSON in a JSON string', '"{\\"status\\":\\"processing\\"}"', { status: 'processing' }],
		['an unknown word', '"uploading_images"', { status: 'uploading_images' }],
		['an empty error beside it', '{"status":"generating","error":""}', { status: 'generating' }],
		['error: null beside it', '{"status":"generating","error":null}', { status: 'generating' }],
	])('is read from %s', (_, data, expected) => {
		const { progress, outcome } = hear([event('video_generation_status', data)]);
		expect(progress).toEqual([expect.objectContaining(expected)]);
		expect(outcome.kind).toBe('lost');
	});

	it('is any event whose name or word is unknown', () => {
		const { words, outcome } = hear([event('something_new', '"warming up"'), COMPLETE]);
		expect(words).toEqual(['warming up']);
		expect(outcome.kind).toBe('complete');
	});

	it('is not what a comment or an empty event says', () => {
		expect(hear([': ping\n\nevent: video_generation_status\n\ndata:\n\n']).words).toEqual([]);
	});
});

describe('a completion', () => {
	it.each([
		['an array', JSON.stringify([ITEM])],
		['a single object', JSON.stringify(ITEM)],
		['an array in a JSON string', JSON.stringify(JSON.stringify([ITEM]))],
		['an envelope', JSON.stringify({ data: [ITEM] })],
	])('can hold %s', (_, data) => {
		expect(outcomeOf(event('video_generation_complete', data))).toEqual(COMPLETED);
	});

	it('is known by its file addresses, whatever the name of the event', () => {
		for (const name of ['image_generation_complete', 'image_ready', 'done', 'message']) {
			expect(outcomeOf(event(name, '{"id":"i","file_urls":["/a.png","/b.png"]}'))).toMatchObject({
				kind: 'complete',
				files: [{ fileUrl: `${BASE}/a.png` }, { fileUrl: `${BASE}/b.png` }],
			});
		}
		expect(outcomeOf(`data: {"url":"${FILE}"}\n\n`).kind).toBe('complete');
	});

	it('can hold an item whose status is another word, or even an error of its own', () => {
		const made = { id: 1, status: 'MEDIA_GENERATION_STATUS_SUCCESSFUL', file_url: '/1.mp4' };
		const failed = { id: 2, status: 'failed', error: 'AUDIO_FILTERED', file_url: '' };
		const outcome = { kind: 'complete', files: [{ id: '1' }] };
		expect(outcomeOf(completion(made, failed))).toMatchObject(outcome);
	});

	it('without any file is not a result', () => {
		for (const data of ['[]', '{}', '"done"', '[{"id":"v1","status":"completed"}]']) {
			expect(outcomeOf(event('video_generation_complete', data)).kind).toBe('lost');
		}
	});

	it.each(['failed', 'MEDIA_GENERATION_STATUS_FAILED', 'Cancelled'])(
		'of which every entry is %s is a failure, with its reason',
		(status) => {
			const entry = { id: 'v1', status, file_url: null, error_message: 'UNSAFE_GENERATION' };
			const failed = { kind: 'failed', text: 'UNSAFE_GENERATION' };
			expect(outcomeOf(completion(entry))).toEqual(failed);
			expect(outcomeOf(JSON.stringify([entry]))).toEqual(failed);
		},
	);

	it('of which one entry failed and another has no file yet can still come', () => {
		const entries = [{ status: 'failed' }, { id: 'v1', status: 'completed' }];
		expect(outcomeOf(completion(...entries)).kind).toBe('lost');
	});

	it('of which one entry failed has the files of the others', () => {
		const failed = { id: 'v2', status: 'failed', file_url: null };
		expect(outcomeOf(completion(failed, ITEM))).toEqual(COMPLETED);
	});

	it('without any file still tells the id to look for in the history', () => {
		const { progress } = hear([completion({ id: 'v1', file_url: '' })]);
		expect(progress).toContainEqual(expect.objectContaining({ id: 'v1' }));
	});

	it('that breaks off in the middle does not count when the connection broke', () => {
		for (let cut = 1; cut < COMPLETE.length - 1; cut += 7) {
			expect(hear([COMPLETE.slice(0, cut)], 'broken').outcome.kind).toBe('lost');
		}
	});

	it('that is whole counts also when the connection broke right after it', () => {
		expect(hear([COMPLETE], 'broken').outcome.kind).toBe('complete');
	});

	it('that breaks off in the middle is not mistaken for a result at the end either', () => {
		expect(outcomeOf(COMPLETE.slice(0, COMPLETE.indexOf('file_url') + 20)).kind).toBe('lost');
	});
});

describe('completions that come one per video', () => {
	const made = (...ids: string[]) => ids.map((id) => ({ id, file_url: `${FILE}?${id}` }));
	/** The ids of the files out of `events`, when three were asked for. */
	const idsOf = (events: string[], ending?: 'end' | 'broken') => {
		const { outcome, early } = hear(events, ending, 3);
		return { early, ids: outcome.kind === 'complete' && outcome.files.map(({ id }) => id) };
	};

	it.each([
		['an array each', ['c', 'a', 'b'].map((id) => completion(...made(id)))],
		['an object each', made('c', 'a', 'b').map((one) => event('x_complete', JSON.stringify(one)))],
		['two of them together', [completion(...made('c', 'a')), completion(...made('b'))]],
		['those before repeated', [completion(...made('c', 'a')), completion(...made('c', 'a', 'b'))]],
		[
			'status words in between',
			made('c', 'a', 'b').flatMap((one) => [completion(one), 'data: x\n\n']),
		],
	])('all count, in the order they came: %s', (_, events) => {
		expect(idsOf(events)).toEqual({ early: true, ids: ['c', 'a', 'b'] });
	});

	/** Files at these paths, their addresses signed for the `time`th time. */
	const signed = (time: number, ...paths: string[]) =>
		paths.map((path) => ({
			id: path[0],
			file_url: `https://files.example.com/${path}?signature=${time}`,
		}));
	const addressesOf = (...events: string[]) => {
		const { outcome } = hear(events, 'end', 3);
		return outcome.kind === 'complete' && outcome.files.map(({ fileUrl }) => fileUrl.slice(26));
	};

	it('are the same files when those before are repeated with addresses signed anew', () => {
		const repeated = [['a'], ['a', 'b'], ['a', 'b', 'c']].map((paths, time) =>
			completion(...signed(time, ...paths)),
		);
		expect(addressesOf(...repeated)).toEqual(['a?signature=2', 'b?signature=2', 'c?signature=2']);
	});

	it('are several files when one id has several paths, or one completion names a path twice', () => {
		const paths = ['a/1', 'a/2', 'a/3'].map((path) => completion(...signed(0, path)));
		expect(addressesOf(...paths)).toHaveLength(3);
		const twice = [...signed(0, 'a', 'b'), ...signed(1, 'a')];
		expect(addressesOf(completion(...twice))).toHaveLength(3);
	});

	it('are several files when only the rest of the address tells those without an id apart', () => {
		const nameless = signed(0, 'a', 'a', 'a').map(({ file_url }, n) => ({
			file_url: file_url + n,
		}));
		expect(addressesOf(...nameless.map((one) => completion(one)))).toHaveLength(3);
	});

	const two = made('a', 'b').map((one) => completion(one));
	it.each<[string, string[], boolean]>([
		['the stream ends', [], false],
		['an error event comes', [event('error', '"no more"')], true],
		['an event reports an error', [status({ error: 'no' })], true],
		['a last completion is empty', [completion()], true],
		['the last one has failed', [completion({ id: 'c', status: 'failed' })], true],
		['the last one has no file yet', [completion({ id: 'c' })], true],
		['a status tells of a failure', [status('failed')], false],
		['a completion breaks off', [completion(...made('c')).slice(0, 60)], false],
	])('count as far as they came when %s', (_, more, early) => {
		for (const ending of ['end', 'broken'] as const) {
			expect(idsOf([...two, ...more], ending)).toEqual({ early, ids: ['a', 'b'] });
		}
	});

	it.each<[string, string[], 'end' | 'broken', boolean]>([
		['the stream ends', two, 'end', false],
		['the service says that it is over', [...two, event('error', '"no more"')], 'broken', false],
		['a completion is cut in two', [...two, completion(...made('c')).slice(0, 60)], 'end', true],
		['the connection breaks', two, 'broken', true],
		['an event is larger than any', [...two, `data: ${'x'.repeat(9 << 20)}`], 'end', true],
		['all have come', [...two, completion(...made('c'))], 'broken', false],
	])('may have been followed by others, or not: %s', (_, events, ending, isCut) => {
		const { outcome } = hear(events, ending, 3);
		expect(outcome.kind === 'complete' && outcome.cut !== undefined).toBe(isCut);
	});

	it('count also behind one that has failed, and behind one whose file comes later', () => {
		const failed = completion({ id: 'a', status: 'failed', error: 'UNSAFE' });
		const rest = completion(...made('c'));
		expect(idsOf([failed, two[1]!, rest])).toEqual({ early: true, ids: ['b', 'c'] });
		const all = [completion({ id: 'a' }), ...two, rest];
		expect(idsOf(all)).toEqual({ early: true, ids: ['a', 'b', 'c'] });
	});

	it('are a failure when all have failed, and lost with all their ids when none has a file', () => {
		const all = (fields: object) => ['a', 'b', 'c'].map((id) => completion({ id, ...fields }));
		const failed = all({ status: 'failed', error: 'UNSAFE' });
		expect(hear(failed, 'end', 3)).toMatchObject({ early: true, outcome: { kind: 'failed' } });
		const named = all({ status: 'completed' });
		const { outcome, progress, early } = hear(named, 'end', 3);
		expect({ kind: outcome.kind, early }).toEqual({ kind: 'lost', early: true });
		expect(progress.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
	});

	it('are fewer when a plain answer has no more', () => {
		const { outcome } = hear([JSON.stringify(made('a', 'b'))], 'end', 3);
		expect(outcome).toMatchObject({ kind: 'complete', files: [{ id: 'a' }, { id: 'b' }] });
	});
});

describe('an error event', () => {
	it.each([
		['code and error', '{"code":"400","error":"UNSAFE_GENERATION"}', 'UNSAFE_GENERATION'],
		['message', '{"message":"Create video failed"}', 'Create video failed'],
		['a nested message', '{"error":{"message":"AUDIO_FILTERED"}}', 'AUDIO_FILTERED'],
		['a quoted text', '"Create video failed"', 'Create video failed'],
		['a bare text', 'Create video failed', 'Create video failed'],
		['broken JSON', '{"error": "Create video', 'Create video'],
		['JSON in a JSON string', '"{\\"error\\":\\"AUDIO_FILTERED\\"}"', 'AUDIO_FILTERED'],
		['an empty object', '{}', undefined],
		['null', 'null', undefined],
		['no data to speak of', '', undefined],
		['a code alone', '{"code":"UNSAFE_GENERATION"}', 'UNSAFE_GENERATION'],
		['mark-up', '<h1>Bad Gateway</h1>', 'Bad Gateway'],
	])('with %s is a failure', (_, data, text) => {
		expect(outcomeOf(event('error', data))).toEqual({ kind: 'failed', text });
	});

	it('can come after progress, and without a final blank line', () => {
		const outcome = outcomeOf(status('processing'), 'event: error\ndata: "no"');
		expect(outcome).toEqual({ kind: 'failed', text: 'no' });
	});

	it('can be data that holds an error, under another name', () => {
		const failed = { kind: 'failed', text: 'no credits' };
		expect(outcomeOf(status({ error: 'no credits' }))).toEqual(failed);
	});

	it.each(['error', 'Error', 'video_generation_error', 'image_generation_failed'])(
		'is one of the name %s',
		(name) => {
			expect(outcomeOf(event(name, '"quota"'))).toEqual({ kind: 'failed', text: 'quota' });
		},
	);
});

describe('a plain answer instead of a stream', () => {
	const json = JSON.stringify([ITEM]);

	it.each([
		['an array', json],
		['an object', JSON.stringify(ITEM)],
		['an envelope', JSON.stringify({ data: [ITEM], error: null })],
		['JSON over several lines', JSON.stringify([ITEM], null, 2)],
		['JSON behind a byte order mark', `\uFEFF${json}`],
		['JSON behind white space', `\r\n  ${json}\n`],
	])('is the result when it is %s, cut at every byte', (_, text) => {
		const bytes = Buffer.from(text);
		for (let cut = 0; cut <= bytes.length; cut++) {
			const { outcome } = hear([bytes.subarray(0, cut), bytes.subarray(cut)]);
			expect({ cut, outcome }).toEqual({ cut, outcome: COMPLETED });
		}
	});

	it('is a failure when it holds an error', () => {
		const failed = { kind: 'failed', text: 'insufficient_credits' };
		expect(outcomeOf('{"error":"insufficient_credits"}')).toEqual(failed);
	});

	it.each([
		['half of a JSON answer', '[{"id":"v1","file_ur', /broke off/],
		['JSON without a file', '{"status":"accepted"}', /no file/],
		['an empty array', '[]', /no file/],
		['plain text', 'Service unavailable', /.+/],
		['nothing', '', /empty/],
		['white space', '\n\n  \n', /empty/],
	])('is no result and no failure when it is %s', (_, text, reason) => {
		const outcome = outcomeOf(text);
		expect(outcome).toEqual({ kind: 'lost', text: expect.stringMatching(reason) });
	});

	it.each(['<h1>Forbidden</h1>', '<!DOCTYPE html><p>502</p>', '\n<html><body>502</body></html>'])(
		'is an edge’s page, told apart from a result that may come, when it is HTML: %p',
		(page) => {
			expect(outcomeOf(...page)).toEqual({ kind: 'page' });
		},
	);

	it('that breaks with its connection is no result', () => {
		expect(hear([json], 'broken').outcome.kind).toBe('lost');
	});

	it('without a file still tells the id to look for in the history', () => {
		const { progress } = hear(['{"id":"v1","status":"processing"}']);
		expect(progress).toContainEqual(expect.objectContaining({ id: 'v1' }));
	});
});

describe('a status that tells of a failure', () => {
	it('is the outcome when nothing comes after it', () => {
		const told = { status: 'FAILED', message: 'UNSAFE_GENERATION' };
		for (const ending of ['end', 'broken'] as const) {
			const { outcome } = hear([status('processing'), status(told)], ending);
			expect(outcome).toEqual({ kind: 'failed', text: 'UNSAFE_GENERATION' });
		}
		expect(outcomeOf(status('failed'))).toEqual({ kind: 'failed', text: undefined });
	});

	it('is none when something comes after it', () => {
		expect(outcomeOf(status('failed'), status('processing'))).toMatchObject({ kind: 'lost' });
		expect(outcomeOf(status('failed'), COMPLETE)).toEqual(COMPLETED);
	});
});

describe('a stream that ends without a result', () => {
	it('says whether it had begun', () => {
		const lost = (text: RegExp) => ({ kind: 'lost', text: expect.stringMatching(text) });
		expect(outcomeOf(status('processing'))).toEqual(lost(/in progress/));
		expect(outcomeOf(': ping\n\n')).toEqual(lost(/empty/));
	});
});

describe('more than any result can be', () => {
	const MIB = 1024 * 1024;
	/** Pushes up to 64 MiB, and returns how many MiB went in before it said enough. */
	function flood(first: string, part: string) {
		const events = new GenerationEvents(SOURCE);
		events.push(Buffer.from(first));
		const bytes = Buffer.from(part.repeat(Math.ceil(MIB / part.length)));
		for (let count = 1; count <= 64; count++) {
			const outcome = events.push(bytes);
			if (outcome) return { count, outcome, events };
		}
		throw new Error('64 MiB went in');
	}

	it.each([
		['a line without end', 'data: ', 'x'],
		['an event of ever more lines', 'event: x\n', 'data: xxxxxxxxxxxxxxxxxxxxxxxx\n'],
		['a plain answer', '[', '"x",'],
		['a page', '<html>', '<p>'],
		['white space and then a line', '\n \nevent: ', 'x'],
	])('%s ends within 16 MiB with an honest outcome', (_, first, part) => {
		const { count, outcome } = flood(first, part);
		expect(count).toBeLessThanOrEqual(16);
		expect(outcome).toEqual({ kind: 'lost', text: expect.stringMatching(/larger/) });
	});

	it('still gives that outcome when more comes and when it ends', () => {
		const { events, outcome } = flood('data: ', 'x');
		expect(events.push(Buffer.from(`\n\n${COMPLETE}`))).toBe(outcome);
		expect(events.end()).toBe(outcome);
	});

	it('white space without end keeps nothing', () => {
		const events = new GenerationEvents(SOURCE);
		const blanks = Buffer.alloc(MIB, '\n');
		for (let count = 0; count < 20; count++) expect(events.push(blanks)).toBeUndefined();
		events.push(Buffer.from(COMPLETE));
		expect(events.end().kind).toBe('complete');
	});

	it('a large result is taken all the same', () => {
		const bytes = Buffer.from(completion({ ...ITEM, prompt: 'x'.repeat(3 * MIB) }));
		const parts = [];
		for (let at = 0; at < bytes.length; at += 65_536) parts.push(bytes.subarray(at, at + 65_536));
		expect(hear(parts).outcome.kind).toBe('complete');
	});
});
