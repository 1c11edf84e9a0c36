import type { IDataObject } from 'n8n-workflow';
import type { WorkflowResult } from '../../demo/engine.mts';
import { status } from '../faults/row.mts';
import { bad, only } from './seen';
import { made, onCreate, posts, taskOf } from './service';
import {
	begin,
	CONTINUE,
	EACH,
	ERROR_OUTPUT,
	fakeTime,
	image,
	NODE,
	node,
	run,
	sim,
	speech,
	start,
	texts,
	video,
} from './setup';
import { hasten } from './time';

/*
 * Rows, bad ones among them: a bad one fails alone, and says what a workflow that keeps a list has to do;
 * what was paid for is delivered, and nothing is paid for twice.
 */

const BAD = 17;
const ROWS = Array.from({ length: 100 }, (_, row) => ({
	row,
	description: `Row ${row}`,
	t: row === BAD ? 'No [sim:task-fails]' : `Text ${row}. [sim:slow=8]`,
}));

test('following the message brings the 99 that are paid for; only the bad one is paid for again', async () => {
	await start({ pace: 0.2 });
	const fields = speech(EACH, { concurrency: 100 });
	const stopped = await run(fields, { items: ROWS });
	const { message, description } = bad(stopped);
	expect(message).toContain(`Row ${BAD + 1}: `);
	expect(message.length).toBeLessThan(200);
	expect(description).toMatch(
		/^First get the other rows: change only On Error \(Settings\) to .*\. Change the text, voice or model\. .* Then run only this row, if still missing\. Already paid for, so free in that retry: 99 other rows \(tasks .* and 94 more\)\. The retry requests this row again, too, as it was first read \(charged\)\.$/,
	);
	expect(description.match(/\d{2,}(?=, | and )/g)).toHaveLength(5);
	expect(posts()).toBe(100);

	const again = await run(node(fields, ERROR_OUTPUT), { items: ROWS, retryOf: stopped.run });
	const [delivered, failed] = again.task(NODE)!.data!.main!;
	expect(delivered!.map(({ binary }) => binary?.data?.mimeType)).toEqual(
		Array(99).fill('audio/wav'),
	);
	expect(failed!.map(({ json }) => json.row)).toEqual([BAD]);
	expect(posts()).toBe(101);
}, 120_000);

test('in a called workflow, the message sends to that workflow’s own executions', async () => {
	const running = await begin(speech(EACH), texts('One.', 'Two [sim:task-fails] [sim:slow=8]'));
	running.currentRun().data.parentExecution = { workflowId: 'caller', executionId: '1' };
	const { description } = bad(await running.finished);
	expect(description).toContain(
		"workflow' under the sub-workflow's Executions. Change the text, voice or model. A new",
	);
	expect(description).toMatch(
		/Don't retry the calling workflow: that may charge everything again\.$/,
	);
});

test('the error output keeps the columns of the row, but error, status and task are the node’s own', async () => {
	const columns = { title: 'Chapter 2', description: 'A column of the row' };
	const row = { ...columns, error: 'an earlier one', task_id: 'an earlier one' };
	const items = [{ t: 'One.' }, { ...row, t: 'Two [sim:task-fails]' }];
	const result = await run(node(speech(EACH), ERROR_OUTPUT), { items });
	const [regular, failed] = result.task(NODE)!.data!.main!;
	expect(regular).toHaveLength(1);
	expect(failed![0]!.json).toEqual({
		...items[1],
		error: expect.stringContaining('could not generate the speech'),
		error_description: expect.stringContaining('A new request is charged.'),
		error_kind: 'other',
		status: 'error',
		task_id: taskOf('Two').id,
	});
});

describe('a row with a description of its own, at the error output, also tells', () => {
	const items = [{ t: 'Mine', description: 'An oak chair' }];
	const failedRow = (result: WorkflowResult) => {
		const [failed, ...others] = result.task(NODE)!.data!.main![1]!;
		expect([failed!.json.description, others]).toEqual(['An oak chair', []]);
		return failed!.json;
	};

	test('the id of a video that timed out', async () => {
		onCreate({ sse: [status({ status: 'processing', id: 'video-7' })] });
		fakeTime();
		const subject = node(video(EACH, { timeout: 5 }), ERROR_OUTPUT);
		const { result } = await hasten(subject, { items });
		expect(failedRow(result)).toMatchObject({
			error: expect.stringContaining('No result'),
			error_description: expect.stringContaining('the result has the ID video-7'),
		});
	});

	test('the entries that may be its lost video', async () => {
		fakeTime();
		onCreate({ sse: ['RESET'] });
		sim.history.push(...['one', 'two'].map((id) => made(id, { prompt: 'Mine' })));
		const { result } = await hasten(node(video(EACH), ERROR_OUTPUT), { items });
		expect(failedRow(result).error_description).toMatch(/may be the result: .*one.*two/);
	});
});

test('empty rows are told together; by the error output they leave one by one, without a number', async () => {
	const items = Array.from({ length: 10 }, (_, n) => ({ t: [2, 6, 9].includes(n) ? ' ' : 'Hi.' }));
	const { message, description, itemIndex } = bad(await run(speech(EACH), { items }));
	expect(message).toBe("'Text' is empty in 3 of 10 rows: 3, 7 and 10");
	expect(description).toMatch(
		/^Fill it in, or skip such rows: set On Error \(Settings\) to 'Continue/,
	);
	// n8n would show it as [item 2].
	expect([itemIndex, posts()]).toEqual([undefined, 0]);

	const result = await run(node(speech(EACH), ERROR_OUTPUT), { items });
	const [regular, failed] = result.task(NODE)!.data!.main!;
	const errors = failed!.map(({ json }) => json.error);
	expect([regular!.length, errors]).toEqual([7, Array(3).fill("'Text' is empty")]);
});

const unanswered = (body?: string) => onCreate({ reset: true, accepted: true }, { body });
const inParts = { splitLongerThan: 15, concurrency: 1 };
const [task_id, maybe_paid] = [expect.any(String) as unknown, true];

test.each<[string, IDataObject, told: object, arrange: () => unknown]>([
	['a task is over', { text: '[sim:task-fails]' }, { task_id, status: 'error' }, () => {}],
	['a request was refused', { text: '[sim:no-credits]' }, {}, () => {}],
	['a create call got no clear answer', {}, { maybe_paid }, unanswered],
	[
		'such a part has others with tasks',
		{ text: 'First part.\n\nSecond part.', options: inParts },
		{ task_id, maybe_paid },
		() => unanswered('Second'),
	],
	[
		'a stream ended with nothing, and no entry is in the history',
		image('A boat', { timeout: 3 }),
		{ maybe_paid },
		() => onCreate({ sse: ['END'] }),
	],
])(
	'a failed item on the regular output tells that %s',
	async (_, parameters, reported, arrange) => {
		await start({ pace: 0.02 });
		arrange();
		const subject = node({ ...speech('A'), ...parameters }, CONTINUE);
		const { json } = only(await run(subject, { items: [{ title: 'Chapter 2' }] }));
		expect(json.error).toBeTruthy();
		const { task_id, status, maybe_paid, title } = json;
		expect({ task_id, status, maybe_paid, title }).toEqual(reported);
	},
);
