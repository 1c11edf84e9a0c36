import type { IDataObject } from 'n8n-workflow';
import { bad, good } from './seen';
import { posts, requests } from './service';
import { run, sim, speech, task } from './setup';

const voice = (value: unknown) => ({ voiceId: { __rl: true, mode: 'id', value: value as string } });

test.each([
	['Text', { text: '={{ $json.n ? "" : "Fine." }}' }],
	['Text', { text: '={{ $json.n ? "  \\n " : "Fine." }}' }],
	['Text', { text: '={{ $json.n ? undefined : "Fine." }}' }],
	['Text', { text: '={{ $json.n ? ({ a: 1 }) : "Fine." }}' }],
	['Voice', voice('={{ $json.n ? "" : "x" }}')],
	['Voice', voice('={{ $json.n ? " " : "x" }}')],
	['Model', { modelId: '={{ $json.n ? "other" : "labs_v3" }}' }],
	['Stability', { options: { stability: '={{ $json.n ? 1.01 : 1 }}' } }],
	['Similarity', { options: { similarity: '={{ $json.n ? -0.1 : 0 }}' } }],
	['Style Exaggeration', { options: { style: '={{ $json.n ? "much" : "0.5" }}' } }],
	['Speed', { options: { speed: '={{ $json.n ? 0.69 : 0.7 }}' } }],
	['Speed', { options: { speed: '={{ $json.n ? 1.3 : 1.2 }}' } }],
	['Timeout', { options: { timeout: '={{ $json.n ? 0 : 1 }}' } }],
	['Poll Interval', { options: { pollInterval: '={{ $json.n ? 0.1 : 1 }}' } }],
	['Callback URL', { options: { callbackUrl: '={{ $json.n ? "example" : "" }}' } }],
])('%s (%j): field and item are named, nothing is sent for any item', async (field, changes) => {
	const parameters = { ...speech('Fine.'), ...changes };
	const result = await run(parameters as IDataObject, { items: [{ n: 0 }, { n: 1 }, { n: 0 }] });
	const { message, name, itemIndex } = bad(result);
	expect(message).toContain(`'${field}'`);
	expect(message).toContain('[item 1]');
	expect([name, itemIndex]).toEqual(['NodeOperationError', 1]);
	expect(sim.requests).toEqual([]);
});

test.each(['  ', 'a/b', '../me', '..', 'a b', 'http://x/1', 'a?b', 'a#b', 'a\\b'])(
	'the task ID "%s" is refused by Get, Wait and Delete',
	async (taskId) => {
		for (const operation of ['get', 'wait', 'delete']) {
			const { message } = bad(await run(task(operation, taskId)));
			expect(message).toMatch(/^'Task ID' .*\[item 0\]$/);
		}
		expect(sim.requests).toEqual([]);
	},
);

test.each([-1, 501, 1.5, 'many'])('concurrency %s', async (concurrency) => {
	expect(bad(await run(speech('Hi.', { concurrency }))).message).toContain("'Concurrency'");
	expect(posts()).toBe(0);
});

test('numbers and switches that an expression gives as text count as such', async () => {
	const options = { speed: '={{ "1.2" }}', stability: 0, useSpeakerBoost: '={{ "false" }}' };
	good(await run(speech('={{ 42 }}', options)));
	const { body } = requests('POST', '/v1/labs/task')[0]!;
	expect(body).toMatchObject({ input: '42', speed: 1.2, stability: 0, use_speaker_boost: false });
});

test('an operation that does not exist is named, and nothing is sent', async () => {
	const parameters = { ...speech('Fine.'), operation: 'sing' };
	const { message, description } = bad(await run(parameters as never));
	expect(message).toMatch(/^'Operation' is 'sing', which does not exist for 'speech'/);
	expect(description).toContain('Nothing was sent');
	expect(sim.requests).toEqual([]);
});
