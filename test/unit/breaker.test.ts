import { Room } from '../../nodes/shared/pace/breaker';

test('a refusal that overtakes the answers to earlier requests lowers nothing below what they show', () => {
	const room = new Room();
	room.fill(5);
	for (let underWay = 5; underWay < 20; underWay++) room.isRate(underWay, true, false);
	expect(room.most).toBeGreaterThan(20);
});
