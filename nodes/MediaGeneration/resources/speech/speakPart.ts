import type { ServiceRecord } from '../../../shared/contract';
import { whenAborted, withDeadline } from '../../../shared/async/deadline';
import { Failure, isFailure, withFacts } from '../../../shared/failure';
import { nameOfTask, recordOwnWork } from '../../../shared/n8n/ownWork';
import { aboutTask } from '../../../shared/speech/speechTask';
import { encounterOf, type PaidRecord } from '../../paid/payments';
import type { Work } from '../../run/work';
import { collect, type Part, type Spoken, type Submitted, type WaitFields } from './collect';

/** What is to be said, and what is kept of it for a retry. */
export interface Order {
	/** Its fields (§4.1). */
	request: ServiceRecord;
	record: PaidRecord;
	/** Milliseconds until it must be there. */
	limitMs: number;
}

/** Submits a text, or a part of a long one, and waits for its task and its file. */
export async function speakPart(
	work: Work,
	part: Part,
	order: Order,
	wanted: WaitFields,
): Promise<Spoken> {
	return await collect(work, part, wanted, async (signal, ready) => {
		return await submit(work, part, order, signal, ready);
	}).catch((error: unknown) => {
		const { left } = order.record;
		if (left?.state === 'task' && isGone(error)) order.record.keep({ ...left, state: 'gone' });
		throw error;
	});
}

/**
 * The task of a text: that of an earlier attempt, or a new one, which is paid. `begin` aborts when no
 * create call may begin any more; none does before `ready`. Throws a Failure.
 */
export async function submit(
	work: Work,
	part: Part,
	order: Order,
	begin: AbortSignal,
	ready?: Promise<void>,
): Promise<Submitted> {
	const { record } = order;
	const { left } = record;
	if (left && !('taskId' in left)) {
		throw new Failure('unclear', { text: left.why, maybeAccepted: true, isSpeech: true });
	}
	if (left) {
		const { state, taskId } = left;
		// A failed task is worth nothing, but it is read once more before another is paid for.
		if (state === 'task' || (await isThere(work, taskId, begin))) {
			record.keep({ state: 'task', taskId });
			work.report.hint('Collected the task of an earlier attempt, at no extra charge');
			return { taskId, begins: 'kept' };
		}
	}
	// The deadline applies here, too.
	await Promise.race([ready, whenAborted(begin)]);
	const taskId = await create(work, part, order, begin);
	if (!work.concurrency.recordAccepted()) return { taskId, begins: 'created' };
	const isAlive = await isThere(work, taskId, begin).catch(() => false);
	if (isAlive) work.concurrency.recordAlive();
	return { taskId, begins: isAlive ? 'created' : 'kept' };
}

/** Reads whether the service has a task that has not failed. Throws a Failure. */
async function isThere({ api }: Work, taskId: string, signal: AbortSignal) {
	const task = await api.getTask(taskId, signal).catch((error: unknown) => {
		if (!isGone(error)) throw aboutTask(error, taskId);
	});
	return task !== undefined && task.state !== 'error';
}

/** Whether a task is worth nothing. A 404 from an edge says nothing about it. */
const isGone = (error: unknown): boolean =>
	isFailure(error, 'taskFailed') || (isFailure(error, 'notFound') && !error.facts.isEdge);

async function create(
	work: Work,
	part: Part,
	{ request, record, limitMs }: Order,
	begin: AbortSignal,
): Promise<string> {
	const { report } = work;
	report.milestone(`${part.name}sending the text`);
	// Another item's failure does not end it: its answer says what was paid for.
	const creating = withDeadline(limitMs, work.canceled, async (signal) => {
		// The next attempt must not pay again for what may have been accepted.
		const onSend = () => record.markSent({ state: 'sent' });
		const onRefused = () => record.markRefused();
		return await work.api.createTask(request, { signal, begin, onSend, onRefused });
	});
	recordOwnWork(work, creating, (taskId) => [nameOfTask(taskId)]);
	const taskId = await creating.catch((error: unknown) => {
		const isUnclear = error instanceof Failure && error.facts.maybeAccepted;
		if (isUnclear) record.keep({ state: 'sent', why: encounterOf(error) });
		throw withFacts(error, { isSpeech: true });
	});
	record.keep({ state: 'task', taskId });
	report.progress(`${part.name}task ${taskId} created`);
	const own = part.count > 1 && { part: part.index + 1 };
	report.recordPayment({ kind: 'speech', ...own, task: taskId });
	return taskId;
}
