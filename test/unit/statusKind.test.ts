import { statusKind } from '../../nodes/shared/parsing/statusKind';

/* What the status words of public services mean, and sentences in their place. */

test.each([
	[
		'failed',
		['error', 'FAILED', 'Fail', 'moderation_blocked', 'Content Moderated', 'response.failed'],
	],
	[
		'failed',
		[
			'SENSITIVE_WORD_ERROR',
			'GENERATE_AUDIO_FAILED',
			'creation_blocked',
			'job/canceled',
			'nsfw',
			'banned',
		],
	],
	[
		'inProgress',
		['IN_QUEUE', 'InProgress', 'NotStarted', 'dreaming', 'post-processing', 'created'],
	],
	['inProgress', ['MEDIA_GENERATION_STATUS_ACTIVE', 'awaiting_moderation']],
	[
		'inProgress',
		['Your video is being made', 'Content check passed. Generating…', '排队中，前面还有1个任务'],
	],
	[
		'inProgress',
		['Invalid ratio was corrected. Processing.', '正在处理', 'Video is queued, please wait'],
	],
	[
		'seemsFailed',
		['errored', 'timed out', 'TIMED-OUT', 'unsuccessful', 'declined', 'limit_exceeded'],
	],
	[
		'seemsFailed',
		['aborted', 'insufficient_funds', 'FAILED_PERMANENTLY', 'rejected_by_moderation'],
	],
	[
		'seemsFailed',
		['task not found', 'model is not supported', '处理失败', "We can't make this video"],
	],
	['completed', ['completed', 'COMPLETED']],
	[undefined, ['succeeded', 'THROTTLED', 'missing', 'not_failed', 'no error', 'not-rejected']],
	[
		undefined,
		[
			'inactive',
			'failover',
			'cancelling_disabled',
			'interrupted',
			'CancelRequested',
			'Queue is full, sorry',
		],
	],
	[undefined, ['Make sure that your account is in good standing.', 'Upscaled', '', null, 7]],
])('%s: %j', (kind, words) => {
	expect(Object.fromEntries(words.map((word) => [word, statusKind(word)]))).toEqual(
		Object.fromEntries(words.map((word) => [word, kind])),
	);
});
