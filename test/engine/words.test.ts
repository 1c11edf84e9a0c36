import type { IDataObject } from 'n8n-workflow';
import type { FaultAction } from '../../simulator/simulator.mts';
import { PAGE } from '../service/bodies.mts';
import { event } from '../faults/row.mts';
import { bad, good, only, out } from './seen';
import { ALWAYS, answer, looks, onCreate, onRead, posts } from './service';
import { CONTINUE, fakeTime, image, node, RETRY, run, sim, speech, start, video } from './setup';
import { hasten, hastenFinely } from './time';

/* What the words of services mean for a batch, and what a failed item tells; the words: errorTable.test.ts. */

const OVERLOADED = {
	error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' },
};
const RATE_LIMIT = { base_resp: { status_code: 1002, status_msg: 'rate limit' } };
const DAILY = 'PUBLIC_ERROR_PER_MODEL_DAILY_QUOTA_REACHED';
const SLOWER = "You're requesting generations too quickly. Please wait a moment and try again.";
const REASON =
	'Veo could not generate 1 videos. You will not be charged. Try rephrasing the prompt.';
const stream = (name: string, data: unknown) =>
	answer(200, event(name, data as object), { 'Content-Type': 'text/event-stream' });
const rows = (count: number) => ({ items: Array.from({ length: count }, (_, n) => ({ n })) });
const batchOf = (parameters: IDataObject) => node(parameters, CONTINUE);
const EACH = '=N {{ $json.n }}';

const TASK = { resource: 'speech', taskId: '7', download: false };

/** The json of the only item, which failed. */
async function failedItem(parameters: IDataObject) {
	const [item] = out(await run(batchOf(parameters)));
	expect(item!.json.error).toBeTruthy();
	return item!.json;
}

test.each([
	['speech', speech, { ok: false, message: 'You have no credits left' }],
	['speech', speech, { errors: [{ title: 'Refused', detail: 'You have no credits left' }] }],
	['video', video, { ok: false, message: 'You have no credits left' }],
	['video', video, { data: null, errors: [{ message: 'You have no credits left' }] }],
	[
		'speech',
		speech,
		{ task_id: '', base_resp: { status_code: 1008, status_msg: 'no credits left' } },
	],
	['speech', speech, { ErrCode: 500090, ErrMsg: 'Insufficient balance', Resp: null }],
	['video', video, { code: -1, message: 'Resource pack depleted', request_id: 'r' }],
])('status 200 with a refusal of %s charges nothing, and nobody waits: %#', async (_, of, body) => {
	fakeTime();
	onCreate(answer(200, body));
	const { result, seconds } = await hasten(batchOf(of('A')));
	expect(out(result)[0]!.json).toMatchObject({ error_kind: 'credit' });
	expect(out(result)[0]!.json.maybe_paid).toBeUndefined();
	expect(seconds).toBeLessThan(5);
});

test.each([speech, video, image])(
	'a 200 with unknown words shows them, because they may be about the request: %#',
	async (of) => {
		onCreate(answer(200, { code: 2013, message: 'glyph format error' }));
		const { error, error_kind } = await failedItem(of('A', { timeout: 2 }));
		expect([error, error_kind]).toEqual([
			expect.stringContaining('glyph format error'),
			'indeterminate',
		]);
	},
);

describe('a refusal in other words', () => {
	test.each<[string, (text: string) => IDataObject, FaultAction]>([
		['503 with JSON that says overloaded', speech, answer(503, OVERLOADED)],
		[
			'529 with JSON that says overloaded',
			video,
			answer(529, { error: { type: 'overloaded_error' } }),
		],
		['400', speech, answer(400, { error: SLOWER })],
		['200', speech, answer(200, RATE_LIMIT)],
		['200 to a video', video, answer(200, RATE_LIMIT)],
		['an error event', video, stream('error', { code: 'RESOURCE_EXHAUSTED' })],
		['an error event of bare words', image, stream('error', SLOWER)],
	])('loses no row: %s', async (_, of, refusal) => {
		await start({ pace: 0.01 });
		fakeTime();
		onCreate(refusal, { times: 15 });
		const { result } = await hasten(batchOf(of(EACH)), rows(20));
		expect(good(result)).toHaveLength(20);
		expect([
			result.items('Media Generation').filter(({ json }) => json.error),
			sim.chargedCalls,
		]).toEqual([[], 20]);
	});

	test.each([
		[503, PAGE],
		[503, ''],
		[503, {}],
		[500, { error: 'overloaded' }],
		[502, { error: 'overloaded' }],
		[200, { code: 3000, message: 'The server is busy, please wait' }],
		[200, { status: 'processing', error: 'The server is busy, please wait' }],
	])('is none where the call may have been accepted: %d %j', async (status, body) => {
		onCreate(answer(status, body), ALWAYS);
		const json = await failedItem(speech('A', { timeout: 2 }));
		expect(json).toMatchObject({ error_kind: 'indeterminate', maybe_paid: true });
		expect(posts()).toBe(1);
	});

	test('a used-up quota ends a batch, also as an error event', async () => {
		onCreate(stream('error', { error: DAILY }), ALWAYS);
		fakeTime();
		const { result, seconds } = await hastenFinely(batchOf(video(EACH, { timeout: 2 })), rows(30));
		const lost = out(result);
		expect(seconds).toBeLessThan(8);
		const reported = { error: expect.stringContaining(DAILY), error_kind: 'quota' };
		expect(lost.map(({ json }) => json)).toEqual(lost.map(() => expect.objectContaining(reported)));
	});
});

describe('403 with JSON', () => {
	const asksForToken = /API Token/;
	test.each<[string, object]>([
		['a voice that the plan lacks', { error: 'This voice is not available on your plan' }],
		['a captcha', { error: { code: 403, message: 'reCAPTCHA evaluation failed' } }],
		['a model that is not enabled', { message: 'The model is not enabled' }],
		['no reason, while the account can be read', { message: 'Forbidden' }],
	])('is not the token: %s', async (_, body) => {
		onCreate(answer(403, body), ALWAYS);
		const { error, description, error_kind } = await failedItem(speech('A'));
		expect(error_kind).toBe('not_allowed');
		expect(`${error} ${description}`).not.toMatch(asksForToken);
	});

	test('is the token where the account says so, too, and only there', async () => {
		sim.fault({ action: answer(403, { message: 'Forbidden' }), ...ALWAYS });
		const { description, error_kind } = await failedItem(speech('A'));
		expect([error_kind, description]).toEqual(['token', expect.stringMatching(asksForToken)]);
		sim.clearFaults();

		sim.fault({
			method: 'POST',
			after: 1,
			action: answer(403, { error: 'Token expired' }),
			...ALWAYS,
		});
		const items = out(await run(batchOf(speech(EACH, { concurrency: 1 })), rows(2)));
		expect(items.map(({ json }) => json.error_kind)).toEqual([undefined, 'not_allowed']);
	});
});

describe('filtered', () => {
	test.each([
		[REASON, { response: { raiMediaFilteredCount: 1, raiMediaFilteredReasons: [REASON] } }],
		['FILTERED', [{ id: 'f1', status: 'FILTERED' }]],
	])('a completion without a file fails at once with its reason: %s', async (reason, data) => {
		onCreate(stream('video_generation_complete', data));
		const json = await failedItem(video('A'));
		expect(json).toMatchObject({
			error: expect.stringContaining(reason),
			error_kind: 'moderation',
		});
		expect(looks()).toBe(0);
	});

	test('a bare empty list is looked for in the history for a minute', async () => {
		fakeTime();
		onCreate(stream('video_generation_complete', []));
		const { result, seconds } = await hasten(batchOf(video('A', { timeout: 1800 })), rows(1));
		expect(out(result)[0]!.json.error_kind).toBe('indeterminate');
		expect(seconds).toBeGreaterThanOrEqual(50);
		expect(seconds).toBeLessThan(80);
	});
});

test.each([
	[{ status: 'succeeded', result: 'FILE' }, { status: 'completed' }],
	[{ status: 'moderated', message: 'Your text was flagged' }, { error_kind: 'moderation' }],
	[{ status: 'aborted', error: 'Internal error' }, { error_kind: 'unavailable' }],
	[{ status: 'REJECTED' }, { error: expect.stringContaining('generate the speech: REJECTED') }],
	[{ state: 'failure' }, { error: expect.stringContaining('could not generate the speech') }],
])('a task that ends in words of its own, %j, has ended', async (said, expected) => {
	fakeTime();
	const file = `${sim.fileOrigin}/files/a.mp3`;
	const record = JSON.parse(JSON.stringify(said).replace('FILE', file)) as object;
	onRead(answer(200, { id: 1, ...record }), ALWAYS);
	const { result, seconds } = await hasten(batchOf(speech('A', {}, { download: false })), rows(1));
	expect(out(result)[0]!.json).toMatchObject(expected);
	expect(seconds).toBeLessThan(30);
});

test.each<[kind: string, FaultAction]>([
	['throttled', answer(429, '')],
	['credit', answer(402, '')],
	['credit', answer(500, { message: 'insufficient balance (1008)' })],
	['token', answer(401, '')],
	['moderation', answer(400, { error: { code: 'moderation_blocked', message: 'No' } })],
	['input', answer(422, { detail: [{ msg: 'Text is too long' }] })],
	['input', answer(400, { error: 'invalid_voice_id' })],
	['indeterminate', answer(502, PAGE)],
])('a failed item tells its kind: %s', async (kind, action) => {
	onCreate(action, ALWAYS);
	expect(await failedItem(speech('A', { timeout: 1 }))).toMatchObject({ error_kind: kind });
});

test('a file whose host cannot be reached is of the kind of files: it is paid for', async () => {
	fakeTime();
	const file_url = 'http://127.0.0.1:1/a.mp4';
	onCreate(stream('video_generation_complete', [{ file_url }]));
	const { result } = await hasten(batchOf(video('A')), rows(1));
	expect(out(result)[0]!.json).toMatchObject({
		error: expect.stringContaining('refused the connection'),
		...{ error_kind: 'file', file_url },
	});
});

/** Each with the identifiers and the percentage of its record in every type, and nulls elsewhere. */
test.each<[string, IDataObject, path: string, record: object, out: object]>([
	[
		'a task',
		{ ...TASK, operation: 'get' },
		'/v1/labs/task/',
		{
			id: 7,
			status: 'pending',
			process_percentage: '43 %',
			audio_url: null,
			voice_id: 9,
			input: null,
		},
		{ id: '7', task_id: '7', process_percentage: 43, voice_id: '9', input: null },
	],
	[
		'a voice',
		{ resource: 'voice', operation: 'getAll' },
		'/v1/labs/voices',
		[{ voice_id: 12, name: null, language: 7 }],
		{ voice_id: '12', name: null, language: 7 },
	],
	[
		'an entry',
		{ resource: 'history', operation: 'getAll' },
		'/v1/video/histories',
		[{ id: 5, prompt: null, file_url: null, created_at: 1, process_percentage: null }],
		{ id: '5', created_at: 1 },
	],
	[
		'the account',
		{ resource: 'account', operation: 'get' },
		'/v1/video/me',
		{ balance: '3', credits: [{ amount: '1', expire_at: null }] },
		{ balance: '3' },
	],
])(
	'%s fits the schema whatever the types that the service sends',
	async (_, node, path, sent, out) => {
		sim.fault({ path, action: answer(200, sent), ...ALWAYS });
		const { json } = only(await run(node));
		expect(json).toMatchObject(out);
		expect(json).not.toHaveProperty('audio_url');
		if (json.process_percentage === undefined)
			expect(json).not.toHaveProperty('process_percentage');
	},
);

test('an execution that fails is not recorded as canceled, whatever the service says', async () => {
	onRead(answer(200, { id: 1, status: 'error', error: 'The job was canceled' }), ALWAYS);
	const result = await run(speech('Hi'));
	expect(bad(result).message).toMatch(/The job was cancel/);
	expect(result.run.status).toBe('error');
});

describe('an answer with 200 that is none', () => {
	const says = (code: number, msg: string) => answer(200, { code, msg, data: null });

	test.each([says(502, 'Bad Gateway'), says(404, 'No such task')])(
		'a task goes on after %j, as after that status',
		async (action) => {
			fakeTime();
			onRead(action, { times: 3 });
			good((await hasten(speech('Hi'))).result);
		},
	);

	test.each([
		['text', speech, says(502, 'Bad Gateway')],
		['video', video, says(502, 'Bad Gateway')],
		['text', speech, says(500, '失败')],
		['video', video, says(500, '失败')],
		['image', image, answer(200, { code: 504 })],
		['text', speech, answer(200, { error: 'Bad Gateway' })],
		['text', speech, answer(200, { error: { code: 500, message: 'Internal error' } })],
	])('no %s is requested again when it may be paid', async (_, of, action) => {
		fakeTime();
		onCreate(action, { times: 1 });
		const { result } = await hasten(node(of('Hi'), RETRY));
		bad(result);
		expect(posts()).toBe(1);
	});

	test.each([
		['text', speech],
		['video', video],
		['image', image],
	])('no further %s is requested after a bare 401', async (_, of) => {
		onCreate(answer(200, { code: 401 }), ALWAYS);
		const result = await run(batchOf(of(EACH, { concurrency: 1 })), rows(3));
		expect(out(result).map(({ json }) => json.error_kind)).toEqual(['token', 'token', 'token']);
		expect(posts()).toBe(1);
	});
});
