import type { IDataObject } from 'n8n-workflow';
import { good } from './seen';
import { onCreate } from './service';
import { CONTINUE, image, node, run, sim, speech, start } from './setup';

/* What a failed item tells a workflow that keeps a list: create anew, collect, or look first. */

beforeEach(async () => await start({ pace: 0.02 }));

/** The fields of the only item that such a workflow goes by. */
async function failedItem(parameters: IDataObject) {
	const [item] = good(await run(node(parameters, CONTINUE)));
	const { error, task_id: taskId, status, maybe_paid: maybePaid } = item!.json;
	expect(error).toBeTruthy();
	return { hasTask: taskId !== undefined, status, maybePaid };
}

test('a task that the service could not make is over: another may be created', async () => {
	const item = await failedItem(speech('[sim:task-fails] No.'));
	expect(item).toEqual({ hasTask: true, status: 'error', maybePaid: undefined });
});

test('a task that is not ready in time is to be collected: it is not over', async () => {
	const item = await failedItem(speech('[sim:slow=36000] Later.', { timeout: 1 }));
	expect(item).toEqual({ hasTask: true, status: undefined, maybePaid: undefined });
});

test('a create call without a clear answer may be paid', async () => {
	onCreate({ reset: true, accepted: true });
	const item = await failedItem(speech('Who knows.'));
	expect(item).toEqual({ hasTask: false, status: undefined, maybePaid: true });
	expect(sim.creates).toBe(1);
});

test('so may a part of a text, though others have tasks', async () => {
	onCreate({ reset: true, accepted: true }, { body: 'Second' });
	const options = { splitLongerThan: 15, concurrency: 1 };
	const item = await failedItem(speech('First part.\n\nSecond part.', options));
	expect(item).toEqual({ hasTask: true, status: undefined, maybePaid: true });
});

test('a request that the service refused is not paid', async () => {
	const item = await failedItem(speech('[sim:no-credits] No.'));
	expect(item).toEqual({ hasTask: false, status: undefined, maybePaid: undefined });
});

test('a stream that ends with nothing, and no entry in the history, may be paid', async () => {
	onCreate({ sse: ['END'] });
	const item = await failedItem(image('A boat', { timeout: 3 }));
	expect(item).toEqual({ hasTask: false, status: undefined, maybePaid: true });
});
