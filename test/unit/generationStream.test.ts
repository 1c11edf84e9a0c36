import { requestStream } from '../../nodes/MediaGeneration/run/generationStream';
import { MemoryBudget } from '../../nodes/shared/async/memoryBudget';
import { GENERATIONS } from '../../nodes/shared/contract';
import { Failure } from '../../nodes/shared/failure';

test.each(['stopStarting', 'abortInFlight'] as const)(
	'no request is sent once %s has aborted while its images were read',
	async (which) => {
		const controllers = {
			stopStarting: new AbortController(),
			abortInFlight: new AbortController(),
		};
		const { stopStarting, abortInFlight } = controllers;
		const signals = { stopStarting: stopStarting.signal, abortInFlight: abortInFlight.signal };
		const make = async () => {
			controllers[which].abort(new Failure('canceled'));
			return Buffer.from('{}');
		};
		const order = {
			...{ generation: GENERATIONS.framesToVideo, fields: {} },
			prepareBody: async () => ({ memory: { budget: new MemoryBudget(1), bytes: 1 }, make }),
		};
		const generate = async (_: unknown, call: { onSend(): Promise<void> }) => await call.onSend();
		const record = { markSent: jest.fn() };
		const item = { api: { generate } } as never;
		const sent = requestStream(item, order, record as never, signals as never, 1000);
		await expect(sent).rejects.toMatchObject({ kind: 'canceled' });
		expect(record.markSent).not.toHaveBeenCalled();
	},
);
