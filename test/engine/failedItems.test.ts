import type { IDataObject } from 'n8n-workflow';
import { only } from './seen';
import { onCreate } from './service';
import { CONTINUE, image, node, run, speech, start } from './setup';

/* What a failed item tells a workflow that keeps a list: create anew, collect, or look first. */

const asIs = () => {};
const unanswered = (body?: string) => onCreate({ reset: true, accepted: true }, { body });
const inParts = { splitLongerThan: 15, concurrency: 1 };
const [task_id, maybe_paid] = [expect.any(String) as unknown, true];

test.each<[string, () => IDataObject, told: object, arrange: () => unknown]>([
	[
		'a task that failed is over',
		() => speech('[sim:task-fails]'),
		{ task_id, status: 'error' },
		asIs,
	],
	[
		'a task that takes long is not',
		() => speech('[sim:slow=36000]', { timeout: 1 }),
		{ task_id },
		asIs,
	],
	['a create call without a clear answer', () => speech('A'), { maybe_paid }, unanswered],
	[
		'such a part of a text, though others have tasks',
		() => speech('First part.\n\nSecond part.', inParts),
		{ task_id, maybe_paid },
		() => unanswered('Second'),
	],
	['a request that was refused', () => speech('[sim:no-credits]'), {}, asIs],
	[
		'a stream that ends with nothing, and no entry in the history',
		() => image('A boat', { timeout: 3 }),
		{ maybe_paid },
		() => onCreate({ sse: ['END'] }),
	],
])('%s', async (_, parameters, told, arrange) => {
	await start({ pace: 0.02 });
	arrange();
	const { json } = only(await run(node(parameters(), CONTINUE)));
	expect(json.error).toBeTruthy();
	const { task_id, status, maybe_paid } = json;
	expect({ task_id, status, maybe_paid }).toEqual(told);
});
