import type { ITriggerFunctions } from 'n8n-workflow';
import {
	ExecutionQueue,
	type Emission,
} from '../../nodes/MediaGenerationTrigger/activation/executionQueue';
import { redactor } from '../../nodes/shared/parsing/redaction';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A queue whose executions end when told to, and what it has emitted and logged. */
function emitting() {
	const names: string[] = [];
	const log: string[] = [];
	const running: Array<() => void> = [];
	const closing = new AbortController();
	const note = (text: string) => log.push(text);
	const emit = (
		[[item]]: [[{ json: { name: string } }]],
		_response: unknown,
		done: PromiseWithResolvers<unknown>,
	) => {
		names.push(item.json.name);
		running.push(() => done.resolve(undefined));
	};
	const context = {
		emit,
		logger: { warn: note, error: note },
		helpers: { createDeferredPromise: () => Promise.withResolvers() },
	} as unknown as ITriggerFunctions;
	const queue = new ExecutionQueue(context, redactor('secret'), 'scope', closing.signal);
	const event = (about: string, name: string): Emission => ({
		about,
		name,
		isProgress: name.startsWith('progress'),
		key: about,
		store: { emitted() {}, end() {}, save() {} },
		begin() {},
		depth: async () => 0,
		json: { name: `${about} ${name}` },
	});
	const endAll = async () => {
		while (running.length > 0) {
			running.splice(0).forEach((end) => end());
			await jest.advanceTimersByTimeAsync(0);
		}
	};
	return { queue, event, names, log, closing, endAll };
}

it('when too much progress waits, the oldest is left out, but never an end', async () => {
	const { queue, event, names, endAll } = emitting();
	const over = [];
	// The first executions take all the places.
	for (let n = 0; n < 20; n++) over.push(queue.add(event(`${n}`, 'completed')));
	await jest.advanceTimersByTimeAsync(0);
	for (let percentage = 1; percentage <= 60; percentage++) {
		for (let n = 0; n < 20; n++) over.push(queue.add(event(`${n}`, `progress ${percentage}`)));
	}
	for (let n = 0; n < 20; n++) over.push(queue.add(event(`${n}`, 'failed')));
	await jest.advanceTimersByTimeAsync(0);
	expect(names.length).toBe(20);
	await endAll();
	await Promise.all(over);
	const progress = names.filter((name) => name.includes('progress'));
	expect(progress.length).toBe(1000);
	expect(progress.filter((name) => name.startsWith('7 '))).toEqual(
		Array.from({ length: 50 }, (_, n) => `7 progress ${n + 11}`),
	);
	expect(names.filter((name) => name.endsWith('failed')).length).toBe(20);
});

it('nothing is kept of progress that is left out, and what waits for long meanwhile is logged', async () => {
	const { queue, event, log } = emitting();
	for (let n = 0; n < 20; n++) void queue.add(event(`${n}`, 'completed'));
	let leftOut = 0;
	for (let percentage = 1; percentage <= 50; percentage++) {
		for (let n = 20; n < 50; n++) {
			void queue.add(event(`${n}`, `progress ${percentage}`)).then(() => leftOut++);
		}
		await jest.advanceTimersByTimeAsync(1000);
	}
	expect(leftOut).toBe(500);
	await jest.advanceTimersByTimeAsync(15_000);
	expect(log).toEqual([expect.stringMatching(/\d+ events waiting for more than a minute/)]);
});

it('a wait of more than a minute is logged once', async () => {
	const { queue, event, log, closing } = emitting();
	for (let n = 0; n < 60; n++) void queue.add(event(`${n}`, 'completed'));
	await jest.advanceTimersByTimeAsync(59_000);
	expect(log).toEqual([]);
	await jest.advanceTimersByTimeAsync(30_000);
	expect(log).toEqual([expect.stringMatching(/\d+ events waiting for more than a minute/)]);
	await jest.advanceTimersByTimeAsync(20_000);
	expect(log.length).toBe(1);
	closing.abort();
	await jest.advanceTimersByTimeAsync(1);
	expect(jest.getTimerCount()).toBe(0);
});

it('events that start at once leave no line in the log and no timer', async () => {
	const { queue, event, log, endAll } = emitting();
	const over = queue.add(event('1', 'completed'));
	await jest.advanceTimersByTimeAsync(0);
	await endAll();
	await over;
	await jest.advanceTimersByTimeAsync(120_000);
	expect(log).toEqual([]);
	expect(jest.getTimerCount()).toBe(0);
});
