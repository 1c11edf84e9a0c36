import fc from 'fast-check';
import { Failure } from '../../nodes/shared/failure';
import * as single from '../../nodes/shared/parsing/values';
import * as errors from '../../nodes/shared/parsing/errors';
import { GenerationEvents } from '../../nodes/shared/parsing/generationEvents';
import * as readers from '../../nodes/shared/parsing/responses';
import { anAddress, anyBody, anyFigure, anyJson, anyText, recordOf } from './arbitraries';
import { always, BASE, SOURCE, valueOrFailure } from './check';
import { bodies, streams, values } from './corpus';

/* Whatever comes from a service is read as something that can be used and shown, or as nothing. */

const isAddress = (url: string | undefined) => {
	if (url === undefined) return;
	expect(['http:', 'https:']).toContain(new URL(url).protocol);
	expect(readers.readFileUrl(url, BASE)).toBe(url);
};
const isId = (id: string | undefined) => {
	if (id === undefined) return;
	expect(id).toMatch(/^\S.{0,499}$/s);
	// It must be able to stand in the path of a request.
	expect(() => encodeURIComponent(id)).not.toThrow();
};
const isPercentage = (percentage: number | undefined) => {
	expect(Math.abs((percentage ?? 0) - 50)).toBeLessThanOrEqual(50);
};
const isReason = (reason: string | undefined) => {
	if (reason === undefined) return;
	expect(reason).toBe(reason.trim());
	// Control characters are nothing to show.
	// eslint-disable-next-line no-control-regex
	expect(reason).toMatch(/^[^\x00-\x1f\x7f]{1,1600}$/);
};

const value = fc.oneof(anyJson, anyFigure, anAddress, recordOf(anyJson));

test.each<[string, (raw: unknown) => void]>([
	[
		'a task',
		(raw) => {
			isId(readers.readCreatedTaskId(raw));
			const task = readers.readSpeechTask(raw, SOURCE);
			if (!task) return;
			expect([undefined, 'completed', 'error']).toContain(task.end);
			expect(task.status).toMatch(/^.{1,500}$/s);
			isAddress(task.audioUrl);
			isPercentage(task.percentage);
			isReason(task.reason);
		},
	],
	[
		'files',
		(raw) => {
			isAddress(readers.readFileUrl(raw, BASE));
			for (const { id, fileUrl, raw: record } of readers.readGeneratedFiles(raw, BASE)) {
				isId(id);
				isAddress(fileUrl);
				expect(single.isRecord(record)).toBe(true);
			}
		},
	],
	[
		'a page of records',
		(raw) => {
			const { items = [], total = 0 } = readers.readPage(raw) ?? {};
			expect([items.every(single.isRecord), isFinite(total)]).toEqual([true, true]);
		},
	],
	['a reason', (raw) => isReason(errors.readReason(raw))],
])('any value is %s, or none', (_, read) => always(value, { examples: values, normal: 150 }, read));

const message = fc.oneof(
	anyBody,
	anyJson.map((payload) => JSON.stringify({ type: 'labs_status_updated', payload })),
);

test.each<[string, (text: string) => void]>([
	[
		'a notification of some task',
		(text) => {
			const { taskId, percentage } = readers.readNotification(text) ?? {};
			isId(taskId);
			isPercentage(percentage);
		},
	],
	[
		'an answer, or a failure and nothing else',
		(text) => {
			const read = valueOrFailure(() =>
				errors.parseResponseBody(text, SOURCE.redact, readers.readSuccessRecord),
			);
			if (read instanceof Failure) isReason(read.facts.reason);
			else expect(read).toEqual(single.parseJson(text));
			isReason(errors.readErrorText(text));
			isReason(errors.failureOfStatus(400 + (text.length % 200), text).facts.reason);
		},
	],
])('any text is %s, or nothing', (_, read) =>
	always(message, { examples: bodies, normal: 150 }, read),
);

const line = fc.oneof(
	anyBody.map((text) => `data: ${text}`),
	anyJson.map((json) => `data: ${JSON.stringify(JSON.stringify(json))}`),
	fc.constantFrom('event: video_generation_complete', 'event:error', ': ping', 'retry: x', ''),
	anyText.map((text) => `event:${text}`),
);
const lines = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 12 });
const stream: fc.Arbitrary<Uint8Array> = fc.oneof(
	{
		weight: 4,
		arbitrary: fc
			.tuple(fc.constantFrom('', '\ufeff', ' ', '\n'), lines)
			.map(([start, all]) => Buffer.from(start + all.flat().join(''))),
	},
	anyBody.map(Buffer.from),
	fc.uint8Array({ maxLength: 300 }),
);

test('any stream ends in an outcome and progress that can be shown, the same however it is cut', () => {
	const readAll = (parts: Uint8Array[], ending: 'finish' | 'finishBroken') => {
		const progress: Array<{ status: string; id?: string }> = [];
		const events = new GenerationEvents(SOURCE, 'video', (status, id) =>
			progress.push({ status, id }),
		);
		for (const part of parts) events.push(part);
		return { outcome: events[ending](), progress };
	};
	const cuts = fc.array(fc.nat(4000), { maxLength: 12 });
	const examples = streams.map((bytes): [Uint8Array, number[]] => [bytes, [1, 7, 20]]);
	always(fc.tuple(stream, cuts), { normal: 400, examples }, ([bytes, wished]) => {
		const places = wished.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
		const parts = [0, ...places].map((start, index) => bytes.subarray(start, places[index]));
		const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
		for (const ending of ['finish', 'finishBroken'] as const) {
			const { outcome, progress } = readAll([bytes], ending);
			expect(readAll(parts, ending)).toEqual({ outcome, progress });
			expect(readAll(single, ending)).toEqual({ outcome, progress });
			if (outcome instanceof Failure) isReason(outcome.facts.reason);
			else outcome.files.forEach(({ fileUrl }) => isAddress(fileUrl));
			for (const { status, id } of progress) {
				expect(status).toMatch(/^.{1,500}$/s);
				isId(id);
			}
		}
	});
});
