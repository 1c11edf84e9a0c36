import { errorKindOf, Failure } from '../../nodes/shared/failure';
import { GenerationEvents } from '../../nodes/shared/parsing/generationEvents';
import { redactor } from '../../nodes/shared/parsing/redaction';

/*
 * What the node makes of answers of public services that it had not seen before, each as the only event of a stream.
 * The most costly mistake is a job that goes on and counts as failed: Retry On Fail then pays again.
 */

/**
 * Returns `open` if the result is searched for in the history for long, `refused` if only for a moment, `sent again`, or
 * the kind of error.
 */
function meaningOfEvent(data: unknown): string {
	const context = { baseUrl: 'https://media.example.com', redact: redactor('') };
	const events = new GenerationEvents(context, 'video');
	events.push(Buffer.from(`data: ${JSON.stringify(data)}\n\n`));
	const outcome = events.finish();
	if (outcome instanceof Failure)
		return outcome.facts.transient ? 'sent again' : errorKindOf(outcome);
	return outcome.refusal === 'notAccepted' ? 'refused' : 'open';
}

const running = (status: string) => ({
	data: { id: 'v1', status, error: null },
	message: 'Success',
});

test.each<[string, ...unknown[]]>([
	[
		'open',
		...['Cold booting model, this can take up to 3 minutes', 'Ihr Video wird erstellt', 'ETA 90 s'],
		...['20 credits used, 480 credits remaining', 'Your job is #3 in line. Estimated wait: 45 s'],
		...['Holding 20 credits. They are refunded if the video fails.', '動画を生成しています'],
		...['提示词审核通过，开始生成', 'Video submitted for moderation review'],
	],
	[
		'open',
		...['waiting', 'pending', 'planned', 'finalizing', 'CREATED', 'TEXT_SUCCESS'].map(running),
		{ code: 22, description: '排队中，前面还有1个任务', result: '07', properties: {} },
		{ type: 'executing', data: { node: '7', prompt_id: 'p' } },
		{ success: true, message: 'Created', response: { message: 'Successfully Queued', id: 'r' } },
		{ id: '018a', status: 'PENDING', task_error: { message: '' }, preceding_tasks: 3 },
		{ id: 'x', status: 'running', error_count: 2, last_error: 'Overloaded' },
		{ id: 'x', progress: 50, failed: 0, completed: 2, is_error: false, has_error: 'false' },
		{ id: 'x', moderation: { status: 'approved', flagged: false }, status: 'queued' },
		{ error: { message: 'Upstream error, retrying', retryable: true }, status: 'retrying' },
		{ status: 'retrying', task: { status: 'failed', error: 'Overloaded' } },
	],
	[
		'refused',
		{ code: 24, description: '可能包含敏感词', properties: { bannedWord: 'nude' } },
		{ code: 23, description: 'Queue is full, please try again later', properties: {} },
		{ code: 1201, message: 'model is not supported', request_id: 'r' },
		{ code: 'FORBIDDEN', message: 'Not enough credits' },
		{ candidates: [{ finishReason: 'IMAGE_SAFETY', content: {} }] },
		{ detail: [{ loc: ['body'], msg: 'Generation timeout', type: 'generation_timeout' }] },
		"Sorry, I can't help with that request.",
		'您的提示词包含违禁词，请修改后重试',
	],
	[
		'moderation',
		{ task: { id: 't', status: 'failed', error: { message: 'sensitive content' } } },
		{ task: { task_id: 'x', status: 'TASK_STATUS_FAILED', reason: 'NSFW content detected' } },
		{ code: 200, msg: 'success', data: { taskId: 'x', status: 'SENSITIVE_WORD_ERROR' } },
		{ code: 200, data: { successFlag: 3, errorCode: 501, errorMessage: 'Prompt was flagged' } },
		{ invocationArn: 'arn:x', status: 'Failed', failureMessage: 'Blocked by content filters' },
		{ id: 'h', status: 'nsfw' },
	],
	['credit', { response: { id: 'r', status: 'failed', error: 'Insufficient credits to render' } }],
	[
		'other',
		{ output: { task_id: 't', task_status: 'CANCELED' }, request_id: 'r' },
		{ id: 't', status: 'failed', info: { errors: [{ message: 'Generation failed' }] } },
		{ id: 'g', status: 'failed', failMsg: 'The image has no face', url: '' },
	],
	[
		'sent again',
		{ code: -2, msg: '今日次数已用完' },
		{ base_resp: { status_code: 1039, status_msg: 'rate limit exceeded(TPM)' } },
		{ ErrCode: 500044, ErrMsg: 'Reached the limit for concurrent generations.', Resp: null },
	],
])('%s: %j', (meaning, ...answers) => {
	expect(answers.map((answer) => [answer, meaningOfEvent(answer)])).toEqual(
		answers.map((answer) => [answer, meaning]),
	);
});
