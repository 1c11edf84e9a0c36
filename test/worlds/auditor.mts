import { takesImages } from '../service/operations.mts';
import { MINUTE, SECOND } from './clock.mts';
import { eventsAll, eventsKept, eventsOnce, selfTrigger } from './events.mts';
import { beyond, type Book, bookOf, count, type Family, type Line } from './ledger.mts';
import { deliveredOrNamed, errorOf, ownFile, paidOnce } from './paid.mts';
import { API, TOKEN } from './service.mts';

// Decides the promises by what was noted, without knowing what was planned. Rules yield their complaints.

/** What a patient node outlives. */
const isMild = ({ kind, as, at, ends }: Book['faults'][number]) => {
	if (kind === 'rate' || kind === 'atOnce') return as !== 'task' && ends - at <= 5 * MINUTE;
	return (
		as !== 'slow' &&
		/^(lag|bare|messages|sockets|files|cut|silent|beats|partly|signed|n8n)$/.test(kind)
	);
};

type Request = Family['requests'][number];

/** A reading that others in its process wait for, which goes on without the one that began it. */
function isShared({ method, at, process }: Request, book: Book): boolean {
	const isOver = (one: string) =>
		book.of('ended').some((line) => line.execution === one && line.at < at);
	const others = book.of('begun').filter((line) => line.process === process && line.at <= at);
	return method === 'GET' && others.some((line) => !isOver(line.execution));
}

/** A reading of a task by a trigger, which has just heard of it on the socket that an execution has opened. */
function isOfTrigger({ at, process }: Request, id: string, book: Book): boolean {
	const isHeard = (line: { at: number; id: string; process: string }) =>
		line.id === id &&
		line.process === process &&
		line.at <= at &&
		(line.at > at - 1500 || isSlowed(book, line.at, at));
	const isPublished = book.of('published').some((line) => line.process === process);
	return isPublished && book.of('heard').some(isHeard);
}

/** 4. The node waits as long as it is told and no longer, and stops when it is told to, within a second. */
function* inTime(
	{ asked, begun, ended, requests, ...family }: Family,
	book: Book,
): Iterable<string> {
	const { stopped, timeoutMs, works } = family;
	for (const { execution, at: from, process } of begun) {
		const end = ended.find((line) => line.execution === execution)?.at ?? Infinity;
		const stop = stopped?.execution === execution ? stopped.at : end;
		const killed = book.of('killed').find((line) => line.process === process && line.at >= from);
		if (end === Infinity && !killed) yield `${execution} does not end`;
		// n8n itself goes through what is left of Retry On Fail, a second each.
		if (end > stop + asked.tries * SECOND) yield `${execution} does not stop`;
		const after = count(requests, (line) => {
			return line.execution === execution && line.at > stop + SECOND && !isShared(line, book);
		});
		if (after > 0) yield `${execution} sends ${after} requests after its end`;
		// It may wait so long while nothing happens, here or at the service. A video from images may be recognizable in
		// its stream alone; after its Timeout, Retry On Fail searches for ten minutes.
		const patience = Math.max(
			16 * MINUTE,
			takesImages(asked.operation) ? timeoutMs + 11 * MINUTE : 0,
		);
		const news = [...works.flatMap(({ made }) => made ?? []), ...book.of('served')];
		const last = Math.max(from, book.calmFrom, ...news.map(({ at }) => (at < end ? at : 0)));
		const late = end - last - patience;
		if (late > 0 && !killed) yield `${execution} ends ${late} ms late`;
	}
	for (const { id, at, request } of works) {
		const own = requests.filter(({ attempt }) => attempt === request!.attempt);
		const isReading = (line: (typeof own)[number]) =>
			line.path.endsWith(`/${id}`) && !isOfTrigger(line, id, book);
		const last = own.findLast(isReading)?.at ?? 0;
		if (last > at + timeoutMs + 10 * SECOND)
			yield `${id} is read ${last - at} ms after its request`;
	}
}

/** 4b. It survives what passes, and once that has ceased all ends well within a bound. */
function* endsWell(family: Family, { faults, isKilled, works, calmFrom }: Book): Iterable<string> {
	const { asked, begun, ended, stopped, name, need, requests, paid, timeoutMs } = family;
	const { operation, items, options, onError } = asked;
	const last = ended.at(-1);
	const most = Number(options.maxPaidPerExecution ?? Infinity);
	if (!last || stopped || isKilled || most < need) return;
	if (faults.some(({ as }) => as === 'slow') && timeoutMs <= 5 * MINUTE) return;
	const whyNot = (end: typeof last) =>
		errorOf(end) ?? (end.status === 'success' ? undefined : end.status);
	const own = works.filter(({ request, text }) =>
		request ? requests.includes(request) : operation === 'speech:wait' && items.includes(text),
	);
	// Of what was lost, the same words may name another's, and always do with pictures.
	const hasPictures = takesImages(operation);
	const isAlone = ({ prompt }: (typeof works)[number]) =>
		!hasPictures && works.every((one) => one.prompt !== prompt || own.includes(one));
	if (faults.every(isMild)) {
		const isInTime = own.every(({ at, made }) => made && made.at < at + timeoutMs - 20 * SECOND);
		const isProven = own.every((work) => work.isTold || isAlone(work));
		const isPatient = timeoutMs >= 15 * MINUTE && isProven;
		const error = whyNot(ended[0]!);
		if (error && (faults.length > 0 ? isPatient : isInTime)) yield `${name} fails: ${error}`;
		const made = Math.max(family.at, calmFrom, ...own.map((work) => work.made?.at ?? 0));
		// A rate that was told to nobody leaves five seconds between readings.
		const readingMs = Math.max(75, 15 + 5 * items.length) * SECOND;
		// Silence may last for five minutes, whatever beats.
		const isSilent = hasPictures || faults.some(({ kind }) => kind === 'beats');
		// What was refused unheard is searched for ten minutes more.
		const refusedMs = faults.some(({ kind }) => kind === 'partly') ? 10 * MINUTE : 0;
		const mostMs = refusedMs + (isSilent ? 6 * MINUTE : readingMs);
		const late = last.at - made - mostMs;
		if (!error && ended.length === 1 && late > 0) yield `${name} ends ${late} ms late`;
	}
	const begin = begun.at(-1)!.at;
	// A failure may be that of one of several, so the others are searched for ten minutes. Whatever has the same words
	// may be one of them.
	const searchMs = asked.amount > 1 ? 10 * MINUTE : 0;
	const isClear = paid.every(({ n }) => {
		const work = own.find((one) => one.n === n);
		if (!work?.isTold) return false;
		const { made, failureTold } = work;
		const isFailureClear = asked.amount === 1 || isAlone(work);
		const isOver = failureTold && isFailureClear && failureTold.at + searchMs < begin;
		return (made && made.at < begin) || isOver;
	});
	if (last.status === 'success' || onError !== 'stopWorkflow' || !isClear) return;
	if (count(own, ({ isFailed }) => isFailed) < 2) yield `${name} never ends well: ${whyNot(last)}`;
}

/** Whether the service was not its usual self then, or had to recover. */
const isSlowed = ({ faults, of }: Book, from: number, to: number) =>
	faults.some(({ kind, as, at, ends }) => {
		const isSlow = as === 'slow' || /outage|rate|atOnce|quota|lost|fails/.test(kind);
		// A retry may hear only an hour later that there were too many tasks at once.
		const heard =
			as === 'task' ? of('failed').findLast((line) => line.isTold && line.at < to) : undefined;
		return isSlow && at < to && Math.max(ends, heard?.at ?? 0) + 15 * MINUTE > from;
	});

/** 4c. The result is looked up as soon as a message says that it is there. */
function* heardAtOnce(
	{ stopped, ended, works, attempts, timeoutMs }: Family,
	book: Book,
): Iterable<string> {
	const last = stopped?.at ?? ended[0]?.at ?? 0;
	const hundreds = book.of('heard').filter(({ percentage, at }) => percentage === 100 && at < last);
	for (const { at: begun, id, request, made, isTold } of book.isKilled ? [] : works) {
		// A replica that lags does not know it for the first seconds.
		if (!made || !isTold || made.at < begun + 6 * SECOND) continue;
		const heard = hundreds.find((line) => {
			return line.id === id && line.process === request!.process && line.at >= made.at;
		});
		// The Timeout of a row may begin some time before its request is sent.
		const begin = attempts.find(({ attempt }) => attempt === request!.attempt)!.at;
		if (!heard || heard.at + SECOND >= begin + timeoutMs) continue;
		if (isSlowed(book, made.at, heard.at + 1500)) continue;
		// A message may come after the file, and a reading be on its way for 50 ms.
		// One reading serves all who wait, so it may be a trigger's.
		const isRead = book.requests.some(({ path, at, process }) => {
			const isOfProcess = process === heard.process && path.endsWith(`/${id}`);
			return isOfProcess && at > made.at - 50 && at <= heard.at + 1500;
		});
		if (!isRead) yield `${id} is not read when it is said to be ready`;
	}
}

/** 5. As fast as the service lets it be, and no faster than told. */
function* atPace({ asked, ended, stopped, works, attempts }: Family, book: Book): Iterable<string> {
	const most = Number(asked.options.concurrency ?? 0) || Infinity;
	const used = new Set(ended.flatMap(({ given }) => given.flatMap(({ marks }) => marks)));
	if (attempts.length !== 1) return;
	// What comes out was under way all the time.
	const whole = works.filter(({ made }) => used.has(made?.marks[0] ?? ''));
	for (const { at, id } of whole) {
		const atOnce = count(whole, (work) => work.at <= at && work.made!.at > at);
		if (atOnce > most) yield `${atOnce} at once with ${id}`;
	}
	if (stopped || book.isKilled || works.length === 0 || ended.length === 0) return;
	const [from, sent] = [attempts[0]!.at, works.map(({ at }) => at)];
	const soon = from + 2 * SECOND;
	if (Math.min(...sent) > soon && !isSlowed(book, from, soon)) yield 'it begins late';
	const isCalm = book.faults.every(({ at }) => at > ended[0]!.at);
	// All runs of a process share 16 slots until what is under way proves healthy.
	if (!isCalm || most < works.length || book.works.length > 16) return;
	if (Math.max(...sent) > soon) yield 'it goes on late';
	const late = ended[0]!.at - Math.max(...works.map((work) => work.made?.at ?? Infinity));
	// After five minutes of silence the history is looked into, every ten seconds.
	const isSilent = works.some((work) => work.made!.at - work.at > 5 * MINUTE);
	// In the last two seconds of the Timeout the history is read instead of the stream.
	const cutAt = from + (Number(asked.options.timeout ?? Infinity) - 2) * SECOND;
	const isCut = works.some((work) => work.made!.at > cutAt);
	if (late > (isSilent ? 11 : isCut ? 2 : 1) * SECOND)
		yield `it ends ${late} ms after its last result`;
}

/** 5b. After a create call without a clear answer none goes out until something has gone well. */
function* afterOutage({ requests }: Book): Iterable<string> {
	for (const { n, at, process, method } of requests) {
		const own = requests.filter((one) => one.process === process && one.answeredAt <= at);
		const lost = own.findLast(({ isUnclear, answeredAt }) => isUnclear && answeredAt < at);
		if (method !== 'POST' || !lost) continue;
		if (!own.some(({ status, answeredAt }) => status === 200 && answeredAt >= lost.answeredAt))
			yield `create call ${n} goes out after one without an answer`;
	}
}

/** 7. What is open, kept and asked is bounded. */
function* bounded({ of, requests }: Book): Iterable<string> {
	const { timers = 1, requests: open, sockets } = of('left')[0] ?? {};
	if (timers || open || sockets)
		yield `left open: ${timers} timers, ${open} requests, ${sockets} sockets`;
	if (of('saved').some(({ text }) => text.length > 20_000)) yield 'static data without end';
	yield* beyond(125, requests, ({ at, path, attempt }) => {
		return `${path} of attempt ${attempt} in minute ${Math.floor(at / MINUTE)}`;
	});
	const looks = requests.filter(
		({ path, status }) => path.endsWith('/histories') && status === 200,
	);
	// One look serves all who wait.
	yield* beyond(30, looks, ({ process, query, attempt, at }) => {
		const who = attempt === undefined ? 'the trigger' : 'the node';
		return `${query} read by ${who} in ${process}, minute ${Math.floor(at / MINUTE)}`;
	});
	// What n8n does not start is fetched anew for it.
	const again = of('emitted').length - of('started').length;
	const most = of('attempt').length + of('published').length + again + 1;
	yield* beyond(most, of('served'), ({ file }) => file);
}

/** 8. The token goes to the API's origin and nowhere else. */
function* tokenNowhere({ lines, requests }: Book): Iterable<string> {
	for (const { bearsToken, host } of requests)
		if (bearsToken && `https://${host}` !== API) yield `the token goes to ${host}`;
	const plain = (text: string) =>
		text.replaceAll('\\', '').replace(/%(..)/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
	for (const line of lines)
		if (plain(JSON.stringify(line)).includes(TOKEN)) yield `the token is in what is ${line.what}`;
}

const ofEach = [paidOnce, ownFile, deliveredOrNamed, inTime, endsWell, heardAtOnce, atPace];
const ofTrigger = [eventsOnce, eventsAll, eventsKept, selfTrigger];
const ofAll = [afterOutage, bounded, tokenNowhere];

/** All that is wrong with what happened in a world, each with the promise that it breaks. */
export function audit({ lines }: { lines: Line[] }): string[] {
	const book = bookOf(lines);
	const say = (name: string, all: Iterable<string>) => [...all].map((text) => `${name}: ${text}`);
	const found = [
		...ofEach.flatMap((rule) => book.families.flatMap((one) => say(rule.name, rule(one, book)))),
		...ofTrigger.flatMap((rule) => book.triggers.flatMap((one) => say(rule.name, rule(one, book)))),
		...ofAll.flatMap((rule) => say(rule.name, rule(book))),
	];
	return [...new Set(found)];
}
