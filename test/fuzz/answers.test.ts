import fc from 'fast-check';
import * as answers from '../../nodes/shared/parsing/errorResponses';
import { Failure } from '../../nodes/shared/failure';
import { parseJson } from '../../nodes/shared/parsing/coerce';
import { redactor } from '../../nodes/shared/parsing/redaction';
import { anyBody, anyFigure, anyJson, anyText } from './arbitraries';
import { always, valueOrFailure } from './check';
import { bodies } from './corpus';

const status = fc.oneof(fc.integer({ min: 100, max: 599 }), fc.integer({ min: 0, max: 999 }));
const header = fc.oneof(fc.constant(undefined), anyFigure, anyJson);

const checkReason = (text: string | undefined) => {
	if (text === undefined) return;
	expect(text.trim()).not.toBe('');
	expect(text.length).toBeLessThanOrEqual(1600);
	// Mark-up and control characters are nothing to show.
	expect(text).not.toMatch(/<[a-z][^<>]*>|[\x00-\x1f\x7f]/i);
};

const checkWait = (ms: number | undefined) => {
	if (ms === undefined) return;
	expect(ms).toBeGreaterThanOrEqual(0);
	expect(ms).toBeLessThanOrEqual(60_000);
};

describe('whatever answer comes', () => {
	it('of an error status is a failure that is told', () => {
		always(
			fc.tuple(status, anyBody),
			{ examples: bodies.map((body): [number, string] => [400, body]), normal: 250 },
			([code, body]) => {
				const failure = answers.failureOfStatus(code, body);
				expect(failure).toBeInstanceOf(Failure);
				expect(failure.facts.status).toBe(code);
				checkReason(failure.facts.text);
			},
		);
	});

	it('is read, or is a failure and nothing else', () => {
		always(
			fc.tuple(anyBody, fc.boolean()),
			{ examples: bodies.map((body): [string, boolean] => [body, false]) },
			([body, owns]) => {
				const read = valueOrFailure(() => answers.readAnswer(body, redactor(''), () => owns));
				if (read instanceof Failure) checkReason(read.facts.text);
				else expect(read).toEqual(parseJson(body));
			},
		);
	});

	it('gives a text that can be shown, or none', () => {
		always(anyBody, { examples: bodies }, (body) => checkReason(answers.readErrorText(body)));
	});

	it('asks for a wait that is bearable, or for none', () => {
		always(fc.tuple(header, fc.double({ noNaN: true, min: 0, max: 4e12 })), {}, ([value, now]) =>
			checkWait(answers.readRetryAfter(value, now)),
		);
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
