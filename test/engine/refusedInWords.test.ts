import { event, status } from '../faults/row.mts';
import { bad, good, stored } from './seen';
import { ALWAYS, answer, made, onCreate, posts } from './service';
import { fakeTime, node, RETRY, sim, start, video } from './setup';
import { hasten } from './time';

/* Answers with status 200 that refuse, or seem to refuse, with words alone: no error, no reason, no status. */

const MODERATED = { message: 'Your prompt was rejected by moderation' };
const FORMS: Array<[string, (data: unknown) => string]> = [
	['an answer', (data) => JSON.stringify(data)],
	['an event', (data) => event('message', data)],
	['an event and a mark', (data) => `${event('message', data)}data: [DONE]\n\n`],
	['a completion', (data) => event('video_generation_complete', data)],
];
const one = () => video('P', {}, { download: false });
const list = (id: string, seconds: number) => {
	const at = (ms: number) => new Date(ms).toISOString();
	setTimeout(() => sim.history.unshift(made(id, { created_at: at(Date.now()) })), seconds * 1000);
};

beforeEach(async () => {
	await start({ pace: 0.01 });
	fakeTime();
});

describe.each(FORMS)('%s', (_, textOf) => {
	test.each([
		MODERATED,
		{ code: 2013, message: 'glyph format error' },
		{ detail: "We can't generate this video" },
		{ data: null, msg: '内容违规' },
		'The prompt violates our content policy',
	])('that refuses ends the item within seconds, with its words: %j', async (said) => {
		onCreate(answer(200, textOf(said)), ALWAYS);
		const words = typeof said === 'string' ? said : Object.values(said).at(-1);
		const { result, seconds } = await hasten(one());
		const { message, description } = bad(result);
		expect(message).toContain(words);
		expect(description).toContain('may have been charged');
		expect(seconds).toBeLessThan(20);
		const retried = await hasten(node(one(), RETRY), { retryOf: stored(result) });
		expect(bad(retried.result).message).toContain(words);
		expect(retried.seconds).toBeLessThan(20);
		expect(posts()).toBe(1);
	});

	test.each([
		{ message: 'Your request is queued' },
		{ message: 'Your video is being made. 0 credits remaining' },
		{ message: 'Blocked by others', queue_position: 3 },
		{ message: 'Prompt blocked', id: 'late' },
		{ message: '内容审核中' },
	])('of work that goes on is searched for minutes later: %j', async (said) => {
		onCreate(answer(200, textOf(said)), ALWAYS);
		list('late', 300);
		const { result } = await hasten(one());
		expect(good(result).map(({ json }) => json.id)).toEqual(['late']);
	});
});

test('a video that the history lists a few seconds after such words is found', async () => {
	onCreate(answer(200, MODERATED), ALWAYS);
	list('late', 6);
	const { result } = await hasten(one());
	expect(good(result).map(({ json }) => json.id)).toEqual(['late']);
});

test.each([
	['that is cut', [event('message', MODERATED), 'RESET']],
	['after words of progress', [status('processing'), event('message', MODERATED), 'END']],
])('words of refusal in a stream %s prove nothing', async (_, sse) => {
	onCreate({ sse } as never);
	list('late', 300);
	const { result } = await hasten(one());
	expect(good(result).map(({ json }) => json.id)).toEqual(['late']);
});
