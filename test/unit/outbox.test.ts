import type { ITriggerFunctions } from 'n8n-workflow';
import { Outbox, staticDataCopies } from '../../nodes/MediaGenerationTrigger/activation/outbox';

/* What n8n has kept of a trigger, by the time it is back; the engine's tests do the rest. */

const MINUTE = 60_000;
const ROOM = 'tasks https://media.example.com';

/** What n8n has saved of a task under way, one that it was told of, and one that is over. */
function saved() {
	const data = {};
	const store = new Outbox(() => [data], ROOM, 'before', true);
	for (const taskId of ['under way', 'told', 'over'])
		store.itemsByKey.set(taskId, { state: 'tracking' });
	store.setState('told', 'emitted');
	store.setState('over', 'done');
	store.save();
	return structuredClone(data);
}

it.each<[string, number, boolean, string, string[]]>([
	['soon', 1, true, ROOM, ['under way', 'told']],
	[
		'later, when n8n may have deleted the execution it would know by its key',
		3,
		true,
		ROOM,
		['under way'],
	],
	['soon, but n8n drops no duplicates', 1, false, ROOM, ['under way']],
	['for another service, which may have the same ids', 1, true, 'tasks https://b.example', []],
])('a trigger that is back %s, after %d min, looks up what may have been missed', (...setting) => {
	const [, minutes, emitsAgain, namespace, expected] = setting;
	const now = Date.now() + minutes * MINUTE;
	const store = new Outbox(() => [saved()], namespace, `${setting.join()}`, emitsAgain, now);
	expect(store.keysIn('tracking')).toEqual(expected);
	expect(store.itemsByKey.get('over')?.state).toBe(namespace === ROOM ? 'done' : undefined);
});

it('an event that was forgotten meanwhile does not come back', () => {
	const store = new Outbox(() => [{}], ROOM, 'forgotten', true);
	store.setState('forgotten', 'done');
	expect([...store.itemsByKey]).toEqual([]);
});

it('published again in the same n8n, a trigger leaves alone what n8n was told, which may wait for capacity', () => {
	const before = new Outbox(() => [{}], ROOM, 'published again', true);
	for (const taskId of ['under way', 'told']) before.itemsByKey.set(taskId, { state: 'tracking' });
	before.setState('told', 'emitted');
	before.handOver();
	const after = new Outbox(() => [{}], ROOM, 'published again', true);
	expect(after.keysIn('tracking')).toEqual(['under way']);
	expect(after.keysIn('done')).toEqual(['told']);
});

it('a trigger that is closed writes into no copy of the workflow, and keeps none', () => {
	const data = {};
	const copies = jest.fn(() => [data]);
	const store = new Outbox(copies, ROOM, 'closed', true);
	store.onReopened = jest.fn();
	store.handOver();
	copies.mockClear();
	store.save();
	expect([data, copies.mock.calls, store.onReopened]).toEqual([{}, [], undefined]);
});

it('a closed trigger’s copy of the workflow is kept no longer', () => {
	const [subject, others] = [{}, {}];
	const contextWith = (data: object) =>
		({
			...{ getWorkflow: () => ({ id: 'copies' }), getNode: () => ({}) },
			...{ getWorkflowStaticData: () => data, workflow: { getStaticData: () => data } },
		}) as unknown as ITriggerFunctions;
	const copies = staticDataCopies(contextWith(subject), new AbortController().signal);
	const closing = new AbortController();
	staticDataCopies(contextWith(others), closing.signal);
	expect(copies()).toEqual([subject, others]);
	closing.abort();
	expect(copies()).toHaveLength(1);
});

it('what another process has saved since the trigger was closed here counts', () => {
	const data = {};
	const before = new Outbox(() => [data], ROOM, 'moved', true);
	for (const taskId of ['here', 'there']) before.itemsByKey.set(taskId, { state: 'tracking' });
	const clock = jest.spyOn(Date, 'now').mockReturnValue(1);
	before.handOver();
	clock.mockReturnValue(2);
	const elsewhere = new Outbox(() => [data], ROOM, 'moved, elsewhere', true);
	elsewhere.itemsByKey = new Map(before.itemsByKey).set('there', { state: 'done' });
	elsewhere.save();
	const after = new Outbox(() => [data], ROOM, 'moved', true);
	expect(after.keysIn('tracking')).toEqual(['here']);
	// What was saved before the trigger was closed here is older.
	for (const taskId of ['here', 'there']) before.setState(taskId, 'done');
	clock.mockReturnValue(3);
	before.handOver();
	expect(new Outbox(() => [data], ROOM, 'moved', true).keysIn('tracking')).toEqual([]);
	clock.mockRestore();
});

it('of a thousand tasks that are over, those that ended last are remembered', () => {
	const store = new Outbox(() => [{}], ROOM, 'over', true);
	store.itemsByKey.set('long', { state: 'tracking' });
	for (let n = 0; n < 1000; n++) {
		store.itemsByKey.set(`task ${n}`, { state: 'tracking' });
		store.setState(`task ${n}`, 'done');
	}
	store.setState('long', 'done');
	expect([...store.itemsByKey.keys()]).toHaveLength(1000);
	expect(store.itemsByKey.has('task 0')).toBe(false);
	expect(store.itemsByKey.has('long')).toBe(true);
});

it('of thousands of tasks little is kept, those under way longest', () => {
	const data = {};
	const store = new Outbox(() => [data], ROOM, 'thousands', true);
	for (let n = 0; n < 3000; n++) {
		store.itemsByKey.set(`task ${n}`, { state: 'tracking' });
		if (n > 100) store.setState(`task ${n}`, 'done');
	}
	store.save();
	expect(store.keysIn('tracking')).toContain('task 7');
	expect(JSON.stringify(data).length).toBeLessThan(100_000);
});

it('what is handed over counts, also if the clock was set back since something was saved', () => {
	const data = {};
	const clock = jest.spyOn(Date, 'now').mockReturnValue(2);
	const before = new Outbox(() => [data], ROOM, 'set back', true);
	before.save();
	clock.mockReturnValue(1);
	for (const nodeKey of ['set back', 'set back, loaded']) {
		const store = nodeKey === 'set back' ? before : new Outbox(() => [data], ROOM, nodeKey, true);
		store.itemsByKey.set('heard', { state: 'tracking' });
		store.handOver();
		expect(new Outbox(() => [data], ROOM, nodeKey, true).keysIn('tracking')).toEqual(['heard']);
	}
	clock.mockRestore();
});
