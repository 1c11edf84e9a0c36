import type { ServiceRecord, PaidSpeechOperation } from '../../../shared/contract';
import { withDeadline } from '../../../shared/async/deadline';
import { Failure, isFailure, withDefaultFacts } from '../../../shared/failure';
import { ledgerOf, newRequest, promptStart } from '../../../shared/generation/requestLedger';
import type { TaskWait } from '../../../shared/speech/speechTask';
import { describeFailedAttempt, type JournalEntry } from '../../paid/journal';
import type { ItemContext } from '../../run/operation';

/** The create call of one speech task, for a whole text or for one part of it. */
export interface SpeechOrder {
	operation: PaidSpeechOperation;
	/** If the create call gets no response, a trigger recognizes the task only by `input`, its text. */
	requestBody: ServiceRecord & { input: string };
	entry: JournalEntry;
}

/** The id of a speech task. `readFirst`: see `TaskWait`. */
type SubmittedTask = Pick<TaskWait, 'taskId' | 'readFirst'>;

/**
 * Resolves with the task of an earlier attempt, or else with a new task, which is charged. The create call is not sent
 * after `item.stopStarting` has aborted; it is aborted after `timeoutMs`. Throws a Failure. Its kind is 'indeterminate'
 * if an earlier attempt may have created a task whose id is unknown.
 */
export const submit = async (
	item: ItemContext,
	order: SpeechOrder,
	timeoutMs: number,
): Promise<SubmittedTask> =>
	await order.entry.createOnce(
		item.stopStarting,
		async () => (await findPreviousTask(item, order)) ?? (await create(item, order, timeoutMs)),
	);

/** Resolves with the task of an earlier attempt, if any. Throws a Failure: 'indeterminate' if its id is unknown. */
async function findPreviousTask(
	item: ItemContext,
	{ entry }: SpeechOrder,
): Promise<SubmittedTask | undefined> {
	const { value: previous } = entry;
	if (!previous) return undefined;
	if (!('taskId' in previous)) {
		throw new Failure('indeterminate', {
			reason: previous.firstFailure,
			mayBeCharged: true,
			mediaKind: 'speech',
		});
	}
	const { state, taskId } = previous;
	// A task that is marked as gone is read once more before another one is created, which is charged.
	if (state === 'gone' && !(await isUsable(item, taskId))) return undefined;
	item.report.hint(entry.collectedHint);
	entry.write({ ...previous, state: 'task' });
	return { taskId, readFirst: true };
}

/** Sends the create call, which is charged, and resolves with the new task. Throws a Failure if the call fails. */
async function create(
	item: ItemContext,
	{ operation, requestBody, entry }: SpeechOrder,
	timeoutMs: number,
): Promise<SubmittedTask> {
	const { api, report, stopStarting } = item;
	report.log('sending the text');
	const { accountKey } = item.credential;
	const ledger = ledgerOf(item.credential);
	const ledgerRequest = newRequest({
		accountKey,
		prompt: requestBody.input.trim(),
		contentDigest: '',
		kind: 'speech',
		requestedCount: 1,
		hasHiddenInputs: false,
		creator: item.creator,
		sentAt: Date.now(),
	});
	// The failure of another item does not abort the call, because the response tells which task was charged.
	const taskId = await withDeadline(timeoutMs, item.abortInFlight, async (abortInFlight) => {
		return await api.createTask(operation, requestBody, {
			stopStarting,
			abortInFlight,
			onSend() {
				// From now on the service may have accepted the call, so the next attempt must not send it again.
				entry.setSent({ state: 'sent' });
				ledgerRequest.sentAt = Date.now();
				ledger.add(ledgerRequest);
			},
			onNotAccepted(failure) {
				entry.setNotAccepted();
				ledger.remove(ledgerRequest);
				report.showRefusal(failure);
			},
		});
	}).catch((error: unknown) => {
		ledgerRequest.searchUntil = Date.now();
		if (error instanceof Failure && error.facts.mayBeCharged)
			entry.write({ state: 'sent', firstFailure: describeFailedAttempt(error) });
		throw withDefaultFacts(error, { mediaKind: 'speech' });
	});
	ledgerRequest.announcedIds.push(taskId);
	ledgerRequest.prompt = promptStart(ledgerRequest.prompt);
	entry.write({ state: 'task', taskId, createdAt: Date.now(), accountKey });
	report.progress(`task ${taskId} created`);
	report.logCharge('speech', { task: taskId });
	return { taskId, readFirst: false };
}

/** True if the service knows the task, and it has not failed. Throws a Failure if it cannot be read. */
async function isUsable({ api, stopStarting }: ItemContext, taskId: string) {
	const task = await api.getTask(taskId, stopStarting).catch((error: unknown) => {
		if (!isTaskGone(error)) throw withDefaultFacts(error, { taskId });
	});
	return task !== undefined && task.end !== 'error';
}

/** True if an error says that a task has failed, or that the service does not know it. */
export const isTaskGone = (error: unknown): error is Failure =>
	isFailure(error, 'taskFailed', 'notFound');
