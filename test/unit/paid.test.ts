import {
	canceledSummary,
	chargeSummary,
	type ItemRequest,
} from '../../nodes/MediaGeneration/paid/summary';
import { Failure, type FailureKind } from '../../nodes/shared/failure';

const task = (index: number, taskId: string, state: 'task' | 'gone' = 'task'): ItemRequest => ({
	...{ index, state, taskId, createdAt: 0, accountKey: '' },
});
const gone = (index: number): ItemRequest => task(index, 'failed', 'gone');
const sent = (index: number): ItemRequest => ({ index, state: 'sent' });
const tasks = (count: number) => Array.from({ length: count }, (_, n) => task(n, `t${n}`));
const failed = (index: number, kind: FailureKind) => ({ index, error: new Failure(kind) });
/** All that is said beside the description of the failure. */
const said = (...summary: Parameters<typeof chargeSummary>) => {
	const { before = '', after = '' } = chargeSummary(...summary);
	return `${before} ${after}`.trim();
};

test('at most five are named, however many are paid; a failed row has to be let past', () => {
	const requests = tasks(100);
	requests[3] = gone(3);
	expect(chargeSummary(requests, failed(3, 'taskFailed'))).toEqual({
		before:
			"First get the other rows: change only On Error (Settings) to 'Continue (using error output)', save, and choose 'Retry with currently saved workflow' under Executions.",
		after:
			'Then run only this row, if still missing. Already paid for, so free in that retry: 99 other rows (tasks t0, t1, t2, t4, t5 and 94 more). The retry requests this row again, too, as it was first read (charged).',
	});
});

test('in a loop, a failed row is let past through a Merge node, in the order of the steps', () => {
	expect(said([task(0, '7')], failed(1, 'rejected'), { isInLoop: true })).toMatch(
		/^First get the other rows: change only On Error \(Settings\) to 'Continue \(using error output\)', connect both branches to a Merge node, and only this back to the loop, save, and choose 'Retry/,
	);
	expect(said([task(0, '7')], failed(1, 'outOfCredit'), { isInLoop: true })).not.toMatch(/Merge/);
});

test('a row whose own result is paid for is not sent to be run alone, unless only parts of it are paid for', () => {
	const requests = [task(0, '7'), task(1, '8')];
	for (const kind of ['downloadFailed', 'noAudioUrl', 'streamLost', 'tooLarge'] as const) {
		const all = said(requests, failed(1, kind));
		expect(all).toMatch(/^First get the other rows: .*\. This row is paid for, too\./);
		expect(all).not.toMatch(/only this row|first read/);
	}
	const error = new Failure('taskFailed', { taskIds: ['8'], isIncomplete: true });
	expect(said([...requests, gone(1)], { index: 1, error })).toMatch(
		/ Then run only this row, if still missing\..* first read \(charged\)\.$/,
	);
});

test('a row is named once, however many of its parts may be paid', () => {
	expect(said([sent(1), sent(1), sent(2)], failed(0, 'unavailable'))).toContain(
		'speech of rows 2 and 3.',
	);
});

test('where the row is not at fault, a retry continues', () => {
	const downloadFailed = new Failure('downloadFailed', { transient: true });
	expect(said([task(0, '7')], { index: 1, error: downloadFailed })).toMatch(
		/^To continue, open Executions/,
	);
	expect(said([task(0, '7')], failed(1, 'outOfCredit'))).toBe(
		"To continue, open Executions and choose 'Retry with currently saved workflow': with nothing else changed, only what is missing is charged. Already paid for: 1 other row (task 7).",
	);
	// Its own result is named in its message.
	expect(said([task(0, '7')], failed(0, 'timedOut'))).toMatch(/^To continue.*charged\.$/);
	expect(said([task(0, '7')], failed(0, 'rejected'))).toMatch(
		/^If you change nothing in this node, .*charged only for what is missing\.$/,
	);
	// The service may have accepted what it did not answer: a retry does not send that again.
	expect(said([sent(0), task(1, '7')], failed(0, 'unavailable'))).toMatch(/change only On Error/);
});

test('a called workflow is continued under its own executions: a retry of the caller pays for all', () => {
	const advice = (paid: ItemRequest[], index: number, kind: FailureKind) =>
		said(paid, failed(index, kind), { isSubWorkflow: true });
	expect(advice([task(0, '7')], 1, 'outOfCredit')).toBe(
		"To continue, open the sub-workflow's Executions and choose 'Retry with currently saved workflow': with nothing else changed, only what is missing is charged. Already paid for: 1 other row (task 7). Don't retry the calling workflow: that may charge everything again.",
	);
	expect(advice([sent(0)], 0, 'noResponse')).toBe(
		"Don't retry the calling workflow: that may charge everything again.",
	);
	expect(advice([gone(0)], 0, 'taskFailed')).toBe('');
	expect(advice([task(0, '7')], 0, 'rejected')).toMatch(
		/'Retry with currently saved workflow' under the sub-workflow's Executions is charged only/,
	);
	expect(advice(tasks(9), 9, 'taskFailed')).toMatch(
		/choose 'Retry with currently saved workflow' under the sub-workflow's Executions\. Then run/,
	);
});

test('a stop names every task, since n8n offers no retry of it', () => {
	expect(canceledSummary(tasks(7))).toBe(
		"Get the audio with Speech → Collect ('Join Into One File' turned off), at no extra charge. Already paid for: tasks t0, t1, t2, t3, t4, t5, t6. Then run only the rows without a result: a new run would charge all rows.",
	);
	expect(canceledSummary([0, 1, 2, 3, 4, 5].map(sent))).toContain('rows 1, 2, 3, 4, 5 and 6.');
});

test('what is paid and what may be are told apart; the rest is not named', () => {
	const request = { kind: 'video', files: [], announcedIds: ['v1', 'v2'], failedIds: [] };
	const video = { index: 3, state: 'accepted', request } as unknown as ItemRequest;
	const ways: Array<[ItemRequest[], string]> = [
		[
			[sent(0), task(1, '7'), gone(2)],
			"Get the audio with Speech → Collect ('Join Into One File' turned off), at no extra charge. Already paid for: task 7. Possibly charged (not confirmed by the service): speech of row 1. To find out, check the provider's website.",
		],
		[
			[video],
			'Get the videos in half an hour with History → Get Many, at no extra charge. Already paid for: videos v1, v2.',
		],
	];
	const last = ' Then run only the rows without a result: a new run would charge all rows.';
	for (const [requests, text] of ways) expect(canceledSummary(requests)).toBe(text + last);
	expect(said([sent(0)], failed(1, 'taskFailed'))).toBe(
		"Possibly charged (not confirmed by the service): speech of row 1. A retry does not send it again: check the provider's website.",
	);
});

test('a file is named by its id or URL, never by its content', () => {
	const video = (index: number, fileUrl: string, id?: string): ItemRequest => ({
		...{ index, state: 'accepted' },
		request: {
			...{
				kind: 'video',
				files: [{ id, fileUrl, raw: {} }],
				announcedIds: ['x'],
				failedIds: ['x'],
			},
		} as never,
	});
	const requests = [
		video(0, 'https://x/1.mp4'),
		video(1, 'data:video/mp4;base64,AAAA'),
		video(2, 'https://x/3.mp4', 'v3'),
	];
	expect(canceledSummary(requests)).toMatch(
		/paid for: videos https:\S*1\.mp4, v3; video of row 2\. Then /,
	);
});

test('what was paid in earlier rounds or by another node is said, where the list has nothing', () => {
	const earlier = { hasEarlierRequests: true };
	const sentence =
		"Earlier requests are paid for: choose 'Retry with currently saved workflow' under Executions, not a new run.";
	expect(said([], failed(0, 'outOfCredit'), earlier)).toBe(sentence);
	expect(said([], failed(0, 'invalidInput'), earlier)).toBe(
		`To skip this row, set On Error to 'Continue (using error output)'. ${sentence}`,
	);
	expect(said([], failed(0, 'invalidInput'), { ...earlier, isInLoop: true })).toBe(
		`To skip this row, set On Error to 'Continue (using error output)', connect both branches to a Merge node, and only this back to the loop. ${sentence}`,
	);
	expect(said([], failed(0, 'outOfCredit'), { ...earlier, isRetry: true })).toBe(
		`${sentence} Retry this execution, not an earlier one.`,
	);
	// All in one sentence, where the retry is offered elsewhere.
	expect(said([sent(0)], failed(0, 'outOfCredit'), { ...earlier, isSubWorkflow: true })).toMatch(
		/\. [^.]* under the sub-workflow's Executions, not a new run or a retry of the caller\.$/,
	);
	expect(said([task(0, '7')], failed(1, 'outOfCredit'), earlier)).not.toContain('Earlier');
});

test('a retry that will create a new task in the place of an unknown one is said to be charged', () => {
	expect(said([gone(0)], failed(0, 'notFound'))).toBe(
		'If the task stays unknown, the next retry creates a new one, which is charged.',
	);
	// To run only this row as well would be charged a second time.
	expect(said([gone(0), task(1, '7')], failed(0, 'notFound'))).toMatch(
		/^To continue, .*\(task 7\)\. If the task stays unknown, .* charged\.$/,
	);
	expect(said([task(0, '7')], failed(0, 'notFound'))).not.toMatch(/new one/);
});

test('with Retry On Fail, it is said that each attempt that failed in this way was charged', () => {
	const retriesOnFail = { retriesOnFail: true };
	const sentence = 'Retry On Fail is on: each attempt that failed like this was charged.';
	expect(said([gone(0)], failed(0, 'taskFailed'), retriesOnFail)).toBe(sentence);
	expect(said([], failed(0, 'generationFailed'), retriesOnFail)).toBe(sentence);
	expect(said([gone(0), task(1, '7')], failed(1, 'timedOut'), retriesOnFail)).not.toMatch(/like/);
	// An earlier attempt had a task that failed. The last one failed before it sent anything, which costs nothing.
	for (const kind of ['timedOut', 'outOfCredit', 'throttled', 'unreachable', 'notFound'] as const)
		expect(said([gone(0)], failed(0, kind), retriesOnFail)).not.toMatch(/Retry On Fail/);
	// The result of this request may still come, so it is not sent again.
	expect(said([sent(0)], failed(0, 'generationFailed'), retriesOnFail)).not.toMatch(/like/);
});

/** The error of an expression. */
const foreign = { index: 1, error: new Error('n8n’s own') };
const noCredit = { index: 1, error: new Failure('taskFailed', { meaning: 'credit' }) };
const passing = { index: 1, error: new Failure('downloadFailed', { transient: true }) };
const FIRST = /^First get the other rows: change only/;
const CONTINUE = /^To continue, open Executions/;
test.each<[string, RegExp, ...Parameters<typeof chargeSummary>]>([
	['n8n’s own error is about the row', FIRST, [task(0, '7')], foreign],
	['what is outside is told by its meaning, too', CONTINUE, [task(0, '7')], noCredit],
	['what may pass is outside', CONTINUE, [task(0, '7')], passing],
	['a retry keeps the rows', /A retry uses the rows as/, [task(0, '7')], failed(1, 'rejected')],
	['several rows', /: 2 other rows \(/, tasks(2), failed(2, 'outOfCredit')],
	[
		'several rows that may be charged',
		/does not send them again/,
		[sent(0), sent(1)],
		failed(2, 'rejected'),
	],
	[
		'no correction where nobody knows what came of the row',
		/^To get the other rows, change only/,
		[task(0, '7')],
		failed(1, 'indeterminate'),
	],
	[
		'nothing to retry where the token was replaced',
		/^$/,
		[task(1, '7')],
		failed(1, 'indeterminate'),
	],
	[
		'the task of another row is replaced, not that of the failed one',
		/^(?!.*new one)/,
		[gone(0), task(1, '7')],
		failed(1, 'notFound'),
	],
	[
		'what was collected for free is not charged',
		/^$/,
		[],
		failed(0, 'taskFailed'),
		{ retriesOnFail: true },
	],
	['a retry that paid nothing', /^$/, [], failed(0, 'rejected'), { isRetry: true }],
	[
		'a retry that paid',
		/Retry this execution, not an earlier one\.$/,
		[task(0, '7')],
		failed(1, 'outOfCredit'),
		{ isRetry: true },
	],
])('what to do: %s', (_, expected, ...summary) => {
	expect(said(...summary)).toMatch(expected);
});

test('nothing is said when nothing else is paid', () => {
	expect(canceledSummary([])).toBeUndefined();
	expect(said([sent(4)], failed(4, 'noResponse'))).toBe('');
});
