import { randomUUID } from 'node:crypto';
import type { SentRequest, ServiceRecord } from '../../../shared/contract';
import { whenAborted, withDeadline } from '../../../shared/async/deadline';
import { Failure, isFailure, withFacts } from '../../../shared/failure';
import { markLost, speechRequestsOf } from '../../../shared/generation/sentRequests';
import { creatorOf } from '../../../shared/n8n/ownWork';
import { aboutTask, type TaskWait } from '../../../shared/speech/speechTask';
import { encounterOf, type PaidRecord } from '../../paid/payments';
import type { Work } from '../../run/work';

/** One of the tasks that make up a speech; most have only one. */
export interface Part {
	/** From 0. */
	index: number;
	/** How many there are. */
	count: number;
	/** In front of what is said about it: `part 3 of 12, `, or nothing for the only one. */
	name: string;
	/** Aborts when its time is up, the run ends, or another part has failed. */
	signal: AbortSignal;
	/** Its time, in ms. */
	timeoutMs: number;
}

/** What is to be said, and what is kept of it for a retry. */
export interface Order {
	/** Its fields (§4.1). */
	request: ServiceRecord;
	record: PaidRecord;
}

/**
 * The task of a text: that of an earlier attempt, or a new one, which is paid; none is created before
 * `ready`, nor after the part's signal. Throws a Failure.
 */
export async function submit(
	work: Work,
	part: Part,
	{ request, record }: Order,
	ready?: Promise<void>,
): Promise<Pick<TaskWait, 'taskId' | 'begins'>> {
	const { api, concurrency, report } = work;
	const { signal: begin } = part;
	return await record.once(begin, async () => {
		const { left } = record;
		if (left && !('taskId' in left)) {
			throw new Failure('unclear', { text: left.why, maybeAccepted: true, isSpeech: true });
		}
		// A failed task is worth nothing, but it is read once more before another is paid for.
		if (left && (left.state === 'task' || (await isThere(work, left.taskId, begin)))) {
			record.keep({ ...left, state: 'task' });
			report.hint('Collected the task of an earlier attempt, at no extra charge');
			return { taskId: left.taskId, begins: 'kept' };
		}
		// The deadline applies here, too.
		await Promise.race([ready, whenAborted(begin)]);
		report.milestone(`${part.name}sending the text`);
		const requests = speechRequestsOf(work.credential);
		const asked = { prompt: '', kind: 'speech' as const, expected: 1, withImages: false };
		const own = { creator: creatorOf(work.context), key: randomUUID() };
		const sent: SentRequest = { ...asked, ...own, sentAt: 0, told: [], files: [] };
		// Another item's failure does not end it: its answer says what was paid for.
		const creating = withDeadline(part.timeoutMs, work.canceled, async (signal) => {
			const onSend = async () => {
				// The next attempt must not pay again for what may have been accepted.
				record.markSent({ state: 'sent' });
				sent.sentAt = Date.now();
				requests.remember(sent);
			};
			const onRefused = () => {
				record.markRefused();
				requests.drop(sent);
			};
			return await api.createTask(request, { signal, begin, onSend, onRefused });
		});
		const taskId = await creating.catch((error: unknown) => {
			markLost(sent, 0);
			const isUnclear = error instanceof Failure && error.facts.maybeAccepted;
			if (isUnclear) record.keep({ state: 'sent', why: encounterOf(error) });
			throw withFacts(error, { isSpeech: true });
		});
		sent.told.push(taskId);
		record.keep({ state: 'task', taskId });
		report.progress(`${part.name}task ${taskId} created`);
		const place = part.count > 1 && { part: part.index + 1 };
		report.recordPayment({ kind: 'speech', ...place, task: taskId });
		if (!concurrency.recordAccepted()) return { taskId, begins: 'created' };
		const isAlive = await isThere(work, taskId, begin).catch(() => false);
		if (isAlive) concurrency.recordAlive();
		// If it has failed, the account's pace has to hear of that at once.
		return { taskId, begins: isAlive ? 'created' : 'kept' };
	});
}

/** Reads whether the service has a task that has not failed. Throws a Failure. */
async function isThere({ api }: Work, taskId: string, signal: AbortSignal) {
	const task = await api.getTask(taskId, signal).catch((error: unknown) => {
		if (!isGone(error)) throw aboutTask(error, taskId);
	});
	return task !== undefined && task.state !== 'error';
}

/** Whether a task is worth nothing. */
export const isGone = (error: unknown): boolean => isFailure(error, 'taskFailed', 'notFound');
