import {
	failureOfStatus,
	failureOfText,
	isOverload,
	readAnswer,
	readErrorText,
	readRetryAfter,
} from '../../nodes/shared/parsing/errors';
import { Failure, type FailureKind } from '../../nodes/shared/failure';
import { redactor } from '../../nodes/shared/parsing/redaction';
import { failureOf } from './refusal';

const PAGE =
	'<!DOCTYPE html>\n<html><head><title>502</title></head><body>Bad Gateway</body></html>';

// The plainest bodies: docs/faults.md.
describe('the text of an error body', () => {
	it.each<[string, string, string | undefined]>([
		['deeper nesting', '{"error":{"error":{"detail":"No such voice"}}}', 'No such voice'],
		['a nested machine word', '{"error":{"code":"invalid_voice_id"}}', 'invalid_voice_id'],
		['a list', '{"detail":[{"loc":["body"],"msg":"No such voice"}]}', 'No such voice'],
		['an empty error beside a message', '{"error":"","message":"Late"}', 'Late'],
		['error: null beside a detail', '{"error":null,"detail":"Late"}', 'Late'],
		['error: true beside a message', '{"error":true,"message":"Late"}', 'Late'],
		['a message beside the name of the status', '{"error":"Bad Request","message":"Late"}', 'Late'],
		['a JSON string', '"No such voice"', 'No such voice'],
		['plain text', ' No such\n voice ', 'No such voice'],
		['a byte order mark', '\uFEFF{"error":"No such voice"}', 'No such voice'],
		['JSON that was cut off', '{"message":"Late","trace":["aaaa', 'Late'],
		['a page within JSON', '{"error":"<html><h1>Bad Gateway</h1></html>"}', 'Bad Gateway'],
		...['', ' \n', '{}', 'null', PAGE, '<?xml version="1.0"?><Error/>', '{"data":[1,2]}'].map(
			(body): [string, string, undefined] => [`nothing: ${body}`, body, undefined],
		),
	])('is found in %s', (_, body, text) => {
		expect(readErrorText(body)).toBe(text);
	});

	it('is cut when it is very long, so that a message stays readable', () => {
		for (const body of ['x'.repeat(10_000), JSON.stringify({ error: 'x'.repeat(10_000) })]) {
			expect(readErrorText(body)!.length).toBe(500);
		}
	});
});

describe('what an HTTP status with its body means', () => {
	// More: test/faults.
	it.each([
		['tokenRefused', 401, ''],
		['tokenRefused', 403, '{"message":"Forbidden"}'],
		['tokenRefused', 400, '{"error":"invalid_token"}'],
		['outOfCredit', 402, ''],
		['outOfCredit', 400, '{"error":"Bad Request","message":"Insufficient credits"}'],
		['outOfCredit', 429, '{"error":"insufficient credit"}'],
		['outOfCredit', 500, '{"error":"Not enough credits"}'],
		['rateLimited', 429, PAGE],
		['rateLimited', 429, '{"error":"Quota of requests per minute exceeded"}'],
		['rateLimited', 400, '{"error":"Too many concurrent tasks"}'],
		['invalidVoice', 404, '{"error":"Voice not found"}'],
		['invalidVoice', 422, '{"detail":[{"msg":"voice_id is required"}]}'],
		['notFound', 404, '{"error":"task not found"}'],
		['notFound', 410, ''],
		['rejected', 400, '{"error":"text too long"}'],
		['rejected', 405, PAGE],
		['redirected', 308, PAGE],
		['unavailable', 503, '{"error":"maintenance"}'],
		['unavailable', 408, ''],
	])('is %s for %i with %s', (kind, status, body) => {
		expect(failureOfStatus(status, body).kind).toBe(kind);
	});

	it.each([401, 403])('a web page with %i comes from an edge, and passes', (status) => {
		for (const page of [PAGE, "<h2>Our services aren't available</h2>"]) {
			const { kind, facts } = failureOfStatus(status, page);
			expect({ kind, ...facts }).toMatchObject({ kind: 'unavailable', transient: true });
		}
	});

	it('says which pass by themselves, and which came from an edge', () => {
		const passes = (status: number) => failureOfStatus(status, '{}').facts.transient ?? false;
		expect([408, 429, 500, 502, 503, 504, 520, 521, 524, 530].every(passes)).toBe(true);
		expect([400, 401, 402, 404, 422].some(passes)).toBe(false);
		expect(failureOfStatus(404, PAGE).facts.isEdge).toBe(true);
		expect(failureOfStatus(404, '{"error":"no"}').facts.isEdge).toBeUndefined();
	});

	it('keeps the status and what the service said', () => {
		const { facts } = failureOfStatus(429, '{"error":"slow down"}');
		expect(facts).toMatchObject({ status: 429, text: 'slow down' });
	});
});

const MEANT: Partial<Record<FailureKind, string[]>> = {
	outOfCredit: [
		...['insufficient_credits', 'Insufficient available quota', 'Not enough credits'],
		...["You don't have enough credits", 'You have run out of credits.', 'No credits left'],
		...['Your credit balance is too low', 'Credits exhausted', 'Quota exceeded'],
		'You have exceeded your monthly quota',
	],
	invalidVoice: ['invalid_voice_id', "Voice 'abc' not found", 'voice_id "abc" does not exist'],
	tokenRefused: ['invalid_token', 'Invalid API key', 'Unauthorized', 'Token expired'],
	rejected: [
		...['UNSAFE_GENERATION', 'AUDIO_FILTERED', 'Create video failed', 'text too long'],
		...['Give credit where it is due', 'Create video failed, no credits were charged'],
	],
};

test.each(Object.entries(MEANT))('texts that mean %s', (kind, texts) => {
	expect(texts.filter((text) => failureOfText(text).kind !== kind)).toEqual([]);
});

const now = Date.parse('2026-01-01T00:00:00Z');
it.each<[string | number | undefined, number | undefined]>([
	['2', 2000],
	[2, 2000],
	['0.5', 500],
	['0', 0],
	['Thu, 01 Jan 2026 00:00:05 GMT', 5000],
	['Thu, 01 Jan 2025 00:00:00 GMT', 0],
	['-5', 0],
	['99999999', 86_400_000],
	['Thu, 01 Jan 2099 00:00:00 GMT', 86_400_000],
	[undefined, undefined],
	['', undefined],
	['soon', undefined],
])('Retry-After: %p is %p ms', (header, expected) => {
	expect(readRetryAfter(header, now)).toBe(expected);
});

describe('an answer with a success status', () => {
	const redact = redactor('');

	it('is its JSON, also beside an `error` that says nothing', () => {
		expect(readAnswer('\uFEFF[1]', redact)).toEqual([1]);
		for (const error of ['""', 'null', 'false', '[]', '{}']) {
			expect(readAnswer(`{"error":${error},"a":1}`, redact)).toMatchObject({ a: 1 });
		}
	});

	it.each([
		['{"error":"invalid_voice_id"}', 'invalidVoice'],
		['{"error":{"message":"text too long"}}', 'rejected'],
		['{"error":true}', 'rejected'],
		['{"success":false,"message":"Insufficient credits"}', 'outOfCredit'],
		['{"success":false,"message":"Too many concurrent tasks"}', 'rateLimited'],
		['{"error":"rate limit exceeded","id":null,"request_id":"r1"}', 'rateLimited'],
		// What has an id may have been begun.
		['{"id":7,"status":"failed","error":"Too many concurrent tasks"}', 'rejected'],
		['{"error":"Too many concurrent tasks","task":{"taskId":"t7"}}', 'rejected'],
	])('%s is a failure: %s', (body, kind) => {
		expect(failureOf(() => readAnswer(body, redact)).kind).toBe(kind);
	});

	it("leaves an `error` that belongs to the record, such as a failed task's, to its reader", () => {
		const body = '{"id":1,"status":"failed","error":"too long"}';
		expect(readAnswer(body, redact, () => true)).toMatchObject({ error: 'too long' });
	});

	it.each([PAGE, '', '{"a":', 'OK'])('is not the service when it is %p, which may pass', (body) => {
		const { kind, facts } = failureOf(() => readAnswer(body, redact));
		expect({ kind, ...facts }).toMatchObject({ kind: 'notTheService', transient: true });
	});
});

it.each<[boolean, string[]]>([
	[
		true,
		[
			...['Too many concurrent tasks', 'You have too many running generations', '429'],
			...['rate_limit_exceeded', 'TooManyRequests', 'Concurrency limit reached', 'Server busy'],
			...['You have reached the maximum number of concurrent tasks', 'QUEUE_FULL', 'Overloaded'],
			...['MAX_CONCURRENT_GENERATIONS', 'We are experiencing high demand'],
		],
	],
	[
		false,
		[
			...['Too many characters', 'The text is too long', 'unlimited', 'Business voice'],
			...['The maximum is 4 videos', 'A prompt on parallel lines was refused'],
		],
	],
])('that too much is under way is heard (%p) in texts', (isHeard, texts) => {
	const heard = texts.map((text) => isOverload(new Failure('taskFailed', { text })));
	expect(heard).toEqual(texts.map(() => isHeard));
});
