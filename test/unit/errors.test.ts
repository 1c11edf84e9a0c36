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
import { readRecord } from '../../nodes/shared/parsing/responses';
import { failureOf } from './refusal';

const PAGE =
	'<!DOCTYPE html>\n<html><head><title>502</title></head><body>Bad Gateway</body></html>';

describe('the text of an error body', () => {
	// The plainest bodies: docs/faults.md.
	it.each([
		['deeper nesting', '{"error":{"error":{"detail":"No such voice"}}}', 'No such voice'],
		['a nested machine word', '{"error":{"code":"invalid_voice_id"}}', 'invalid_voice_id'],
		['a list', '{"detail":[{"loc":["body"],"msg":"No such voice"}]}', 'No such voice'],
		['an empty error beside a message', '{"error":"","message":"Late"}', 'Late'],
		['a message beside the number of the status', '{"error":400,"message":"Late"}', 'Late'],
		['JSON that was cut off', '{"message":"Late","trace":["aaaa', 'Late'],
		['a page within JSON', '{"error":"<html><h1>Bad Gateway</h1></html>"}', 'Bad Gateway'],
	])('is found in %s', (_, body, text) => {
		expect(readErrorText(body)).toBe(text);
	});

	it.each([
		['nothing', ''],
		['an empty object', '{}'],
		['null', 'null'],
		['a web page', PAGE],
		['XML', '<?xml version="1.0"?><Error><Code>x</Code></Error>'],
	])('is missing in %s', (_, body) => {
		expect(readErrorText(body)).toBeUndefined();
	});
});

describe('what an HTTP status with its body means', () => {
	// The plainest answers: docs/faults.md.
	it.each([
		['tokenRefused', 401, ''],
		['tokenRefused', 400, '{"error":"invalid_token"}'],
		['outOfCredit', 400, '{"error":"Bad Request","message":"Insufficient credits"}'],
		['outOfCredit', 429, '{"error":"insufficient credit"}'],
		['outOfCredit', 500, '{"error":"Not enough credits"}'],
		['rateLimited', 429, PAGE],
		['rateLimited', 429, '{"error":"Quota of requests per minute exceeded"}'],
		['invalidVoice', 404, '{"error":"Voice not found"}'],
		['invalidVoice', 422, '{"detail":[{"msg":"voice_id is required"}]}'],
		['notFound', 410, ''],
		['rejected', 422, ''],
		['rejected', 405, PAGE],
		['redirected', 308, PAGE],
		['unavailable', 408, ''],
		['unavailable', 401, PAGE],
		['unavailable', 403, "<h2>Our services aren't available</h2><p>We're working on it.</p>"],
	])('is %s for %i with %s', (kind, status, body) => {
		expect(failureOfStatus(status, body).kind).toBe(kind);
	});

	it.each<[passes: boolean, body: string, statuses: number[]]>([
		[true, '', [429, 500, 502, 503, 504, 507, 520, 521, 522, 524, 530]],
		// From an edge.
		[true, PAGE, [401, 403]],
		[false, '{"error":"no"}', [400, 401, 402, 404, 422]],
	])('may pass (%p) with %j for %j', (passes, body, statuses) => {
		const may = statuses.map((status) => failureOfStatus(status, body).facts.transient ?? false);
		expect(may).toEqual(statuses.map(() => passes));
	});
});

describe('what a text of the service means', () => {
	const MEANT: Partial<Record<FailureKind, string[]>> = {
		outOfCredit: [
			...['insufficient_credits', 'Insufficient quota', 'INSUFFICIENT_BALANCE'],
			...['Not enough credits', 'You have run out of credits.', 'No credits left'],
			...['Your credit balance is too low', 'Credits exhausted', 'Quota exceeded'],
			...['You have exceeded your monthly quota', 'Insufficient available quota'],
			'You do not have enough credits to make this video',
			...["You don't have enough credits", 'Your quota is not enough'],
		],
		invalidVoice: [
			...['invalid_voice_id', 'voice_not_found', 'Unknown voice', 'The voice abc was not found'],
			...["Voice 'abc' not found", 'voice_id "abc" does not exist', 'Voice could not be found'],
		],
		tokenRefused: [
			...['invalid_token', 'Invalid API key', 'Unauthorized', 'expired access token'],
			...['Token expired', 'Token is invalid', 'The API key has been revoked'],
		],
		rejected: [
			...['UNSAFE_GENERATION', 'AUDIO_FILTERED', 'Create video failed', 'text too long'],
			...['Give credit where it is due', 'Create video failed, no credits were charged'],
			'Create video failed, no credits will be charged',
			'Create video failed, no credits charged',
		],
	};

	it.each(Object.entries(MEANT))('is %s: %j', (kind, all) => {
		expect(all.map((text) => failureOfText(text).kind)).toEqual(all.map(() => kind));
	});
});

const now = Date.parse('2026-01-01T00:00:00Z');
it.each([
	['seconds', '2', 2000],
	['seconds as a number', 2, 2000],
	['parts of a second', '0.5', 500],
	['zero', '0', 0],
	['a date', 'Thu, 01 Jan 2026 00:00:05 GMT', 5000],
	['an absurd date', 'Thu, 01 Jan 2099 00:00:00 GMT', 86_400_000],
	['nothing', undefined, undefined],
	['nonsense', 'soon', undefined],
])('Retry-After is read from %s', (_, header, expected) => {
	expect(readRetryAfter(header, now)).toBe(expected);
});

describe('an answer with a success status', () => {
	const redact = redactor('');

	it.each(['""', 'null', 'false', '[]', '{}'])('`error: %s` is no failure', (error) => {
		const body = `{"error":${error},"success":true,"a":1}`;
		expect(readAnswer(body, redact, readRecord)).toMatchObject({ a: 1 });
	});

	it.each([
		['{"error":"invalid_voice_id"}', 'invalidVoice'],
		['{"error":{"message":"text too long"}}', 'rejected'],
		['{"error":true}', 'rejected'],
		['{"success":false,"message":"text too long"}', 'rejected'],
		['{"success":false,"message":"Insufficient credits"}', 'outOfCredit'],
		['{"error":"rate limit exceeded"}', 'rateLimited'],
		['{"success":false,"message":"Too many concurrent tasks"}', 'rateLimited'],
		// What has an id may have been begun.
		['{"id":7,"status":"failed","error":"Too many concurrent tasks"}', 'rejected'],
		['{"success":false,"message":"Too many concurrent tasks","data":{"id":7}}', 'rejected'],
		['{"error":"Too many concurrent tasks","task":{"taskId":"t7"}}', 'rejected'],
		['{"error":"rate limit exceeded","id":null,"request_id":"r1"}', 'rateLimited'],
	])('%s is a failure: %s', (body, kind) => {
		expect(failureOf(() => readAnswer(body, redact, readRecord)).kind).toBe(kind);
	});

	it.each([
		['a web page', PAGE],
		['nothing', ''],
		['half an answer', '{"a":'],
	])('is not the service when it is %s, which may pass', (_, body) => {
		const { kind, facts } = failureOf(() => readAnswer(body, redact, readRecord));
		expect({ kind, ...facts }).toMatchObject({ kind: 'notTheService', transient: true });
	});
});

it.each<[isHeard: boolean, texts: string[]]>([
	[
		true,
		[
			...['Too many concurrent tasks', 'too many requests', 'TooManyRequests', 'QUEUE_FULL'],
			...['You have too many running generations', 'Concurrency limit reached', 'Server busy'],
			...['rate_limit_exceeded', 'too_many_requests', 'Concurrent task limit reached'],
			'You have reached the maximum number of concurrent tasks',
			...['MAX_CONCURRENT_GENERATIONS', 'Limit (5) of simultaneous generations'],
			...['We are experiencing high demand', 'The model is overloaded, try again later'],
		],
	],
	[
		false,
		[
			...['Too many characters', 'The text is too long', 'unlimited', 'Business voice'],
			...['The maximum is 4 videos', 'A prompt on parallel lines was refused'],
		],
	],
])('that too much is under way is heard (%p) in %j', (isHeard, texts) => {
	for (const text of texts) {
		const { kind } = failureOfStatus(400, JSON.stringify({ error: text }));
		const isRate = kind === 'rateLimited';
		expect([text, isOverload(new Failure('taskFailed', { text })), isRate]).toEqual([
			text,
			isHeard,
			isHeard,
		]);
	}
});
