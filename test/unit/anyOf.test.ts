import { getEventListeners } from 'node:events';
import { anyOf } from '../../nodes/shared/async/deadline';

describe('anyOf', () => {
	test('aborts with the first that aborts, for its reason, and leaves the others alone', () => {
		const [one, other] = [new AbortController(), new AbortController()];
		const either = anyOf(one.signal, other.signal);
		expect(either.aborted).toBe(false);
		other.abort('canceled');
		expect(either).toMatchObject({ aborted: true, reason: 'canceled' });
		one.abort('late');
		expect(either.reason).toBe('canceled');
	});

	test('is aborted from the start if one of them is', () => {
		const other = new AbortController();
		expect(anyOf(other.signal, AbortSignal.abort('over'))).toMatchObject({ reason: 'over' });
		expect(getEventListeners(other.signal, 'abort')).toEqual([]);
	});

	test('leaves nothing behind on a signal that outlives it', () => {
		const [long, short] = [new AbortController(), new AbortController()];
		anyOf(long.signal, short.signal);
		short.abort();
		expect(getEventListeners(long.signal, 'abort')).toEqual([]);
	});
});
