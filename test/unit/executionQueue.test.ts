import type { Activation } from '../../nodes/MediaGenerationTrigger/activation/activation';
import { ExecutionQueue } from '../../nodes/MediaGenerationTrigger/activation/executionQueue';

/* What waits for a slot, and an old n8n; test/engine/triggerAgain.test.ts and trigger.test.ts do the rest. */

/** What n8n tells of the workflow, and of the trigger in it. */
const workflow = { getWorkflow: () => ({}), getNode: () => ({}) };

test('what waits for a slot when the trigger is closed fetches nothing, and is told by the next activation', async () => {
	const closing = new AbortController();
	const fetchFiles = jest.fn(async () => await new Promise<never>(() => {}));
	const setState = jest.fn();
	const activation = {
		closing: closing.signal,
		isCreatedDownstream: async () => await Promise.resolve(false),
		...{ api: { credential: { redact: {} } }, context: { helpers: {} } },
	} as unknown as Activation;
	const queue = new ExecutionQueue(activation, { setState, save() {}, reopen() {} });
	const emission = { name: 'completed', isFinal: true, json: {}, subject: {} as never, fetchFiles };
	const emitting = Array.from({ length: 25 }, async (_, n) => {
		await queue.emitUntilStarted({ ...emission, outboxKey: String(n) });
	});
	await new Promise((resolve) => setImmediate(resolve));
	expect(fetchFiles).toHaveBeenCalledTimes(20);
	closing.abort();
	await Promise.all(emitting.slice(20));
	expect(fetchFiles).toHaveBeenCalledTimes(20);
	expect(setState).not.toHaveBeenCalled();
});

test('what a sub-workflow has created is done, so that it starts nothing after a restart either', async () => {
	const setState = jest.fn();
	const activation = { isCreatedDownstream: async () => await Promise.resolve(true) };
	const outbox = { setState, save() {}, reopen() {} };
	const queue = new ExecutionQueue(activation as unknown as Activation, outbox);
	const emission = { outboxKey: 'own', name: 'generated', isFinal: true, json: {} };
	await queue.emitUntilStarted({ ...emission, subject: {} as never });
	expect(setState.mock.calls).toEqual([['own', 'done']]);
});

test('an execution that may have failed to start is not started again by an n8n that drops no duplicates', async () => {
	const emitted = jest.fn();
	const helpers = {
		createDeferredPromise() {
			let reject: (error: Error) => void = () => {};
			const promise = new Promise<never>((_, onError) => (reject = onError));
			return { promise, reject };
		},
	};
	const emit = (items: unknown, _response: unknown, end: { reject(error: Error): void }) => {
		emitted(items);
		end.reject(new Error('Out of memory'));
	};
	const activation = {
		closing: new AbortController().signal,
		isCreatedDownstream: async () => await Promise.resolve(false),
		api: { credential: { redact: { value: (value: unknown) => value } } },
		context: { ...workflow, helpers, emit },
	} as unknown as Activation;
	const queue = new ExecutionQueue(activation, { setState() {}, save() {}, reopen() {} });
	const emission = { outboxKey: '1', name: 'completed', isFinal: true, json: {} };
	await queue.emitUntilStarted({ ...emission, subject: {} as never });
	expect(emitted).toHaveBeenCalledTimes(1);
});

test('what n8n could not start in the moment in which the trigger is closed is told by the next activation', async () => {
	for (let turns = 0; turns < 20; turns++) {
		const closing = new AbortController();
		const states: string[] = [];
		const end = Promise.withResolvers<never>();
		// eslint-disable-next-line @typescript-eslint/max-params
		const emit = (_items: unknown, _response: unknown, _end: unknown, _key: unknown) => {
			end.reject(new Error('The pool is exhausted'));
			const closeAfter = async () => {
				for (let turn = 0; turn < turns; turn++) await Promise.resolve();
				closing.abort();
			};
			void closeAfter();
		};
		const outbox = {
			setState: (_: string, state: string) => void states.push(state),
			save() {},
			reopen: () => void states.push('reopened'),
		};
		const activation = {
			closing: closing.signal,
			isCreatedDownstream: async () => await Promise.resolve(false),
			api: { credential: { redact: { value: (value: unknown) => value } } },
			context: { ...workflow, helpers: { createDeferredPromise: () => end }, emit },
		} as unknown as Activation;
		const queue = new ExecutionQueue(activation, outbox);
		const emission = { outboxKey: '1', name: 'completed', isFinal: true, json: {} };
		await queue.emitUntilStarted({ ...emission, subject: {} as never });
		await new Promise((resolve) => setImmediate(resolve));
		expect([turns, states.at(-1)]).toEqual([turns, expect.stringMatching('reopened|pending')]);
	}
});

test.each([
	['', true, 1],
	['of a task that is not over ', false, 0],
])(
	'what n8n refuses again and again %safter more than a minute ends, with its files fetched once',
	async (_, isFinal, limit) => {
		jest.useFakeTimers();
		let emitted = 0;
		const fetchFiles = jest.fn(async () => await Promise.resolve({}));
		const warn = jest.fn();
		const setState = jest.fn();
		const createDeferredPromise = () => {
			let reject: (error: Error) => void = () => {};
			const promise = new Promise<never>((_resolve, onError) => (reject = onError));
			return { promise, reject };
		};
		// eslint-disable-next-line @typescript-eslint/max-params
		const emit = (
			_items: unknown,
			_response: unknown,
			end: { reject(error: Error): void },
			_key: unknown,
		) => {
			emitted++;
			setTimeout(() => end.reject(new Error('The pool is exhausted')), 70_000);
		};
		const activation = {
			closing: new AbortController().signal,
			warn,
			isCreatedDownstream: async () => await Promise.resolve(false),
			api: { credential: { redact: { value: (value: unknown) => value } } },
			context: { ...workflow, helpers: { createDeferredPromise }, emit },
		} as unknown as Activation;
		const queue = new ExecutionQueue(activation, { setState, save() {}, reopen() {} });
		const emission = { outboxKey: '1', name: 'completed', isFinal, json: {}, fetchFiles };
		await Promise.all([
			queue.emitUntilStarted({ ...emission, subject: {} as never }),
			jest.advanceTimersByTimeAsync(10 * 3600_000),
		]);
		expect([emitted, fetchFiles.mock.calls.length, warn.mock.calls.length]).toEqual([
			isFinal ? 45 : 1,
			1,
			limit,
		]);
		// After a minute it counts as started, so that what runs for long is not kept for ever.
		expect(setState.mock.calls.filter(([, state]) => state === 'done')).toHaveLength(
			isFinal ? 45 : 0,
		);
		jest.useRealTimers();
	},
);
