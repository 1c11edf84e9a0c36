import fc from 'fast-check';
import { Failure } from '../../nodes/shared/failure';
import * as readers from '../../nodes/shared/parsing/responses';
import * as reasons from '../../nodes/shared/parsing/errors';
import * as answers from '../../nodes/shared/parsing/errors';
import * as single from '../../nodes/shared/parsing/coerce';
import { anAddress, anyBody, anyFigure, anyJson, anyText, recordOf } from './arbitraries';
import { always, BASE, SOURCE, valueOrFailure } from './check';
import { bodies, values } from './corpus';

const value = fc.oneof(anyJson, anyFigure, anAddress, recordOf(anyJson));

const isAddress = (url: string | undefined) => {
	if (url === undefined) return;
	expect(['http:', 'https:']).toContain(new URL(url).protocol);
	expect(url.length).toBeLessThanOrEqual(20_000);
	expect(readers.readFileUrl(url, BASE)).toBe(url);
};

const isId = (id: string | undefined) => {
	if (id === undefined) return;
	expect(id).toBe(id.trim());
	expect(id.length).toBeGreaterThan(0);
	expect(id.length).toBeLessThanOrEqual(500);
	// It must be able to stand in the path of a request.
	expect(() => encodeURIComponent(id)).not.toThrow();
};

const isPercentage = (percentage: number | undefined) => {
	if (percentage === undefined) return;
	expect(Number.isInteger(percentage)).toBe(true);
	expect(Math.abs(percentage - 50)).toBeLessThanOrEqual(50);
};

const isReason = (reason: string | undefined) => {
	if (reason === undefined) return;
	expect(reason).toBe(reason.trim());
	expect(reason).not.toBe('');
	expect(reason.length).toBeLessThanOrEqual(1600);
	// Control characters are nothing to show.
	expect(reason).not.toMatch(/[\x00-\x1f\x7f]/);
};

describe('whatever value comes', () => {
	it('is read as a text, a figure or a percentage, or as nothing', () => {
		always(value, { examples: values }, (raw) => {
			const text = single.asText(raw);
			if (text !== undefined) {
				expect(text).toBe(text.trim());
				expect(text).not.toBe('');
				expect(single.asText(text)).toBe(text);
			}
			const number = single.asNumber(raw);
			expect(number === undefined || Number.isFinite(number)).toBe(true);
			isPercentage(single.asPercentage(raw));
		});
	});

	it('holds an address that can be fetched, or none', () => {
		always(value, { examples: values }, (raw) => isAddress(readers.readFileUrl(raw, BASE)));
	});

	it('says why, in a text of bearable length, or does not', () => {
		always(value, { examples: values }, (raw) => isReason(reasons.readReason(raw)));
	});

	it('is a task, or none', () => {
		always(value, { examples: values }, (raw) => {
			isId(readers.readCreatedTaskId(raw));
			const task = readers.readSpeechTask(raw, SOURCE);
			if (!task) return;
			expect(['pending', 'processing', 'completed', 'error']).toContain(task.state);
			expect(task.status).not.toBe('');
			expect(task.status.length).toBeLessThanOrEqual(500);
			isAddress(task.audioUrl);
			isPercentage(task.percentage);
			isReason(task.message);
		});
	});

	it('names files that can be fetched, each once, or none', () => {
		always(value, { examples: values }, (raw) => {
			for (const { id, fileUrl, fields } of readers.readGeneratedFiles(raw, BASE)) {
				isId(id);
				isAddress(fileUrl);
				expect(single.isRecord(fields)).toBe(true);
			}
		});
	});

	it('is a page of records, or none', () => {
		always(value, { examples: values }, (raw) => {
			const page = readers.readPage(raw);
			if (!page) return;
			expect(page.items.every(single.isRecord)).toBe(true);
			for (const figure of [page.total, page.pageSize]) {
				expect(figure === undefined || Number.isFinite(figure)).toBe(true);
			}
		});
	});
});

describe('whatever text comes', () => {
	const message = fc.oneof(
		anyBody,
		anyJson.map((payload) => JSON.stringify({ type: 'labs_status_updated', payload })),
	);

	it('is JSON, or none', () => {
		always(anyBody, { examples: bodies }, (text) => {
			const parsed = single.parseJson(text);
			// A number of a thousand digits is one, too: Infinity.
			const again = JSON.stringify(parsed);
			if (parsed !== undefined) expect(JSON.stringify(single.parseJson(again))).toBe(again);
			expect([true, false]).toContain(single.looksLikeHtml(text));
		});
	});

	it('is a notification of some task, or none', () => {
		always(message, { examples: bodies }, (text) => {
			const read = readers.readNotification(text);
			if (!read) return;
			isId(read.taskId);
			isPercentage(read.percentage);
		});
	});
});

describe('whatever answer comes', () => {
	it('of an error status is a failure that is told', () => {
		const status = fc.integer({ min: 0, max: 999 });
		always(
			fc.tuple(status, anyBody),
			{ examples: bodies.map((body): [number, string] => [400, body]), normal: 250 },
			([code, body]) => {
				const failure = answers.failureOfStatus(code, body);
				expect(failure.facts.status).toBe(code);
				isReason(failure.facts.text);
			},
		);
	});

	it('is read, or is a failure and nothing else', () => {
		always(
			fc.tuple(anyBody, fc.boolean()),
			{ examples: bodies.map((body): [string, boolean] => [body, false]) },
			([body, owns]) => {
				const read = valueOrFailure(() => answers.readAnswer(body, SOURCE.redact, () => owns));
				if (read instanceof Failure) isReason(read.facts.text);
				else expect(read).toEqual(single.parseJson(body));
			},
		);
	});

	it('gives a text that can be shown, or none', () => {
		always(anyBody, { examples: bodies }, (body) => isReason(answers.readErrorText(body)));
	});

	it('asks for a wait that is bearable, or for none', () => {
		const header = fc.oneof(fc.constant(undefined), anyFigure, anyJson);
		always(fc.tuple(header, fc.double({ noNaN: true, min: 0, max: 4e12 })), {}, ([raw, now]) => {
			const ms = answers.readRetryAfter(raw, now) ?? 0;
			expect(ms).toBeGreaterThanOrEqual(0);
			expect(ms).toBeLessThanOrEqual(86_400_000);
		});
	});

	it('gives texts that stand for one failure', () => {
		always(fc.option(anyText, { nil: undefined }), {}, (text) => {
			const failure = answers.failureOfText(text);
			expect(['outOfCredit', 'tokenRefused', 'invalidVoice', 'rejected']).toContain(failure.kind);
			expect(failure.kind === 'outOfCredit').toBe(
				text !== undefined && answers.saysOutOfCredit(text),
			);
		});
	});
});
