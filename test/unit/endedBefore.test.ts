import { endedBefore } from '../../nodes/MediaGenerationTrigger/tasks/endedBefore';

const SINCE = Date.parse('2026-11-22T12:00:00Z');
const OLD = 1_795_000_000;
const task = (fields: object, clockOffsetMs = 0) => ({
	...{ state: 'completed' as const, status: 'completed' },
	...{ fields: { ...fields }, clockOffsetMs },
});

it.each<[isSaid: boolean, string, object, number?]>([
	[true, 'ISO with an offset', { completed_at: '2026-11-22T13:59:50+02:00' }],
	[true, 'seconds', { finishedAt: SINCE / 1000 - 10 }],
	[true, 'milliseconds', { updated_at: String(SINCE - 10_000) }],
	[true, 'a clock that is ahead', { ended_at: '2026-11-22T12:00:50Z' }, 60_000],
	[false, 'nothing', {}],
	[false, 'a later end', { created_at: '2026-11-22T11:00Z', completed_at: '2026-11-22T12:00:01Z' }],
	[false, 'an end cut to the second', { completed_at: '2026-11-22T11:59:59Z' }],
	[false, 'a clock that is behind', { completed_at: '2026-11-22T11:59:30Z' }, -60_000],
	[false, 'its creation alone', { created_at: '2026-11-21T11:59:00Z' }],
	[false, 'a change that is its creation', { created_at: OLD, updated_at: OLD }],
	[false, 'no zone', { completed_at: '2026-11-22T04:00:00' }],
	[false, 'a mere date', { completed_at: '2026-11-20' }],
	[false, 'no time', { completed_at: null, updated_at: 'soon', created_at: {} }],
])('the record says (%p) that the task ended before: %s', (isSaid, _, fields, offset = 0) => {
	expect(endedBefore(task(fields, offset), SINCE)).toBe(isSaid);
});
