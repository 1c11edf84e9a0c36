import { accountOf } from '../../nodes/shared/account';
import { readCredential } from '../../nodes/shared/http/credential';

const HOUR = 3_600_000;
class Part {}

const address = (apiToken: string) =>
	readCredential({ apiToken, baseUrl: 'https://media.example.com' });
const partOf = (apiToken: string) => accountOf(address(apiToken)).get(Part);
let count = 0;
/** Accounts that nobody wants go when another one comes. */
const comeAnother = (afterMs: number) => {
	jest.advanceTimersByTime(afterMs);
	accountOf(address(`another-${++count}`));
};

test('what a process shares for an account is kept while it is used, and an hour longer', () => {
	jest.useFakeTimers();
	const first = partOf('mine');
	expect(partOf('other')).not.toBe(first);
	comeAnother(HOUR);
	expect(partOf('mine')).toBe(first);
	const use = new AbortController();
	accountOf(address('mine')).retain(use.signal);
	comeAnother(24 * HOUR);
	expect(partOf('mine')).toBe(first);
	use.abort();
	comeAnother(HOUR + 1);
	expect(partOf('mine')).not.toBe(first);
	jest.useRealTimers();
});
