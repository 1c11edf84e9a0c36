import { TaskStore } from '../../nodes/MediaGenerationTrigger/tasks/taskStore';

const MINUTE = 60_000;
const SERVICE = 'https://media.example.com';
const START = Date.parse('2026-11-20T12:00:00Z');

/** What n8n has saved when it stops right after it was told of a task's end. */
function savedAtTheEnd(taskId: string) {
	jest.useFakeTimers({ now: START });
	const saved = {};
	const store = new TaskStore(saved, 'before', SERVICE, true);
	store.see(taskId);
	store.over(taskId);
	store.markEmitted(taskId, true);
	store.save();
	jest.useRealTimers();
	return structuredClone(saved);
}

it.each<[string, string, number, boolean]>([
	['', 'when n8n is soon back, as it may not have begun an execution', 1, true],
	['not ', 'later, when n8n may have deleted the execution it would know it by', 3, true],
	['not ', 'where n8n drops no duplicates', 1, false],
])(
	'an end that n8n was told of right before it stopped is %semitted again %s',
	(not, _, minutes, emitsAgain) => {
		const now = START + minutes * MINUTE;
		const saved = savedAtTheEnd('12');
		const store = new TaskStore(saved, `${minutes} ${emitsAgain}`, SERVICE, emitsAgain, now);
		expect(store.tasks()).toEqual(not ? [] : ['12']);
		expect(store.isOver('12')).toBe(Boolean(not));
	},
);

it('a task whose end n8n was not told of is remembered for a day', () => {
	const kept = { at: START, service: SERVICE, underWay: { '12': [START, 43, 0] }, ended: [] };
	const tasks = (key: string, minutes: number) =>
		new TaskStore({ ...kept }, key, SERVICE, true, START + minutes * MINUTE).tasks();
	expect(tasks('a', 60)).toEqual(['12']);
	expect(tasks('b', 25 * 60)).toEqual([]);
});

describe('what was kept', () => {
	/** What n8n has saved of a task under way and one that has ended. */
	function saved() {
		const data = {};
		const store = new TaskStore(data, 'first', SERVICE, true);
		for (const taskId of ['1', '2']) store.see(taskId);
		store.markOver('2');
		store.save();
		return structuredClone(data);
	}

	it.each<[string, boolean, string]>([
		['counts for the same service', true, SERVICE],
		['says nothing of another service, which may have the same ids', false, 'https://b.example'],
	])('%s', (_, counts, service) => {
		const store = new TaskStore(saved(), `next ${counts}`, service, true);
		expect(store.tasks()).toEqual(counts ? ['1'] : []);
		expect(store.isOver('2')).toBe(counts);
	});

	it('in this process is newer than what n8n has saved before the clock was set back', () => {
		const data = {};
		const store = new TaskStore(data, 'set back', SERVICE, true);
		store.see('1');
		store.save();
		jest.useFakeTimers({ now: Date.now() - 180 * MINUTE });
		store.see('2');
		store.leaveBehind();
		const next = new TaskStore(data, 'set back', SERVICE, true);
		jest.useRealTimers();
		expect(next.tasks()).toEqual(['1', '2']);
	});
});
