import type { IDataObject } from 'n8n-workflow';
import type { FaultAction } from '../../simulator/simulator.mts';
import { PAGE } from '../service/bodies.mts';
import { bad, expectServed, good, stop, storedWith } from './seen';
import {
	ALWAYS,
	answer,
	looks,
	onCreate,
	onFile,
	onRead,
	posts,
	readings,
	taskOf,
} from './service';
import {
	begin,
	EACH,
	fakeTime,
	image,
	node,
	run,
	sim,
	speech,
	start,
	texts,
	video,
	workflow,
} from './setup';
import { hasten, hastenFinely } from './time';

/* A retry recognises the item and what the node holds, not what expressions make of it. */

/** The first files cannot be downloaded, so the run fails, its work done and paid for. */
const withoutFiles = (times = 1) => onFile(answer(410), { times });

test('"Retry execution" collects with a new resume URL, a longer timeout, another field', async () => {
	withoutFiles();
	const text = '={{ $json.t }} {{ $execution.id }}';
	const callbackUrl = '={{ $execution.resumeUrl }}';
	const voice = { __rl: true, mode: 'list', value: sim.voiceIds()[0], cachedResultName: 'Anna' };
	const first = speech(text, { callbackUrl }, { voiceId: voice });
	const item = { t: 'One', at: new Date(0) as unknown as string, none: undefined };
	const failed = await run(first, { items: [item] });
	bad(failed);
	const options = { timeout: 30, callbackUrl, outputField: 'audio' };
	const second = node(speech(text, options));
	good(await run(second, { retryOf: storedWith(failed, second) }));
	expect(posts()).toBe(1);
});

test('"Retry execution" of a node that was changed creates anew', async () => {
	withoutFiles(Infinity);
	const fields = (changes: IDataObject = {}, options: IDataObject = {}) =>
		node(speech(EACH, options, changes));
	const failed = await run(fields(), texts('One'));
	bad(failed);
	const changed = [
		fields({ text: '={{ $json.t }}!' }),
		fields({ voiceId: { __rl: true, mode: 'id', value: sim.voiceIds()[1] } }),
		fields({ modelId: 'labs_v3' }),
		fields({}, { speed: 1.1 }),
		fields({}, { useSpeakerBoost: false }),
	];
	const retries = changed.map(async (subject) =>
		bad(await run(subject, { retryOf: storedWith(failed, subject) })),
	);
	await Promise.all(retries);
	expect(posts()).toBe(1 + changed.length);
});

test.each([
	['n8n', {}],
	["n8n's combined binary mode", { binaryMode: 'combined' }],
] as const)(
	'"Retry execution" collects a video of files whose ids %s has renamed',
	async (...row) => {
		const [, settings] = row;
		await start({ pace: 0.01 });
		const fields = video('They dance', {}, { operation: 'ingredientsToVideo' });
		const maker = node(image('A'), { name: 'Maker', id: 'maker' });
		const subject = { ...workflow(maker, node(fields)), settings };
		onFile(answer(410), { path: /\.mp4/ });
		const binaryMode = 'filesystem';
		const failed = await run(subject, { binaryMode });
		bad(failed);
		const saved = JSON.stringify(failed.run);
		const renamed = saved.replace(/filesystem-v2:[^"]*/g, (id) => `${id}-renamed`);
		expect(renamed).not.toBe(saved);
		good(await run(subject, { retryOf: JSON.parse(renamed), binaryMode }));
		expect(sim.countRequests('POST', '/v1/video/ingredients')).toBe(1);
	},
);

test('a failed task that cannot be looked at once more is not paid for again', async () => {
	const subject = speech('Hi [sim:task-fails]');
	const failed = await run(subject);
	bad(failed);
	onRead(answer(400, { error: 'Not now' }));
	const { message, description } = bad(await run(subject, { retryOf: failed.run }));
	expect(message).toContain('Not now');
	expect(`${message} ${description}`).toContain(taskOf('Hi').id);
	expect(posts()).toBe(1);
});

test('a task with an unknown word for a failure is requested anew', async () => {
	fakeTime();
	const expired = answer(200, { id: 1, status: 'expired', error: 'It took too long' });
	onRead(expired, ALWAYS);
	const { result: failed } = await hasten(speech('Hi'));
	bad(failed);
	const first = taskOf('Hi');
	sim.clearFaults();
	onRead(expired, { ...ALWAYS, path: `/v1/labs/task/${first.id}` });
	const { result } = await hasten(speech('Hi'), { retryOf: failed.run });
	expect(good(result)[0]!.json.task_id).not.toBe(first.id);
	expect(posts()).toBe(2);
});

test('a task that was said to have failed, and goes on, is named when the next attempt is stopped', async () => {
	const subject = speech('Hi [sim:slow=60000]');
	onRead(answer(200, { id: 1, status: 'error' }));
	const execution = await begin(subject, { retryOf: (await run(subject)).run });
	await sim.waitFor(() => readings().length === 3);
	const { description } = bad(await stop(execution));
	expect(description).toContain(`Already paid for: task ${taskOf('Hi').id}.`);
});

const XML = { 'Content-Type': 'application/xml' };
const HTML = { 'Content-Type': 'text/html' };
test.each<[string, FaultAction]>([
	[
		'400',
		answer(400, '<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>'),
	],
	['401', answer(401, { error: 'signature_expired' })],
	['403', answer(403, '<Error>AccessDenied</Error>', XML)],
	['403 and a page', answer(403, PAGE, HTML)],
	['404', answer(404)],
	['410', answer(410)],
	['402', answer(402, { error: 'expired' })],
	['416', answer(416, '')],
	['451', answer(451, '')],
	['200 and JSON', answer(200, { error: 'Link expired' })],
	['200 and XML', answer(200, '<?xml version="1.0"?><Error>AccessDenied</Error>', XML)],
	['200 and a page', answer(200, PAGE, HTML)],
	['200 and nothing', answer(200, '', { 'Content-Type': 'video/mp4' })],
	['a redirect to a page', { redirect: '/files/page' }],
	['a redirect to itself', { redirect: '/files/expired/login' }],
])(
	'"Retry execution" the next morning has expired addresses signed anew: %s',
	async (_, refusal) => {
		await start({ pace: 0.01 });
		const subject = video(EACH, { concurrency: 1 });
		const items = 'abcdefghij'.split('').map((t) => ({ t }));
		onCreate(answer(402, { error: 'insufficient_credits' }), { after: 9 });
		const { run: failed } = await run(subject, { items });
		onFile(refusal, { path: '/files/expired/', ...ALWAYS });
		onFile(answer(200, PAGE, HTML), { path: '/files/page', ...ALWAYS });
		// What n8n has kept of them is no longer served; the history has them elsewhere.
		const kept = JSON.stringify(failed).replaceAll('/files/video/', '/files/expired/');
		const before = looks();
		fakeTime();
		const { result, seconds } = await hastenFinely(subject, { retryOf: JSON.parse(kept) });
		const made = good(result);
		expect(made.map(({ json }) => json.prompt)).toEqual(items.map(({ t }) => t));
		for (const item of made) await expectServed(result, item);
		expect([posts(), looks() - before]).toEqual([11, 1]);
		expect(seconds).toBeLessThan(8);
	},
);

test('and with Download File off the addresses that come out are those of today', async () => {
	await start({ pace: 0.01 });
	const subject = video(EACH, { concurrency: 1 }, { download: false });
	onCreate(answer(402, { error: 'insufficient_credits' }), { after: 2 });
	const { run: failed } = await run(subject, { items: ['a', 'b', 'c'].map((t) => ({ t })) });
	const kept = JSON.stringify(failed).replaceAll('/files/video/', '/files/expired/');
	const made = good(await run(subject, { retryOf: JSON.parse(kept) }));
	expect(made).toHaveLength(3);
	expect(made.filter(({ json }) => String(json.file_url).includes('/expired/'))).toEqual([]);
	expect(posts()).toBe(4);
});
