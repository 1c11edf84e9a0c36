import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { redactor } from '../../nodes/shared/parsing/redaction';
import { failureOfStatus, readAnswer } from '../../nodes/shared/parsing/errorResponses';
import { readHistory } from '../../nodes/shared/generation/historyEntries';
import { Failure } from '../../nodes/shared/failure';
import { GenerationEvents } from '../../nodes/shared/parsing/generationEvents';
import {
	MAX_EVENT_CHARS,
	MAX_FILES,
	MAX_JSON_LEVELS,
	MAX_MESSAGE_CHARS,
} from '../../nodes/shared/limits';
import * as readers from '../../nodes/shared/parsing/responses';
import * as reasons from '../../nodes/shared/parsing/errorText';
import * as values from '../../nodes/shared/parsing/coerce';
import { BASE, SOURCE, valueOrFailure } from './check';

const MIB = 1024 * 1024;

/** Arrays, and records under every name that a reader looks into. */
const NESTS = [
	['[', ']'],
	...['data', 'voices', 'task', 'error', 'url', 'file_url', '__proto__'].map((key) => [
		`{"${key}":`,
		'}',
	]),
	['{"file_urls":[', ']}'],
] as Array<[open: string, close: string]>;

/** As text: JSON.parse takes any number of levels. */
const nestedText = (open: string, close: string, levels: number) =>
	`${open.repeat(levels)}1${close.repeat(levels)}`;

/** Everything that goes through values by recursion. */
const readAll = (value: unknown) => {
	readers.readFileUrl(value, BASE);
	reasons.readReason(value);
	readers.readCreatedTaskId(value);
	readers.readSpeechTask(value, SOURCE);
	readers.readGeneratedFiles(value, BASE);
	readers.readPage(value);
	redactor('invalid_token').value(value);
	if (values.isRecord(value)) readHistory([value], BASE, 0);
};

describe.each(NESTS)('answers nested as %s…%s', (open, close) => {
	it('are read as deep as any answer is, and are none beyond', () => {
		const perNest = open.split(/[[{]/).length - 1;
		const deepest = nestedText(open, close, Math.floor(MAX_JSON_LEVELS / perNest));
		const value = values.parseJson(deepest);
		expect(value).toEqual(JSON.parse(deepest));
		readAll(value);
		for (const levels of [MAX_JSON_LEVELS + 1, 20_000]) {
			const text = nestedText(open, close, levels);
			expect(values.parseJson(text)).toBeUndefined();
			expect(readers.readNotification(text)).toBeUndefined();
			expect(failureOfStatus(400, text).kind).toBe('rejected');
			const read = valueOrFailure(() => readAnswer(text, SOURCE.redact));
			expect(read).toBeInstanceOf(Failure);
			const events = new GenerationEvents(SOURCE);
			events.push(Buffer.from(`data: ${text}\n\n`));
			expect(events.end().kind).toBe('lost');
		}
	});
});

describe('a stream without end', () => {
	setFlagsFromString('--expose-gc');
	const collect = runInNewContext('gc') as () => void;
	const heap = () => {
		collect();
		return process.memoryUsage().heapUsed;
	};
	let before: number;
	beforeAll(() => (before = heap()));

	/** Pushes `part` again and again, `size` bytes; tells what it takes after 5 MiB, and its end. */
	function flood(start: string, part: string, size: number) {
		const events = new GenerationEvents(SOURCE);
		const bytes = Buffer.from(part.repeat(Math.ceil(16_384 / part.length)));
		events.push(Buffer.from(start));
		let pushed = 0;
		let endedAfter: number | undefined;
		let taken: number | undefined;
		while (pushed < size) {
			if (events.push(bytes)) endedAfter ??= pushed;
			pushed += bytes.length;
			if (pushed > 5 * MIB) taken ??= heap() - before;
		}
		return { endedAfter, taken, outcome: events.end() };
	}

	it.each([
		['one line', 'data: ', 'x'],
		['one event', 'event: x\n', 'data: y\n'],
		['one plain answer', '[', '1,'],
		['one page', '<html>', 'x '],
		['one comment', ':', 'x'],
		['one line end after another within an event', 'data: x\r', 'data:\r'],
	])('that is %s is given up, and takes no more memory than it is long', (_, start, part) => {
		const { endedAfter, taken, outcome } = flood(start, part, 9 * MIB);
		expect(outcome.kind).toBe('lost');
		expect((outcome as { text: string }).text).toMatch(/larger than any result/);
		expect(endedAfter).toBeLessThanOrEqual(MAX_EVENT_CHARS);
		expect(taken).toBeLessThan(16 * MIB);
	});

	it.each([
		['white space', '', ' '],
		['line ends', '', '\r\n'],
		['empty lines', 'data: x\n', '\n'],
		['comments', '', ': ping\n\n'],
		['unknown fields', '', `trace: ${'1'.repeat(200)}\n\n`],
		['signs of life', '', 'event: video_generation_status\ndata: "processing"\n\n'],
	])('of %s may go on: nothing of it is kept', (_, start, part) => {
		const { endedAfter, taken, outcome } = flood(start, part, 6 * MIB);
		expect(endedAfter).toBeUndefined();
		expect(outcome.kind).toBe('lost');
		expect(taken).toBeLessThan(2 * MIB);
	});
});

describe('signs of life', () => {
	it('may name some items, and more ids than there can be files are not handed on', () => {
		const ids = new Set<string | undefined>();
		const events = new GenerationEvents(SOURCE, ({ id }) => ids.add(id));
		for (let id = 1; id <= 3 * MAX_FILES; id++) {
			events.push(Buffer.from(`data: {"id":${id},"status":"processing"}\n\n`));
		}
		ids.delete(undefined);
		expect([...ids]).toEqual(Array.from({ length: MAX_FILES }, (_, index) => String(index + 1)));
	});
});

describe('a message over the socket', () => {
	it('may hold more than it should, and not without end', () => {
		const message = (padding: number) => {
			const payload = { task_id: '1', process_percentage: 5, more: 'x'.repeat(padding) };
			return JSON.stringify({ type: 'labs_status_updated', payload });
		};
		const room = MAX_MESSAGE_CHARS - message(0).length;
		expect(readers.readNotification(message(room))).toEqual({ taskId: '1', percentage: 5 });
		expect(readers.readNotification(message(room + 1))).toBeUndefined();
	});
});

describe('a completion', () => {
	const outcomeOf = (files: number) => {
		const addresses = Array.from({ length: files }, (_, index) => `${BASE}/${index}.mp4`);
		const events = new GenerationEvents(SOURCE);
		events.push(
			Buffer.from(`event: x_complete\ndata: ${JSON.stringify({ file_urls: addresses })}\n\n`),
		);
		return events.end();
	};

	it('may name some files, and not more than anybody can ask for', () => {
		const most = outcomeOf(MAX_FILES);
		expect(most.kind === 'complete' && most.files.length).toBe(MAX_FILES);
		expect(outcomeOf(MAX_FILES + 1)).toEqual({
			kind: 'lost',
			text: `the completion named ${MAX_FILES + 1} files`,
		});
	});
});
