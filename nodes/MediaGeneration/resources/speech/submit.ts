import type { ServiceRecord } from '../../../shared/contract';
import { whenAborted, withDeadline } from '../../../shared/async/deadline';
import { Failure, isFailure, withDefaultFacts } from '../../../shared/failure';
import {
	newRequest,
	speechRequestsOf,
	startSearch,
} from '../../../shared/generation/requestLedger';
import { creatorOf } from '../../../shared/n8n/creatorRegistry';
import { withTaskId, type TaskWait } from '../../../shared/speech/speechTask';
import { describeAttempt, type JournalEntry } from '../../paid/payments';
import type { ItemContext } from '../../run/itemContext';

/** One of the tasks that make up a speech; most have only one. */
export interface SpeechPart {
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
export interface SpeechOrder {
	/** Its fields (§4.1). */
	request: ServiceRecord;
	entry: JournalEntry;
}

/**
 * The task of a text: that of an earlier attempt, or a new one, which is paid; none is created before
 * `ready`, nor after the part's signal. Throws a Failure.
 */
export async function submit(
	item: ItemContext,
	part: SpeechPart,
	{ request, entry }: SpeechOrder,
	ready?: Promise<void>,
): Promise<Pick<TaskWait, 'taskId' | 'mode'>> {
	const { api, report } = item;
	const { signal: stopStarting } = part;
	return await entry.once(stopStarting, async () => {
		const { previous } = entry;
		if (previous && !('taskId' in previous)) {
			throw new Failure('indeterminate', {
				text: previous.indeterminateBecause,
				mayBeCharged: true,
				isSpeech: true,
			});
		}
		// A failed task is worth nothing, but it is read once more before another is paid for.
		if (
			previous &&
			(previous.state === 'task' || (await isUsable(item, previous.taskId, stopStarting)))
		) {
			entry.write({ ...previous, state: 'task' });
			report.hint('Collected the task of an earlier attempt, at no extra charge');
			return { taskId: previous.taskId, mode: 'reused' };
		}
		// The deadline applies here, too.
		await Promise.race([ready, whenAborted(stopStarting)]);
		report.log(`${part.name}sending the text`);
		const requests = speechRequestsOf(item.credential);
		const sent = newRequest({
			...{ prompt: '', kind: 'speech', requestedCount: 1, withImages: false },
			...{ creator: creatorOf(item.context), sentAt: 0 },
		});
		// Another item's failure does not end it: its answer says what was paid for.
		const creating = withDeadline(part.timeoutMs, item.canceled, async (signal) => {
			const onSend = async () => {
				// The next attempt must not pay again for what may have been accepted.
				entry.setSent({ state: 'sent' });
				sent.sentAt = Date.now();
				requests.add(sent);
			};
			const onRefused = () => {
				entry.setNotAccepted();
				requests.remove(sent);
			};
			return await api.createTask(request, { signal, stopStarting, onSend, onRefused });
		});
		const taskId = await creating.catch((error: unknown) => {
			startSearch(sent, 0);
			const isUnclear = error instanceof Failure && error.facts.mayBeCharged;
			if (isUnclear) entry.write({ state: 'sent', indeterminateBecause: describeAttempt(error) });
			throw withDefaultFacts(error, { isSpeech: true });
		});
		sent.announcedIds.push(taskId);
		entry.write({ state: 'task', taskId });
		report.progress(`${part.name}task ${taskId} created`);
		const place = part.count > 1 && { part: part.index + 1 };
		report.recordPayment({ kind: 'speech', ...place, task: taskId });
		return { taskId, mode: 'new' };
	});
}

/** Reads whether the service has a task that has not failed. Throws a Failure. */
async function isUsable({ api }: ItemContext, taskId: string, signal: AbortSignal) {
	const task = await api.getTask(taskId, signal).catch((error: unknown) => {
		if (!isGone(error)) throw withTaskId(error, taskId);
	});
	return task !== undefined && task.state !== 'error';
}

/** Whether a task is worth nothing. */
export const isGone = (error: unknown): boolean => isFailure(error, 'taskFailed', 'notFound');
