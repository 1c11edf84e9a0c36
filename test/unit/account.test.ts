import { accountKeyOf, accountOf } from '../../nodes/shared/account';

const HOUR = 3_600_000;
let count = 0;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

class Part {
	readonly number = ++count;
}

const address = (apiToken: string) => ({
	apiToken,
	baseUrl: 'https://media.example.com',
	webSocketUrl: 'wss://media.example.com',
});
const partOf = (apiToken: string) => accountOf(address(apiToken)).shared(Part);
/** Accounts that nobody wants go when another one comes. */
const comeAnother = () => accountOf(address(`another ${++count}`));

describe('what a process shares for an account', () => {
	it('is one for all who use it, and another for each account', () => {
		expect(partOf('one')).toBe(partOf('one'));
		expect(partOf('one')).not.toBe(partOf('two'));
	});

	it('is kept for an hour after its last use, and then let go', () => {
		const first = partOf('unused');
		jest.advanceTimersByTime(HOUR);
		comeAnother();
		expect(partOf('unused')).toBe(first);
		jest.advanceTimersByTime(HOUR + 1);
		comeAnother();
		expect(partOf('unused')).not.toBe(first);
	});

	it('is kept for as long as somebody uses it', () => {
		const first = partOf('used');
		const leave = accountOf(address('used')).use();
		jest.advanceTimersByTime(24 * HOUR);
		comeAnother();
		expect(partOf('used')).toBe(first);
		leave();
		jest.advanceTimersByTime(HOUR + 1);
		comeAnother();
		expect(partOf('used')).not.toBe(first);
	});

	it('is found by a key that tells nothing of the token', () => {
		const key = accountKeyOf(address('sk-0123456789'));
		expect(key).toMatch(/^[0-9a-f]{64}$/);
		expect(key).not.toContain(Buffer.from('sk-0123456789').toString('hex'));
	});
});
