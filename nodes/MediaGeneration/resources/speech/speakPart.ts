import type { Api } from '../../../shared/api/api';
import type { SpeechRequest } from '../../../shared/contract';
import { whenAborted, withDeadline } from '../../../shared/async/deadline';
import { Failure, isFailure, withFacts } from '../../../shared/failure';
import { egressCheckOf } from '../../../shared/http/request';
import { subscribe } from '../../../shared/speech/notifications';
import { recordTask } from '../../../shared/n8n/ownWork';
import { aboutTask } from '../../../shared/speech/speechTask';
import type { PaidRequest } from '../../paid/paidLog';
import type { PaidRecord } from '../../paid/payments';
import type { Work } from '../../run/work';
import { collect, type Part, type Spoken, type WaitFields } from './collect';

/** What is to be said, and what is kept of it for a retry. */
interface Order {
	request: SpeechRequest;
	record: PaidRecord;
}

/**
 * Creates the task of a text, or of a part of it, unless an earlier attempt has. Waits and fetches as far
 * as that is `wanted`.
 */
export async function speakPart(
	work: Work,
	part: Part,
	order: Order,
	wanted: WaitFields & { waits: boolean },
): Promise<Spoken | Pick<Spoken, 'taskId'>> {
	const { context, credential, api, report } = work;
	const { record } = order;
	// Messages can precede the create call's answer, so the socket is there before the task.
	const subscription = wanted.waits ? subscribe(credential, egressCheckOf(context)) : undefined;
	return await withDeadline(wanted.timeoutMs, part.stopped, async (signal) => {
		const remembered = record.left;
		const resumed = await taskToResume(api, remembered, signal);
		if (resumed !== undefined) {
			// It is no longer doubtful.
			record.keep({ state: 'task', taskId: resumed });
			report.hint('resumed', 'Collected the task of an earlier attempt, at no extra charge');
		} else if (remembered?.state === 'sent') {
			throw new Failure('unclear', { maybeAccepted: true, isSpeech: true });
		} else {
			// The deadline applies here, too.
			await Promise.race([subscription?.ready, whenAborted(signal)]);
		}
		const taskId = resumed ?? (await create(work, part, order, wanted.timeoutMs, signal));
		if (!subscription) return { taskId };
		const begins = resumed === undefined ? 'created' : 'kept';
		const wait = { taskId, begins, signal, subscription } as const;
		return await collect(work, part, wait, wanted).catch((error: unknown) => {
			if (isGone(error)) record.keep({ state: 'task', taskId, isGone: true });
			throw error;
		});
	}).finally(() => subscription?.release(work.signal.aborted ? undefined : 'soon'));
}

/** A failed task is worth nothing, but it is read once more before another is paid for. */
async function taskToResume(
	api: Api,
	remembered: PaidRequest | undefined,
	signal: AbortSignal,
): Promise<string | undefined> {
	if (remembered?.state !== 'task') return undefined;
	const { taskId, isGone: wasGone } = remembered;
	if (!wasGone) return taskId;
	const task = await api.getTask(taskId, signal).catch((error: unknown) => {
		if (!isGone(error)) throw aboutTask(error, taskId);
	});
	return task === undefined || task.state === 'error' ? undefined : taskId;
}

/** A 404 from an edge says nothing about the task. */
const isGone = (error: unknown) =>
	isFailure(error, 'taskFailed') || (isFailure(error, 'notFound') && !error.facts.isEdge);

/** Creates the task; `begin` aborts when no further attempt may begin. */
async function create(
	work: Work,
	part: Part,
	{ request, record }: Order,
	limitMs: number,
	begin: AbortSignal,
): Promise<string> {
	const { api, report } = work;
	let attempts = 0;
	// Another item's failure does not end it: its answer says what was paid for.
	return await withDeadline(limitMs, work.canceled, async (signal) => {
		report.milestone(`${part.name}sending the text`);
		const limits = {
			signal,
			begin,
			onSend() {
				// The next attempt must not pay again for what may have been accepted.
				record.markSent({ state: 'sent', sentAt: Date.now() });
				attempts++;
				report.noteAttempt();
			},
			onRefused: () => record.markRefused(),
		};
		const creating = recordTask(work, api.createTask(request, limits));
		const taskId = await creating.catch((error: unknown) => {
			throw withFacts(error, { isSpeech: true });
		});
		record.keep({ state: 'task', taskId });
		report.progress(`${part.name}task ${taskId} created`);
		const own = part.count === 1 ? {} : { part: part.index + 1 };
		report.recordPayment('speech', { ...own, task: taskId, attempts });
		return taskId;
	});
}
