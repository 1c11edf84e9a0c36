import { takesImages } from '../service/operations.mts';
import { MINUTE, SECOND } from './clock.mts';
import { eventsAll, eventsKept, eventsOnce, selfTrigger } from './events.mts';
import { deliveredOrNamed, errorOf, ownFile, paidOnce } from './paid.mts';
import { API, TOKEN } from './service.mts';
import { count, type Line, type Lineage, moreThan, type Trace, traceOf } from './trace.mts';

/*
 * Decides whether a world has kept the promises, by its trace alone, without knowing what was drawn. Each rule yields its
 * complaints.
 */

/** True for a fault that a node with a long Timeout survives. */
const isSurvivable = ({ kind, mode, at, ends }: Trace['faults'][number]) => {
	if (kind === 'rate' || kind === 'concurrency') return mode !== 'task' && ends - at <= 5 * MINUTE;
	const survivableKinds =
		/^(lag|noUrl|messages|sockets|files|disconnect|silentStream|heartbeats|partial|expiringUrls|n8n)$/;
	return mode !== 'slow' && survivableKinds.test(kind);
};

type Request = Lineage['requests'][number];

/** True for a read that another execution of its process may wait for. It then goes on without the one that began it. */
function isShared({ method, at, process }: Request, trace: Trace): boolean {
	const hasEnded = (execution: string) =>
		trace.of('ended').some((line) => line.execution === execution && line.at < at);
	const others = trace.of('launched').filter((line) => line.process === process && line.at <= at);
	return method === 'GET' && others.some((line) => !hasEnded(line.execution));
}

/** True for a read of a task by a trigger that has just got a message over the socket that an execution has opened. */
function isOfTrigger({ at, process }: Request, id: string, trace: Trace): boolean {
	const isCause = (line: { at: number; id: string; process: string }) =>
		line.id === id &&
		line.process === process &&
		line.at <= at &&
		(line.at > at - 1500 || isSlowed(trace, line.at, at));
	const isPublished = trace.of('published').some((line) => line.process === process);
	return isPublished && trace.of('message').some(isCause);
}

/** 4. The node waits as long as it is told to and no longer. When it is stopped, it stops within a second. */
function* inTime(
	{ plan, launched, ended, requests, ...lineage }: Lineage,
	trace: Trace,
): Iterable<string> {
	const { stopped, timeoutMs, jobs } = lineage;
	for (const { execution, at: from, process } of launched) {
		const end = ended.find((line) => line.execution === execution)?.at ?? Infinity;
		const stop = stopped?.execution === execution ? stopped.at : end;
		const killed = trace.of('killed').find((line) => line.process === process && line.at >= from);
		if (end === Infinity && !killed) yield `${execution} does not end`;
		// After a stop, n8n still makes the remaining tries of Retry On Fail, a second apart.
		if (end > stop + plan.tries * SECOND) yield `${execution} does not stop`;
		const lateCount = count(requests, (line) => {
			return line.execution === execution && line.at > stop + SECOND && !isShared(line, trace);
		});
		if (lateCount > 0) yield `${execution} sends ${lateCount} requests after its end`;
		// How long an execution may go on after the last thing that happened, here or at the service. The result of a
		// request with images may be recognizable in its stream alone. After its Timeout, Retry On Fail searches for ten
		// minutes.
		const maxQuietMs = Math.max(
			16 * MINUTE,
			takesImages(plan.operation) ? timeoutMs + 11 * MINUTE : 0,
		);
		const progress = [...jobs.flatMap(({ finished }) => finished ?? []), ...trace.of('served')];
		const last = Math.max(
			from,
			trace.faultsEndAt,
			...progress.map(({ at }) => (at < end ? at : 0)),
		);
		const lateMs = end - last - maxQuietMs;
		if (lateMs > 0 && !killed) yield `${execution} ends ${lateMs} ms late`;
	}
	for (const { id, at, request } of jobs) {
		const sameAttempt = requests.filter(({ attempt }) => attempt === request!.attempt);
		const isRead = (line: Request) => line.path.endsWith(`/${id}`) && !isOfTrigger(line, id, trace);
		const last = sameAttempt.findLast(isRead)?.at ?? 0;
		if (last > at + timeoutMs + 10 * SECOND)
			yield `${id} is read ${last - at} ms after its request`;
	}
}

/** 4b. The node survives faults that pass. After the last fault, all ends well within a limited time. */
function* endsWell(
	lineage: Lineage,
	{ faults, isKilled, jobs, faultsEndAt }: Trace,
): Iterable<string> {
	const { plan, launched, ended, stopped, name, maxCreateCalls, requests, paid, timeoutMs } =
		lineage;
	const { operation, items, options, onError } = plan;
	const last = ended.at(-1);
	const maxPaid = Number(options.maxPaidPerExecution ?? Infinity);
	if (!last || stopped || isKilled || maxPaid < maxCreateCalls) return;
	if (faults.some(({ mode }) => mode === 'slow') && timeoutMs <= 5 * MINUTE) return;
	const reasonOf = (end: typeof last) =>
		errorOf(end) ?? (end.status === 'success' ? undefined : end.status);
	const ownJobs = jobs.filter(({ request, text }) =>
		request ? requests.includes(request) : operation === 'speech:wait' && items.includes(text),
	);
	// After a lost stream, a result is recognized by its prompt, unless another job has the same prompt. With images, it
	// never is.
	const hasImages = takesImages(operation);
	const hasOwnPrompt = ({ prompt }: (typeof jobs)[number]) =>
		!hasImages && jobs.every((one) => one.prompt !== prompt || ownJobs.includes(one));
	if (faults.every(isSurvivable)) {
		const isInTime = ownJobs.every(
			({ at, finished }) => finished && finished.at < at + timeoutMs - 20 * SECOND,
		);
		const isRecognizable = ownJobs.every((job) => job.isAnnounced || hasOwnPrompt(job));
		const mustSurvive = timeoutMs >= 15 * MINUTE && isRecognizable;
		const error = reasonOf(ended[0]!);
		if (error && (faults.length > 0 ? mustSurvive : isInTime)) yield `${name} fails: ${error}`;
		const finishedAt = Math.max(
			lineage.at,
			faultsEndAt,
			...ownJobs.map((job) => job.finished?.at ?? 0),
		);
		// After a rate limit without Retry-After, reads may be five seconds apart.
		const readMs = Math.max(75, 15 + 5 * items.length) * SECOND;
		// The default of Idle Timeout is five minutes, and comments count as silence.
		const isSilent = hasImages || faults.some(({ kind }) => kind === 'heartbeats');
		// A file whose refusal was not announced is searched for ten minutes more.
		const searchMs = faults.some(({ kind }) => kind === 'partial') ? 10 * MINUTE : 0;
		const lateMs = last.at - finishedAt - searchMs - (isSilent ? 6 * MINUTE : readMs);
		if (!error && ended.length === 1 && lateMs > 0) yield `${name} ends ${lateMs} ms late`;
	}
	const lastLaunchAt = launched.at(-1)!.at;
	// A failure may be about one of several files, or about a job with the same prompt, so the node searches for ten minutes.
	const searchMs = plan.fileCount > 1 ? 10 * MINUTE : 0;
	const isSettled = paid.every(({ n }) => {
		const job = ownJobs.find((one) => one.n === n);
		if (!job?.isAnnounced) return false;
		const { finished, failureAnnounced } = job;
		const isFailureClear = plan.fileCount === 1 || hasOwnPrompt(job);
		const hasFailed =
			failureAnnounced && isFailureClear && failureAnnounced.at + searchMs < lastLaunchAt;
		return (finished && finished.at < lastLaunchAt) || hasFailed;
	});
	if (last.status === 'success' || onError !== 'stopWorkflow' || !isSettled) return;
	if (count(ownJobs, ({ isFailed }) => isFailed) < 2)
		yield `${name} never ends well: ${reasonOf(last)}`;
}

/** Returns true if a fault may have slowed the node down between two times. */
const isSlowed = ({ faults, of }: Trace, from: number, to: number) =>
	faults.some(({ kind, mode, at, ends }) => {
		const isSlow = mode === 'slow' || /outage|rate|concurrency|quota|lostAnswer|failure/.test(kind);
		// A task that fails because too many run may be read only an hour later, by a retry.
		const lastFailure =
			mode === 'task'
				? of('failed').findLast((line) => line.isAnnounced && line.at < to)
				: undefined;
		return isSlow && at < to && Math.max(ends, lastFailure?.at ?? 0) + 15 * MINUTE > from;
	});

/** 4c. A task is read as soon as a message says that it is completed. */
function* readAtOnce(
	{ stopped, ended, jobs, attempts, timeoutMs }: Lineage,
	trace: Trace,
): Iterable<string> {
	const end = stopped?.at ?? ended[0]?.at ?? 0;
	const completions = trace
		.of('message')
		.filter(({ percentage, at }) => percentage === 100 && at < end);
	for (const { at: chargedAt, id, request, finished, isAnnounced } of trace.isKilled ? [] : jobs) {
		// A replica that lags behind does not know the task for the first seconds.
		if (!finished || !isAnnounced || finished.at < chargedAt + 6 * SECOND) continue;
		const message = completions.find((line) => {
			return line.id === id && line.process === request!.process && line.at >= finished.at;
		});
		// The Timeout of an item may begin before its request is sent.
		const attemptAt = attempts.find(({ attempt }) => attempt === request!.attempt)!.at;
		if (!message || message.at + SECOND >= attemptAt + timeoutMs) continue;
		if (isSlowed(trace, finished.at, message.at + 1500)) continue;
		// A read that was on its way when the task was completed counts, too, and so does a read by a trigger of the process,
		// because reads are shared.
		const isRead = trace.requests.some(({ path, at, process }) => {
			const isOfProcess = process === message.process && path.endsWith(`/${id}`);
			return isOfProcess && at > finished.at - 50 && at <= message.at + 1500;
		});
		if (!isRead) yield `${id} is not read when it is said to be ready`;
	}
}

/** 5. The node is as fast as the service allows, and no faster than Concurrency allows. */
function* atPace(
	{ plan, ended, stopped, jobs, attempts }: Lineage,
	trace: Trace,
): Iterable<string> {
	const concurrency = Number(plan.options.concurrency ?? 0) || Infinity;
	const used = new Set(ended.flatMap(({ outputs }) => outputs.flatMap(({ fileIds }) => fileIds)));
	if (attempts.length !== 1) return;
	// A job whose file is output was in flight until the file was ready.
	const delivered = jobs.filter(({ finished }) => used.has(finished?.fileIds[0] ?? ''));
	for (const { at, id } of delivered) {
		const inFlight = count(delivered, (job) => job.at <= at && job.finished!.at > at);
		if (inFlight > concurrency) yield `${inFlight} at once with ${id}`;
	}
	if (stopped || trace.isKilled || jobs.length === 0 || ended.length === 0) return;
	const [from, sentAt] = [attempts[0]!.at, jobs.map(({ at }) => at)];
	const dueAt = from + 2 * SECOND;
	// A process remembers how many were too many at once, however long ago that was.
	const isHeldDown = trace.faults.some(({ mode, at }) => mode === 'task' && at < dueAt);
	if (Math.min(...sentAt) > dueAt && !isHeldDown && !isSlowed(trace, from, dueAt))
		yield 'it begins late';
	const isCalm = trace.faults.every(({ at }) => at > ended[0]!.at);
	// All runs of a process share 16 slots until calls have proved healthy.
	if (!isCalm || concurrency < jobs.length || trace.jobs.length > 16) return;
	if (Math.max(...sentAt) > dueAt) yield 'it goes on late';
	const lateMs = ended[0]!.at - Math.max(...jobs.map((job) => job.finished?.at ?? Infinity));
	// After five minutes of silence, the node reads the history every ten seconds.
	const isSilent = jobs.some((job) => job.finished!.at - job.at > 5 * MINUTE);
	// In the last two seconds of the Timeout, the node reads the history instead of the stream.
	const finalReadAt = from + (Number(plan.options.timeout ?? Infinity) - 2) * SECOND;
	const isFinalRead = jobs.some((job) => job.finished!.at > finalReadAt);
	if (lateMs > (isSilent ? 11 : isFinalRead ? 2 : 1) * SECOND)
		yield `it ends ${lateMs} ms after its last result`;
}

/** 5b. After a create call without a clear answer, a process sends none until another request has succeeded. */
function* afterOutage({ requests }: Trace): Iterable<string> {
	for (const { n, at, process, method } of requests) {
		const earlier = requests.filter((one) => one.process === process && one.answeredAt <= at);
		const lastUnclear = earlier.findLast(
			({ isIndeterminate, answeredAt }) => isIndeterminate && answeredAt < at,
		);
		if (method !== 'POST' || !lastUnclear) continue;
		const since = lastUnclear.answeredAt;
		if (!earlier.some(({ status, answeredAt }) => status === 200 && answeredAt >= since))
			yield `create call ${n} goes out after one without an answer`;
	}
}

/** 7. What is open, saved and requested is limited. */
function* bounded({ of, requests, jobs }: Trace): Iterable<string> {
	const { timers = 1, requests: open, sockets } = of('leftOpen')[0] ?? {};
	if (timers || open || sockets)
		yield `left open: ${timers} timers, ${open} requests, ${sockets} sockets`;
	// A trigger remembers each task and file in about a hundred characters. A job has up to four files.
	const maxSaved = 1000 + 500 * jobs.length;
	if (of('saved').some(({ text }) => text.length > maxSaved)) yield 'static data without end';
	yield* moreThan(125, requests, ({ at, path, attempt }) => {
		return `${path} of attempt ${attempt} in minute ${Math.floor(at / MINUTE)}`;
	});
	const historyReads = requests.filter(
		({ path, status }) => path.endsWith('/histories') && status === 200,
	);
	// All executions of a process share the reads, and so do its triggers.
	yield* moreThan(30, historyReads, ({ process, query, attempt, at }) => {
		const who = attempt === undefined ? 'the trigger' : 'the node';
		return `${query} read by ${who} in ${process}, minute ${Math.floor(at / MINUTE)}`;
	});
	// If n8n cannot start an execution, the trigger downloads the file again.
	const unstarted = of('emitted').length - of('started').length;
	const maxDownloads = of('attempt').length + of('published').length + unstarted + 1;
	yield* moreThan(maxDownloads, of('served'), ({ file }) => file);
}

/** 8. The token goes to the API's origin and nowhere else. */
function* tokenNowhere({ lines, requests }: Trace): Iterable<string> {
	for (const { bearsToken, host } of requests)
		if (bearsToken && `https://${host}` !== API) yield `the token goes to ${host}`;
	const decode = (text: string) =>
		text.replaceAll('\\', '').replace(/%(..)/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
	for (const line of lines)
		if (decode(JSON.stringify(line)).includes(TOKEN)) yield `the token is in what is ${line.what}`;
}

const lineageRules = [
	...[paidOnce, ownFile, deliveredOrNamed],
	...[inTime, endsWell, readAtOnce, atPace],
];
const triggerRules = [eventsOnce, eventsAll, eventsKept, selfTrigger];
const worldRules = [afterOutage, bounded, tokenNowhere];

/** Returns all violations in a world, each with the rule that it breaks. */
export function audit({ lines }: { lines: Line[] }): string[] {
	const trace = traceOf(lines);
	const prefixed = (name: string, complaints: Iterable<string>) =>
		[...complaints].map((text) => `${name}: ${text}`);
	const violations = [
		...lineageRules.flatMap((rule) =>
			trace.lineages.flatMap((one) => prefixed(rule.name, rule(one, trace))),
		),
		...triggerRules.flatMap((rule) =>
			trace.triggers.flatMap((one) => prefixed(rule.name, rule(one, trace))),
		),
		...worldRules.flatMap((rule) => prefixed(rule.name, rule(trace))),
	];
	return [...new Set(violations)];
}
