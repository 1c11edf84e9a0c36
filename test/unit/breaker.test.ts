import { startDeadline, monotonicNow } from '../../nodes/shared/async/deadline';
import { Failure } from '../../nodes/shared/failure';
import { Room } from '../../nodes/shared/pace/breaker';
import { Pace } from '../../nodes/shared/pace/pace';

test('a refusal that overtakes the answers to earlier requests lowers nothing below what they show', () => {
	const room = new Room();
	room.fill(5, false);
	for (let underWay = 5; underWay < 20; underWay++) room.isRate(underWay, true, false);
	expect(room.most).toBeGreaterThan(20);
});

test.each([
	['gives the account up, until one is accepted', false],
	['gives nobody up if another was accepted meanwhile', true],
])('whoever is refused until the time is up %s', async (_, isAnother) => {
	const pace = new Pace();
	const since = monotonicNow();
	if (isAnother) pace.recordEnd('create', since, 'accepted');
	const last = new Failure('rateLimited');
	pace.recordEnd('create', monotonicNow(), 'refused', last);
	await expect(pace.acquireSlot('create', startDeadline(20).signal, since)).rejects.toEqual(last);
	expect(pace.isGivenUp).toBe(!isAnother);
	pace.recordEnd('create', monotonicNow(), 'accepted');
	expect(pace.isGivenUp).toBe(false);
});
