import type { Api } from '../../../shared/api/api';
import type { SpeechRequest } from '../../../shared/contract';
import { whenAborted, withDeadline } from '../../../shared/async/deadline';
import { Failure, isFailure, withFacts } from '../../../shared/failure';
import { createdBy } from '../../../shared/n8n/origins';
import { aboutTask } from '../../../shared/speech/speechTask';
import type { PaidRequest } from '../../paid/resume';
import type { Item } from '../../run/item';
import { collect, type Part, type Spoken, type WaitFields } from './collect';

/** What is to be said, and the key by which a retry recognises it. */
interface Order {
	request: SpeechRequest;
	key: string;
}

/**
 * Creates the task of a text, or of a part of it, unless an earlier attempt has. Waits and fetches as far
 * as that is `wanted`.
 */
export async function speakPart(
	item: Item,
	part: Part,
	order: Order,
	wanted: WaitFields & { waits: boolean },
): Promise<Spoken | Pick<Spoken, 'taskId'>> {
	const { run, api } = item;
	const { key } = order;
	// Messages can precede the create call's answer, so the socket is there before the task.
	const subscription = wanted.waits ? run.subscribe() : undefined;
	return await withDeadline(wanted.timeoutMs, part.stopped, async (signal) => {
		const remembered = run.resume.find(key);
		const resumed = await taskToResume(api, remembered, signal);
		if (resumed !== undefined) {
			// It is no longer doubtful.
			run.resume.save(key, { taskId: resumed });
			item.hint('resumed', 'Collected the task of an earlier attempt, at no extra charge');
		} else if (remembered?.sentAt) {
			throw new Failure('unclear', { maybeAccepted: true, isSpeech: true });
		} else {
			// The deadline applies here, too.
			await Promise.race([subscription?.ready, whenAborted(signal)]);
		}
		const taskId = resumed ?? (await create(item, part, order, wanted.timeoutMs, signal));
		if (!subscription) return { taskId };
		const justCreated = resumed === undefined;
		const wait = { taskId, signal, subscription, justCreated, isKnown: true };
		return await collect(item, part, wait, wanted).catch((error: unknown) => {
			if (isGone(error)) run.resume.save(key, { taskId, doubtful: true });
			throw error;
		});
	}).finally(() => subscription?.release());
}

/** A failed task is worth nothing, but it is read once more before another is paid for. */
async function taskToResume(
	api: Api,
	remembered: PaidRequest | undefined,
	signal: AbortSignal,
): Promise<string | undefined> {
	const { taskId, doubtful } = remembered ?? {};
	if (taskId === undefined || !doubtful) return taskId;
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
	item: Item,
	part: Part,
	{ request, key }: Order,
	limitMs: number,
	begin: AbortSignal,
): Promise<string> {
	const { run, api } = item;
	let attempts = 0;
	// Another item's failure does not end it: its answer says what was paid for.
	return await withDeadline(limitMs, run.canceled, async (signal) => {
		item.report(`${part.name}sending the text`);
		const limits = {
			signal,
			begin,
			onSend() {
				// The next attempt must not pay again for what may have been accepted.
				run.resume.save(key, { sentAt: Date.now() });
				attempts++;
				item.asked();
			},
			onRefused: () => item.refused(key),
		};
		const send = async () => await api.createTask(request, limits);
		const taskId = await createdBy(run.context, run.credential, send, request.input).catch(
			(error: unknown) => {
				throw withFacts(error, { isSpeech: true });
			},
		);
		run.resume.save(key, { taskId });
		item.tell(`${part.name}task ${taskId} created`);
		const own = part.count === 1 ? {} : { part: part.index + 1 };
		item.log.paid('speech', { ...own, task: taskId, attempts });
		return taskId;
	});
}
