import { TaskStore } from '../../nodes/MediaGenerationTrigger/tasks/taskStore';

const MINUTE = 60_000;
const START = Date.parse('2026-11-20T12:00:00Z');

/** What n8n has saved when it stops right after it was told of a task's end. */
function savedAtTheEnd(taskId: string) {
	jest.useFakeTimers({ now: START });
	const saved = {};
	const store = new TaskStore(saved, 'before', true);
	store.see(taskId);
	store.over(taskId);
	store.emitted(taskId);
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
		const store = new TaskStore(savedAtTheEnd('12'), `${minutes} ${emitsAgain}`, emitsAgain, now);
		expect(store.tasks()).toEqual(not ? [] : ['12']);
		expect(store.isOver('12')).toBe(Boolean(not));
	},
);

it('a task whose end n8n was not told of is remembered for a day', () => {
	const kept = { at: START, underWay: { '12': [START, 43, 0] }, ended: [] };
	expect(new TaskStore({ ...kept }, 'a', true, START + 60 * MINUTE).tasks()).toEqual(['12']);
	expect(new TaskStore({ ...kept }, 'b', true, START + 25 * 60 * MINUTE).tasks()).toEqual([]);
});
