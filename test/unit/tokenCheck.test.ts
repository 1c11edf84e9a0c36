import { Failure } from '../../nodes/shared/failure';
import type { Api } from '../../nodes/shared/api/api';
import { readCredential } from '../../nodes/shared/http/credential';
import { checkTokenTogether } from '../../nodes/shared/api/tokenCheck';

const never = () => new AbortController().signal;
let count = 0;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** An account of a service that answers `trouble`, and how often it was asked. */
function account(apiToken = `token-${++count}`) {
	const state = { asked: 0, trouble: undefined as unknown };
	const api = {
		credential: readCredential({ apiToken, baseUrl: 'https://media.example.com' }),
		async getAccount() {
			state.asked++;
			if (state.trouble) throw state.trouble;
			return {};
		},
	} as unknown as Api;
	return { state, api };
}

describe('the check of a token', () => {
	it('is made once for all who want it at the same moment', async () => {
		const { state, api } = account();
		state.trouble = new Failure('tokenRefused');
		const all = [1, 2, 3].map(() => checkTokenTogether(api, Date.now(), never()));
		expect(await Promise.all(all)).toEqual([state.trouble, state.trouble, state.trouble]);
		expect(state.asked).toBe(1);
	});

	it('holds for those who are content with an older one, and for no other', async () => {
		const { state, api } = account();
		const began = Date.now();
		expect(await checkTokenTogether(api, began, never())).toBeUndefined();
		await jest.advanceTimersByTimeAsync(5000);
		state.trouble = new Failure('tokenRefused');
		expect(await checkTokenTogether(api, began, never())).toBeUndefined();
		await jest.advanceTimersByTimeAsync(8000);
		expect(await checkTokenTogether(api, began + 1, never())).toBe(state.trouble);
		expect(state.asked).toBe(2);
	});

	it('is not shared with another token', async () => {
		const [one, other] = [account(), account()];
		await checkTokenTogether(one.api, 0, never());
		other.state.trouble = new Failure('tokenRefused');
		expect(await checkTokenTogether(other.api, 0, never())).toBe(other.state.trouble);
	});

	it('is made five times a minute at most, however often the socket is lost', async () => {
		const { state, api } = account();
		const begun: number[] = [];
		for (let second = 0; second < 180; second++) {
			const before = state.asked;
			await checkTokenTogether(api, Date.now(), never());
			if (state.asked > before) begun.push(second);
			await jest.advanceTimersByTimeAsync(1000);
		}
		for (const second of begun) {
			const within = begun.filter((other) => other >= second && other < second + 60);
			expect(within.length).toBeLessThanOrEqual(5);
		}
		expect(begun.length).toBeGreaterThanOrEqual(13);
	});

	it('is given up by whoever leaves, and goes on for the others', async () => {
		const { api } = account();
		const [leaving, staying] = [new AbortController(), new AbortController()];
		const left = checkTokenTogether(api, 0, leaving.signal);
		const stayed = checkTokenTogether(api, 0, staying.signal);
		const reason = new Failure('canceled');
		leaving.abort(reason);
		expect(await left).toBe(reason);
		expect(await stayed).toBeUndefined();
	});
});
