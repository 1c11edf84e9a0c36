import type { IRun } from 'n8n-workflow';
import { event, status } from '../faults/row.mts';
import { SENTENCES, split } from './longText';
import { bad, good, out, stored } from './seen';
import { answer, made, noCredit, onCreate, onFile, onHistory, posts, tasks } from './service';
import { CONTINUE, EACH, fakeTime, node, RETRY, sim, speech, start, texts, video } from './setup';
import { hasten } from './time';

/* Between a run and its retry, the token in the credential was replaced: by one of another account, or of the same. */

const run = async (...given: Parameters<typeof hasten>) => (await hasten(...given)).result;
const payers = () => tasks().map(({ input, token }) => [input, token === bob ? 'bob' : 'ada']);
const WITH_ANOTHER = 'An earlier attempt sent this request with another token';

/** The token of the other account. */
let bob: string;
let withBob: { credential: { apiToken: string } };

beforeEach(async () => {
	bob = `bob-${Math.random().toString(36).slice(2)}-token`;
	withBob = { credential: { apiToken: bob } };
	await start({ pace: 0.01, otherTokens: [bob] });
	fakeTime();
});

/** Eleven minutes later, an unknown task counts as gone. */
const later = () => void jest.setSystemTime(Date.now() + 660_000);

test.each([
	['by two retries', {}, 2],
	['by Retry On Fail, while the other rows continue', { ...RETRY, ...CONTINUE }, 1],
])('no task of the other account is paid for again: %s', async (_, settings, attempts) => {
	noCredit('Two');
	const subject = () => node(speech(EACH, { concurrency: 1 }), settings);
	const failed = await run(node(speech(EACH, { concurrency: 1 })), texts('One', 'Two'));
	bad(failed);
	later();
	const { id } = tasks()[0]!;
	let last = failed;
	for (let attempt = 0; attempt < attempts; attempt++) {
		last = await run(subject(), { retryOf: stored(failed), ...withBob });
		const said = last.error?.message ?? String(out(last)[0]!.json.error);
		expect(said).toContain(`${WITH_ANOTHER}, as task ${id}`);
	}
	expect(payers().filter(([input]) => input === 'One')).toEqual([['One', 'ada']]);
	// With the former token, the task is collected.
	if (last.error) good(await run(subject(), { retryOf: stored(last) }));
	expect(payers().filter(([input]) => input === 'One')).toEqual([['One', 'ada']]);
});

test('nor is a part of a long text', async () => {
	const text = SENTENCES.slice(0, 3).join(' ');
	noCredit(SENTENCES[2]!);
	const failed = await run(split(text, { concurrency: 1 }));
	bad(failed);
	later();
	const again = await run(split(text, { concurrency: 1 }), {
		retryOf: stored(failed),
		...withBob,
	});
	expect(bad(again).message).toContain(WITH_ANOTHER);
	expect(payers()).toEqual(SENTENCES.slice(0, 2).map((input) => [input, 'ada']));
});

test('a new token of the same account collects, and still does after it was renewed again', async () => {
	onFile(answer(410), { times: 2 });
	const failed = await run(speech('Hi'));
	bad(failed);
	later();
	// The service gives both tokens to one account.
	tasks()[0]!.token = bob;
	const again = await run(speech('Hi'), { retryOf: stored(failed), ...withBob });
	bad(again);
	good(await run(speech('Hi'), { retryOf: stored(again), ...withBob }));
	expect(posts()).toBe(1);
});

test('a task that had failed is paid for with the new token', async () => {
	const failed = await run(speech('Hi [sim:task-fails]'));
	bad(failed);
	later();
	sim.tasks.clear();
	bad(await run(speech('Hi [sim:task-fails]'), { retryOf: stored(failed), ...withBob }));
	expect(payers()).toEqual([['Hi [sim:task-fails]', 'bob']]);
});

describe('a video whose stream was lost', () => {
	const lost = async (events = [status('processing')]) => {
		onCreate({ sse: [...events, 'RESET'] });
		const failed = await run(video('Sunset', { timeout: 3 }, { download: false }));
		bad(failed);
		return stored(failed);
	};
	const retry = async (retryOf: IRun, setting: object = withBob) =>
		await run(video('Sunset', { timeout: 3 }, { download: false }), { retryOf, ...setting });

	test('is not replaced by one of the other account with the same prompt', async () => {
		const failed = await lost();
		sim.history.unshift({ ...made('of-bob', { prompt: 'Sunset' }), owner: bob } as never);
		const { all } = bad(await retry(failed));
		expect(all).toContain('it was requested with another token');
		expect(all).toMatch(/may be the result: of-bob/);
		expect(posts()).toBe(1);
	});

	test('is named as sent with the other token, also if nobody answered', async () => {
		onCreate({ reset: true, accepted: true });
		const failed = await run(video('Sunset', { timeout: 3 }, { download: false }));
		bad(failed);
		const { all } = bad(await retry(stored(failed)));
		expect(all).toMatch(/unclear whether .*: it was requested with another token; /);
		expect(posts()).toBe(1);
	});

	test('is recognized by its ID with a new token of the same account', async () => {
		const event = status({ id: 'own', status: 'processing' });
		const failed = await lost([event]);
		sim.history.unshift({ ...made('own', { prompt: 'Sunset' }), owner: bob } as never);
		expect(good(await retry(failed)).map(({ json }) => json.id)).toEqual(['own']);
		expect(posts()).toBe(1);
	});

	test('is recognized by its prompt with the former token', async () => {
		onHistory(answer(500), { times: 1 });
		const failed = await lost();
		const { all } = bad(await retry(failed));
		expect(all).toContain('it was requested with another token');
		sim.history.unshift({ ...made('own', { prompt: 'Sunset' }), owner: sim.token } as never);
		const result = await retry(failed, {});
		expect(good(result).map(({ json }) => json.id)).toEqual(['own']);
	});
});

describe('two tokens of one account, and one prompt', () => {
	const rows = () => {
		const subject = node(video(EACH, { concurrency: 2 }, { download: false }), CONTINUE);
		const items = [sim.token, bob].map((token) => ({ t: 'P', token }));
		return [subject, { items, credential: { apiToken: '={{ $json.token }}' } }] as const;
	};
	const loses = () => onCreate({ sse: [status('processing'), 'RESET'] });
	const listAfter = (seconds: number, item: ReturnType<typeof made>) =>
		setTimeout(() => sim.history.unshift(item), seconds * 1000);

	test('the row whose stream was lost does not get the video of the other', async () => {
		loses();
		const ofBob = made('of-bob');
		onCreate({ sse: [event('video_generation_complete', [ofBob]), 'END'] });
		listAfter(5, ofBob);
		listAfter(100, made('of-ada'));
		expect(good(await run(...rows())).map(({ json }) => json.id)).toEqual(['of-ada', 'of-bob']);
	});

	test('both streams were lost: each row gets one of the videos', async () => {
		loses();
		loses();
		listAfter(5, made('first'));
		listAfter(100, made('second'));
		const ids = good(await run(...rows())).map(({ json }) => json.id);
		expect(ids.sort()).toEqual(['first', 'second']);
	});
});
