import { randomUUID } from 'node:crypto';
import { storeSpeech } from './files.mts';
import { errorReply, refusalOfCreateCall, type Call, type Reply } from './replies.mts';
import { numberOf, scenariosIn, type Scenarios } from './scenarios.mts';
import { readOrder } from './speech-order.mts';
import type { TaskRecord } from './types.mts';
import type { Simulator } from './state.mts';

/**
 * A message about the progress of a task. `share` is when it is sent, as a share of the task's duration, from 0 to 1.
 */
type ProgressStep = readonly [share: number, percentage: number];

/** The usual messages of a task. The message with 100 % is not listed; it follows when the task ends. */
const PROGRESS_STEPS: readonly ProgressStep[] = [
	[0.2, 21],
	[0.4, 43],
	[0.55, 57],
	[0.7, 71],
	[0.88, 93],
];
/**
 * The duration of a task with an empty text, in ms, before the pace is applied. Each character of the text adds
 * MS_PER_LETTER.
 */
const BASE_DURATION_MS = 4_000;
const MS_PER_LETTER = 8;
const MAX_DURATION_MS = 8_000;
/** When a task of the scenario `task-fails` fails, as a share of its duration: before the first message. */
const EARLY_FAILURE_SHARE = 0.15;
/** How long after the end of a task the scenario `late-address` shows the audio URL by default, in seconds. */
const LATE_URL_SECONDS = 4;
/** How long the scenario `messages-first` delays the answer to the create call, in ms, before the pace is applied. */
const ANSWER_DELAY_MS = 500;
/** The least delay of the answer in the scenario `messages-first`, in ms, so that the messages surely come first. */
const MIN_ANSWER_DELAY_MS = 50;

/** POST /v1/labs/task (§4.1): checks the request, then accepts, charges and starts a speech task. */
export function createTask(sim: Simulator, call: Call): Reply {
	const order = readOrder(sim, call);
	if ('status' in order) return order;
	const scenarios = scenariosIn(order.input);
	const refusalReply = refusalOfCreateCall(sim, call, scenarios);
	if (refusalReply) return refusalReply;
	sim.chargedCalls++;
	const task: TaskRecord = {
		...order,
		id: sim.dialect.taskId === 'uuid' ? randomUUID() : String(sim.nextTaskId++),
		token: call.token,
		status: 'pending',
		percentage: 0,
		createdAt: sim.timestamp(),
		readCount: 0,
	};
	sim.tasks.set(task.id, task);
	sim.inFlight.add(task);
	runTask(sim, task, scenarios);
	const body = { [sim.dialect.createIdField]: task.id };
	if (!scenarios.has('messages-first')) return { status: 200, body };
	const delayMs = Math.max(MIN_ANSWER_DELAY_MS, sim.applyPace(ANSWER_DELAY_MS));
	return { status: 200, body, delayMs };
}

/** GET /v1/labs/task/{task_id} (§4.2): sends the task in the JSON of the dialect. */
export function readTask(sim: Simulator, call: Call, id: string): Reply {
	const task = sim.tasks.get(id);
	if (task?.token !== call.token) return errorReply(404, 'task_not_found');
	task.readCount++;
	const { dialect } = sim;
	const statusWord = task.status === 'failed' ? dialect.failureWord : task.status;
	const showsError = task.error !== undefined && dialect.failureField !== 'none';
	const body = {
		id: /^\d+$/.test(task.id) ? Number(task.id) : task.id,
		status: dialect.statusCase === 'UPPER' ? statusWord.toUpperCase() : statusWord,
		...urlFields(sim, task),
		process_percentage: task.percentage,
		input: task.input,
		voice_id: task.voiceId,
		model_id: task.modelId,
		...task.settings,
		created_at: task.createdAt,
		...(showsError ? { [dialect.failureField]: task.error } : {}),
	};
	return { status: 200, body };
}

/** DELETE /v1/labs/task/{task_id} (§4.3): deletes a task. A running task stops, and is charged nevertheless. */
export function deleteTask(sim: Simulator, call: Call, id: string): Reply {
	if (sim.tasks.get(id)?.token !== call.token) return errorReply(404, 'task_not_found');
	sim.taskControls.get(id)?.cancel();
	sim.taskControls.delete(id);
	sim.inFlight.delete(sim.tasks.get(id)!);
	sim.tasks.delete(id);
	sim.notifyWaiters();
	return { status: 200, body: { success: true } };
}

/** Returns the URLs of a task in the fields of the dialect. */
function urlFields(sim: Simulator, task: TaskRecord): Record<string, unknown> {
	const { audioField, relativeAudioUrl } = sim.dialect;
	const toWireUrl = (url: string) => (relativeAudioUrl ? new URL(url).pathname : url);
	// Before there is a URL, deployments with the field `result` send null. According to the contract, the field is
	// missing.
	if (!task.audioUrl) return audioField === 'result' ? { result: null, subtitle: null } : {};
	const audioUrl = toWireUrl(task.audioUrl);
	const field = audioField === 'result' ? 'result' : 'audio_url';
	return {
		[field]: audioField === 'nested' ? { url: audioUrl } : audioUrl,
		subtitle: task.subtitleUrl === undefined ? null : toWireUrl(task.subtitleUrl),
	};
}

/** Schedules everything that happens to a task until it ends. */
function runTask(sim: Simulator, task: TaskRecord, scenarios: Scenarios): void {
	const defaultMs = Math.min(MAX_DURATION_MS, BASE_DURATION_MS + task.input.length * MS_PER_LETTER);
	const durationMs = sim.applyPace(numberOf(scenarios, 'slow', defaultMs / 1000) * 1000);
	const cancelFunctions: Array<() => void> = [];
	const cancel = () => cancelFunctions.splice(0).forEach((cancelOne) => cancelOne());
	const schedule = (ms: number, action: () => void) =>
		cancelFunctions.push(sim.timers.after(ms, action));
	const endAfter = (ms: number, action: () => void) => {
		const end = () => {
			cancel();
			action();
		};
		sim.taskControls.set(task.id, { cancel, end });
		schedule(ms, end);
	};

	if (scenarios.has('task-fails')) {
		return endAfter(durationMs * EARLY_FAILURE_SHARE, () => failTask(sim, task));
	}
	for (const [share, percentage] of stepsOf(scenarios)) {
		if (share === 0) reportProgress(sim, task, scenarios, percentage);
		else schedule(durationMs * share, () => reportProgress(sim, task, scenarios, percentage));
	}
	endAfter(durationMs, () => {
		if (scenarios.has('task-fails-late')) return failTask(sim, task);
		task.status = 'completed';
		sim.inFlight.delete(task);
		if (scenarios.has('late-address')) {
			const lateMs = sim.applyPace(numberOf(scenarios, 'late-address', LATE_URL_SECONDS) * 1000);
			schedule(lateMs, () => publishFiles(sim, task, scenarios));
		} else {
			publishFiles(sim, task, scenarios);
		}
		reportProgress(sim, task, scenarios, 100);
		if (scenarios.has('duplicate-progress')) reportProgress(sim, task, scenarios, 100);
	});
}

/** Returns the messages about progress that the scenarios ask for. */
function stepsOf(scenarios: Scenarios): readonly ProgressStep[] {
	if (scenarios.has('messages-first')) {
		return PROGRESS_STEPS.map(([share, percentage]) => [percentage < 50 ? 0 : share, percentage]);
	}
	if (scenarios.has('duplicate-progress')) return PROGRESS_STEPS.flatMap((step) => [step, step]);
	if (scenarios.has('backward-progress')) {
		return PROGRESS_STEPS.flatMap((step, index): ProgressStep[] => {
			const backwardStep: ProgressStep = [step[0] + 0.05, step[1] - 14];
			return index % 2 === 1 ? [step, backwardStep] : [step];
		});
	}
	return PROGRESS_STEPS;
}

/** Sets the progress of a task and sends the message about it. */
function reportProgress(
	sim: Simulator,
	task: TaskRecord,
	scenarios: Scenarios,
	percentage: number,
): void {
	if (task.status === 'pending') task.status = 'processing';
	task.percentage = percentage;
	sim.notifyWaiters();
	if (scenarios.has('silent-socket')) return;
	sim.hub.send(task.token, {
		type: 'labs_status_updated',
		payload: { task_id: task.id, process_percentage: percentage },
	});
}

/** Stores the files of a completed task, so that reads have their URLs, and calls its callback URL. */
function publishFiles(sim: Simulator, task: TaskRecord, scenarios: Scenarios): void {
	task.readyAt = Date.now();
	Object.assign(task, storeSpeech(sim, task, scenarios));
	sim.notifyWaiters();
	sendCallback(sim, task);
}

function failTask(sim: Simulator, task: TaskRecord): void {
	task.status = 'failed';
	sim.inFlight.delete(task);
	task.error = 'Speech synthesis failed';
	sim.notifyWaiters();
	sendCallback(sim, task);
}

/**
 * Calls the callback URL, if there is one, of a task that has ended (§6.3). The call has no signature, and
 * is not repeated if it fails.
 */
function sendCallback(sim: Simulator, task: TaskRecord): void {
	if (!task.callBackUrl) return;
	const body = {
		id: task.id,
		input: task.input,
		result: task.audioUrl ?? '',
		subtitle: task.subtitleUrl ?? '',
		error: task.error ?? '',
	};
	const call = fetch(task.callBackUrl, {
		method: 'POST',
		headers: { 'Content-Type': 'application/json' },
		body: JSON.stringify(body),
		signal: sim.closeController.signal,
	});
	// A callback that fails is lost, as with the service itself.
	call.then((response) => response.body?.cancel()).catch(() => {});
}
