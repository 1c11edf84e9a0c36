import {
	failureOfAnswer,
	failureOfStatus,
	isFailedGeneration,
	isOverload,
	parseResponseBody,
	readErrorText,
	readRetryAfter,
} from '../../nodes/shared/parsing/errors';
import { Failure } from '../../nodes/shared/failure';
import { redactor } from '../../nodes/shared/parsing/redaction';
import { readCreatedTaskId, readSuccessRecord } from '../../nodes/shared/parsing/responses';
import { valueOrFailure } from '../fuzz/check';

/* What a refusal means, in every shape in which deployments say it. The plainest: docs/faults.md. */

const PAGE =
	'<!DOCTYPE html>\n<html><head><title>502</title></head><body>Bad Gateway</body></html>';
const NOW = 'Thu, 01 Jan 2026 00:00:00 GMT';
const answerOf = (body: string) =>
	valueOrFailure(() => parseResponseBody(body, redactor(''), readSuccessRecord));
/** A body with a code of the service's own. */
const asCode = (code: string) => `{"code":${code},"msg":"失败"}`;
/** A status, and the body behind it. */
const statusOf = (text: string) => failureOfStatus(Number(text.slice(0, 3)), text.slice(4));

/** What is made of each kind of text. */
const read = {
	'error body': readErrorText,
	'status and body': (text: string) => statusOf(text).kind,
	'status that may pass': (text: string) => statusOf(text).facts.transient ?? false,
	'text of the service': (text: string) => failureOfAnswer(text).kind,
	'error beside a status': (status: string) =>
		isFailedGeneration({ status, error: 'The model crashed' }),
	'answer with a 200': (body: string) => (answerOf(body) as { kind?: string }).kind,
	'created with a 200': (body: string) =>
		(valueOrFailure(() => parseResponseBody(body, redactor(''), readCreatedTaskId)) as Failure)
			.kind,
	'Retry-After': (header: string) => readRetryAfter({ 'retry-after': header, date: NOW }),
	'Retry-After alone': (header: string) => readRetryAfter({ 'retry-after': header }),
	'overload, told by a task': (text: string) =>
		isOverload(new Failure('taskFailed', { reason: text })),
	'overload, told by a status': (error: string) =>
		statusOf(`400 ${JSON.stringify({ error })}`).kind === 'throttled',
};
type Kind = keyof typeof read;

const OVERLOADS = [
	...['Too many concurrent tasks', 'too many requests', 'TooManyRequests', 'QUEUE_FULL'],
	...['You have too many running generations', 'Concurrency limit reached', 'Server busy'],
	...['rate_limit_exceeded', 'too_many_requests', 'Concurrent task limit reached'],
	'You have reached the maximum number of concurrent tasks',
	...['MAX_CONCURRENT_GENERATIONS', 'Limit (5) of simultaneous generations'],
	...['We are experiencing high demand', 'The model is overloaded, try again later'],
];
const NO_OVERLOADS = [
	...['Too many characters', 'The text is too long', 'unlimited', 'Business voice'],
	...['The maximum is 4 videos', 'A prompt on parallel lines was refused'],
];
const passing = [429, 500, 502, 503, 504, 507, 520, 521, 522, 524, 530].map(
	(status) => `${status} `,
);
const lasting = [400, 401, 402, 404, 422].map((status) => `${status} {"error":"no"}`);

test.each<[Kind, expected: unknown, texts: string[]]>([
	['error body', 'Late', ['{"error":{"error":{"detail":"Late"}}}', '{"detail":[{"msg":"Late"}]}']],
	['error body', 'Late', ['{"error":"","message":"Late"}', '{"error":400,"message":"Late"}']],
	['error body', 'Late', ['{"message":"Late","trace":["aaaa']],
	['error body', 'Too late', ['{"kind":"NotAllowed","description":"Too late"}']],
	['error body', 'Too late', ['{"error":"Too late","description":"A calm voice"}']],
	['error body', 'UNSAFE', ['{"id":"v1","error":"UNSAFE","description":"A cat on a sofa"}']],
	['error body', 'invalid_voice_id', ['{"error":{"code":"invalid_voice_id"}}']],
	// Not every script has spaces.
	[
		'error body',
		'余额不足',
		['{"code":-1,"message":"余额不足"}', '{"code":"E_402","msg":"余额不足"}'],
	],
	['error body', 'Bad Gateway', ['{"error":"<html><h1>Bad Gateway</h1></html>"}']],
	['error body', undefined, ['', '{}', 'null', PAGE, '<?xml version="1.0"?><Error>x</Error>']],
	['status and body', 'tokenRefused', ['401 ', '400 {"error":"invalid_token"}']],
	['status and body', 'outOfCredit', ['400 {"error":"","message":"No credits left"}']],
	[
		'status and body',
		'outOfCredit',
		[400, 401, 403].map((code) => `${code} {"kind":"Refused","description":"No credits left"}`),
	],
	['status and body', 'outOfCredit', ['429 {"error":"insufficient credit"}']],
	['status and body', 'outOfCredit', ['500 {"error":"Not enough credits"}']],
	['status and body', 'throttled', [`429 ${PAGE}`, '429 {"error":"Quota of requests"}']],
	['status and body', 'invalidVoice', ['404 {"error":"Voice not found"}']],
	['status and body', 'invalidVoice', ['422 {"detail":[{"msg":"voice_id is required"}]}']],
	['status and body', 'throttled', ['503 {"error":"overloaded"}', '529 {"error":"overloaded"}']],
	['status and body', 'unavailable', ['503 overloaded', `503 ${PAGE}`, '503 {}', '503 ', '529 ']],
	['status and body', 'unavailable', ['500 {"error":"overloaded"}', '502 {"error":"busy"}']],
	['status and body', 'unavailable', ['503 {"error":"overloaded","task_id":"7"}']],
	['status and body', 'unavailable', ['502 Blocked by the content policy']],
	['status and body', 'unavailable', ['500 {"detail":"[Errno 122] Disk quota exceeded"}']],
	['status and body', 'unavailable', ['500 {"detail":"[Errno 13] Permission denied"}']],
	['status and body', 'rejected', ['500 {"error":"reCAPTCHA evaluation failed"}']],
	['status and body', 'rejected', ['404 {"error":"You do not have access to the model"}']],
	['status and body', 'notFound', ['410 ', '404 ', `410 ${PAGE}`, '404 {"error":"not_found"}']],
	['status and body', 'foreignServer', [`404 ${PAGE}`, '404 404 page not found']],
	['status and body', 'rejected', ['422 ', `405 ${PAGE}`]],
	['status and body', 'redirected', ['308 ']],
	['status and body', 'unavailable', ['408 ', `401 ${PAGE}`, "403 <h2>We're away</h2>"]],
	['status and body', 'unavailable', ['403 error code: 1020', '403 error code: 1010\n']],
	['status that may pass', true, [...passing, `401 ${PAGE}`, `403 ${PAGE}`, `404 ${PAGE}`]],
	['status that may pass', false, lasting],
	['text of the service', 'outOfCredit', ['insufficient_credits', 'INSUFFICIENT_BALANCE']],
	['text of the service', 'outOfCredit', ['Not enough credits', 'You have run out of credits.']],
	['text of the service', 'outOfCredit', ['No credits left', 'Your credit balance is too low']],
	['text of the service', 'outOfCredit', ['Credits exhausted']],
	['text of the service', 'throttled', ['Quota exceeded', 'You have exceeded your monthly quota']],
	['text of the service', 'outOfCredit', ['Insufficient available quota']],
	['text of the service', 'outOfCredit', ["You don't have enough credits to make this video"]],
	['text of the service', 'outOfCredit', ['Your quota is not enough']],
	['text of the service', 'invalidVoice', ['invalid_voice_id', 'voice_not_found', 'Unknown voice']],
	['text of the service', 'invalidVoice', ["Voice 'abc' not found", 'Voice could not be found']],
	['text of the service', 'invalidVoice', ['voice_id "abc" does not exist']],
	['text of the service', 'tokenRefused', ['invalid_token', 'Invalid API key', 'Unauthorized']],
	['text of the service', 'tokenRefused', ['expired access token', 'Token is invalid']],
	['text of the service', 'tokenRefused', ['The API key has been revoked']],
	['text of the service', 'rejected', ['UNSAFE_GENERATION', 'Create video failed', 'too long']],
	['text of the service', 'rejected', ['Give credit where it is due']],
	['text of the service', 'rejected', ['Create video failed, no credits were charged']],
	['text of the service', 'rejected', ['Create video failed, no credits charged']],
	['error beside a status', false, ['processing', 'IN_PROGRESS', 'queued', 'retrying']],
	['error beside a status', true, ['error', 'creation_failed', 'start_error', 'not_accepted', '']],
	['error beside a status', true, ['creation_rejected', 'queue_full', 'QUEUE_TIMEOUT', 'missing']],
	[
		'answer with a 200',
		undefined,
		['""', 'null', 'false', '[]', '{}'].map((error) => `{"error":${error},"success":true}`),
	],
	['answer with a 200', undefined, ['{"code":200}', '{"code":0}', '{"code":"SAVE-500"}']],
	[
		'answer with a 200',
		undefined,
		[...['20000', '100000', '4711', '45678', '4012345', '401.5'].map(asCode), '{"code":412345}'],
	],
	['answer with a 200', 'tokenRefused', ['{"code":401,"msg":"Invalid token","data":null}']],
	// A longer code often begins with the status.
	['answer with a 200', 'tokenRefused', ['40101', '"40101"', '401001'].map(asCode)],
	[
		'answer with a 200',
		'tokenRefused',
		[
			'{"Code":40101,"Message":"Token invalid","Data":null}',
			'{"Success":false,"Msg":"Token expired"}',
		],
	],
	['answer with a 200', 'outOfCredit', ['40204'].map(asCode)],
	['answer with a 200', 'throttled', ['42901', '429001'].map(asCode)],
	['answer with a 200', 'rejected', ['40001', '42203'].map(asCode)],
	['answer with a 200', 'notFound', ['40400'].map(asCode)],
	['answer with a 200', 'unavailable', ['50000', '50301'].map(asCode)],
	['answer with a 200', 'rejected', ['{"code":"400","msg":"失败"}', '{"code":422}']],
	['answer with a 200', 'notFound', ['{"code":404,"msg":"task not found"}']],
	['answer with a 200', 'unavailable', ['{"code":"500","msg":"失败"}', '{"code":502}']],
	['answer with a 200', 'throttled', ['{"code":503,"msg":"The model is overloaded"}']],
	['answer with a 200', 'invalidVoice', ['{"error":"invalid_voice_id"}']],
	['answer with a 200', 'invalidVoice', ['{"status":"pending","error":"invalid_voice_id"}']],
	['answer with a 200', 'tokenRefused', ['{"status":"active","code":401,"msg":"Invalid token"}']],
	['answer with a 200', 'rejected', ['{"error":{"message":"too long"}}', '{"error":true}']],
	['answer with a 200', 'rejected', ['{"ok":false,"message":"too long"}', '{"errors":["long"]}']],
	['answer with a 200', 'outOfCredit', ['{"errors":[{"title":"x","detail":"No credits left"}]}']],
	['answer with a 200', undefined, ['{"ok":true,"errors":[]}', '{"errors":null}']],
	['answer with a 200', 'rejected', ['{"success":false,"message":"text too long"}']],
	['answer with a 200', 'outOfCredit', ['{"success":false,"message":"No credits left"}']],
	['answer with a 200', 'throttled', ['{"error":"rate limit exceeded"}']],
	['answer with a 200', 'throttled', ['{"success":false,"message":"Server busy"}']],
	['answer with a 200', 'throttled', ['{"error":"Server busy","id":null,"request_id":"r"}']],
	// What has an id may have been begun.
	['answer with a 200', 'unavailable', ['{"id":7,"status":"failed","error":"Server busy"}']],
	['answer with a 200', 'unavailable', ['{"success":false,"error":"Server busy","data":{"id":7}}']],
	['answer with a 200', 'unavailable', ['{"error":"Server busy","task":{"taskId":"t7"}}']],
	['answer with a 200', 'unavailable', ['{"code":429,"data":{"id":7}}']],
	['answer with a 200', 'unavailable', ['{"status":"processing","error":"Server busy"}']],
	['answer with a 200', 'unavailable', ['{"error":"Server busy","video_id":"v1"}']],
	['answer with a 200', 'unavailable', ['{"error":"Server busy","data":{"jobId":7}}']],
	['answer with a 200', 'unavailable', ['{"error":"Bad Gateway"}']],
	['answer with a 200', 'foreignServer', [PAGE, '', '{"a":']],
	[
		'answer with a 200',
		'rejected',
		['{"error_code":"SIS.0032","error_msg":"\'format\' is invalid"}'],
	],
	['answer with a 200', 'rejected', ['{"ErrCode":400017,"ErrMsg":"invalid param"}']],
	['answer with a 200', undefined, ['{"ErrCode":0,"ErrMsg":"Success"}', '{"error_code":null}']],
	['answer with a 200', undefined, ['{"error_code":"no error"}', '{"errorCode":"Normal"}']],
	[
		'answer with a 200',
		undefined,
		['{"error":{"code":200,"message":"Success"}}', '{"error":"none"}'],
	],
	['answer with a 200', undefined, ['{"err_code":"","error_code":"0"}', '{"errorCode":200}']],
	// A refused create call says so in a field for an error.
	[
		'created with a 200',
		'outOfCredit',
		[
			'{"task_id":"","base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}',
			'{"code":-2009,"message":"积分不足","data":null}',
		],
	],
	[
		'created with a 200',
		'tokenRefused',
		['{"base_resp":{"status_code":1004,"status_msg":"login fail"}}'],
	],
	[
		'created with a 200',
		'throttled',
		[
			'{"ErrCode":500044,"ErrMsg":"Reached the limit for concurrent generations"}',
			'{"base_resp":{"status_code":1002,"status_msg":"rate limit"}}',
		],
	],
	['created with a 200', 'rejected', ['{"ErrCode":500054,"ErrMsg":"Content moderation failed"}']],
	[
		'created with a 200',
		undefined,
		['{"task_id":7,"base_resp":{"status_code":0,"status_msg":"success"}}'],
	],
	// Anything else may be about a task that has begun, so nothing is sent again.
	[
		'created with a 200',
		'foreignServer',
		[
			'{"code":0,"message":"success"}',
			'[]',
			'{"status":"queued","message":"High demand"}',
			'{"message":"High demand, your video is being made"}',
			'{"code":1101,"message":"Account in arrears"}',
			'{"code":0,"message":"success","base_resp":{"status_code":0,"status_msg":"success"}}',
			...['null', 'true', '"Y"', '"pass"', '"QUEUED"', '102', '1303', '3000', '"200000"'].map(
				(code) => `{"code":${code},"message":"The server is busy, please wait"}`,
			),
			'{"code":1001,"msg":"任务已提交，排队中"}',
		],
	],
	// What services answer to a call that they have accepted, whose id is not always found.
	[
		'created with a 200',
		'foreignServer',
		[
			'{"request_id":"r","status":"IN_QUEUE","queue_position":0}',
			'{"code":100,"data":{"video_id":"v"},"message":null}',
			'{"code":10000,"data":{"aigc_id":"1"},"message":"Success","status":10000}',
			'{"code":22,"description":"排队中，前面还有1个任务","result":"14"}',
			'{"ErrCode":0,"ErrMsg":"success","Resp":{"video_id":1}}',
			'{"error":{"code":0,"message":"success"},"job":"j"}',
			'{"status":200,"message":"Task queued: high demand","data":"t1"}',
			'{"success":1,"message":"Server busy, your job waits"}',
			'{"error":false,"message":"Too many requests before yours"}',
			'{"errors":[],"warnings":["High demand"]}',
		],
	],
	['created with a 200', undefined, ['{"id":7,"error_code":"NONE"}', '{"id":7,"errCode":201}']],
	['created with a 200', undefined, ['{"id":7,"error_code":"NO_ERROR","status":"queued"}']],
	['Retry-After', 2000, ['2', 2 as never]],
	['Retry-After', 500, ['0.5']],
	['Retry-After', 0, ['0']],
	['Retry-After', 5000, ['Thu, 01 Jan 2026 00:00:05 GMT']],
	['Retry-After', 86_400_000, ['Thu, 01 Jan 2099 00:00:00 GMT']],
	['Retry-After', undefined, [undefined as never, 'soon']],
	// Without a Date header, our clock counts.
	['Retry-After alone', 0, ['Thu, 01 Jan 2026 00:00:05 GMT']],
	['Retry-After alone', 86_400_000, ['Thu, 01 Jan 2099 00:00:00 GMT']],
	['overload, told by a task', true, OVERLOADS],
	['overload, told by a status', true, OVERLOADS],
	['overload, told by a task', false, NO_OVERLOADS],
	['overload, told by a status', false, NO_OVERLOADS],
])('%s: %p is read from %j', (kind, expected, texts) => {
	for (const text of texts) expect([text, read[kind](text)]).toEqual([text, expected]);
});

test('an answer that is not the service may pass', () => {
	expect(answerOf(PAGE)).toMatchObject({ facts: { transient: true } });
});
