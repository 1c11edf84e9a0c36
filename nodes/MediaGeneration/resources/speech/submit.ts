import type { ServiceRecord, SpeechOperation } from '../../../shared/contract';
import type { StopStarting } from '../../../shared/async/callSignals';
import { whenAborted, withDeadline } from '../../../shared/async/deadline';
import { Failure, isFailure, withDefaultFacts } from '../../../shared/failure';
import { newRequest, speechRequestsOf, searchEnd } from '../../../shared/generation/requestLedger';
import { creatorOf } from '../../../shared/n8n/creatorRegistry';
import { withTaskId, type TaskWait } from '../../../shared/speech/speechTask';
import { describeAttempt, type JournalEntry } from '../../paid/payments';
import type { ItemContext } from '../../run/itemContext';

/** One part of a speech. Each part is one task of the service. Most speeches have one part. */
export interface SpeechPart {
	/** Number of the part, from 0. */
	index: number;
	/** Number of parts of the speech. */
	count: number;
	/** The beginning of messages about the part: `part 3 of 12, `, or '' if there is only one. */
	name: string;
	/** Aborts when the part's time is up, the run ends, or another part has failed. */
	stopStarting: StopStarting;
	/** The part's time, in ms. */
	timeoutMs: number;
}

/** The create call for one part of a speech. */
export interface SpeechOrder {
	/** The operation whose call is sent. */
	operation: SpeechOperation;
	/** The body of the call. */
	request: ServiceRecord;
	entry: JournalEntry;
}

/**
 * Resolves with the task of one part: the task of an earlier attempt, or a new one, which is charged. The create
 * call is not sent before `ready` resolves, nor after the part's time is up or the run has ended. Throws a
 * Failure, of kind 'indeterminate' if an earlier attempt may have created a task whose id nobody knows.
 */
export async function submit(
	item: ItemContext,
	part: SpeechPart,
	{ operation, request, entry }: SpeechOrder,
	ready?: Promise<void>,
): Promise<Pick<TaskWait, 'taskId' | 'mode'>> {
	const { api, report } = item;
	const { stopStarting } = part;
	return await entry.once(stopStarting, async () => {
		const { previous } = entry;
		if (previous && !('taskId' in previous)) {
			throw new Failure('indeterminate', {
				text: previous.indeterminateBecause,
				mayBeCharged: true,
				makes: 'speech',
			});
		}
		// An earlier attempt has found the task failed or unknown. It is read once more before a new one is paid.
		if (
			previous &&
			(previous.state === 'task' || (await isUsable(item, previous.taskId, stopStarting)))
		) {
			report.hint(entry.collectedHint);
			entry.write({ ...previous, state: 'task' });
			return { taskId: previous.taskId, mode: 'reused' };
		}
		// The wait for the socket must not outlast the deadline.
		await Promise.race([ready, whenAborted(stopStarting)]);
		report.log(`${part.name}sending the text`);
		const requests = speechRequestsOf(item.credential);
		const sent = newRequest({
			...{ prompt: '', kind: 'speech', requestedCount: 1, withImages: false },
			...{ creator: creatorOf(item.context), sentAt: 0 },
		});
		// The failure of another item does not abort the call: only its answer tells which task was charged.
		const creating = withDeadline(part.timeoutMs, item.abortInFlight, async (abortInFlight) => {
			const onSend = async () => {
				// From now on the service may have accepted the call, so the next attempt must not send it again.
				entry.setSent({ state: 'sent' });
				sent.sentAt = Date.now();
				requests.add(sent);
			};
			const onRefused = () => {
				entry.setNotAccepted();
				requests.remove(sent);
			};
			const signals = { stopStarting, abortInFlight };
			return await api.createTask(operation, request, { ...signals, onSend, onRefused });
		});
		const taskId = await creating.catch((error: unknown) => {
			sent.searchUntil = searchEnd(sent, 0);
			const isUnclear = error instanceof Failure && error.facts.mayBeCharged;
			if (isUnclear) entry.write({ state: 'sent', indeterminateBecause: describeAttempt(error) });
			throw withDefaultFacts(error, { makes: 'speech' });
		});
		sent.announcedIds.push(taskId);
		entry.write({ state: 'task', taskId });
		report.progress(`${part.name}task ${taskId} created`);
		const place = part.count > 1 && { part: part.index + 1 };
		report.recordPayment({ kind: 'speech', ...place, task: taskId });
		return { taskId, mode: 'new' };
	});
}

/** Resolves with whether the service knows the task and it has not failed. Throws a Failure. */
async function isUsable({ api }: ItemContext, taskId: string, signal: AbortSignal) {
	const task = await api.getTask(taskId, signal).catch((error: unknown) => {
		if (!isGone(error)) throw withTaskId(error, taskId);
	});
	return task !== undefined && task.state !== 'error';
}

/** True if an error says that a task has failed, or that the service does not know it. */
export const isGone = (error: unknown): boolean => isFailure(error, 'taskFailed', 'notFound');
