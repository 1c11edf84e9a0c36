import { TaskStore } from '../../nodes/MediaGenerationTrigger/tasks/taskStore';

/* What n8n has kept of a trigger, by the time it is back; the engine's tests do the rest. */

const MINUTE = 60_000;
const SERVICE = 'https://media.example.com';

/** What n8n has saved of a task under way, one that it was told of, and one that is over. */
function saved() {
	const data = {};
	const store = new TaskStore(data, 'before', SERVICE, true);
	for (const taskId of ['under way', 'told', 'over']) store.watch(taskId, 0);
	store.markEmitted('told', true);
	store.markOver('over');
	store.save();
	return structuredClone(data);
}

it.each<[string, number, boolean, string, string[]]>([
	['soon', 1, true, SERVICE, ['under way', 'told']],
	[
		'later, when n8n may have deleted the execution it would know by its key',
		3,
		true,
		SERVICE,
		['under way'],
	],
	['soon, but n8n drops no duplicates', 1, false, SERVICE, ['under way']],
	['after more than a day', 25 * 60, true, SERVICE, []],
	['for another service, which may have the same ids', 1, true, 'https://b.example', []],
])('a trigger that is back %s, after %d min, looks up what may have been missed', (...setting) => {
	const [, minutes, emitsAgain, service, expected] = setting;
	const now = Date.now() + minutes * MINUTE;
	const store = new TaskStore(saved(), `${setting.join()}`, service, emitsAgain, now);
	expect(store.underWay()).toEqual(expected);
	expect(store.hasEnded('over')).toBe(service === SERVICE);
});

it('of thousands of tasks little is kept, those under way longest', () => {
	const data = {};
	const store = new TaskStore(data, 'thousands', SERVICE, true);
	for (let n = 0; n < 3000; n++) {
		store.watch(`task ${n}`, 0);
		if (n > 100) store.markOver(`task ${n}`);
	}
	store.save();
	expect(store.underWay()).toContain('task 7');
	expect(JSON.stringify(data).length).toBeLessThan(100_000);
});
