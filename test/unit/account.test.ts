import { accountOf } from '../../nodes/shared/account';
import { readCredential } from '../../nodes/shared/http/credential';

const HOUR = 3_600_000;
let count = 0;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

class Part {
	readonly number = ++count;
}

const address = (apiToken: string, baseUrl = 'https://media.example.com') =>
	readCredential({ apiToken, baseUrl });
const partOf = (...of: Parameters<typeof address>) => accountOf(address(...of)).shared(Part);
/** Accounts that nobody wants go when another one comes. */
const comeAnother = (afterMs: number) => {
	jest.advanceTimersByTime(afterMs);
	accountOf(address(`another-${++count}`));
};

describe('what a process shares for an account', () => {
	it('is one for all who use it, and another for each account', () => {
		expect(partOf('one')).toBe(partOf('one'));
		expect(partOf('one')).not.toBe(partOf('two'));
		expect(partOf('one')).not.toBe(partOf('one', 'https://other.example.com'));
	});

	it('is kept for an hour after its last use, and then let go', () => {
		const first = partOf('unused');
		comeAnother(HOUR);
		expect(partOf('unused')).toBe(first);
		comeAnother(HOUR + 1);
		expect(partOf('unused')).not.toBe(first);
	});

	it('is kept for as long as somebody uses it', () => {
		const first = partOf('used');
		const leave = accountOf(address('used')).use();
		comeAnother(24 * HOUR);
		expect(partOf('used')).toBe(first);
		leave();
		comeAnother(HOUR + 1);
		expect(partOf('used')).not.toBe(first);
	});

	it('is found by a key that tells nothing of the token', () => {
		const { accountKey: key } = address('sk-0123456789');
		expect(key).toMatch(/^[0-9a-f]{64}$/);
		expect(key).not.toContain(Buffer.from('sk-0123456789').toString('hex'));
	});
});
