import { MINUTE } from './clock.mts';
import { kindOf } from './jobs.mts';
import {
	count,
	idsIn,
	moreThan,
	type OutputItem,
	type Trace,
	type TriggerTrace,
} from './trace.mts';

/** Events of a task that a trigger may miss, because the task may end before the trigger can emit them. */
const MISSABLE = ['progress'];

/** Returns an event as the trace has it: its kind, the id of its task or file, and its percentage. */
function eventOf({ json }: OutputItem): string {
	const { event, task_id, file_url, process_percentage: percentage } = json;
	const name = `${event} ${task_id ?? idsIn(String(file_url))[0]}`;
	return event === 'progress' ? `${name} ${percentage}` : name;
}

/** 6. Each event starts one execution, and nothing else does. */
export function* eventsOnce(trigger: TriggerTrace, trace: Trace): Iterable<string> {
	const { started, activations, from, events, taskIds, download } = trigger;
	// What had ended long before the first activation is not reported, unless its task is listed.
	const since = taskIds.length > 0 ? 0 : from - 2 * MINUTE;
	yield* moreThan(1, started, ({ output }) => eventOf(output));
	for (const { output, at } of started) {
		const [name, { event, task_id: task, error }] = [eventOf(output), output.json];
		if (!trace.events.some((one) => one.event === name && one.at <= at && one.at >= since))
			yield `${name} is not true`;
		// A trigger may emit an event before n8n records the activation. n8n takes some time to start the execution.
		if (!activations.some((one) => at > one.at - MINUTE && at <= one.to + 50))
			yield `${name} while nobody listens`;
		const isListed = taskIds.length === 0 || !task || taskIds.includes(String(task));
		if (!isListed || !events.includes(String(event))) yield `nobody asked for ${name}`;
		const fileCount = download && !error && /completed|generated/.test(name) ? 1 : 0;
		if (output.fileIds.length !== fileCount || !name.endsWith(output.fileIds[0] ?? ''))
			yield `${output.fileIds.length} files with ${name}`;
	}
}

/** 6b. No event is missed, and no trigger dies. */
export function* eventsAll(trigger: TriggerTrace, trace: Trace): Iterable<string> {
	const { name, published, started, activations, activeSpans, events, taskIds } = trigger;
	const { at: firstAt = 0, process: firstProcess } =
		activations.find(({ refused }) => !refused) ?? {};
	const firstHistoryRead = trace.requests.find(({ path, attempt, status, at, process }) => {
		const isByTrigger = path === '/v1/video/histories' && attempt === undefined;
		return isByTrigger && status === 200 && at > firstAt - MINUTE && process === firstProcess;
	});
	// The entries of the first read are not reported.
	const historyReadAt = firstHistoryRead?.answeredAt ?? Infinity;
	/** When the trigger was activated in another process than before. What n8n had not saved was lost then. */
	const processChanges = activations.flatMap(({ at, process }, n) => {
		return n > 0 && process !== activations[n - 1]!.process ? at : [];
	});
	const ownSpeechCalls = trace.requests.filter(({ path, method, execution }) => {
		const isSpeech = method === 'POST' && kindOf(path) === 'speech';
		return isSpeech && isCalledBy(name, execution, trace);
	});
	const lostCalls = ownSpeechCalls.filter(({ status }) => status === 0 || status >= 500);
	// A slow download occupies its slot for more than a minute, and the twenty-first event has to wait for a slot.
	const isSlow = trigger.download && trace.faults.some(({ mode }) => mode === 'slow');
	const slotMs = isSlow ? 2 * MINUTE : 0;
	/** The tasks that the trigger may have taken for those of lost create calls. */
	const misattributed = new Set<string>();
	for (const { at: from, to, process } of activations) {
		const messages = trace
			.of('message')
			.filter((line) => line.process === process && line.at > from && line.at < to);
		for (const { event, at, id } of trace.events) {
			const kind = event.split(' ')[0]!;
			// What the first activation has read is saved, so later activations report what came in between.
			const isNewEntry = historyReadAt < at && (at > from || historyReadAt <= firstAt);
			const isInMessage = at > from && messages.some((one) => one.id === id);
			const isKnownTask = taskIds.length > 0 ? taskIds.includes(id) : isInMessage;
			const due = Math.max(at, from, trace.faultsEndAt) + 3 * MINUTE + slotMs;
			// Tasks that are in flight are handed over to the next activation in the same process.
			const isActive = activeSpans(MINUTE).some((span) => span.at <= from && span.to >= due);
			const isHandedOver =
				!MISSABLE.includes(kind) && !processChanges.some((one) => one >= from && one <= due);
			const isDue =
				(due <= to || (isActive && isHandedOver)) &&
				(kind === 'generated' ? isNewEntry : isKnownTask);
			if (!isDue || !events.includes(kind) || event.endsWith(' 100')) continue;
			const hasEarlierEvent = started.some((one) => one.at < at && one.output.json.task_id === id);
			// When n8n can start executions again, the task may have ended.
			const isN8nDown = trace.faults.some((one) => one.kind === 'n8n' && at > one.at - MINUTE);
			// The event may wait for the answer to a create call of a sub-workflow, which may have created the task.
			const isDelayed = ownSpeechCalls.some((call) => call.at <= at && call.answeredAt + 1000 > at);
			if (MISSABLE.includes(kind) && (hasEarlierEvent || isN8nDown || isDelayed || at < from))
				continue;
			// Without deduplication keys, an event that was emitted right before n8n was killed is not emitted again.
			if (trigger.lacksDedupKeys && trace.isKilled) continue;
			// With them, it is not emitted again after two minutes, because n8n may have forgotten the key. That is so even
			// if n8n could not start the execution.
			const end = activations.find((one) => one.at < at && one.to > at)?.to ?? Infinity;
			const couldNotStart = trace.faults.some(
				(one) => one.kind === 'n8n' && one.at < end && one.ends > end,
			);
			if (couldNotStart && processChanges.some((one) => one > at + 2 * MINUTE)) continue;
			if (isOwnJob(name, id, trace)) continue;
			// A newer percentage may replace an older one.
			const withoutPercentage = (full: string) => full.replace(/ \d+$/, '');
			const isReport = ({ at: startedAt, output }: (typeof started)[number]) =>
				startedAt <= due && withoutPercentage(eventOf(output)) === withoutPercentage(event);
			if (started.some(isReport)) continue;
			// This service does not return the text of a task, so the next unknown task counts as that of a lost create call.
			const isRecent = (call: { at: number }) => call.at <= at && call.at > at - 20 * MINUTE;
			const isSpeech = kind !== 'generated';
			const mayBeMisattributed =
				misattributed.has(id) || count(lostCalls, isRecent) > misattributed.size;
			if (isSpeech && mayBeMisattributed) misattributed.add(id);
			else yield `${event} starts nothing`;
		}
	}
	const { refused, at = 0 } = published.at(-1) ?? {};
	const isDead = trace.of('unpublished').some((line) => line.at > at + 10 * MINUTE);
	if (refused && isDead) yield `${name} has died: ${refused}`;
}

/** 6c. An emitted event starts an execution, also if n8n is down for a time, unless n8n has no deduplication keys. */
export function* eventsKept(trigger: TriggerTrace, trace: Trace): Iterable<string> {
	const { emitted, started, activeSpans, lacksDedupKeys } = trigger;
	for (const { key, event, at } of lacksDedupKeys ? [] : emitted) {
		const due = Math.max(at, trace.faultsEndAt) + 5 * MINUTE;
		const isActive = activeSpans(MINUTE).some((span) => span.at - MINUTE <= at && span.to >= due);
		const isStarted = started.some((line) => line.key === key && line.at <= due);
		// A newer percentage may replace an older one.
		if (isActive && !isStarted && !MISSABLE.includes(event)) yield `${event} of ${key} is lost`;
	}
}

/** 6d. No workflow starts itself: what its sub-workflows create starts nothing. */
export function* selfTrigger(trigger: TriggerTrace, trace: Trace): Iterable<string> {
	const { name, started, emitted } = trigger;
	for (const { output, key } of started) {
		const job = jobOf(output, trace);
		const { process } = emitted.find((line) => line.key === key) ?? {};
		// The trigger knows only what its own process has created.
		const isOfOtherProcess = job?.request?.process !== process;
		// After a lost answer to a create call of speech, nobody knows the id of the task.
		const isUnknown = job && !job.isAnnounced && output.json.task_id !== undefined;
		if (job && !isOfOtherProcess && !isUnknown && isOwnJob(name, job.id, trace))
			yield `${job.id}, which it has made, starts ${name}`;
	}
}

/** Returns the job that an event is about. */
const jobOf = ({ json }: OutputItem, { jobs }: Trace) => {
	const [id] = idsIn(String(json.task_id ?? json.file_url ?? json.id));
	return jobs.find((job) => job.id === id || job.finished?.fileIds.includes(id!));
};

/** True if a sub-workflow of this trigger has created the job. */
const isOwnJob = (trigger: string, id: string, trace: Trace) => {
	const execution = trace.jobs.find((job) => job.id === id)?.request?.execution;
	return isCalledBy(trigger, execution, trace);
};

/** True for an execution of a sub-workflow of this trigger. */
const isCalledBy = (trigger: string, execution: string | undefined, { of }: Trace) =>
	of('launched').some((line) => line.execution === execution && line.plan.calledBy === trigger);
