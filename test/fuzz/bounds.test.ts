import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { redactor } from '../../nodes/shared/parsing/redaction';
import { failureOfStatus, parseResponseBody } from '../../nodes/shared/parsing/errors';
import { toHistoryEntries } from '../../nodes/shared/generation/historyEntries';
import { Failure } from '../../nodes/shared/failure';
import { GenerationEvents } from '../../nodes/shared/parsing/generationEvents';
import { evictOldest, MAX_EVENT_CHARS, MAX_JSON_DEPTH } from '../../nodes/shared/limits';
import * as readers from '../../nodes/shared/parsing/responses';
import * as reasons from '../../nodes/shared/parsing/errors';
import { parseJson } from '../../nodes/shared/parsing/values';
import { BASE, SOURCE, valueOrFailure } from './check';

const MIB = 1024 * 1024;

/** Everything that goes through values by recursion. */
const readAll = (value: unknown) => {
	readers.readFileUrl(value, BASE);
	reasons.readReason(value);
	readers.readCreatedTaskId(value);
	readers.readSpeechTask(value, SOURCE);
	readers.readGeneratedFiles(value, BASE);
	readers.readPage(value);
	redactor('invalid_token').value(value);
	toHistoryEntries([{ value }], BASE);
};

test.each([
	['[', ']'],
	['{"data":', '}'],
	['{"error":', '}'],
])('answers nested as %s…%s are read to some depth, and are none beyond', (open, close) => {
	/** As text: JSON.parse takes any number of levels. */
	const nested = (levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`;
	readAll(parseJson(nested(MAX_JSON_DEPTH)));
	for (const text of [nested(MAX_JSON_DEPTH + 1), nested(20_000)]) {
		expect(parseJson(text)).toBeUndefined();
		expect(readers.readNotification(text)).toBeUndefined();
		expect(failureOfStatus(400, text).kind).toBe('rejected');
		expect(
			valueOrFailure(() => parseResponseBody(text, SOURCE.redact, readers.readSuccessRecord)),
		).toBeInstanceOf(Failure);
		expect(outcomeOf(`data: ${text}\n\n`)).toMatchObject({ files: [] });
	}
});

function outcomeOf(stream: string) {
	const events = new GenerationEvents(SOURCE, 'video');
	events.push(Buffer.from(stream));
	return events.finish();
}

describe('a stream without end', () => {
	setFlagsFromString('--expose-gc');
	const collect = runInNewContext('gc') as () => void;
	const heap = () => {
		collect();
		return process.memoryUsage().heapUsed;
	};

	/** Pushes `part` again and again, 20 MiB; tells when it was given up, what it takes, and its end. */
	function flood(start: string, part: string) {
		const before = heap();
		const events = new GenerationEvents(SOURCE, 'video');
		const bytes = Buffer.from(part.repeat(Math.ceil(16_384 / part.length)));
		events.push(Buffer.from(start));
		let endedAfter: number | undefined;
		for (let pushed = 0; pushed < 20 * MIB; pushed += bytes.length) {
			if (events.push(bytes)) endedAfter ??= pushed;
		}
		return { endedAfter, taken: heap() - before, outcome: events.finish() };
	}

	it.each([
		['one line', 'data: ', 'x'],
		['one event', 'event: x\n', `data: ${'y'.repeat(100)}\n`],
		['one plain answer', '[', '1,'],
		['one page', '<html>', 'x '],
	])('that is %s is given up, and takes no more memory than it is long', (_, start, part) => {
		const { endedAfter, taken, outcome } = flood(start, part);
		const interruptionReason: unknown = expect.stringMatching(/too large/);
		expect(outcome).toEqual({ files: [], failedIds: [], interruptionReason });
		expect(endedAfter).toBeLessThanOrEqual(MAX_EVENT_CHARS * 1.1);
		expect(taken).toBeLessThan(2 * MAX_EVENT_CHARS);
	});

	it.each([
		['white space', '', ' '],
		['comments', '', ': ping\n\n'],
		['one comment', ':', 'x'],
		[
			'signs of life',
			'',
			`event: video_generation_status\ndata: "processing"${' '.repeat(150)}\n\n`,
		],
	])('of %s may go on: nothing of it is kept', (_, start, part) => {
		const { endedAfter, taken, outcome } = flood(start, part);
		expect([endedAfter, outcome]).toMatchObject([undefined, { files: [] }]);
		expect(taken).toBeLessThan(2 * MIB);
	});
});

test('of what is remembered, the oldest is forgotten', () => {
	const remembered = new Map([...'abcde'].map((letter) => [letter, true]));
	evictOldest(remembered, 3);
	expect([...remembered.keys()].join('')).toBe('cde');
});
