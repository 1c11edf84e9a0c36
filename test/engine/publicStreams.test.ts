import { event } from '../faults/row.mts';
import { out } from './seen';
import { ALWAYS, answer, onCreate, requests } from './service';
import { CONTINUE, EACH, fakeTime, node, RETRY, start, texts, video } from './setup';
import { hasten } from './time';

/* What public services say of a job that they have accepted, and of one that has failed. */

const ACCEPTED: Record<string, unknown> = {
	'Azure, Sora': { object: 'video.generation.job', id: 'task_1', status: 'preprocessing' },
	'credits that are 0 now': { message: 'Your video is being made. 0 credits remaining' },
	'a balance of 0': { message: 'Started', detail: 'balance: 0' },
	'a balance in words': { credits_remaining: 0, message: 'Balance: 0. Top up soon' },
	'a passed check': { message: 'The prompt passed the safety check' },
	'a content policy that is fine': { message: 'content policy ok' },
	'a plan': { message: 'Free plan: upgrade your plan to skip the queue' },
	'a step of the job': 'Upscaling failed',
	'a bare sentence': 'Safety check passed, 0 credits remaining',
	'DashScope, created': { output: { task_id: 't1', task_status: 'PENDING' }, request_id: 'r' },
	'DashScope, running': {
		output: { task_id: 't1', task_status: 'RUNNING', task_metrics: { TOTAL: 1, FAILED: 0 } },
		request_id: 'r',
	},
	'fal, submitted': { request_id: 'r', response_url: 'https://q.example/r', gateway: null },
	'fal, queued': { status: 'IN_QUEUE', queue_position: 3, response_url: 'https://q.example/r' },
	'fal, logs': {
		status: 'IN_PROGRESS',
		logs: [{ message: 'Safety checker: ok, retry after error', level: 'ERROR' }],
	},
	'Google, operation': { name: 'models/veo/operations/1', metadata: { state: 'ACTIVE' } },
	'Google, not done': { name: 'models/veo/operations/1', done: false },
	'Hailuo, preparing': {
		...{ task_id: '1', status: 'Preparing', file_id: '' },
		base_resp: { status_code: 0, status_msg: 'success' },
	},
	'MiniMax, created': { task_id: '1', base_resp: { status_code: 0, status_msg: 'success' } },
	'Kling, submitted': {
		...{ code: 0, message: 'SUCCEED', request_id: 'r' },
		data: { task_id: '1', task_status: 'submitted', created_at: 1722769557708 },
	},
	'Kling, processing': {
		...{ code: 0, message: 'SUCCEED' },
		data: { task_id: '1', task_status: 'processing', task_status_msg: '' },
	},
	'Kie, created': { code: 200, msg: 'success', data: { taskId: 'veo_1' } },
	Leonardo: { sdGenerationJob: { generationId: 'g', apiCreditCost: 25 } },
	'Luma, queued': { id: 'l', state: 'queued', failure_reason: null, assets: null },
	'Luma, dreaming': { id: 'l', state: 'dreaming', failure_reason: '' },
	'OpenAI, queued': { id: 'video_1', object: 'video', status: 'queued', progress: 0, error: null },
	'OpenAI, partial image': { type: 'image_generation.partial_image', partial_image_index: 0 },
	'OpenAI, response': { type: 'response.in_progress', response: { id: 'resp', error: null } },
	Pika: { id: 'p', status: 'started', progress: 0, moderation: 'passed' },
	PixVerse: { ErrCode: 0, ErrMsg: 'Success', Resp: { video_id: 1, credits: 0 } },
	PiAPI: {
		...{ code: 200, message: 'success' },
		data: { task_id: 'p', status: 'Pending', error: { code: 0, message: '', raw_message: '' } },
	},
	'Replicate, starting': { id: 'x', status: 'starting', error: null, logs: '' },
	'Replicate, logs': { id: 'x', status: 'processing', error: null, logs: 'NSFW filter: 0 of 1' },
	'Runway, created': { id: '17f20503-6c24-4c16-946b-35dbbce2af2f' },
	'Runway, throttled': { id: 'r', status: 'THROTTLED' },
	'Runway, running': { id: 'r', status: 'RUNNING', progress: 0.4 },
	'Stability, started': { id: 'a6dc6c6e20acda010fe14d71f180658f2896ed9b4ec25aa99a6ff06c796987c4' },
	'Stability, in progress': { id: 's', status: 'in-progress' },
	Tencent: { Response: { JobId: '1', RequestId: 'r' } },
	'Vidu, created': { task_id: 'v', state: 'created', credits: 0, err_code: '' },
	'Vidu, queueing': { id: 'v', state: 'queueing', err_code: '', credits: 0, creations: [] },
	Volcengine: { id: 'cgt-2025', model: 'seedance', status: 'running', error: null },
	xAI: { request_id: 'x' },
	'a limit that is not reached': { message: '3 of 10 videos of your daily limit' },
	'errors that are none': {
		error: 'none',
		error_code: 'SUCCESS',
		errors: [],
		failure_reason: 'None',
	},
	'a failed attempt before': { status: 'processing', previous_failure_reason: 'Overloaded' },
	'an error that is false': { error: 'false', success: 'true', message: 'Low balance: 0' },
	'an error that is not available': { error: 'N/A', errors: {}, message: 'NSFW check passed' },
	'a status that is a number': { status: 200, ok: true, message: '0 credits remaining' },
	'a reason that is not given': { promptFeedback: { blockReason: 'BLOCK_REASON_UNSPECIFIED' } },
	'safety ratings': { safety_ratings: [{ category: 'VIOLENCE', blocked: false }], done: false },
	'a price': { message: 'This costs 10 credits. Insufficient credits stop later videos.' },
	'a moderation that runs': { message: '内容审核中' },
};

const FAILED: Record<string, [data: unknown, words: string]> = {
	'Azure, Sora': [
		{ id: 'task_1', status: 'failed', failure_reason: 'output_moderation' },
		'output_moderation',
	],
	BFL: [{ id: 'b', status: 'Content Moderated', result: null }, 'Content Moderated'],
	DashScope: [
		{
			request_id: 'r',
			output: { task_id: 't', task_status: 'FAILED', code: 'X', message: 'The size is wrong' },
		},
		'The size is wrong',
	],
	'DashScope, refused': [
		{ code: 'DataInspectionFailed', message: 'Input text data may contain inappropriate content.' },
		'inappropriate content',
	],
	ElevenLabs: [
		{ detail: { status: 'quota_exceeded', message: 'This request exceeds your quota of 10000.' } },
		'exceeds your quota',
	],
	fal: [{ status: 'ERROR', error: 'Could not load the model' }, 'Could not load the model'],
	'fal, detail': [
		{
			detail: [{ loc: ['body', 'prompt'], msg: 'NSFW content', type: 'content_policy_violation' }],
		},
		'NSFW content',
	],
	Google: [
		{ name: 'op', done: true, error: { code: 3, message: 'The prompt could not be submitted' } },
		'could not be submitted',
	],
	'Google, filtered': [
		{
			done: true,
			response: { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['Violates our policies'] },
		},
		'Violates our policies',
	],
	Kling: [
		{
			...{ code: 0, message: 'SUCCEED' },
			data: { task_id: '1', task_status: 'failed', task_status_msg: 'Failed to make the video' },
		},
		'Failed to make the video',
	],
	'Kling, refused': [
		{ code: 1102, message: 'Account balance not enough', request_id: 'r' },
		'Account balance not enough',
	],
	Kie: [{ code: 402, msg: 'Credits insufficient', data: null }, 'Credits insufficient'],
	Luma: [
		{ id: 'l', state: 'failed', failure_reason: 'Prompt not allowed', assets: null },
		'Prompt not allowed',
	],
	MiniMax: [
		{ task_id: '', base_resp: { status_code: 1026, status_msg: 'video description sensitive' } },
		'video description sensitive',
	],
	'MiniMax, task': [
		{
			task_id: '1',
			status: 'Fail',
			base_resp: { status_code: 1027, status_msg: 'output sensitive' },
		},
		'output sensitive',
	],
	'OpenAI, video': [
		{ id: 'v', status: 'failed', error: { code: 'moderation_blocked', message: 'It was blocked' } },
		'It was blocked',
	],
	'OpenAI, stream': [
		{ type: 'error', error: { code: 'server_error', message: 'An error occurred' } },
		'An error occurred',
	],
	'OpenAI, bare type': [{ type: 'error', code: 'x', message: 'It broke', param: null }, 'It broke'],
	'OpenAI, response': [
		{
			type: 'response.failed',
			response: { id: 'r', status: 'failed', error: { code: 'x', message: 'It broke' } },
		},
		'It broke',
	],
	Pika: [{ id: 'p', status: 'failed', error: 'Bad image' }, 'Bad image'],
	PiAPI: [
		{
			code: 200,
			data: { task_id: 'p', status: 'Failed', error: { code: 10000, message: 'Bad task' } },
			message: 'success',
		},
		'Bad task',
	],
	PixVerse: [{ ErrCode: 500043, ErrMsg: 'All credits used', Resp: null }, 'All credits used'],
	Replicate: [
		{ id: 'x', status: 'failed', error: 'CUDA out of memory', logs: '' },
		'CUDA out of memory',
	],
	'Replicate, canceled': [{ id: 'x', status: 'canceled', error: null }, 'cancel'],
	Runway: [
		{ id: 'r', status: 'FAILED', failure: 'Text is unsafe', failureCode: 'SAFETY.INPUT.TEXT' },
		'Text is unsafe',
	],
	Stability: [
		{ id: 's', name: 'content_moderation', errors: ['Your request was flagged'] },
		'Your request was flagged',
	],
	Tencent: [{ Response: { Error: { Code: 'X', Message: 'No job' }, RequestId: 'r' } }, 'No job'],
	'Tencent, task': [
		{ Response: { Status: 'FAIL', ErrorCode: 'X', ErrorMessage: 'Bad face', RequestId: 'r' } },
		'Bad face',
	],
	Vidu: [{ id: 'v', state: 'failed', err_code: 'AuditFailed', creations: [] }, 'AuditFailed'],
	Volcengine: [
		{ id: 'cgt', status: 'failed', error: { code: 'X', message: 'The output was sensitive' } },
		'The output was sensitive',
	],
	xAI: [{ status: 'expired', error: 'The job has expired' }, 'The job has expired'],
};

const FORMS: Array<[string, (data: unknown) => string]> = [
	['answer', (data) => JSON.stringify(data)],
	['event', (data) => event('message', data)],
	['completion', (data) => event('video_generation_complete', data)],
];

beforeEach(async () => {
	await start({ pace: 0.01 });
	fakeTime();
});

/** The error of each row, whose only answer or event is `data` of the same name. */
async function errorsOf(textOf: (data: unknown) => string, rows: Record<string, unknown>) {
	const names = Object.keys(rows);
	for (const name of names)
		onCreate(answer(200, textOf(rows[name])), { ...ALWAYS, body: `"${name}"` });
	const each = video(EACH, { timeout: 60, concurrency: 100 }, { download: false });
	const { result } = await hasten(node(each, { ...CONTINUE, ...RETRY }), texts(...names));
	return Object.fromEntries(out(result).map(({ json }, index) => [names[index]!, json.error]));
}

describe.each(FORMS)('a stream that is only one %s', (_, textOf) => {
	test('of a job that goes on is paid once, though n8n retries', async () => {
		await errorsOf(textOf, ACCEPTED);
		const prompts = requests('POST', '/').map(({ body }) => (body as { prompt: string }).prompt);
		expect(prompts.sort()).toEqual(Object.keys(ACCEPTED).sort());
	});

	test('of a failure has its words', async () => {
		const errors = await errorsOf(
			textOf,
			Object.fromEntries(Object.entries(FAILED).map(([name, [data]]) => [name, data])),
		);
		const chosen = Object.entries(FAILED).map(([name, [, words]]) => [
			name,
			expect.stringContaining(words),
		]);
		expect(errors).toEqual(Object.fromEntries(chosen));
	});
});
