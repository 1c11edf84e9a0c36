import { endedBefore } from '../../nodes/MediaGenerationTrigger/tasks/endedBefore';

const SINCE = Date.parse('2026-11-22T12:00:00Z');
const task = (fields: object, clockOffsetMs = 0) => ({
	...{ state: 'completed' as const, status: 'completed' },
	...{ fields: { ...fields }, clockOffsetMs },
});

describe('the record of a completed task', () => {
	it.each<[string, object, number?]>([
		['ISO with an offset', { completed_at: '2026-11-22T13:59:50+02:00' }],
		['seconds', { finishedAt: SINCE / 1000 - 10 }],
		['milliseconds', { updated_at: String(SINCE - 10_000) }],
		['a clock that is ahead', { ended_at: '2026-11-22T12:00:50Z' }, 60_000],
	])('says that it ended before: %s', (_, fields, offset = 0) => {
		expect(endedBefore(task(fields, offset), SINCE)).toBe(true);
	});

	it.each<[string, object, number?]>([
		['nothing', {}],
		['a later end', { created_at: '2026-11-22T11:00:00Z', completed_at: '2026-11-22T12:00:01Z' }],
		['an end cut to the second', { completed_at: '2026-11-22T11:59:59Z' }],
		['a clock that is behind', { completed_at: '2026-11-22T11:59:30Z' }, -60_000],
		['its creation alone', { created_at: '2026-11-21T11:59:00Z' }],
		['a change that is its creation', { created_at: 1_795_000_000, updated_at: 1_795_000_000 }],
		['no zone', { completed_at: '2026-11-22T04:00:00' }],
		['a mere date', { completed_at: '2026-11-20' }],
		['no time', { completed_at: null, updated_at: 'soon', created_at: {} }],
	])('does not say so: %s', (_, fields, offset = 0) => {
		expect(endedBefore(task(fields, offset), SINCE)).toBe(false);
	});
});
