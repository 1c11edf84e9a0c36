import { Failure } from '../../nodes/shared/failure';
import {
	GenerationEvents,
	type GenerationProgress,
} from '../../nodes/shared/parsing/generationEvents';
import type { GeneratedFile } from '../../nodes/shared/contract';
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
/** An outcome as a record. */
function shown(outcome: GenerationEvents['outcome']) {
	if (outcome instanceof Failure) return { kind: outcome.kind, text: outcome.facts.text };
	if (outcome?.files.length === 0) return { kind: 'lost', text: outcome.cut };
	return { kind: 'complete', ...outcome };
}

type Ending = 'markEnded' | 'markBroken';
const ENDINGS: Ending[] = ['markEnded', 'markBroken'];
function hear(parts: Array<string | Uint8Array>, ending: Ending = 'markEnded', expected?: number) {
	const progress: GenerationProgress[] = [];
	const events = new GenerationEvents(SOURCE, (news) => progress.push(news), expected);
	/** True when the outcome was there before the stream ended. */
	let early = false;
	for (const part of parts) early = events.push(Buffer.from(part)) !== undefined;
	const outcome = shown(events[ending]());
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
/** A text in two parts, cut at each of its bytes. */
const cutAnywhere = (text: string) =>
	Array.from({ length: Buffer.byteLength(text) + 1 }, (_, cut) => {
		const bytes = Buffer.from(text);
		return { cut, parts: [bytes.subarray(0, cut), bytes.subarray(cut)] };
	});
/** The outcome of a whole one. */
const COMPLETED = { kind: 'complete', files: [{ id: 'v1', fileUrl: FILE, fields: ITEM }] };

describe('a stream of events', () => {
	it('gives progress, and its files as soon as the completion is there', () => {
		const { outcome, early, words } = hear([STREAM]);
		expect(outcome).toEqual(COMPLETED);
		expect(early).toBe(true);
		expect(words).toEqual(WORDS);
	});

	it.each([
		['line ends LF', STREAM],
		['line ends CRLF', STREAM.replaceAll('\n', '\r\n')],
		['line ends CR', STREAM.replaceAll('\n', '\r')],
		['a byte order mark', `\uFEFF${STREAM}`],
		['no final blank line', STREAM.trimEnd()],
		['one final line end', `${STREAM.trimEnd()}\n`],
		['data over several lines', STREAM.replace('[{', '[\ndata: {').replace('}]', '}\ndata: ]')],
	])('is the same with %s, cut in two at every byte', (_, text) => {
		for (const { cut, parts } of cutAnywhere(text)) {
			const { outcome, words } = hear(parts);
			expect({ cut, outcome, words }).toEqual({ cut, outcome: COMPLETED, words: WORDS });
		}
	});
});

describe('a completion', () => {
	it('is known by its file addresses, whatever the name of the event', () => {
		for (const name of ['image_generation_complete', 'image_ready', 'done', 'message']) {
			expect(outcomeOf(event(name, '{"id":"i","file_urls":["/a.png","/b.png"]}'))).toMatchObject({
				kind: 'complete',
				files: [{ fileUrl: `${BASE}/a.png` }, { fileUrl: `${BASE}/b.png` }],
			});
		}
		expect(outcomeOf(`data: {"url":"${FILE}"}\n\n`).kind).toBe('complete');
	});

	it('without any file is not a result', () => {
		const made = '{"id":"v1","status":"completed"}';
		for (const data of ['[]', '{}', '"done"', `[${made}]`]) {
			expect(outcomeOf(event('video_generation_complete', data)).kind).toBe('lost');
		}
	});

	it.each(['failed', 'MEDIA_GENERATION_STATUS_FAILED', 'Cancelled'])(
		'of which every entry is %s is a failure, with its reason',
		(status) => {
			const entry = { id: 'v1', status, file_url: null, error_message: 'UNSAFE_GENERATION' };
			const failed = { kind: 'generationFailed', text: 'UNSAFE_GENERATION' };
			expect(outcomeOf(completion(entry))).toEqual(failed);
			expect(outcomeOf(JSON.stringify([entry]))).toEqual(failed);
		},
	);

	it('without any file still tells the id to look for in the history', () => {
		const { progress } = hear([completion({ id: 'v1', file_url: '' })]);
		expect(progress).toContainEqual(expect.objectContaining({ id: 'v1' }));
	});

	it('that breaks off in the middle does not count, whether or not the connection broke', () => {
		for (let cut = 1; cut < COMPLETE.length - 1; cut += 7) {
			expect(hear([COMPLETE.slice(0, cut)], 'markBroken').outcome.kind).toBe('lost');
		}
		const half = COMPLETE.slice(0, COMPLETE.indexOf('file_url') + 20);
		expect(outcomeOf(half).kind).toBe('lost');
	});
});

describe('completions that come one per video', () => {
	const made = (...ids: string[]) => ids.map((id) => ({ id, file_url: `${FILE}?${id}` }));
	/** What comes of these when three were asked for; `isCut`: others may have followed. */
	const idsOf = (events: string[], ending?: Ending) => {
		const { outcome, early } = hear(events, ending, 3);
		const { files = [], cut } = outcome as { files?: GeneratedFile[]; cut?: string };
		return { early, ids: files.map(({ id }) => id), isCut: cut !== undefined };
	};

	it.each([
		['an array each', ['c', 'a', 'b'].map((id) => completion(...made(id)))],
		['those before repeated', [completion(...made('c', 'a')), completion(...made('c', 'a', 'b'))]],
	])('all count, in the order they came: %s', (_, events) => {
		const all = { early: true, ids: ['c', 'a', 'b'], isCut: false };
		for (const ending of ENDINGS) expect(idsOf(events, ending)).toEqual(all);
	});

	/** Files at these paths, their addresses signed for the `time`th time. */
	const signed = (time: number, ...paths: string[]) =>
		paths.map((path) => ({ id: path[0], file_url: `${HOST}/${path}?signature=${time}` }));
	const addressesOf = (...events: string[]) => {
		const { outcome } = hear(events, 'markEnded', 3);
		const { files = [] } = outcome as { files?: GeneratedFile[] };
		return files.map(({ fileUrl }) => fileUrl.slice(26));
	};

	it('are the same files when those before are repeated with addresses signed anew', () => {
		const repeated = [['a'], ['a', 'b'], ['a', 'b', 'c']].map((paths, time) =>
			completion(...signed(time, ...paths)),
		);
		expect(addressesOf(...repeated)).toEqual(['a?signature=2', 'b?signature=2', 'c?signature=2']);
	});

	it('are several files when only the rest of the address tells those without an id apart', () => {
		const nameless = [1, 2, 3].map((n) => completion({ file_url: `${FILE}?signature=${n}` }));
		expect(addressesOf(...nameless)).toHaveLength(3);
	});

	const two = made('a', 'b').map((one) => completion(one));
	it.each<[string, string[], early: boolean, cutBy: Ending[]]>([
		['the stream ends', [], false, ['markBroken']],
		['a status tells of a failure', [status('failed')], true, []],
		['a completion is cut in two', [completion(...made('c')).slice(0, 60)], false, ENDINGS],
		['one has failed', [completion({ id: 'c', status: 'failed' })], true, []],
	])('count as far as they came, as all or as cut off, when %s', (_, more, early, cutBy) => {
		for (const ending of ENDINGS) {
			const expected = { early, ids: ['a', 'b'], isCut: cutBy.includes(ending) };
			expect(idsOf([...two, ...more], ending)).toEqual(expected);
		}
	});

	it('are a failure when all have failed', () => {
		const entry = { status: 'failed', error: 'UNSAFE' };
		const failed = ['a', 'b', 'c'].map((id) => completion({ id, ...entry }));
		const { early, outcome } = hear(failed, 'markEnded', 3);
		expect({ early, ...outcome }).toEqual({
			early: true,
			kind: 'generationFailed',
			text: 'UNSAFE',
		});
	});
});

describe('an error event', () => {
	// The plainest events: docs/faults.md.
	it.each([['a bare text', 'Create video failed', 'Create video failed']])(
		'with %s is a failure',
		(_, data, text) => {
			expect(outcomeOf(event('error', data))).toEqual({ kind: 'generationFailed', text });
		},
	);

	it.each(['error', 'Error', 'video_generation_error', 'image_generation_failed'])(
		'is one of the name %s',
		(name) => {
			const failed = { kind: 'generationFailed', text: 'quota' };
			expect(outcomeOf(event(name, '"quota"'))).toEqual(failed);
		},
	);
});

describe('a plain answer instead of a stream', () => {
	const json = JSON.stringify([ITEM]);

	it.each([
		['an object', JSON.stringify(ITEM)],
		['an envelope', JSON.stringify({ data: [ITEM], error: null })],
		['JSON over several lines', JSON.stringify([ITEM], null, 2)],
		['JSON behind a byte order mark', `\uFEFF${json}`],
	])('is the result when it is %s, cut at every byte', (_, text) => {
		for (const { cut, parts } of cutAnywhere(text)) {
			expect({ cut, outcome: hear(parts).outcome }).toEqual({ cut, outcome: COMPLETED });
		}
	});

	it.each([
		['half of a JSON answer', '[{"id":"v1","file_ur', /broke off/],
		['JSON without a file', '{"status":"accepted"}', /no file/],
		['an empty array', '[]', /no file/],
		['nothing', '', /empty/],
	])('is no result and no failure when it is %s', (_, text, reason) => {
		const outcome = outcomeOf(text);
		expect(outcome).toEqual({ kind: 'lost', text: expect.stringMatching(reason) });
	});

	it.each(['<h1>Forbidden</h1>', '<!DOCTYPE html><p>502</p>', '\n<html><body>502</body></html>'])(
		'is an edge’s page, told apart from a result that may come, when it is HTML: %p',
		(page) => {
			expect(outcomeOf(...page).kind).toBe('notTheService');
		},
	);
});

test.each([
	['a word', 'failed', undefined],
	['a record', { status: 'FAILED', message: 'UNSAFE_GENERATION' }, 'UNSAFE_GENERATION'],
])('a status that tells of a failure is the outcome: %s', (_, told, text) => {
	const { outcome, early } = hear([status('processing'), status(told)]);
	expect({ early, ...outcome }).toEqual({ early: true, kind: 'generationFailed', text });
});

describe('more than any result can be', () => {
	const MIB = 1024 * 1024;

	it.each([['a line without end', 'data: ']])('%s ends within 4 MiB, once for all', (_, first) => {
		const events = new GenerationEvents(SOURCE);
		let outcome = events.push(Buffer.from(first));
		for (let mib = 0; mib < 4; mib++) outcome ??= events.push(Buffer.alloc(MIB, 'x'));
		expect(outcome).toEqual({ files: [], cut: expect.stringMatching(/larger/) });
		expect(events.push(Buffer.from(`\n\n${COMPLETE}`))).toBe(outcome);
		expect(events.markEnded()).toBe(outcome);
	});
});
