import type { IDataObject } from 'n8n-workflow';
import { good, node, run, sim, speech, start } from './setup';

/* What a workflow that keeps a list learns of a failed item: create anew, collect, or look first. */

const REGULAR = { onError: 'continueRegularOutput' } as const;

/** What of the only item's fields such a workflow goes by. */
async function failedItem(text: string, options: IDataObject = {}) {
	const [item] = good(await run(node(speech(text, options), REGULAR)));
	const { error, task_id: taskId, status, maybe_paid: maybePaid } = item!.json;
	expect(error).toBeTruthy();
	return { hasTask: taskId !== undefined, status, maybePaid };
}

test('a task that the service could not make is over: another may be created', async () => {
	await start({ pace: 0.02 });
	const item = await failedItem('[sim:task-fails] No.');
	expect(item).toEqual({ hasTask: true, status: 'error', maybePaid: undefined });
});

test('a task that is not ready in time is to be collected: it is not over', async () => {
	await start({ pace: 0.02 });
	const item = await failedItem('[sim:slow=36000] Later.', { timeout: 1 });
	expect(item).toEqual({ hasTask: true, status: undefined, maybePaid: undefined });
});

test('a create call without a clear answer may be paid', async () => {
	await start({ pace: 0.02 });
	sim.fault({ method: 'POST', action: { reset: true, accepted: true } });
	const item = await failedItem('Who knows.');
	expect(item).toEqual({ hasTask: false, status: undefined, maybePaid: true });
	expect(sim.creates).toBe(1);
});

test('so may a part of a text, though others have tasks', async () => {
	await start({ pace: 0.02 });
	sim.fault({ method: 'POST', body: 'Second', action: { reset: true, accepted: true } });
	const item = await failedItem('First part.\n\nSecond part.', {
		splitLongerThan: 15,
		concurrency: 1,
	});
	expect(item).toEqual({ hasTask: true, status: undefined, maybePaid: true });
});

test('a request that the service refused is not paid', async () => {
	await start({ pace: 0.02 });
	const item = await failedItem('[sim:no-credits] No.');
	expect(item).toEqual({ hasTask: false, status: undefined, maybePaid: undefined });
});

test('a stream that ends with nothing, and no entry in the history, may be paid', async () => {
	await start({ pace: 0.02 });
	sim.fault({ method: 'POST', action: { sse: ['END'] } });
	const parameters = { resource: 'image', operation: 'create', prompt: 'A boat' };
	const subject = node({ ...parameters, options: { timeout: 3 } }, REGULAR);
	const [item] = good(await run(subject));
	expect(item!.json.error).toBeTruthy();
	expect(item!.json.maybe_paid).toBe(true);
});
