import {
	GenerationEvents,
	type GenerationOutcome,
	type GenerationProgress,
} from '../../nodes/shared/parsing/generationEvents';
import { redactor } from '../../nodes/shared/parsing/redaction';

const BASE = 'https://media.example.com';
const SOURCE = { baseUrl: BASE, redact: redactor('') };
const HOST = 'https://files.example.com';
const FILE = `${HOST}/v1.mp4`;
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

type Ending = 'end' | 'broken';
const ENDINGS: Ending[] = ['end', 'broken'];
function hear(parts: Array<string | Uint8Array>, ending: Ending = 'end', expected?: number): Heard {
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
const WORDS = ['starting', 'processing'];
const STREAM = WORDS.map(status).join('') + COMPLETE;
const JSON_ANSWER = JSON.stringify([ITEM]);
/** The outcome of a whole one. */
const COMPLETED = { kind: 'complete', files: [{ id: 'v1', fileUrl: FILE, fields: ITEM }] };

describe('a stream of events', () => {
	it('gives progress, and its files as soon as the completion is there, whatever follows', () => {
		const { outcome, early, words } = hear([STREAM + event('error', '"late"') + status('late')]);
		expect({ outcome, early, words }).toEqual({ outcome: COMPLETED, early: true, words: WORDS });
		expect(outcomeOf(event('error', '"first"'), COMPLETE)).toMatchObject({ text: 'first' });
	});

	it.each<[string, string, words?: string[]]>([
		['line ends LF', STREAM],
		['line ends CRLF', STREAM.replaceAll('\n', '\r\n')],
		['no space after the colon', STREAM.replaceAll(': "', ':"').replace('data: [', 'data:[')],
		['comments', `: hello\n\n${STREAM.replaceAll('data:', ': ping\ndata:')}`],
		['a byte order mark', `\uFEFF${STREAM}`],
		['no final blank line', STREAM.trimEnd()],
		['blank lines before it', `\n\n\n${STREAM}`],
		['data over several lines', STREAM.replace('[{', '[\ndata: {').replace('}]', '}\ndata: ]')],
		['plain JSON', JSON_ANSWER, []],
		['an envelope over several lines', JSON.stringify({ data: [ITEM], error: null }, null, 2), []],
		['JSON behind white space', `\uFEFF\r\n  ${JSON_ANSWER}\n`, []],
	])('is the same with %s, cut in two at every byte', (_, text, expected = WORDS) => {
		const bytes = Buffer.from(text);
		for (let cut = 0; cut <= bytes.length; cut++) {
			const { outcome, words } = hear([bytes.subarray(0, cut), bytes.subarray(cut)]);
			expect({ cut, outcome, words }).toEqual({ cut, outcome: COMPLETED, words: expected });
		}
	});
});

describe('progress', () => {
	it.each([
		['a quoted word', '"processing"', { status: 'processing' }],
		['an object with an id', '{"status":"processing","id":7}', { status: 'processing', id: '7' }],
		['an id alone', '{"id":"v1"}', { status: 'working', id: 'v1' }],
		['no file yet', '{"status":"processing","file_url":null}', { status: 'processing' }],
		['JSON in a JSON string', '"{\\"status\\":\\"processing\\"}"', { status: 'processing' }],
		['an empty error beside it', '{"status":"generating","error":""}', { status: 'generating' }],
	])('is read from %s', (_, data, expected) => {
		const { progress, outcome } = hear([event('video_generation_status', data)]);
		expect(progress).toEqual([expect.objectContaining(expected)]);
		expect(outcome.kind).toBe('lost');
	});

	it('is any event whose name or word is unknown', () => {
		const { words, outcome } = hear([event('something_new', '"warming up"'), COMPLETE]);
		expect([words, outcome.kind]).toEqual([['warming up'], 'complete']);
	});

	it('is told once until another comes, and is not what a comment or an empty event says', () => {
		const words = ['starting', 'starting', 'processing', 'starting'];
		expect(hear(words.map(status)).words).toEqual(['starting', 'processing', 'starting']);
		expect(hear([': ping\n\nevent: video_generation_status\n\ndata:\n\n']).words).toEqual([]);
	});
});

describe('a completion', () => {
	it.each([
		['a single object', JSON.stringify(ITEM)],
		['an array in a JSON string', JSON.stringify(JSON.stringify([ITEM]))],
		['an envelope', JSON.stringify({ data: [ITEM] })],
		['one that failed beside one that did not', JSON.stringify([{ status: 'failed' }, ITEM])],
	])('can hold %s', (_, data) => {
		expect(outcomeOf(event('video_generation_complete', data))).toEqual(COMPLETED);
	});

	it('is known by its file addresses, whatever the name of the event', () => {
		for (const name of ['image_generation_complete', 'image_ready', 'message']) {
			expect(outcomeOf(event(name, '{"id":"i","file_urls":["/a.png","/b.png"]}'))).toMatchObject({
				kind: 'complete',
				files: [{ fileUrl: `${BASE}/a.png` }, { fileUrl: `${BASE}/b.png` }],
			});
		}
	});

	it('can hold an item whose status is another word, or even an error of its own', () => {
		const made = { id: 1, status: 'MEDIA_GENERATION_STATUS_SUCCESSFUL', file_url: '/1.mp4' };
		const failed = { id: 2, status: 'failed', error: 'AUDIO_FILTERED', file_url: '' };
		const outcome = { kind: 'complete', files: [{ id: '1' }] };
		expect(outcomeOf(completion(made, failed))).toMatchObject(outcome);
	});

	it('without any file is not a result, but tells the id to look for in the history', () => {
		const made = '{"id":"v1","status":"completed"}';
		for (const data of ['[]', '{}', '"done"', `[${made}]`, `[{"status":"failed"},${made}]`]) {
			const { outcome, progress } = hear([event('video_generation_complete', data)]);
			expect(outcome.kind).toBe('lost');
			if (data.includes('v1')) expect(progress.map(({ id }) => id)).toContain('v1');
		}
		expect(hear([made]).progress).toContainEqual(expect.objectContaining({ id: 'v1' }));
	});

	it.each(['failed', 'MEDIA_GENERATION_STATUS_FAILED', 'Cancelled'])(
		'of which every entry is %s is a failure, with its reason',
		(word) => {
			const entry = { id: 'v1', status: word, file_url: null, error_message: 'UNSAFE_GENERATION' };
			for (const text of [completion(entry), JSON.stringify([entry])]) {
				expect(outcomeOf(text)).toMatchObject({ kind: 'failed', text: 'UNSAFE_GENERATION' });
			}
		},
	);

	it('that breaks off in the middle does not count, whether or not the connection broke', () => {
		for (let cut = 1; cut < COMPLETE.length - 1; cut += 7) {
			expect(hear([COMPLETE.slice(0, cut)], 'broken').outcome.kind).toBe('lost');
		}
		expect(hear([JSON_ANSWER], 'broken').outcome.kind).toBe('lost');
		expect(outcomeOf(COMPLETE.slice(0, COMPLETE.indexOf('file_url') + 20)).kind).toBe('lost');
	});
});

describe('completions that come one per video', () => {
	const made = (...ids: string[]) => ids.map((id) => ({ id, file_url: `${FILE}?${id}` }));
	/** What comes of these when three were asked for; `isCut`: others may have followed. */
	const idsOf = (events: string[], ending?: Ending) => {
		const { outcome, early } = hear(events, ending, 3);
		if (outcome.kind !== 'complete') throw new Error(outcome.kind);
		const ids = outcome.files.map(({ id }) => id);
		return { early, ids, isCut: outcome.cut !== undefined };
	};

	it.each([
		['an array each', ['c', 'a', 'b'].map((id) => completion(...made(id)))],
		['an object each', made('c', 'a', 'b').map((one) => event('x_complete', JSON.stringify(one)))],
		['two of them together', [completion(...made('c', 'a')), completion(...made('b'))]],
		['those before repeated', [completion(...made('c', 'a')), completion(...made('c', 'a', 'b'))]],
		['words between', made('c', 'a', 'b').flatMap((one) => [completion(one), 'data: x\n\n'])],
	])('all count, in the order they came: %s', (_, events) => {
		const all = { early: true, ids: ['c', 'a', 'b'], isCut: false };
		for (const ending of ENDINGS) expect(idsOf(events, ending)).toEqual(all);
	});

	it.each<[string, string[][], files: number]>([
		['one when their addresses are signed anew', [['a?1'], ['a?2', 'b?2'], ['a?3']], 2],
		['several when one id has several paths', [['a/1'], ['a/2'], ['a/3']], 3],
		['several without an id, of which only the signature differs', [['?1'], ['?2'], ['?3']], 3],
	])('are files by id and address: %s', (_, paths, files) => {
		const events = paths.map((each) =>
			completion(
				...each.map((path) => ({ id: path[0]!.replace('?', ''), file_url: `${FILE}/${path}` })),
			),
		);
		const { outcome } = hear(events, 'end', 3);
		expect(outcome).toMatchObject({ kind: 'complete', files: { length: files } });
	});

	const two = made('a', 'b').map((one) => completion(one));
	it.each<[string, string[], early: boolean, cutBy: Ending[]]>([
		['the stream ends', [], false, ['broken']],
		['an error event comes', [event('error', '"no more"')], true, []],
		['an event reports an error', [status({ error: 'no' })], true, []],
		['a last completion is empty', [completion()], true, []],
		['the last one has failed', [completion({ id: 'c', status: 'failed' })], true, []],
		['the last one has no file yet', [completion({ id: 'c' })], true, ENDINGS],
		['a status tells of a failure', [status('failed')], false, []],
		['a completion is cut in two', [completion(...made('c')).slice(0, 60)], false, ENDINGS],
		['an event is larger than any', [`data: ${'x'.repeat(3 << 20)}`], true, ENDINGS],
	])('count as far as they came, as all or as cut off, when %s', (_, more, early, cutBy) => {
		for (const ending of ENDINGS) {
			const expected = { early, ids: ['a', 'b'], isCut: cutBy.includes(ending) };
			expect(idsOf([...two, ...more], ending)).toEqual(expected);
		}
	});

	it('count also behind one that has failed, and behind one whose file comes later', () => {
		const failed = completion({ id: 'a', status: 'failed', error: 'UNSAFE' });
		const rest = completion(...made('c'));
		expect(idsOf([failed, two[1]!, rest])).toMatchObject({ early: true, ids: ['b', 'c'] });
		const all = [completion({ id: 'a' }), ...two, rest];
		expect(idsOf(all)).toMatchObject({ early: true, ids: ['a', 'b', 'c'] });
	});

	it('are a failure when all have failed, and lost with all their ids when none has a file', () => {
		const all = (fields: object) => ['a', 'b', 'c'].map((id) => completion({ id, ...fields }));
		const failed = all({ status: 'failed', error: 'UNSAFE' });
		expect(hear(failed, 'end', 3)).toMatchObject({ early: true, outcome: { kind: 'failed' } });
		const { outcome, progress, early } = hear(all({ status: 'completed' }), 'end', 3);
		expect({ kind: outcome.kind, early }).toEqual({ kind: 'lost', early: true });
		expect(progress.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
	});

	it('are fewer when a plain answer has no more', () => {
		const { outcome } = hear([JSON.stringify(made('a', 'b'))], 'end', 3);
		expect(outcome).toMatchObject({ kind: 'complete', files: [{ id: 'a' }, { id: 'b' }] });
	});
});

// The plainest events: docs/faults.md.
it.each<[string, string, string | undefined]>([
	['a bare text', event('error', 'Create video failed'), 'Create video failed'],
	['JSON in JSON', event('error', '"{\\"error\\":\\"AUDIO_FILTERED\\"}"'), 'AUDIO_FILTERED'],
	['a code alone', event('error', '{"code":"UNSAFE_GENERATION"}'), 'UNSAFE_GENERATION'],
	['no final blank line', `${status('processing')}event: error\ndata: "no"`, 'no'],
	['another name', event('image_generation_failed', '"quota"'), 'quota'],
	['an error in data of another name', status({ error: 'no credits' }), 'no credits'],
	['a last status of failure', status('x') + status({ status: 'FAILED', message: 'bad' }), 'bad'],
	['a last word of failure', status('x') + status('failed'), undefined],
])('a failure is told by %s', (_, stream, text) => {
	expect(outcomeOf(stream)).toMatchObject({ kind: 'failed', text });
});

it('a status that tells of a failure is none when something comes after it', () => {
	expect(outcomeOf(status('failed'), status('processing'))).toMatchObject({ kind: 'lost' });
	expect(outcomeOf(status('failed'), COMPLETE)).toEqual(COMPLETED);
});

it.each([
	['[{"id":"v1","file_ur', /broke off/],
	['{"status":"accepted"}', /no file/],
	['[]', /no file/],
	['Service unavailable', /.+/],
	['', /empty/],
	['\n\n  \n: ping\n\n', /empty/],
	[status('processing'), /in progress/],
])('%j is no result and no failure, and it is said why', (text, reason) => {
	expect(outcomeOf(text)).toEqual({ kind: 'lost', text: expect.stringMatching(reason) });
});

it.each(['<h1>Forbidden</h1>', '<!DOCTYPE html><p>502</p>', '\n<html><body>502</body></html>'])(
	'an edge’s page is told apart from a result that may come: %p',
	(page) => expect(outcomeOf(...page)).toEqual({ kind: 'page' }),
);

describe('more than any result can be', () => {
	const MIB = 1024 * 1024;

	it('ends within 4 MiB, once for all', () => {
		const events = new GenerationEvents(SOURCE);
		let outcome = events.push(Buffer.from('\n \nevent: '));
		for (let mib = 0; mib < 4; mib++) outcome ??= events.push(Buffer.alloc(MIB, 'x'));
		expect(outcome).toEqual({ kind: 'lost', text: expect.stringMatching(/larger/) });
		expect(events.push(Buffer.from(`\n\n${COMPLETE}`))).toBe(outcome);
		expect(events.end()).toBe(outcome);
	});

	it('is not a large result', () => {
		const bytes = Buffer.from(completion({ ...ITEM, prompt: 'x'.repeat(MIB) }));
		const parts = [];
		for (let at = 0; at < bytes.length; at += 65_536) parts.push(bytes.subarray(at, at + 65_536));
		expect(hear(parts).outcome.kind).toBe('complete');
	});
});
