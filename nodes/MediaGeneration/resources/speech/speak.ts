import { MODEL_IDS, SPEECH_SETTINGS, type SpeechRequest } from '../../../shared/contract';
import { startDeadline, whenAborted } from '../../../shared/async/deadline';
import { Failure } from '../../../shared/failure';
import { aboutTask } from '../../../shared/speech/speechTask';
import type { Fields } from '../../../shared/n8n/parameters';
import { createdBy } from '../../../shared/speech/origins';
import type { Item, Job } from '../../run';
import { collect, readWaitFields } from './collect';

/** §4.1, shape A, with every setting sent: defaults of documents and deployments disagree. */
function readRequest(fields: Fields): SpeechRequest {
	const setting = (name: keyof typeof SPEECH_SETTINGS, displayName: string) =>
		fields.numberOption(name, displayName, SPEECH_SETTINGS[name].default, SPEECH_SETTINGS[name]);
	const callbackUrl = fields.callbackUrl();
	return {
		input: fields.text('text', 'Text'),
		voice_id: fields.locator('voiceId', 'Voice'),
		model_id: fields.choice('modelId', 'Model', MODEL_IDS),
		stability: setting('stability', 'Stability'),
		similarity: setting('similarity', 'Similarity'),
		style: setting('style', 'Style Exaggeration'),
		speed: setting('speed', 'Speed'),
		use_speaker_boost: fields.flagOption('useSpeakerBoost', true),
		...(callbackUrl === undefined ? {} : { call_back_url: callbackUrl }),
	};
}

/** Speech → Speak: creates a task (§4.1), waits for it (§6.2, §4.2) and fetches its audio. */
export function speak(item: Item): Job {
	const { fields, run, requests } = item;
	const request = readRequest(fields);
	const waits = fields.flag('waitForCompletion', true);
	const options = readWaitFields(fields, true);

	return async () => {
		const key = run.memory.keyOf(item.index);
		const remembered = run.memory.recall(key);
		if (remembered?.sentAt) run.paid.maybe(item.index, 'speech');
		if (remembered?.taskId) run.paid.surely(item.index, 'task', [remembered.taskId]);
		const deadline = startDeadline(options.timeout, run.stopped);
		// Messages can precede the create call's answer, so the socket is there before the task.
		const listening = waits ? run.listen() : undefined;
		try {
			const resumed = await taskToResume();
			let taskId = resumed;
			if (taskId === undefined) {
				if (remembered?.sentAt) throw new Failure('unclear', { maybeAccepted: true });
				// The deadline counts here as well.
				await Promise.race([listening?.ready, whenAborted(deadline.signal)]);
				taskId = await create();
			} else {
				item.hint(
					'resumed',
					`Collected the task of an earlier try instead of paying for a new one`,
				);
			}
			run.paid.surely(item.index, 'task', [taskId]);
			if (!waits) return [item.output({ task_id: taskId, status: 'pending' })];
			const origin = { justCreated: resumed === undefined, isKnown: true };
			return await collect(item, taskId, options, deadline.signal, listening!, origin).catch(
				(error: unknown) => {
					const failed = aboutTask(error, taskId!);
					if (isGone(failed)) run.memory.keep(key, { taskId, doubtful: true });
					throw failed;
				},
			);
		} finally {
			listening?.release();
			deadline.stop();
		}

		/** A failed task is worth nothing, but is asked for once more before another is paid for. */
		async function taskToResume(): Promise<string | undefined> {
			const { taskId, doubtful } = remembered ?? {};
			if (taskId === undefined || !doubtful) return taskId;
			const task = await requests.readTask(taskId, deadline.signal).catch((error: unknown) => {
				if (!isGone(error)) throw aboutTask(error, taskId);
			});
			return task === undefined || task.state === 'error' ? undefined : taskId;
		}

		async function create(): Promise<string> {
			// Another item's failure does not end it: its answer says what was paid for.
			const limit = startDeadline(options.timeout, run.canceled);
			try {
				item.tell('sending the text');
				const limits = {
					signal: limit.signal,
					begin: deadline.signal,
					onSend() {
						// A next try must not pay again for what may have been accepted.
						run.memory.keep(key, { sentAt: Date.now() });
						run.paid.maybe(item.index, 'speech');
					},
					onRefused() {
						run.memory.forget(key);
						run.paid.not(item.index);
					},
				};
				const send = async () => await requests.createTask(request, limits);
				const taskId = await createdBy(run.context, run.address, send, request.input);
				run.memory.keep(key, { taskId });
				// When the process is killed, n8n's log is the only record of what was paid.
				item.report(`task ${taskId} created`, 'info');
				return taskId;
			} finally {
				limit.stop();
			}
		}
	};
}

/** An edge that knows no such address does not know the tasks either. */
const isGone = (error: unknown) =>
	error instanceof Failure &&
	(error.kind === 'taskFailed' || (error.kind === 'notFound' && !error.facts.isEdge));
