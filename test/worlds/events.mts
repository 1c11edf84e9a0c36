import { MINUTE } from './clock.mts';
import { beyond, type Book, count, type Given, marksIn, type Publication } from './ledger.mts';
import { kindOf } from './works.mts';

/** Events of a task that may be missed: once it has begun it may be over before they are told. */
const MISSABLE = ['progress'];

/** What an event tells: its kind, the task or the mark of the file, and how far it is. */
function eventOf({ json: { event, task_id, file_url, process_percentage: done } }: Given): string {
	const name = `${event} ${task_id ?? marksIn(String(file_url))[0]}`;
	return event === 'progress' ? `${name} ${done}` : name;
}

/** 6. Each event starts one execution, and nothing else does. */
export function* eventsOnce(trigger: Publication, book: Book): Iterable<string> {
	const { started, lives, from, events, taskIds, download } = trigger;
	// What has ended long before is not told, unless it is asked for by name.
	const since = taskIds.length > 0 ? 0 : from - 2 * MINUTE;
	yield* beyond(1, started, ({ given }) => eventOf(given));
	for (const { given, at } of started) {
		const [name, { event, task_id: task, error }] = [eventOf(given), given.json];
		if (!book.events.some((one) => one.event === name && one.at <= at && one.at >= since))
			yield `${name} is not true`;
		// Some come out before n8n has been told that it is published, or why it is not; it takes its time to start.
		if (!lives.some((life) => at > life.at - MINUTE && at <= life.to + 50))
			yield `${name} while nobody listens`;
		const isNamed = taskIds.length === 0 || !task || taskIds.includes(String(task));
		if (!isNamed || !events.includes(String(event))) yield `nobody asked for ${name}`;
		const files = download && !error && /completed|generated/.test(name) ? 1 : 0;
		if (given.marks.length !== files || !name.endsWith(given.marks[0] ?? ''))
			yield `${given.marks.length} files with ${name}`;
	}
}

/** 6b. None is missed, and no trigger dies. */
export function* eventsAll(trigger: Publication, book: Book): Iterable<string> {
	const { name, published, started, lives, spansOf, events, taskIds, download, isOld } = trigger;
	const { at: first = 0, process: listening } = lives.find(({ refused }) => !refused) ?? {};
	// Somebody looked into the history, and not for a generation of his own.
	const look = book.requests.find(({ path, attempt, status, at, process }) => {
		const isLook = path === '/v1/video/histories' && attempt === undefined;
		return isLook && status === 200 && at > first - MINUTE && process === listening;
	});
	// What is there at the first look is not reported.
	const looked = look?.answeredAt ?? Infinity;
	// With its process a trigger loses what n8n has not saved.
	const changes = lives.flatMap(({ at, process }, n) => {
		return n > 0 && process !== lives[n - 1]!.process ? at : [];
	});
	const calls = book.requests.filter(({ path, method, execution }) => {
		const isSpeech = method === 'POST' && kindOf(path) === 'speech';
		return isSpeech && isCalledBy(name, execution, book);
	});
	const lostCalls = calls.filter(({ status }) => status === 0 || status >= 500);
	// A slow file takes its slot for more than a minute, and the twenty-first waits for one.
	const isSlow = download && book.faults.some(({ as }) => as === 'slow');
	const slotMs = isSlow ? 2 * MINUTE : 0;
	const overlooked = new Set<string>();
	for (const { at: from, to, process } of lives) {
		const all = book.of('heard').filter((line) => line.process === process);
		const heard = all.filter((line) => line.at > from && line.at < to);
		for (const { event, at, id } of book.events) {
			const kind = event.split(' ')[0]!;
			// What was looked at when it was published is kept: what came since is made up for.
			const isNew = looked < at && (at > from || looked <= first);
			const isHeard = at > from && heard.some((one) => one.id === id);
			const isTask = taskIds.length > 0 ? taskIds.includes(id) : isHeard;
			const due = Math.max(at, from, book.calmFrom) + 3 * MINUTE + slotMs;
			// What it has heard of is kept for the next one in this process.
			const next = spansOf(MINUTE).find((span) => span.at <= from && span.to >= due);
			const isKept = !MISSABLE.includes(kind) && !changes.some((one) => one >= from && one <= due);
			const isDue = (due <= to || (next && isKept)) && (kind === 'generated' ? isNew : isTask);
			if (!isDue || !events.includes(kind) || event.endsWith(' 100')) continue;
			const isToldOf = started.some((one) => one.at < at && one.given.json.task_id === id);
			// By the time n8n starts executions again the task may be over.
			const isRefused = book.faults.some((one) => one.kind === 'n8n' && at > one.at - MINUTE);
			// So it may be by the time the service has answered a create call of its own, which the trigger sees within a
			// second.
			const isDelayed = calls.some((call) => call.at <= at && call.answeredAt + 1000 > at);
			if (MISSABLE.includes(kind) && (isToldOf || isRefused || isDelayed || at < from)) continue;
			// An n8n that would start it twice is not told again of what it was told right before its end.
			if (isOld && book.isKilled) continue;
			// Nor is any n8n two minutes later, which may have forgotten that it was told, even if it has refused to start it.
			const end = lives.find((life) => life.at < at && life.to > at)?.to ?? Infinity;
			const wasRefused = book.faults.some(
				(one) => one.kind === 'n8n' && one.at < end && one.ends > end,
			);
			if (wasRefused && changes.some((one) => one > at + 2 * MINUTE)) continue;
			if (isOwnOf(name, id, book)) continue;
			// A newer percentage may come in place of an older one.
			const nameOf = (full: string) => full.replace(/ \d+$/, '');
			const isTold = ({ at: toldAt, given }: (typeof started)[number]) =>
				toldAt <= due && nameOf(eventOf(given)) === nameOf(event);
			if (started.some(isTold)) continue;
			// The service repeats no texts, so the next unknown task counts as that of a lost create call.
			const isRecent = (call: { at: number }) => call.at <= at && call.at > at - 20 * MINUTE;
			const isSpeech = kind !== 'generated';
			if (isSpeech && (overlooked.has(id) || count(lostCalls, isRecent) > overlooked.size))
				overlooked.add(id);
			else yield `${event} starts nothing`;
		}
	}
	const { refused, at = 0 } = published.at(-1) ?? {};
	const isDead = book.of('unpublished').some((line) => line.at > at + 10 * MINUTE);
	if (refused && isDead) yield `${name} has died: ${refused}`;
}

/** 6c. What an n8n was told that drops duplicates is started, once it can be, or once n8n is back. */
export function* eventsKept(trigger: Publication, book: Book): Iterable<string> {
	const { emitted, started, spansOf, isOld } = trigger;
	for (const { key, event, at } of isOld ? [] : emitted) {
		const due = Math.max(at, book.calmFrom) + 5 * MINUTE;
		const isListening = spansOf(MINUTE).some((span) => span.at - MINUTE <= at && span.to >= due);
		const isStarted = started.some((line) => line.key === key && line.at <= due);
		// A newer percentage may come in its place.
		if (isListening && !isStarted && !MISSABLE.includes(event)) yield `${event} of ${key} is lost`;
	}
}

/** 6d. No workflow starts itself: what its sub-workflows create is passed over. */
export function* selfTrigger(trigger: Publication, book: Book): Iterable<string> {
	const { name, started, emitted } = trigger;
	for (const { given, key } of started) {
		const work = workOf(given, book);
		const { process } = emitted.find((line) => line.key === key) ?? {};
		// Another process has made it, as it may have before this one was started.
		const isOther = work?.request?.process !== process;
		// Nobody knows what a create call of speech has made whose answer was lost.
		const isUnknown = work && !work.isTold && given.json.task_id !== undefined;
		if (work && !isOther && !isUnknown && isOwnOf(name, work.id, book))
			yield `${work.id}, which it has made, starts ${name}`;
	}
}

/** The work that an event is about. */
const workOf = ({ json }: Given, { works }: Book) => {
	const [mark] = marksIn(String(json.task_id ?? json.file_url ?? json.id));
	return works.find(({ id, made }) => id === mark || made?.marks.includes(mark!));
};

/** A sub-workflow of this trigger has made it. */
const isOwnOf = (trigger: string, id: string, book: Book) => {
	const by = book.works.find((work) => work.id === id)?.request?.execution;
	return isCalledBy(trigger, by, book);
};

/** It is the execution of a sub-workflow of this trigger. */
const isCalledBy = (trigger: string, execution: string | undefined, { of }: Book) =>
	of('begun').some((line) => line.execution === execution && line.asked.calledBy === trigger);
