import type { Given, Ledger, Line, Of } from './ledger.mts';
import { API, TOKEN } from './service.mts';
import type { Fault } from './world.mts';

/*
 * Decides the promises by what the service and n8n have noted, without knowing what was planned. Each
 * returns what it complains of.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** An execution with its retries, and what came of them. */
interface Family {
	name: string;
	begun: Of<'begun'>;
	attempts: Array<Of<'attempt'>>;
	ended: Array<Of<'ended'>>;
	stopped: Of<'stopped'> | undefined;
}

/** A ledger, looked up. */
class Book {
	readonly lines: Line[];
	readonly families: Family[];
	private readonly processOf: Map<number, Of<'asked'>>;
	private readonly answers: Map<number, Of<'answer'>>;
	readonly charges: Array<Of<'charge'>>;

	constructor({ lines }: Pick<Ledger, 'lines'>) {
		this.lines = lines;
		this.processOf = new Map(this.of('asked').map((line) => [line.n, line]));
		this.answers = new Map(this.of('answer').map((line) => [line.n, line]));
		this.charges = this.of('charge');
		const killedAt = this.of('killed');
		const root = (execution: string) => execution.replace(/( again)+$/, '');
		const all = Map.groupBy(this.of('begun'), ({ execution }) => root(execution));
		this.families = [...all].map(([name, [begun]]) => {
			const own = <T extends { execution?: string }>(some: T[]) =>
				some.filter(({ execution }) => root(execution ?? '') === name);
			return {
				name,
				begun: begun!,
				attempts: own(this.of('attempt')),
				ended: own(this.of('ended')),
				stopped: own(this.of('stopped'))[0],
			};
		});
		// What a killed process was at can't be asked of it.
		this.families = this.families.filter(
			({ begun, ended }) =>
				ended.length > 0 ||
				!killedAt.some(({ at, process }) => at >= begun.at && process === begun.process),
		);
	}

	of<What extends Line['what']>(what: What): Array<Of<What>> {
		return this.lines.filter((line): line is Of<What> & Line => line.what === what);
	}

	/** On whose behalf a request was sent. */
	asker(n: number): Of<'asked'> | undefined {
		return this.processOf.get(n);
	}

	/** The status that a request was answered with; 0 if it was not. */
	statusOf(n: number): number {
		return this.answers.get(n)?.status ?? 0;
	}

	/** The create calls of an attempt for a text that the service may have accepted. */
	maybePaid(attempts: ReadonlySet<number>): Array<Of<'request'>> {
		return this.of('request').filter(({ n, method }) => {
			const { attempt } = this.asker(n) ?? {};
			if (method !== 'POST' || attempt === undefined || !attempts.has(attempt)) return false;
			const status = this.statusOf(n);
			return status === 0 || status >= 500 || this.charges.some((charge) => charge.n === n);
		});
	}

	/** The charges of an execution and its retries. */
	chargesOf({ attempts }: Family): Array<Of<'charge'>> {
		const own = new Set<number | undefined>(attempts.map(({ attempt }) => attempt));
		return this.charges.filter(({ n }) => n >= 0 && own.has(this.asker(n)?.attempt));
	}

	hasFailed(id: string, isTold?: true): boolean {
		return this.of('failed').some((line) => line.id === id && (!isTold || line.isTold));
	}

	/** The faults that there were. */
	faults(): Fault[] {
		return this.of('fault').map(({ fault }) => JSON.parse(fault));
	}

	get isKilled(): boolean {
		return this.of('killed').length > 0;
	}

	beganAt(wanted: string): number {
		return this.of('begun').find(({ execution }) => execution === wanted)!.at;
	}

	madeAt(wanted: string): number | undefined {
		return this.of('made').find(({ id }) => id === wanted)?.at;
	}

	/** The attempt that a request belongs to. */
	attemptOf(n: number, { attempts }: Family): Of<'attempt'> | undefined {
		return attempts.find(({ attempt }) => attempt === this.asker(n)?.attempt);
	}

	/** When all faults that end had ended. */
	calmFrom(): number {
		return Math.max(0, ...this.of('fault').map(({ ends }) => (ends < 60 * MINUTE ? ends : 0)));
	}
}

const count = <T,>(all: T[], holds: (one: T) => boolean) => all.filter(holds).length;

/** The text is the item's, or a part of it. */
const isOf = (item: string, text: string) => item === text || item.includes(text);

/** 1. At most one paid request per item and attempt; a retry collects what was paid for. */
function paidOnce(book: Book): string[] {
	return book.families.flatMap((family) => {
		const wrong: string[] = [];
		const check = (attempts: number[], items: string[], mayRepeat: boolean, where: string) => {
			const sent = Map.groupBy(book.maybePaid(new Set(attempts)), ({ text }) => text!);
			for (const [text, requests] of sent) {
				const items_ = count(items, (item) => isOf(item, text));
				const failed = book.charges.filter(
					(one) => one.text === text && book.hasFailed(one.id, true),
				);
				const most = items_ + (mayRepeat ? failed.length : 0);
				if (requests.length > most)
					wrong.push(`${requests.length} paid requests for "${text}" in ${where}`);
			}
		};
		for (const { attempt, texts } of family.attempts)
			check([attempt], texts, false, `attempt ${attempt}`);
		const all = family.attempts.map(({ attempt }) => attempt);
		check(all, family.begun.asked.items, true, family.name);
		return wrong;
	});
}

/** 2. The file belongs to its item. */
function ownFile(book: Book): string[] {
	const textOf = new Map(
		book.of('made').flatMap(({ id, marks }) => {
			const { text } = book.charges.find((charge) => charge.id === id)!;
			return marks.map((mark) => [mark, text] as const);
		}),
	);
	return book.families.flatMap(({ ended }) => {
		return ended.flatMap(({ given }) => wrongFiles(given, textOf));
	});
}

function wrongFiles(given: Given[], textOf: Map<string, string>): string[] {
	const used = given.flatMap(({ marks }) => marks);
	const wrong = [...new Set(used)].filter((mark) => count(used, (one) => one === mark) > 1);
	return given.reduce(
		(complaints, { text, marks, json }) => {
			const named = [...JSON.stringify(json).matchAll(/made\/([\w-]+)\./g)].map(
				([, mark]) => mark!,
			);
			for (const mark of json.error === undefined ? [...marks, ...named] : marks) {
				const own = textOf.get(mark);
				if (own === undefined || !isOf(text, own))
					complaints.push(`${mark} (${own}) at the item "${text}"`);
			}
			const places = marks.map((mark) => text.indexOf(textOf.get(mark) ?? ''));
			if (places.some((place, index) => place < (places[index - 1] ?? 0)))
				complaints.push(`parts in disorder: ${marks}`);
			return complaints;
		},
		wrong.map((mark) => `${mark} twice`),
	);
}

/** 3. What is paid is delivered or named. */
function deliveredOrNamed(book: Book): string[] {
	const told = new Set(book.of('told').map(({ id }) => id));
	const said = book.of('said');
	return book.families.flatMap((family) => {
		const { begun, ended, stopped, name } = family;
		if (ended.length === 0) return [];
		const delivered = new Set(ended.flatMap(({ given }) => given.flatMap(({ marks }) => marks)));
		// Beyond the first few, an error says how many more there are; n8n's log names what has an id.
		const isCounted = stopped !== undefined || / more\b/.test(ended.map(saidBy).join());
		const own = said.filter(({ execution, process }) =>
			execution === undefined ? process === begun.process && isCounted : execution.startsWith(name),
		);
		const texts = [...own, ...ended].map((line) => JSON.stringify(line)).join('\n');
		const isNamed = (id: string) => new RegExp(`${id}(?!\\d)`).test(texts);
		return book.chargesOf(family).flatMap(({ id, n, text, amount }) => {
			const attempt = book.attemptOf(n, family);
			// A process that was killed says nothing any more.
			if (!ended.some(({ execution }) => execution === attempt?.execution)) return [];
			const marks = book.of('made').find((made) => made.id === id)?.marks ?? [];
			const missing = marks.length === amount ? marks.filter((mark) => !delivered.has(mark)) : [id];
			if (missing.length === 0 || book.hasFailed(id, true)) return [];
			if (isNamed(id) || missing.every(isNamed)) return [];
			const isHinted = /paid|charged|history/i.test(texts);
			return isHinted && (!told.has(id) || isCounted)
				? []
				: [`nobody says what became of ${id} ("${text}")`];
		});
	});
}

/** 4. The node waits as long as it is told and no longer, and survives what passes. */
function inTime(book: Book): string[] {
	const faults = book.faults();
	const passes = faults.every(({ kind, as, lagMs = 0, bareMs = 0, forMs = 0 }) => {
		if (kind === 'lag') return lagMs <= 5000;
		if (kind === 'bare') return bareMs <= 3000;
		if (kind === 'rate' || kind === 'atOnce') return as !== 'task' && forMs <= 5 * MINUTE;
		return /^(messages|sockets|files|cut|silent)$/.test(kind);
	});
	return book.families.flatMap((family) => {
		const { begun, ended, name, stopped } = family;
		const { items, options, operation, tries } = begun.asked;
		const last = ended.at(-1);
		if (!last) return [`${name} does not end`];
		const wrong: string[] = [];
		const usual = /speak|wait/.test(operation) ? 3600 : operation === 'create' ? 900 : 1800;
		const timeoutMs = (options.timeout ?? usual) * SECOND;
		const parts = options.splitLongerThan ? 3 * items.length : items.length;
		const mostMs = tries * parts * (timeoutMs + MINUTE) + 11 * MINUTE;
		for (const { execution, at } of ended) {
			const from = book.beganAt(execution);
			if (at - from > mostMs) wrong.push(`${execution} takes ${(at - from) / SECOND} s`);
			const isNothing = !book.charges.some((line) => line.at > from && line.at < at);
			if (operation !== 'wait' && isNothing && at - from > 16 * MINUTE * tries)
				wrong.push(`${execution} waits for nothing`);
		}
		const isBad =
			last.status !== 'success' || last.given.some(({ json }) => json.error !== undefined);
		const isPatient = timeoutMs >= 15 * MINUTE && new Set(items).size === items.length;
		if (passes && isBad && !stopped && isPatient && !book.isKilled)
			wrong.push(`${name} fails: ${saidBy(last)}`);
		const awaited = book.charges.filter(({ text }) => operation === 'wait' && items.includes(text));
		const charges = [...book.chargesOf(family), ...awaited];
		const made = book.of('made').filter(({ id }) => charges.some((charge) => charge.id === id));
		const lastMade = Math.max(begun.at, book.calmFrom(), ...made.map(({ at }) => at));
		const late = /ingredients|frames/.test(operation) ? 6 * MINUTE : 75 * SECOND;
		if (passes && !isBad && !book.isKilled && ended.length === 1 && last.at > lastMade + late) {
			wrong.push(`${name} ends ${(last.at - lastMade) / SECOND} s after its last result`);
		}
		if (last.status === 'engine') wrong.push(`${name} breaks n8n: ${last.error}`);
		for (const { id, at, n } of book.chargesOf(family)) {
			const attempt = book.attemptOf(n, family);
			const late = book.of('request').findLast((line) => {
				const isOwn = line.path.endsWith(`/${id}`) && book.attemptOf(line.n, family) === attempt;
				return isOwn && line.at > at + timeoutMs + 10 * SECOND;
			});
			if (late) wrong.push(`${id} is read ${late.at - at} ms after its request`);
		}
		return wrong;
	});
}

const saidBy = ({ error, given }: Of<'ended'>) =>
	error ?? given.find(({ json }) => json.error)?.json.error;

/** 4b. The result is looked up as soon as a message says that it is there, and after the faults all ends well. */
function promptly(book: Book): string[] {
	const kinds = book.faults().map(({ kind }) => kind);
	const wrong: string[] = [];
	const isSlow = kinds.some((kind) => /outage|rate|atOnce|quota|lost|cut|lag|fails/.test(kind));
	for (const family of book.families.filter(({ stopped }) => !stopped)) {
		if (isSlow || book.isKilled) break;
		const end = family.ended[0]?.at ?? Infinity;
		for (const { id, n } of book.chargesOf(family)) {
			const { process } = book.asker(n)!;
			const heard = book.of('heard').find((line) => {
				const isEnd = line.id === id && line.percentage === 100;
				return isEnd && line.process === process && line.at < end;
			});
			// A message that is late may come after the file.
			const made = book.madeAt(id) ?? Infinity;
			const isRead = book.of('request').some(({ path, at }) => {
				return heard && path.endsWith(`/${id}`) && at >= made && at <= heard.at + 1500;
			});
			if (heard && !isRead) wrong.push(`${id} is not read when it is said to be ready`);
		}
	}
	for (const family of book.families) {
		const { begun, ended, name, attempts, stopped } = family;
		const last = ended.at(-1);
		const charges = book.chargesOf(family);
		const unclear = book
			.maybePaid(new Set(attempts.map(({ attempt }) => attempt)))
			.filter(
				({ n }) => !book.of('told').some(({ id }) => charges.find((one) => one.id === id)?.n === n),
			);
		const isRetried = begun.asked.onError === 'stopWorkflow' && !stopped && !book.isKilled;
		const failures = count(charges, ({ id }) => book.hasFailed(id));
		if (last && isRetried && last.status !== 'success' && unclear.length === 0 && failures < 2) {
			wrong.push(`${name} never ends well: ${saidBy(last)}`);
		}
	}
	return wrong;
}

/** 5. As fast as the service lets it be, and no faster than told. */
function atPace(book: Book): string[] {
	const wrong: string[] = [];
	for (const family of book.families) {
		const { begun, ended } = family;
		const { concurrency = 0 } = begun.asked.options;
		const isCalm = book.faults().length === 0 && !family.stopped && !book.isKilled;
		const charges = book.chargesOf(family);
		// What has timed out goes on at the service.
		const isWhole = ended.every((one) => saidBy(one) === undefined);
		for (const { underWay, id } of charges) {
			if (concurrency > 0 && underWay > concurrency && isCalm && isWhole)
				wrong.push(`${underWay} at once with ${id}`);
		}
		const isWide = (concurrency === 0 || concurrency >= 20) && charges.length <= 10;
		const last = Math.max(...charges.map(({ id }) => book.madeAt(id) ?? 0));
		const isOneRound = family.attempts.length === 1;
		if (isCalm && isWide && isOneRound && charges.length > 0 && ended[0]!.at > last + 1000) {
			wrong.push(`${begun.execution} ends ${ended[0]!.at - last} ms after its last result`);
		}
		const sent = charges.map(({ at }) => at);
		if (isCalm && isWide && isOneRound && Math.max(...sent) > Math.min(...sent) + 2000)
			wrong.push('it begins late');
	}
	return wrong;
}

/** From when to when a process listened for a trigger without a break. */
function lives(
	book: Book,
	trigger: string,
): Array<{ from: number; to: number; process: string; events: string[] }> {
	const found: ReturnType<typeof lives> = [];
	let open: (typeof found)[number] | undefined;
	for (const line of book.lines) {
		if (line.what === 'published' && line.trigger === trigger && line.refused === undefined) {
			found.push(
				(open = { from: line.at, to: Infinity, process: line.process, events: line.events }),
			);
		}
		const isEnd =
			(line.what === 'unpublished' && line.trigger === trigger) ||
			(line.what === 'published' && line.refused !== undefined) ||
			((line.what === 'killed' || line.what === 'restarted') && line.process === open?.process);
		if (isEnd && open) open.to = line.at;
	}
	return found;
}

/** 6. Each event starts one execution. */
function eventsOnce(book: Book): string[] {
	const wrong = book.of('dead').map(({ trigger, text }) => `${trigger} has died: ${text}`);
	const eventOf = ({ json }: Given) => `${json.event} ${json.task_id ?? json.id}`;
	const triggers = new Set(book.of('published').map(({ trigger }) => trigger));
	for (const trigger of triggers) {
		const started = book.of('started').filter((line) => line.trigger === trigger && line.isNew);
		const events = Map.groupBy(
			started.filter(({ given }) => given.json.event !== 'progress'),
			({ given }) => eventOf(given),
		);
		for (const [event, all] of events)
			if (all.length > 1) wrong.push(`${event} starts ${all.length} executions`);
		for (const { given, at } of started) {
			const { event, task_id: task, id } = given.json;
			const isTrue = book.lines.some((line) => {
				if (line.at > at) return false;
				if (event === 'completed') return line.what === 'made' && line.id === task;
				if (event === 'failed') return line.what === 'failed' && line.id === task;
				return event === 'progress' || (line.what === 'made' && line.marks.includes(String(id)));
			});
			if (!isTrue) wrong.push(`${eventOf(given)} is not true`);
		}
		for (const { from, to, process, events: wished } of lives(book, trigger)) {
			const grace = (at: number) => Math.max(at, book.calmFrom()) + 10 * MINUTE <= to;
			const heard = (id: string) =>
				book
					.of('heard')
					.some(
						(line) => line.id === id && line.process === process && line.at > from && line.at < to,
					);
			// What is there at the first look into the history is not reported.
			const looked = book.of('request').find(({ n, path, at }) => {
				const { process: asker, attempt } = book.asker(n)!;
				const isLook = path === '/v1/video/histories' && asker === process && attempt === undefined;
				return isLook && at > from - MINUTE && book.statusOf(n) === 200;
			});
			for (const { id, at, marks } of book.of('made')) {
				const isSpeech = id.startsWith('speech');
				const wanted = isSpeech ? [`completed ${id}`] : marks.map((mark) => `generated ${mark}`);
				if (at <= from || !grace(at) || !(isSpeech ? heard(id) : looked && looked.at < at))
					continue;
				for (const event of wanted) {
					if (wished.includes(event.split(' ')[0]!) && !events.has(event))
						wrong.push(`${event} starts nothing`);
				}
			}
			for (const { id, at, isTold } of book.of('failed')) {
				if (at <= from || isTold || !id.startsWith('speech') || !wished.includes('failed'))
					continue;
				if (grace(at) && heard(id) && !events.has(`failed ${id}`))
					wrong.push(`failed ${id} starts nothing`);
			}
		}
	}
	return wrong;
}

/** 7. What is open, kept and asked is bounded. */
function bounded(book: Book): string[] {
	const wrong: string[] = [];
	for (const { timers, requests, sockets } of book.of('left')) {
		if (timers + requests + sockets > 0)
			wrong.push(`left open: ${timers} timers, ${requests} requests, ${sockets} sockets`);
	}
	if (book.of('saved').some(({ text }) => text.length > 50_000))
		wrong.push('static data without end');
	const things =
		book.charges.length +
		book.families.reduce((sum, { begun }) => sum + begun.asked.items.length, 0);
	const minutes = Map.groupBy(book.of('request'), ({ at }) => Math.floor(at / MINUTE));
	for (const [minute, requests] of minutes) {
		if (requests.length > 60 + 70 * things)
			wrong.push(`${requests.length} requests in minute ${minute}`);
	}
	const served = Map.groupBy(book.of('served'), ({ mark }) => mark);
	const times = book.of('attempt').length + 1;
	for (const [mark, all] of served)
		if (all.length > times) wrong.push(`${mark} is fetched ${all.length} times`);
	return wrong;
}

/** 8. The token goes to the API and nowhere else; stop means stop. */
function tokenAndStop(book: Book): string[] {
	const hosts = new Map(book.of('request').map(({ n, host }) => [n, host]));
	const astray = book
		.of('token')
		.filter(({ n, where }) => where === 'address' || `https://${hosts.get(n)}` !== API);
	const wrong = astray.map(({ n, where }) => `the token goes to ${hosts.get(n)} in the ${where}`);
	for (const line of book.lines) {
		if (!/^(ended|said|published|started|saved|dead)$/.test(line.what)) continue;
		const text = JSON.stringify(line);
		if ([TOKEN, encodeURIComponent(TOKEN)].some((form) => text.includes(form)))
			wrong.push(`the token is in what is ${line.what}`);
	}
	for (const { stopped, attempts, name, ended, begun } of book.families) {
		if (!stopped) continue;
		const own = new Set<number | undefined>(attempts.map(({ attempt }) => attempt));
		const late = book.of('asked').filter(({ n, at, attempt }) => {
			return n >= 0 && own.has(attempt) && at > stopped.at + SECOND;
		});
		if (late.length > 0) wrong.push(`${name} sends ${late.length} requests after it was stopped`);
		// n8n itself goes through what is left of Retry On Fail, a second each.
		const mostMs = begun.asked.tries * SECOND;
		if (ended.every(({ at }) => at > stopped.at + mostMs)) wrong.push(`${name} does not stop`);
	}
	return wrong;
}

const promises = {
	paidOnce,
	ownFile,
	deliveredOrNamed,
	inTime,
	promptly,
	atPace,
	eventsOnce,
	bounded,
	tokenAndStop,
};

/** All that is wrong with what happened in a world, each with the promise that it breaks. */
export function audit(ledger: Pick<Ledger, 'lines'>): string[] {
	const book = new Book(ledger);
	return Object.entries(promises).flatMap(([name, decide]) =>
		[...new Set(decide(book))].map((complaint) => `${name}: ${complaint}`),
	);
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
export function lostBy(ledger: Pick<Ledger, 'lines'>): Array<keyof typeof LOST> {
	const book = new Book(ledger);
	const said = book.of('said').map(({ text }) => text);
	const given = JSON.stringify([...book.of('ended'), ...book.of('started')]);
	const lost = book.of('killed').flatMap(({ at, process }) => {
		const own = book.charges.filter(
			(one) => book.asker(one.n)?.process === process && one.at <= at,
		);
		const isAgain = own.some(({ text, n }) =>
			book.of('request').some((other) => other.n > n && other.at > at && other.text === text),
		);
		const isUnnamed = own.some(({ id }) => !(said.join() + given).includes(id));
		const heard = new Set(book.of('heard').flatMap((line) => (line.at <= at ? line.id : [])));
		const isMissed = book.of('published').some(({ events }) => {
			return (
				events.includes('completed') &&
				book.of('made').some(({ id, at: made }) => {
					return heard.has(id) && made > at - SECOND && !given.includes(`"task_id":"${id}"`);
				})
			);
		});
		return Object.keys(LOST).filter((_, index) => [isAgain, isUnnamed, isMissed][index]);
	});
	return [...new Set(lost)] as Array<keyof typeof LOST>;
}
