import type { Given, Line, Of } from './ledger.mts';
import { API, TOKEN } from './service.mts';

/*
 * Decides the promises by what the service and n8n have noted, without knowing what was planned. Each rule
 * yields what it complains of.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** What goes wrong for so long is how this service is. */
const LASTING = 60 * MINUTE;

/** What was ordered, and what came of it. */
interface Work extends Of<'charge'> {
	/** Undefined if it is somebody else's. */
	request?: Of<'request'>;
	made?: Of<'made'>;
	isTold: boolean;
	hasFailed: boolean;
	isFailureTold: boolean;
}

/** An execution with its retries: all that was done for it. */
interface Family {
	name: string;
	begun: Array<Of<'begun'>>;
	attempts: Array<Of<'attempt'>>;
	/** By whom a request was sent. */
	executionOf(request?: Of<'request'>): string | undefined;
	requests: Array<Of<'request'>>;
	/** Create calls that the service may have accepted. */
	paid: Array<Of<'request'>>;
	works: Work[];
	ended: Array<Of<'ended'>>;
	stopped?: Of<'stopped'>;
}

type Book = ReturnType<typeof bookOf>;

/** A ledger, looked up. */
function bookOf(lines: Line[]) {
	const of = <What extends Line['what']>(what: What) =>
		lines.filter((line): line is Of<What> & Line => line.what === what);
	const requests = of('request');
	const statuses = new Map(of('answer').map(({ n, status }) => [n, status]));
	const works = of('charge').map((charge): Work => {
		const about = <T extends { id: string }>(all: T[]) => all.filter(({ id }) => id === charge.id);
		const failed = about(of('failed'));
		return {
			...charge,
			request: requests.find(({ n }) => n === charge.n),
			made: about(of('made'))[0],
			isTold: about(of('told')).length > 0,
			hasFailed: failed.length > 0,
			isFailureTold: failed.some(({ isTold }) => isTold),
		};
	});
	const mayBePaid = ({ n, method }: Of<'request'>) => {
		const status = statuses.get(n) ?? 0;
		const isRefused = status !== 0 && status < 500 && !works.some((work) => work.n === n);
		return method === 'POST' && !isRefused;
	};
	const executions = new Map(of('attempt').map((line) => [line.attempt, line.execution]));
	const executionOf = (request?: Of<'request'>) => executions.get(request?.attempt ?? 0);
	const rootOf = (execution = '') => execution.replace(/( again)+$/, '');
	const all = [...Map.groupBy(of('begun'), ({ execution }) => rootOf(execution))];
	const families = all.map(([name, begun]): Family => {
		const own = <T extends { execution: string }>(some: T[]) =>
			some.filter(({ execution }) => rootOf(execution) === name);
		const sent = requests.filter((one) => rootOf(executionOf(one)) === name);
		return {
			...{ name, begun, executionOf, requests: sent, paid: sent.filter(mayBePaid) },
			...{ attempts: own(of('attempt')), ended: own(of('ended')), stopped: own(of('stopped'))[0] },
			works: works.filter((work) => work.request && sent.includes(work.request)),
		};
	});
	const killed = of('killed');
	const faults = of('fault');
	return {
		...{ lines, of, requests, statuses, works, executionOf, faults },
		isKilled: killed.length > 0,
		// What a killed process was at can't be asked of it.
		families: families.filter(({ begun: [first], ended }) => {
			const isOver = killed.some(
				({ at, process }) => at >= first!.at && process === first!.process,
			);
			return ended.length > 0 || !isOver;
		}),
		/** When all faults that end had ended. */
		calmFrom: Math.max(0, ...faults.map(({ ends }) => (ends < LASTING ? ends : 0))),
	};
}

const count = <T,>(all: T[], holds: (one: T) => boolean) => all.filter(holds).length;
const textsOf = (lines: object[]) => lines.map((line) => JSON.stringify(line)).join('\n');
const errorOf = ({ error, given }: Of<'ended'>) =>
	error ?? given.find(({ json }) => json.error)?.json.error;
/** The marks of files in the addresses of a text. */
const marksIn = (text: string) => [...text.matchAll(/made\/([\w-]+)\./g)].map(([, mark]) => mark!);

/** How many requests it takes to make all that is asked for, at most. */
const needOf = ({ begun }: Family) => {
	const { items, options } = begun[0]!.asked;
	return items.length * (options.splitLongerThan ? 3 : 1);
};

/** 1. At most one paid request per item and attempt; a retry collects what was paid for. */
function* paidOnce(family: Family): Iterable<string> {
	const { asked } = family.begun[0]!;
	const tooMany = (all: Array<Of<'request'>>, items: string[], mayRepeat: boolean) =>
		[...Map.groupBy(all, ({ text }) => text!)].filter(([text, { length }]) => {
			const failed = family.works.filter((work) => work.text === text && work.isFailureTold);
			return length > count(items, (item) => item.includes(text)) + (mayRepeat ? failed.length : 0);
		});
	for (const { attempt, texts } of family.attempts) {
		const own = family.paid.filter((request) => request.attempt === attempt);
		for (const [text] of tooMany(own, texts, false))
			yield `more than one paid request for "${text}" in attempt ${attempt}`;
	}
	for (const [text] of tooMany(family.paid, asked.items, true)) yield `"${text}" is paid for again`;
	const { maxPaidPerExecution: most = 0 } = asked.options;
	for (const [execution, all] of Map.groupBy(family.paid, family.executionOf))
		if (most && all.length > Number(most)) yield `${all.length} paid requests in ${execution}`;
}

/** 2. Each item gets its own file, the parts of one in their order. */
function* ownFile({ begun, ended }: Family, { works }: Book): Iterable<string> {
	const textOf = (mark: string) => works.find(({ made }) => made?.marks.includes(mark))?.text;
	for (const { given, status } of ended) {
		const used = given.flatMap(({ marks }) => marks);
		for (const mark of used) if (count(used, (one) => one === mark) > 1) yield `${mark} twice`;
		for (const text of status === 'success' ? begun[0]!.asked.items : [])
			if (!given.some((one) => one.text === text)) yield `nothing comes out of "${text}"`;
		for (const { text, marks, json } of given) {
			const named = json.error === undefined ? marksIn(JSON.stringify(json)) : [];
			for (const mark of [...marks, ...named])
				if (!text.includes(textOf(mark) ?? '?')) yield `${mark} at the item "${text}"`;
			const places = marks.map((mark) => text.indexOf(textOf(mark) ?? ''));
			if (places.some((place, index) => place < (places[index - 1] ?? 0)))
				yield `parts in disorder: ${marks}`;
		}
	}
}

/** 3. What is paid is delivered or named. */
function* deliveredOrNamed(family: Family, { of }: Book): Iterable<string> {
	const { ended, stopped, begun, name } = family;
	const given = ended.flatMap((line) => line.given);
	const delivered = new Set(given.flatMap(({ marks }) => marks));
	// Beyond the first few, an error says how many more there are; n8n's log names what has an id.
	const isCounted = stopped !== undefined || / more\b/.test(ended.map(errorOf).join());
	const own = of('said').filter(({ execution, process }) =>
		execution ? execution.startsWith(name) : isCounted && process === begun[0]!.process,
	);
	const texts = textsOf([...own, ...ended]);
	const isNamed = (id: string) => new RegExp(`${id}(?!\\d)`).test(texts);
	for (const { id, text, request, made, amount, isTold, isFailureTold } of family.works) {
		// A process that was killed says nothing any more.
		if (!ended.some(({ execution }) => execution === family.executionOf(request))) continue;
		const isWhole = made?.marks.length === amount;
		const missing = isWhole ? made.marks.filter((mark) => !delivered.has(mark)) : [id];
		const isHinted = /paid|charged|history/i.test(texts) && (!isTold || isCounted);
		if (
			missing.length > 0 &&
			!isFailureTold &&
			!isHinted &&
			!isNamed(id) &&
			!missing.every(isNamed)
		)
			yield `nobody says what became of ${id} ("${text}")`;
	}
	for (const { marks, fields } of begun[0]!.asked.options.subtitles ? given : [])
		if (marks.length > 0 && !fields.includes('subtitles') && !/subtitle/i.test(textsOf(own)))
			yield `no subtitles with ${marks}`;
}

/** How long the node waits for one generation, in ms. */
const timeoutOf = ({ begun }: Family) => {
	const { operation, options } = begun[0]!.asked;
	const usual = /speak|wait/.test(operation) ? 3600 : operation === 'create' ? 900 : 1800;
	return Number(options.timeout ?? usual) * SECOND;
};

/** What a patient node outlives. */
const isMild = ({ kind, as, ms = 0, at, ends }: Of<'fault'>) => {
	if (kind === 'rate' || kind === 'atOnce') return as !== 'task' && ends - at <= 5 * MINUTE;
	return kind === 'bare' ? ms <= 3000 : /^(lag|messages|sockets|files|cut|silent)$/.test(kind);
};

/** 4. The node waits as long as it is told and no longer. */
function* inTime(family: Family, { works }: Book): Iterable<string> {
	const { begun, ended, name, requests, executionOf } = family;
	const { operation, tries } = begun[0]!.asked;
	const timeoutMs = timeoutOf(family);
	const mostMs = tries * needOf(family) * (timeoutMs + MINUTE) + 11 * MINUTE;
	if (ended.length === 0) yield `${name} does not end`;
	for (const { execution, at, status, error } of ended) {
		const from = begun.find((line) => line.execution === execution)!.at;
		if (status === 'engine') yield `${name} breaks n8n: ${error}`;
		if (at - from > mostMs) yield `${execution} takes ${(at - from) / SECOND} s`;
		const isNothing = !works.some((work) => work.at > from && work.at < at);
		if (operation !== 'wait' && isNothing && at - from > 16 * MINUTE * tries)
			yield `${execution} waits for nothing`;
	}
	for (const { id, at, request } of family.works) {
		const late = requests.findLast((line) => {
			const isOwn = line.path.endsWith(`/${id}`) && executionOf(line) === executionOf(request);
			return isOwn && line.attempt === request!.attempt && line.at > at + timeoutMs + 10 * SECOND;
		});
		if (late) yield `${id} is read ${late.at - at} ms after its request`;
	}
}

/** 4b. It survives what passes, and once that has ceased all ends well within a bound. */
function* endsWell(family: Family, { faults, isKilled, works, calmFrom }: Book): Iterable<string> {
	const { begun, ended, stopped, name } = family;
	const { operation, items, options, onError } = begun[0]!.asked;
	const { maxPaidPerExecution: most } = options;
	const last = ended.at(-1);
	if (!last || stopped || isKilled || (most && Number(most) < needOf(family))) return;
	const error = last.status === 'success' ? errorOf(last) : (errorOf(last) ?? last.status);
	const isPatient = timeoutOf(family) >= 15 * MINUTE && new Set(items).size === items.length;
	const own = works.filter(({ request, text }) => {
		return request
			? family.requests.includes(request)
			: operation === 'wait' && items.includes(text);
	});
	const isClear = family.paid.every(({ n }) => own.some((work) => work.n === n && work.isTold));
	if (faults.every(isMild)) {
		if (error && isPatient) yield `${name} fails: ${error}`;
		const made = Math.max(begun[0]!.at, calmFrom, ...own.map((work) => work.made?.at ?? 0));
		const late = last.at - made - (/ingredients|frames/.test(operation) ? 6 * MINUTE : 75 * SECOND);
		if (!error && ended.length === 1 && late > 0) yield `${name} ends ${late} ms late`;
	}
	const failures = count(own, ({ hasFailed }) => hasFailed);
	if (last.status !== 'success' && onError === 'stopWorkflow' && isClear && failures < 2)
		yield `${name} never ends well: ${error}`;
}

/** 4c. The result is looked up as soon as a message says that it is there. */
function* heardAtOnce(family: Family, { of, faults, isKilled }: Book): Iterable<string> {
	const isSlow = faults.some(({ kind }) =>
		/outage|rate|atOnce|quota|lost|drop|cut|lag|fails/.test(kind),
	);
	if (isSlow || isKilled || family.stopped) return;
	const end = family.ended[0]?.at ?? Infinity;
	for (const { id, request, made } of family.works) {
		const heard = of('heard').find((line) => {
			const isEnd = line.id === id && line.percentage === 100 && line.at < end;
			return isEnd && line.process === request!.process;
		});
		// A message that is late may come after the file.
		const isRead = family.requests.some(({ path, at }) => {
			return heard && path.endsWith(`/${id}`) && at >= made!.at && at <= heard.at + 1500;
		});
		if (heard && !isRead) yield `${id} is not read when it is said to be ready`;
	}
}

/** 5. As fast as the service lets it be, and no faster than told. */
function* atPace(family: Family, { faults, isKilled }: Book): Iterable<string> {
	const { begun, ended, stopped, works, attempts, name } = family;
	const most = Number(begun[0]!.asked.options.concurrency ?? 0);
	if (faults.length > 0 || stopped || isKilled || ended.length === 0) return;
	// What has timed out goes on at the service.
	const isWhole = ended.every((line) => errorOf(line) === undefined);
	for (const { underWay, id } of works)
		if (most > 0 && underWay > most && isWhole) yield `${underWay} at once with ${id}`;
	const isWide = most === 0 || most >= works.length;
	if (!isWide || attempts.length > 1 || works.length === 0 || works.length > 10) return;
	const sent = works.map(({ at }) => at);
	if (Math.max(...sent) > Math.min(...sent) + 2 * SECOND) yield `${name} begins late`;
	const made = Math.max(...works.map((work) => work.made?.at ?? Infinity));
	if (ended[0]!.at > made + SECOND)
		yield `${name} ends ${ended[0]!.at - made} ms after its last result`;
}

/** From when to when a process listened for a trigger without a break. */
function livesOf(trigger: string, { lines }: Book) {
	const lives: Array<Of<'published'> & { to: number }> = [];
	for (const line of lines) {
		const open = lives.at(-1);
		const isOwn = 'trigger' in line && line.trigger === trigger && /published/.test(line.what);
		const isGone = /killed|restarted/.test(line.what) && 'process' in line;
		if (isOwn || (isGone && line.process === open?.process))
			if (open) open.to = Math.min(open.to, line.at);
		if (isOwn && line.what === 'published' && line.refused === undefined)
			lives.push({ ...line, to: Infinity });
	}
	return lives;
}

/** What an event tells: its kind, and the task or the mark of the file. */
const eventOf = ({ json }: Given) =>
	`${json.event} ${json.task_id ?? marksIn(String(json.file_url))[0]}`;

/** 6. Each event starts one execution, and no other does. */
function* eventsOnce(book: Book): Iterable<string> {
	const { of, calmFrom, requests, statuses } = book;
	const ends = [
		...of('made').flatMap(({ at, id, marks }) => {
			const isSpeech = id.startsWith('speech');
			const events = isSpeech ? [`completed ${id}`] : marks.map((mark) => `generated ${mark}`);
			return events.map((event) => ({ at, id, event }));
		}),
		...of('failed').map(({ at, id }) => ({ at, id, event: `failed ${id}` })),
	];
	for (const [trigger, published] of Map.groupBy(of('published'), (line) => line.trigger)) {
		const { events, taskIds, download } = published[0]!.wanted;
		const started = of('started').filter((line) => line.trigger === trigger && line.isNew);
		const told = Map.groupBy(started, ({ given }) => eventOf(given));
		for (const [event, { length }] of told)
			if (length > 1 && !event.startsWith('progress')) yield `${event} starts ${length} executions`;
		for (const { given, at } of started) {
			const { event, task_id: task, error } = given.json;
			const isTrue = ends.some((end) => end.event === eventOf(given) && end.at <= at);
			if (!isTrue && event !== 'progress') yield `${eventOf(given)} is not true`;
			const isNamed = taskIds.length === 0 || !task || taskIds.includes(String(task));
			if (!isNamed || !events.includes(String(event))) yield `nobody asked for ${eventOf(given)}`;
			const files = /completed|generated/.test(String(event)) && download && !error ? 1 : 0;
			if (given.marks.length !== files || !eventOf(given).endsWith(given.marks[0] ?? ''))
				yield `${given.marks.length} files with ${eventOf(given)}`;
		}
		for (const { at: from, to, process } of livesOf(trigger, book)) {
			const isHeard = (id: string) =>
				of('heard').some((line) => {
					return line.id === id && line.process === process && line.at > from && line.at < to;
				});
			// What is there at the first look into the history is not reported.
			const looked = requests.find((line) => {
				const isLook = line.path === '/v1/video/histories' && line.attempt === undefined;
				const isOwn = isLook && line.process === process && line.at > from - MINUTE;
				return isOwn && statuses.get(line.n) === 200;
			});
			for (const { event, at, id } of ends) {
				if (told.has(event) || !events.includes(event.split(' ')[0]!)) continue;
				const isKnown = /generated/.test(event) ? looked && looked.at < at : isHeard(id);
				const isWished = taskIds.length > 0 && !/generated/.test(event);
				const isDue = isWished ? taskIds.includes(id) : isKnown && at > from;
				if (isDue && Math.max(at, from, calmFrom) + 10 * MINUTE <= to)
					yield `${event} starts nothing`;
			}
		}
		const last = of('unpublished').findLast((line) => line.trigger === trigger);
		const { refused, at } = published.at(-1)!;
		if (refused && last && at + 10 * MINUTE < last.at) yield `${trigger} has died: ${refused}`;
	}
}

/** 7. What is open, kept and asked is bounded. */
function* bounded({ of, works, families, requests }: Book): Iterable<string> {
	for (const { timers, requests: open, sockets } of of('left'))
		if (timers + open + sockets > 0)
			yield `left open: ${timers} timers, ${open} requests, ${sockets} sockets`;
	if (of('saved').some(({ text }) => text.length > 50_000)) yield 'static data without end';
	const things = works.length + families.flatMap(({ begun }) => begun[0]!.asked.items).length;
	for (const [minute, all] of Map.groupBy(requests, ({ at }) => Math.floor(at / MINUTE)))
		if (all.length > 60 + 70 * things) yield `${all.length} requests in minute ${minute}`;
	const times = of('attempt').length + of('published').length + 1;
	for (const [file, all] of Map.groupBy(of('served'), (line) => line.file))
		if (all.length > times) yield `${file} is fetched ${all.length} times`;
}

/** 8. The token goes to the API's origin and nowhere else. */
function* tokenNowhere({ lines, requests }: Book): Iterable<string> {
	for (const { token, host } of requests)
		if (token && (token === 'address' || `https://${host}` !== API))
			yield `the token goes to ${host} in the ${token}`;
	for (const line of lines) {
		const text = JSON.stringify(line);
		if ([TOKEN, encodeURIComponent(TOKEN)].some((form) => text.includes(form)))
			yield `the token is in what is ${line.what}`;
	}
}

/** 8b. Stop means stop, within a second. */
function* stops({ stopped, requests, begun, ended, name }: Family): Iterable<string> {
	if (!stopped) return;
	const late = count(requests, ({ at }) => at > stopped.at + SECOND);
	if (late > 0) yield `${name} sends ${late} requests after it was stopped`;
	// n8n itself goes through what is left of Retry On Fail, a second each.
	const mostMs = begun[0]!.asked.tries * SECOND;
	if (ended.every(({ at }) => at > stopped.at + mostMs)) yield `${name} does not stop`;
}

const ofEach = {
	paidOnce,
	ownFile,
	deliveredOrNamed,
	inTime,
	endsWell,
	heardAtOnce,
	atPace,
	stops,
};
const ofAll = { eventsOnce, bounded, tokenNowhere };

/** All that is wrong with what happened in a world, each with the promise that it breaks. */
export function audit({ lines }: { lines: Line[] }): string[] {
	const book = bookOf(lines);
	const found = [
		...Object.entries(ofEach).flatMap(([promise, rule]) =>
			book.families.flatMap((family) =>
				[...rule(family, book)].map((text) => `${promise}: ${text}`),
			),
		),
		...Object.entries(ofAll).flatMap(([promise, rule]) =>
			[...rule(book)].map((text) => `${promise}: ${text}`),
		),
	];
	return [...new Set(found)];
}

/** What is lost where a process of n8n is killed, and where to find it. */
export const LOST = {
	'what the node remembers':
		'n8n keeps nothing of a node that is at work: the execution, run again, sends every request again',
	'the id of what was paid':
		'the log of n8n names speech tasks once the service has answered; what it does not name, and every video and image, is in **History → Get Many**',
	'an event':
		'n8n keeps what a trigger remembers when it starts an execution: a task first heard of later that ends before n8n is back is missed, unless you name it in **Task IDs**',
};

/** Which of these a killed process has lost. */
export function lostBy({ lines }: { lines: Line[] }): Array<keyof typeof LOST> {
	const { of, works, requests } = bookOf(lines);
	const given = textsOf([...of('ended'), ...of('started')]);
	const texts = textsOf(of('said')) + given;
	const [killed] = of('killed');
	if (!killed) return [];
	const { at, process } = killed;
	const own = works.filter((work) => work.request?.process === process && work.at <= at);
	const isAgain = own.some(({ text, n }) =>
		requests.some((other) => other.n > n! && other.at > at && other.text === text),
	);
	const heard = new Set(of('heard').flatMap((line) => (line.at <= at ? line.id : [])));
	const isMissed = of('published').some(({ wanted }) => {
		const missed = of('made').filter((made) => heard.has(made.id) && made.at > at - SECOND);
		const isTold = ({ id }: Of<'made'>) => given.includes(`"task_id":"${id}"`);
		return wanted.events.includes('completed') && !missed.every(isTold);
	});
	const isLost = [isAgain, own.some(({ id }) => !texts.includes(id)), isMissed];
	return (Object.keys(LOST) as Array<keyof typeof LOST>).filter((_, index) => isLost[index]);
}
