import { RetryingClient, type ApiCall, type ResponseReader } from '../../nodes/shared/api/retry';
import { FREE_PATHS } from '../../nodes/shared/contract';
import { monotonicNow } from '../../nodes/shared/async/deadline';
import { makeCallSignals } from '../../nodes/shared/async/callSignals';
import { Failure } from '../../nodes/shared/failure';
import type { Credential } from '../../nodes/shared/http/credential';
import type * as request from '../../nodes/shared/http/request';
import { fakeTime } from '../service/fakeTime.mts';

/** Every request is answered; what the answer is, its reader says. */
jest.mock('../../nodes/shared/http/request', () => ({
	...jest.requireActual<typeof request>('../../nodes/shared/http/request'),
	sendRequest: async () => await Promise.resolve({ status: 200, headers: {}, close() {} }),
}));

const { signal } = new AbortController();
const FREE = { method: 'GET', path: FREE_PATHS.voices, signal } as const;
const CREATE = {
	...({ method: 'POST', path: '/' } as const),
	...makeCallSignals({ cancelSignal: signal, stopSignal: signal }),
};
const OVERLOAD = new Failure('taskFailed', { reason: 'Too many concurrent tasks' });

let stopping: AbortController;
let aborting: AbortController;

class Client extends RetryingClient {
	/** Sends a call, and resolves with its result or its Failure. */
	async outcomeOf(call: ApiCall, readResponse: ResponseReader<unknown>): Promise<unknown> {
		return await this.send(call, readResponse).catch((error: unknown) => error);
	}
}

let accounts = 0;
/** A client of an account of its own. */
const newClient = () =>
	new Client(
		{} as request.ServiceContext,
		{ accountKey: `account-${accounts++}`, baseUrl: '' } as Credential,
	);

beforeEach(() => void fakeTime());
afterEach(() => void jest.useRealTimers());

it.each([
	['succeeds', undefined, Infinity],
	['fails', new Failure('taskFailed'), Infinity],
	['is overloaded', OVERLOAD, 1 / 16],
])('a stream that %s counts once in flight, until its end', async (_, failure, limit) => {
	const client = newClient();
	await client.outcomeOf(CREATE, async (_response, _signal, onAccepted) => {
		for (let sign = 0; sign < 3; sign++) onAccepted();
		expect(client.throttle.inFlight).toBe(1);
		if (failure) throw failure;
	});
	expect([client.throttle.inFlight, client.throttle.limit.current]).toEqual([0, limit]);
});

it('a call that could not be made ready takes no other’s place', async () => {
	const client = newClient();
	const makeBody = async () => await Promise.reject(new Error('No such image'));
	await client.outcomeOf({ ...CREATE, makeBody }, async () => {});
	client.throttle.limit.onRefused(monotonicNow(), 1);
	await jest.advanceTimersByTimeAsync(1);
	let isSent = false;
	void client.outcomeOf(CREATE, async () => (isSent = true));
	await jest.advanceTimersByTimeAsync(1000);
	expect(isSent).toBe(true);
});

it.each<[string, cause: (client: Client) => Promise<unknown>, kind: string]>([
	['the run has stopped', async () => stopping.abort(new Failure('canceled')), 'canceled'],
	['the call was aborted', async () => aborting.abort(new Failure('timedOut')), 'timedOut'],
	[
		'another call’s token was refused',
		async (client) => {
			const refusal = new Failure('tokenRefused', { status: 401 });
			await client.outcomeOf(CREATE, async () => await Promise.reject(refusal));
		},
		'tokenRefused',
	],
])('no call is sent if %s while its images were read', async (_, cause, kind) => {
	[stopping, aborting] = [new AbortController(), new AbortController()];
	const client = newClient();
	// The first call is a probe: no other goes out until it is accepted.
	await client.outcomeOf(CREATE, async () => {});
	const onSend = jest.fn();
	const signals = makeCallSignals({ cancelSignal: aborting.signal, stopSignal: stopping.signal });
	const makeBody = async () => void (await cause(client));
	const call = { ...CREATE, ...signals, makeBody, onSend };
	expect(await client.outcomeOf(call, async () => {})).toMatchObject({ kind });
	// The next one does not even read its images.
	const next = { ...CREATE, makeBody: jest.fn() };
	if (kind === 'tokenRefused') await client.outcomeOf(next, async () => {});
	expect([onSend, next.makeBody].map(({ mock }) => mock.calls)).toEqual([[], []]);
});

it('a refusal is told, although the time is up right before the next attempt', async () => {
	let attempts = 0;
	const makeBody = async () => {
		if (attempts++ > 0) throw new Failure('timedOut', { limitMs: 1000 });
	};
	const outcome = newClient().outcomeOf({ ...CREATE, makeBody }, async () => {
		throw new Failure('throttled');
	});
	await jest.advanceTimersByTimeAsync(60_000);
	expect([((await outcome) as Failure).kind, attempts]).toEqual(['throttled', 2]);
});

it('a read that is refused for its rate again and again is given up after five minutes', async () => {
	const began = monotonicNow();
	const outcome = newClient().outcomeOf(FREE, async () => {
		throw new Failure('throttled');
	});
	const minutes = outcome.then((found) => [found, (monotonicNow() - began) / 60_000]);
	await jest.advanceTimersByTimeAsync(600_000);
	const [failure, after] = (await Promise.race([minutes, Promise.resolve([])])) as [
		Failure,
		number,
	];
	expect(failure.kind).toBe('throttled');
	expect([after > 5, after < 6]).toEqual([true, true]);
});

it.each<[string, Failure, mayBeCharged: true | undefined]>([
	['is too large', new Failure('tooLarge'), true],
	['does not come', new Failure('noResponse'), true],
	['does not come in time', new Failure('timedOut'), true],
	['is a redirect to what was made', new Failure('rejected', { status: 303 }), true],
	['is another service’s', new Failure('foreignServer', { status: 200 }), true],
	['is another service’s 404', new Failure('foreignServer', { status: 404 }), undefined],
	['is that of a wrong request', new Failure('rejected', { status: 400 }), undefined],
])('after a create call whose answer %s, it is said whether it may be charged', async (...row) => {
	const [, failure, mayBeCharged] = row;
	const found = await newClient().outcomeOf(CREATE, async () => {
		throw failure;
	});
	expect((found as Failure).facts.mayBeCharged).toBe(mayBeCharged);
});
