import { Failure } from '../../nodes/shared/failure';
import { SingleFlight } from '../../nodes/shared/async/singleFlight';

const flights = new SingleFlight();
const shared: SingleFlight['share'] = async (...reading) => await flights.share(...reading);

/** A reading in the test's hand. */
function reading() {
	const made = {
		signals: new Array<AbortSignal>(),
		answer: (_: string) => {},
		fail: (_: Error) => {},
		read: async (signal: AbortSignal) => {
			made.signals.push(signal);
			return await new Promise<string>((answer, fail) => Object.assign(made, { answer, fail }));
		},
	};
	return made;
}

const cancel = (controller: AbortController) => controller.abort(new Failure('canceled'));
const never = () => new AbortController().signal;

describe('a reading that several want', () => {
	it('is made once, and answered to all', async () => {
		const one = reading();
		const all = [1, 2, 3].map(async () => await shared('a', never(), one.read));
		one.answer('news');
		expect(await Promise.all(all)).toEqual(['news', 'news', 'news']);
		expect(one.signals.length).toBe(1);
	});

	it('fails for all, and is made anew by the next', async () => {
		const one = reading();
		const all = [1, 2].map(async () => await shared('e', never(), one.read).catch(String));
		one.fail(new Error('broken'));
		expect(await Promise.all(all)).toEqual(['Error: broken', 'Error: broken']);
		const next = shared('e', never(), one.read);
		one.answer('mended');
		expect(await next).toBe('mended');
	});

	it('goes on when one leaves, and ends when all have', async () => {
		const one = reading();
		const [first, second] = [new AbortController(), new AbortController()];
		const left = shared('f', first.signal, one.read).catch((error: Failure) => error.kind);
		const leftToo = shared('f', second.signal, one.read).catch((error: Failure) => error.kind);
		cancel(first);
		expect(await left).toBe('canceled');
		expect(one.signals[0]!.aborted).toBe(false);
		cancel(second);
		expect(await leftToo).toBe('canceled');
		expect(one.signals[0]!.aborted).toBe(true);
	});
});
