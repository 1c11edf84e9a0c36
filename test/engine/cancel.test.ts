import type { IDataObject, INode } from 'n8n-workflow';
import { bad, good, saved, stop } from './seen';
import { answer, onCreate, onFile, onHistory, looks, posts } from './service';
import {
	begin,
	CONTINUE,
	ERROR_OUTPUT,
	NODE,
	node,
	run,
	sim,
	speech,
	start,
	video,
	type Setting,
} from './setup';
import { status } from '../faults/row.mts';

/* Stop. What it says of what is paid: nothingUnnamed.test.ts. */

const files = () => sim.requests.filter(({ path }) => path.startsWith('/files/'));
const slow = (settings: Partial<INode> = {}) => node(speech('Hi [sim:slow=60000]'), settings);
const areSlow = () => sim.tasks.size === 3 && sim.countOpenSockets() === 1;
const big = () => speech('Hi [sim:big-file=400]');
const isFetched = () => files()[0]?.status === 200;
const ofHi = { body: '":"Hi' };
const HANG = { hang: true };
const three = { items: [{}, {}, {}] };

interface Case {
	of?: () => IDataObject | INode;
	arrange?: () => unknown;
	isThere: () => boolean;
	setting?: Setting;
}
const lostWithoutHistory = () => {
	onHistory({ hang: true });
	onCreate({ sse: [{ delayMs: 20 }, 'END'] });
};
const midStream = () => onCreate({ sse: [status('processing')] });

test.each<[string, Case]>([
	['while items wait', { of: slow, isThere: areSlow, setting: three }],
	['of "continue on fail"', { of: () => slow(CONTINUE), isThere: areSlow, setting: three }],
	['of an error output', { of: () => slow(ERROR_OUTPUT), isThere: areSlow, setting: three }],
	['during a download', { of: big, isThere: isFetched }],
	['during one to disk', { of: big, isThere: isFetched, setting: { binaryMode: 'filesystem' } }],
	['in a stream', { arrange: midStream, isThere: () => sim.requests[0]?.status === 200 }],
	['before the answer', { arrange: () => onCreate(HANG), isThere: () => posts() === 1 }],
	['during a search in the history', { arrange: lostWithoutHistory, isThere: () => looks() === 1 }],
	['before a file', { arrange: () => onFile(HANG), isThere: () => files().length === 1 }],
])('a stop %s closes everything within a second', async (_, { arrange, isThere, ...more }) => {
	const { of = () => video('a'), setting } = more;
	await start({ pace: 0.01 });
	arrange?.();
	const execution = await begin(of(), setting);
	await sim.waitFor(isThere);
	const before = posts();
	const { run: canceled, task } = await stop(execution);
	// n8n itself passes the input on where errors are to be passed over; no error item may be in it.
	expect(JSON.stringify(task(NODE)?.data ?? null)).not.toContain('error');
	expect(posts()).toBe(before);
	expect(files().every(({ closedByClient }) => closedByClient)).toBe(true);
	expect(saved(canceled)).not.toContain(sim.token);
});

test('a stop says nothing of what was not asked for', async () => {
	sim.setWebSocketMode('hang');
	const execution = await begin(speech('Hi.'));
	await sim.waitFor(() => sim.requests.some(({ receivedBy }) => receivedBy === 'socket'));
	expect(bad(await stop(execution)).description).toBe('');
	sim.setWebSocketMode('normal');
	// Longer than the node holds a create call back: nothing follows.
	await sim.waitFor(() => posts() > 0, 3500).catch(() => {});
	expect(posts()).toBe(0);
});

const BOTH: Array<[string, () => IDataObject]> = [
	['speech', () => speech('Hi.')],
	['video', () => video('Hi.')],
];

test.each(BOTH)(
	'a stop during a create call: a retry does not pay for the %s again',
	async (what, make) => {
		onCreate({ hang: true, accepted: true }, ofHi);
		const subject = make();
		const execution = await begin(subject);
		await sim.waitFor(() => posts() === 1);
		// n8n saves the execution at the moment of the stop.
		expect(saved(execution.currentRun())).toContain('"state":"sent"');
		const retryOf = (await stop(execution)).run;
		const { error } = await run(subject, { retryOf });
		// The history lists videos, not speech.
		expect(error?.message ?? '').toMatch(what === 'speech' ? /unclear whether/ : /^$/);
		expect(posts()).toBe(1);
	},
);

test.each(BOTH)(
	'a stop during a pause that the service asked for: a retry sends the %s',
	async (_, make) => {
		onCreate(answer(429, '', { 'Retry-After': '3' }), ofHi);
		const subject = make();
		const execution = await begin(subject);
		await sim.waitFor(() => posts() === 1);
		await sim.waitFor(() => sim.requests.at(-1)!.status === 429);
		// Nobody tells when the node has read the answer.
		while (/"state":"sent"/.test(saved(execution.currentRun()))) {
			await new Promise((resolve) => setTimeout(resolve, 5));
		}
		const canceled = await stop(execution);
		expect(bad(canceled).description).toBe('');
		good(await run(subject, { retryOf: canceled.run }));
		expect([posts(), sim.chargedCalls]).toEqual([2, 1]);
	},
);
