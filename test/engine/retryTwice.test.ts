import type { INode } from 'n8n-workflow';
import { SENTENCES, split } from './longText';
import { bad, good, hints, only, out, stop, stored } from './seen';
import { answer, noCredit, onCreate, onFile, posts, tasks } from './service';
import {
	begin,
	CONTINUE,
	EACH,
	NODE,
	node,
	RETRY,
	run,
	sim,
	speech,
	start,
	texts,
	video,
	voices,
	workflow,
} from './setup';

/* The failed execution is still in the list after its retry has failed, too; or the button is pressed twice. */

beforeEach(async () => await start({ pace: 0.01 }));

const spoken = () => tasks().map(({ input }) => input);
const oneByOne = () => speech(EACH, { concurrency: 1 });

test('the first execution, retried once more after its retry has failed, pays only for what is missing', async () => {
	noCredit('Two');
	const given = texts('One', 'Two', 'Three', 'Four', 'Five');
	const first = await run(oneByOne(), given);
	expect(bad(first).description).not.toContain('not an earlier one');
	noCredit('Five');
	const second = bad(await run(oneByOne(), { retryOf: stored(first) }));
	expect(second.description).toContain('Retry this execution, not an earlier one.');
	const third = await run(oneByOne(), { retryOf: stored(first) });
	expect(good(third)).toHaveLength(5);
	expect(spoken()).toEqual(['One', 'Two', 'Three', 'Four', 'Five']);
	expect(hints(third).join()).toMatch(/Result of an earlier attempt, at no extra charge/);
});

test('nor does it after a later node of the retry has failed', async () => {
	noCredit('Two');
	const later = node(speech('={{ $json.nothing.trim() }}'), { name: 'Later', id: 'later' });
	const subject = workflow(node(oneByOne()), later);
	const first = await run(subject, texts('One', 'Two', 'Three'));
	bad(first);
	const second = await run(subject, { retryOf: stored(first) });
	bad(second);
	expect(out(second)).toHaveLength(3);
	bad(await run(subject, { retryOf: stored(first) }));
	expect(spoken()).toEqual(['One', 'Two', 'Three']);
});

describe('a node that only the retry has reached', () => {
	const chain = (...more: INode[]) =>
		workflow(
			node(speech('First'), { name: 'A', id: 'a' }),
			node(speech('Second'), { name: 'B', id: 'b' }),
			...more,
		);

	it('is not paid again when the first execution is retried once more', async () => {
		const later = node(speech('={{ $json.nothing.trim() }}'), { name: 'C', id: 'c' });
		noCredit('First');
		const first = await run(chain(later));
		bad(first);
		for (let time = 1; time <= 2; time++) bad(await run(chain(later), { retryOf: stored(first) }));
		expect(spoken()).toEqual(['First', 'Second']);
	});

	it('is paid once by two retries at once', async () => {
		await start({ pace: 0.05 });
		noCredit('First');
		const first = await run(chain());
		bad(first);
		const retry = async () => await run(chain(), { retryOf: stored(first) });
		for (const result of await Promise.all([retry(), retry()])) good(result);
		expect(spoken()).toEqual(['First', 'Second']);
	});

	it('is paid by the retry of each of two executions', async () => {
		noCredit('First', 2);
		const both = [await run(chain()), await run(chain())];
		for (const failed of both) {
			bad(failed);
			good(await run(chain(), { retryOf: stored(failed) }));
		}
		expect(spoken()).toEqual(['First', 'Second', 'First', 'Second']);
	});
});

test('two retries at once share what they pay for', async () => {
	await start({ pace: 0.05 });
	noCredit('Two');
	const first = await run(oneByOne(), texts('One', 'Two', 'Three'));
	bad(first);
	const retry = async () => await run(oneByOne(), { retryOf: stored(first) });
	const both = await Promise.all([retry(), retry()]);
	expect(both.map((result) => good(result).length)).toEqual([3, 3]);
	expect(spoken()).toEqual(['One', 'Two', 'Three']);
});

test('what one of two retries at once has paid for is saved with the other, too', async () => {
	noCredit('Two');
	const first = await run(oneByOne(), texts('One', 'Two [sim:slow=3]'));
	bad(first);
	onFile(answer(410), { times: 2 });
	const retry = async () => await run(oneByOne(), { retryOf: stored(first) });
	for (const failed of await Promise.all([retry(), retry()])) {
		bad(failed);
		const saved = JSON.stringify(failed.run.data.executionData!.contextData);
		for (const { id } of tasks()) expect(saved).toContain(`"${id}"`);
	}
});

test('what the service refuses one of them is not unclear to the other', async () => {
	noCredit('Two');
	const first = await run(oneByOne(), texts('One', 'Two'));
	bad(first);
	onCreate({ ...answer(402), delayMs: 1000 }, { body: 'Two', times: 1 });
	const second = run(oneByOne(), { retryOf: stored(first) });
	await sim.waitFor(() => posts() === 3);
	const third = await run(oneByOne(), { retryOf: stored(first) });
	for (const failed of [await second, third]) expect(bad(failed).message).toContain('credit');
	expect(good(await run(oneByOne(), { retryOf: stored(third) }))).toHaveLength(2);
	expect(posts()).toBe(4);
});

test('what one of them creates meanwhile is not collected at another Base URL', async () => {
	noCredit('Two');
	const first = await run(oneByOne(), texts('One', 'Two'));
	bad(first);
	onCreate({ delayMs: 1000 }, { body: 'Two', times: 1 });
	const second = run(oneByOne(), { retryOf: stored(first) });
	await sim.waitFor(() => posts() === 3);
	const baseUrl = sim.baseUrl.replace(/127\.0\.0\.1|localhost/, (host) =>
		host === 'localhost' ? '127.0.0.1' : 'localhost',
	);
	const third = await run(node(oneByOne(), CONTINUE), {
		retryOf: stored(first),
		credential: { baseUrl },
	});
	expect(good(await second)).toHaveLength(2);
	expect(String(out(third)[1]!.json.error)).toContain('to another Base URL');
	expect(posts()).toBe(3);
});

test('nor does it after the retry was stopped', async () => {
	noCredit('Two');
	const first = await run(oneByOne(), texts('One', 'Two', 'Three [sim:slow=60]'));
	bad(first);
	const second = await begin(oneByOne(), { retryOf: stored(first) });
	const context = () => JSON.stringify(second.currentRun().data.executionData!.contextData);
	await sim.waitFor(() => tasks().length === 3 && context().includes(tasks()[2]!.id));
	bad(await stop(second));
	good(await run(oneByOne(), { retryOf: stored(first) }));
	expect(tasks()).toHaveLength(3);
});

test('the parts of a long text are paid for once, also with Retry On Fail', async () => {
	const text = SENTENCES.slice(0, 3).join(' ');
	const subject = node(split(text, { concurrency: 1 }), RETRY);
	noCredit(SENTENCES[1]!, 2);
	const first = await run(subject);
	bad(first);
	noCredit(SENTENCES[2]!, 2);
	bad(await run(subject, { retryOf: stored(first) }));
	good(await run(subject, { retryOf: stored(first) }));
	expect(spoken().sort()).toEqual(SENTENCES.slice(0, 3));
});

test('videos, too', async () => {
	const subject = video(EACH, { concurrency: 1 });
	noCredit('Two');
	const first = await run(subject, texts('One', 'Two', 'Three'));
	bad(first);
	noCredit('Three');
	bad(await run(subject, { retryOf: stored(first) }));
	const third = good(await run(subject, { retryOf: stored(first) }));
	expect(third.map(({ json }) => json.prompt)).toEqual(['One', 'Two', 'Three']);
	expect(sim.history).toHaveLength(3);
});

test('a file that came inside the response is not kept, but not paid for again either', async () => {
	const inline = 'data:video/mp4;base64,AAAA';
	const completion = `event: video_generation_complete\ndata: ${JSON.stringify([{ id: 'v1', file_url: inline }])}\n\n`;
	const subject = video(EACH, { concurrency: 1, timeout: 5 });
	noCredit('One');
	const first = await run(subject, texts('One', 'Two'));
	bad(first);
	onCreate({ sse: [completion, 'END'] }, { body: 'One', times: 1 });
	noCredit('Two');
	bad(await run(subject, { retryOf: stored(first) }));
	const { all } = bad(await run(subject, { retryOf: stored(first) }));
	expect(all).toContain('may have been charged: check History → Get Many in half an hour');
	expect(sim.countRequests('POST', '/v1/video/text')).toBe(3);
});

test('a result that has since failed for good is requested anew, once', async () => {
	const subject = oneByOne();
	noCredit('Two');
	const first = await run(subject, texts('One', 'Two'));
	bad(first);
	sim.tasks.delete(tasks()[0]!.id);
	const now = Date.now;
	const later = jest.spyOn(Date, 'now').mockImplementation(() => now() + 660_000);
	try {
		const { all } = bad(await run(subject, { retryOf: stored(first) }));
		expect(all).toMatch(
			/If the task stays unknown, the next retry creates a new one, which is charged\.$/,
		);
		onFile(answer(410), { times: 1 });
		bad(await run(subject, { retryOf: stored(first) }));
		good(await run(subject, { retryOf: stored(first) }));
	} finally {
		later.mockRestore();
	}
	expect(spoken()).toEqual(['One', 'Two']);
});

test('another execution of the same rows pays for its own', async () => {
	const failed = async () => {
		noCredit('Two');
		const result = await run(oneByOne(), texts('One', 'Two'));
		bad(result);
		return result;
	};
	const both = [await failed(), await failed()];
	for (const first of both) good(await run(oneByOne(), { retryOf: stored(first) }));
	expect(spoken()).toEqual(['One', 'One', 'Two', 'Two']);
});

test('what an earlier version has saved is collected as before', async () => {
	noCredit('Two');
	const first = await run(oneByOne(), texts('One', 'Two'));
	bad(first);
	const old = stored(first);
	const context = old.data.executionData!.contextData[`node:${NODE}`] as Record<string, unknown>;
	for (const name of Object.keys(context)) {
		if (!/Created$|Sent$/.test(name)) delete context[name];
	}
	expect(out(await run(oneByOne(), { retryOf: old }))).toHaveLength(2);
	expect(posts()).toBe(3);
});

test('executions that start in the same millisecond and fail before the node share nothing when retried', async () => {
	// n8n's usual way to get at what the workflow was given.
	const chain = workflow(
		node(voices({ returnAll: false, limit: 1 }), { name: 'Before', id: 'before' }),
		node(speech("={{ $('Start').item.json.t }}")),
	);
	sim.fault({
		path: '/v1/labs/voices',
		times: Infinity,
		action: answer(400, { error: 'Not now' }),
	});
	const all = Array.from({ length: 20 }, (_, n) => `Text of customer ${n}`);
	// As by Execute Sub-workflow for each item, without waiting.
	const failed = await Promise.all(all.map(async (t) => await run(chain, texts(t))));
	sim.clearFaults();
	const spoken: string[] = [];
	for (const result of failed) {
		bad(result);
		const retried = await run(chain, { retryOf: stored(result) });
		spoken.push(String(only(retried).json.input));
	}
	expect(spoken).toEqual(all);
});
