import { type Book, bookOf, eventOf, type Family, livesOf, marksIn } from './book.mts';
import { MINUTE, SECOND } from './clock.mts';
import type { Line, Of } from './ledger.mts';
import { API, TOKEN } from './service.mts';

/*
 * Decides the promises by what the service and n8n have noted, without knowing what was planned. Each rule
 * yields what it complains of.
 */

type Complaints = Iterable<string>;

const count = <T,>(all: T[], holds: (one: T) => boolean) => all.filter(holds).length;
const errorOf = ({ error, given }: Of<'ended'>) =>
	error ?? given.find(({ json }) => json.error)?.json.error;

/** 1. At most one paid request per item and attempt; a retry collects what was paid for. */
function* paidOnce({ asked, attempts, paid, works }: Family): Complaints {
	for (const [text, own] of Map.groupBy(paid, (one) => one.text!)) {
		const mostFor = (items: string[]) => count(items, (item) => item.includes(text));
		for (const { attempt, texts } of attempts)
			if (count(own, (one) => one.attempt === attempt) > mostFor(texts))
				yield `more than one paid request for "${text}" in attempt ${attempt}`;
		const failed = count(works, (work) => work.text === text && work.isFailureTold);
		if (own.length > mostFor(asked.items) + failed) yield `"${text}" is paid for again`;
	}
	const most = Number(asked.options.maxPaidPerExecution ?? 0);
	for (const [execution, { length }] of Map.groupBy(paid, (one) => one.execution))
		if (most > 0 && length > most) yield `${length} paid requests in ${execution}`;
}

/** 2. Each item gets its own file, the parts of one in their order. */
function* ownFile({ asked, ended }: Family, { works }: Book): Complaints {
	const textOf = (mark: string) =>
		works.find(({ made }) => made?.marks.includes(mark))?.text ?? '?';
	for (const { given, status } of ended) {
		const used = given.flatMap(({ marks }) => marks);
		for (const mark of used) if (count(used, (one) => one === mark) > 1) yield `${mark} twice`;
		for (const text of status === 'success' ? asked.items : [])
			if (!given.some((one) => one.text === text)) yield `nothing comes out of "${text}"`;
		for (const { text, marks, json } of given) {
			const named = json.error === undefined ? marksIn(JSON.stringify(json)) : [];
			for (const mark of [...marks, ...named])
				if (!text.includes(textOf(mark))) yield `${mark} at the item "${text}"`;
			const places = marks.map((mark) => text.indexOf(textOf(mark)));
			if (places.some((place, index) => place < (places[index - 1] ?? -1)))
				yield `parts in disorder: ${marks}`;
		}
	}
}

/** 3. What is paid is delivered or named. */
function* deliveredOrNamed(family: Family, { of }: Book): Complaints {
	const { ended, stopped, asked, name } = family;
	const given = ended.flatMap((line) => line.given);
	const delivered = new Set(given.flatMap(({ marks }) => marks));
	// Beyond the first few, an error says how many more there are; n8n's log names what has an id.
	const isCounted = stopped !== undefined || / more\b/.test(ended.map(errorOf).join());
	const own = of('said').filter(({ execution, process }) =>
		execution ? execution.startsWith(name) : isCounted && process === family.process,
	);
	const texts = JSON.stringify([...own, ...ended]);
	const isNamed = (id: string) => new RegExp(`${id}(?!\\d)`).test(texts);
	for (const { id, text, request, made, amount, isTold, isFailureTold } of family.works) {
		// A process that was killed says nothing any more.
		if (!ended.some(({ execution }) => execution === request!.execution)) continue;
		const isWhole = made?.marks.length === amount;
		const missing = isWhole ? made.marks.filter((mark) => !delivered.has(mark)) : [id];
		const isHinted = /paid|charged|history/i.test(texts) && (!isTold || isCounted);
		if (!isFailureTold && !isHinted && !isNamed(id) && !missing.every(isNamed))
			yield `nobody says what became of ${id} ("${text}")`;
	}
	for (const { marks, fields } of asked.options.subtitles ? given : [])
		if (marks.length > 0 && !fields.includes('subtitles') && !/subtitle/i.test(JSON.stringify(own)))
			yield `no subtitles with ${marks}`;
}

/** 4. The node waits as long as it is told and no longer. */
function* inTime(family: Family, { works }: Book): Complaints {
	const { asked, begun, ended, name, need, requests, timeoutMs } = family;
	const mostMs = asked.tries * need * (timeoutMs + MINUTE) + 11 * MINUTE;
	if (ended.length === 0) yield `${name} does not end`;
	for (const { execution, at } of ended) {
		const from = begun.find((line) => line.execution === execution)?.at ?? -Infinity;
		if (at - from > mostMs) yield `${execution} takes ${(at - from) / SECOND} s`;
		const isPatient = works.some((work) => work.at > from && work.at < at);
		if (asked.operation !== 'wait' && !isPatient && at - from > 16 * MINUTE * asked.tries)
			yield `${execution} waits for nothing`;
	}
	for (const { id, at, request } of family.works) {
		const own = requests.filter(({ attempt }) => attempt === request!.attempt);
		const last = own.findLast(({ path }) => path.endsWith(`/${id}`))?.at ?? 0;
		if (last > at + timeoutMs + 10 * SECOND)
			yield `${id} is read ${last - at} ms after its request`;
	}
}

/** What a patient node outlives. */
const isMild = ({ kind, as, ms = 0, at, ends }: Of<'fault'>) => {
	if (kind === 'rate' || kind === 'atOnce') return as !== 'task' && ends - at <= 5 * MINUTE;
	if (kind === 'bare') return ms <= 3000;
	return as !== 'slow' && /^(lag|messages|sockets|files|cut|silent)$/.test(kind);
};

/** 4b. It survives what passes, and once that has ceased all ends well within a bound. */
function* endsWell(family: Family, { faults, isKilled, works, calmFrom }: Book): Complaints {
	const { asked, ended, stopped, name, need, requests, paid, timeoutMs } = family;
	const { operation, items, options, onError } = asked;
	const last = ended.at(-1);
	const most = Number(options.maxPaidPerExecution ?? Infinity);
	if (!last || stopped || isKilled || most < need) return;
	if (faults.some(({ as }) => as === 'slow') && timeoutMs <= 5 * MINUTE) return;
	const error = errorOf(last) ?? (last.status === 'success' ? undefined : last.status);
	const own = works.filter(({ request, text }) =>
		request ? requests.includes(request) : operation === 'wait' && items.includes(text),
	);
	if (faults.every(isMild)) {
		const isPatient = timeoutMs >= 15 * MINUTE && new Set(items).size === items.length;
		if (error && isPatient) yield `${name} fails: ${error}`;
		const made = Math.max(family.at, calmFrom, ...own.map((work) => work.made?.at ?? 0));
		// A rate that was told to nobody leaves five seconds between readings.
		const readingMs = Math.max(75, 15 + 5 * items.length) * SECOND;
		const late = last.at - made - (/ingredients|frames/.test(operation) ? 6 * MINUTE : readingMs);
		if (!error && ended.length === 1 && late > 0) yield `${name} ends ${late} ms late`;
	}
	const isClear = paid.every(({ n }) => own.some((work) => work.n === n && work.isTold));
	if (last.status === 'success' || onError !== 'stopWorkflow' || !isClear) return;
	if (count(own, ({ isFailed }) => isFailed) < 2) yield `${name} never ends well: ${error}`;
}

/** 4c. The result is looked up as soon as a message says that it is there. */
function* heardAtOnce(family: Family, { of, faults, isKilled }: Book): Complaints {
	const slow = /outage|rate|atOnce|quota|lost|dropped|cut|lag|fails/;
	if (faults.some(({ kind }) => slow.test(kind)) || isKilled || family.stopped) return;
	const ended = family.ended[0]?.at ?? Infinity;
	const ends = of('heard').filter(({ at, percentage }) => percentage === 100 && at < ended);
	for (const { id, request, made } of family.works) {
		const heard = ends.find((line) => line.id === id && line.process === request!.process);
		if (!heard || !made) continue;
		// A message may come after the file, and a reading be on its way for 50 ms.
		const isRead = family.requests.some(({ path, at }) => {
			return path.endsWith(`/${id}`) && at > made.at - 50 && at <= heard.at + 1500;
		});
		if (!isRead) yield `${id} is not read when it is said to be ready`;
	}
}

/** 5. As fast as the service lets it be, and no faster than told. */
function* atPace({ asked, ended, stopped, works, attempts }: Family, book: Book): Complaints {
	const most = Number(asked.options.concurrency ?? 0) || Infinity;
	const isDisturbed = book.faults.length > 0 || stopped || book.isKilled;
	if (isDisturbed || works.length === 0 || ended.length === 0) return;
	// What has timed out goes on at the service.
	const isWhole = ended.every((line) => errorOf(line) === undefined);
	for (const { underWay, id } of works)
		if (underWay > most && isWhole) yield `${underWay} at once with ${id}`;
	if (most < works.length || attempts.length > 1 || works.length > 22) return;
	const sent = works.map(({ at }) => at);
	if (Math.max(...sent) > Math.min(...sent) + 2 * SECOND) yield 'it begins late';
	const late = ended[0]!.at - Math.max(...works.map((work) => work.made?.at ?? Infinity));
	if (late > SECOND) yield `it ends ${late} ms after its last result`;
}

/** 6. Each event starts one execution, and nothing else does. */
function* eventsOnce(book: Book): Complaints {
	const started = book.of('started').filter(({ isNew }) => isNew);
	for (const [trigger, all] of Map.groupBy(started, (line) => line.trigger)) {
		const published = book.of('published').find((line) => line.trigger === trigger);
		const { events = [], taskIds = [], download = false } = published?.wanted ?? {};
		for (const [event, { length }] of Map.groupBy(all, ({ given }) => eventOf(given)))
			if (length > 1 && !event.startsWith('progress')) yield `${event} starts ${length} executions`;
		for (const { given, at } of all) {
			const name = eventOf(given);
			const { event, task_id: task, error } = given.json;
			const isTrue = book.events.some((end) => end.event === name && end.at <= at);
			if (!isTrue && event !== 'progress') yield `${name} is not true`;
			const isNamed = taskIds.length === 0 || !task || taskIds.includes(String(task));
			if (!isNamed || !events.includes(String(event))) yield `nobody asked for ${name}`;
			const files = download && !error && /completed|generated/.test(name) ? 1 : 0;
			if (given.marks.length !== files || !name.endsWith(given.marks[0] ?? ''))
				yield `${given.marks.length} files with ${name}`;
		}
	}
}

/** 6b. No event is missed, and no trigger dies. */
function* eventsAll(book: Book): Complaints {
	const { of, calmFrom, requests, lines } = book;
	// Somebody looked into the history, and not for a generation of his own.
	const looks = requests.filter(({ path, attempt, status }) => {
		return path === '/v1/video/histories' && attempt === undefined && status === 200;
	});
	for (const [trigger, all] of Map.groupBy(of('published'), (line) => line.trigger)) {
		const { events, taskIds } = all[0]!.wanted;
		const own = of('started').filter((line) => line.trigger === trigger);
		const told = new Set(own.map(({ given }) => eventOf(given)));
		const lives = livesOf(trigger, lines);
		const first = lives[0]?.at ?? 0;
		for (const { at: from, to, process } of lives) {
			const isOwn = (line: { process: string }) => line.process === process;
			const heard = of('heard').filter((line) => isOwn(line) && line.at > from && line.at < to);
			// What is there at the first look into the history is not reported.
			const looked = looks.find((line) => isOwn(line) && line.at > first - MINUTE);
			for (const { event, at, id } of book.events) {
				const kind = event.split(' ')[0]!;
				// What was looked at when it was published is kept: what came since is made up for.
				const isMadeUp = at > from || (looked && looked.at <= first);
				const isNamed = taskIds.includes(id);
				const isHeard = at > from && heard.some((one) => one.id === id);
				const isNew = looked && looked.at < at && isMadeUp;
				const isDue = kind === 'generated' ? isNew : taskIds.length > 0 ? isNamed : isHeard;
				const isWanted = events.includes(kind) && !told.has(event);
				if (isWanted && isDue && Math.max(at, from, calmFrom) + 10 * MINUTE <= to)
					yield `${event} starts nothing`;
			}
		}
		const { refused, at } = all.at(-1)!;
		const isDead = of('unpublished').some((line) => line.at > at + 10 * MINUTE);
		if (refused && isDead) yield `${trigger} has died: ${refused}`;
	}
}

/** 7. What is open, kept and asked is bounded. */
function* bounded({ of, works, families, requests }: Book): Complaints {
	for (const { timers, requests: open, sockets } of of('left'))
		if (timers + open + sockets > 0)
			yield `left open: ${timers} timers, ${open} requests, ${sockets} sockets`;
	if (of('saved').some(({ text }) => text.length > 50_000)) yield 'static data without end';
	const things = works.length + families.flatMap(({ asked }) => asked.items).length;
	for (const [minute, { length }] of Map.groupBy(requests, ({ at }) => Math.floor(at / MINUTE)))
		if (length > 60 + 70 * things) yield `${length} requests in minute ${minute}`;
	const times = of('attempt').length + of('published').length + 1;
	for (const [file, { length }] of Map.groupBy(of('served'), (line) => line.file))
		if (length > times) yield `${file} is fetched ${length} times`;
}

/** 8. The token goes to the API's origin and nowhere else. */
function* tokenNowhere({ lines, requests }: Book): Complaints {
	for (const { token, host } of requests)
		if (token && (token === 'address' || `https://${host}` !== API))
			yield `the token goes to ${host} in the ${token}`;
	const isTold = (text: string) => text.includes(TOKEN) || text.includes(encodeURIComponent(TOKEN));
	for (const line of lines)
		if (isTold(JSON.stringify(line))) yield `the token is in what is ${line.what}`;
}

/** 8b. Stop means stop, within a second. */
function* stops({ stopped, requests, asked, ended, name }: Family): Complaints {
	if (!stopped) return;
	const late = count(requests, ({ at }) => at > stopped.at + SECOND);
	if (late > 0) yield `${name} sends ${late} requests after it was stopped`;
	// n8n itself goes through what is left of Retry On Fail, a second each.
	const mostMs = asked.tries * SECOND;
	if (ended.every(({ at }) => at > stopped.at + mostMs)) yield `${name} does not stop`;
}

const ofEach = [paidOnce, ownFile, deliveredOrNamed, inTime, endsWell, heardAtOnce, atPace, stops];
const ofAll = [eventsOnce, eventsAll, bounded, tokenNowhere];

/** All that is wrong with what happened in a world, each with the promise that it breaks. */
export function audit({ lines }: { lines: Line[] }): string[] {
	const book = bookOf(lines);
	const say = (name: string, all: Complaints) => [...all].map((text) => `${name}: ${text}`);
	const found = [
		...ofEach.flatMap((rule) => book.families.flatMap((one) => say(rule.name, rule(one, book)))),
		...ofAll.flatMap((rule) => say(rule.name, rule(book))),
	];
	return [...new Set(found)];
}
