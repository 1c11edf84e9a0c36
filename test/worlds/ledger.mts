import type { IDataObject } from 'n8n-workflow';
import { clock } from './clock.mts';
import { KINDS } from './works.mts';
import { type Execution, usualTimeoutOf } from './world.mts';

/** An item that n8n has: the text of its input item, the marks in its files, the fields that these are in. */
export type Given = { text: string; json: IDataObject; marks: string[]; fields: string[] };

/** What a person has asked n8n for. Options as the node has them, times in seconds. */
type Asked = Pick<
	Execution,
	'operation' | 'items' | 'options' | 'onError' | 'tries' | 'calledBy' | 'amount'
>;

/** What a trigger is to tell. */
type Wanted = { events: string[]; taskIds: string[]; download: boolean; isOld?: boolean };

/** Who sent what text. */
type Sent = { process: string; attempt?: number; text?: string; bearsToken: boolean };

/** What the service (first) and n8n have seen happen. */
interface Facts {
	request: Sent & { n: number; method: string; host: string; path: string; query: string };
	/** Status 0: the connection was reset; -1: refused. */
	answer: { n: number; status: number };
	/** `n` is its request; undefined if it is somebody else's. */
	charge: { n?: number; id: string; text: string; prompt?: string };
	/** Whoever made it has been told its id or its files. */
	told: { id: string };
	made: { id: string; marks: string[] };
	/** First where it happens, then again each time that somebody is told. */
	failed: { id: string; isTold: boolean };
	served: { file: string };
	heard: { id: string; percentage: number; process: string };
	/** Something goes wrong from now on until `ends`. */
	fault: { kind: string; as?: string | number; ends: number };
	begun: { execution: string; process: string; asked: Asked };
	attempt: { attempt: number; execution: string; texts: string[] };
	ended: { execution: string; status: string; given: Given[]; error?: string };
	said: { execution?: string; process: string; text: string };
	stopped: { execution: string };
	published: { trigger: string; process: string; wanted: Wanted; refused?: string };
	unpublished: { trigger: string };
	/** n8n is told of an event, and saves what the trigger remembers; then it starts an execution. */
	emitted: { trigger: string; process: string; key: string; event: string };
	started: { trigger: string; key: string; isNew: boolean; given: Given };
	saved: { trigger: string; text: string };
	killed: { process: string };
	/** What was open when everything had ended. */
	left: { timers: number; requests: number; sockets: number };
}

type Kind = keyof Facts;
export type Fact = { [What in Kind]: { what: What } & Facts[What] }[Kind];
/** Times in ms since the world began. */
export type Line = Fact & { at: number };
/** The lines of one kind. */
type Of<What extends Kind> = { what: What; at: number } & Facts[What];

/** All that happens in the world that is played, in its order. */
export const ledger: Line[] = [];
export const note = (fact: Fact): void => void ledger.push({ at: Math.round(clock.now), ...fact });

export type Book = ReturnType<typeof bookOf>;
/** An execution with its retries: all that was done for it. */
export type Family = Book['families'][number];
/** A trigger that was published, or that n8n has heard of. */
export type Publication = Book['triggers'][number];

/** What goes wrong for so many ms is how this service is. */
const LASTING = 3_600_000;

export const count = <T,>(all: T[], holds: (one: T) => boolean) => all.filter(holds).length;
/** What there is more of than that. */
export const beyond = <T,>(most: number, all: T[], nameOf: (one: T) => string) =>
	[...Map.groupBy(all, nameOf)].flatMap(([name, { length }]) => {
		return length > most ? `${length} times ${name}` : [];
	});
const rootOf = (execution: string) => execution.replace(/( again)+$/, '');

/** A ledger, looked up. */
export function bookOf(lines: Line[]) {
	const of = <What extends Line['what']>(what: What) =>
		lines.filter((line): line is Of<What> & Line => line.what === what);
	const [told, made, failed, killed] = [of('told'), of('made'), of('failed'), of('killed')];
	const answers = new Map(of('answer').map((line) => [line.n, line]));
	const executions = new Map(of('attempt').map((line) => [line.attempt, line.execution]));
	const charged = new Set(of('charge').map(({ n }) => n));
	const requests = of('request').map((line) => {
		const { n, method, attempt = 0 } = line;
		const { status = 0, at: answeredAt = Infinity } = answers.get(n) ?? {};
		// The service may have accepted it all the same.
		const isUnclear = method === 'POST' && (status === 0 || status >= 500) && !charged.has(n);
		const execution = executions.get(attempt) ?? '';
		return { ...line, status, answeredAt, isUnclear, execution };
	});
	/** What was ordered, and what came of it; without a request it is somebody else's. */
	const works = of('charge').map((charge) => {
		const { id, n, text } = charge;
		const isOwn = (line: { id: string }) => line.id === id;
		const by = requests.find((line) => line.n === n) ?? requests.find((line) => line.text === text);
		const failureTold = failed.find((line) => isOwn(line) && line.isTold);
		const ends = { made: made.find(isOwn), isFailed: failed.some(isOwn), failureTold };
		return { ...charge, ...ends, request: n === undefined ? n : by, isTold: told.some(isOwn) };
	});
	const begins = Map.groupBy(of('begun'), (line) => rootOf(line.execution));
	const families = [...begins].map(([name, begun]) => {
		const isOwn = ({ execution }: { execution: string }) => rootOf(execution) === name;
		const { asked, at, process } = begun[0]!;
		const { operation, items, options } = asked;
		const own = works.filter(({ request }) => request && isOwn(request));
		const sent = requests.filter(isOwn);
		return {
			...{ name, begun, asked, at, process, requests: sent, works: own },
			paid: [...own.map(({ request }) => request!), ...sent.filter(({ isUnclear }) => isUnclear)],
			...{ attempts: of('attempt').filter(isOwn), ended: of('ended').filter(isOwn) },
			stopped: of('stopped').find(isOwn),
			/** How long the node waits for one generation, in ms. */
			timeoutMs: Number(options.timeout ?? usualTimeoutOf(operation)) * 1000,
			/** How many requests it takes to make all that is asked for, at most. */
			need: items.length * (options.splitLongerThan ? 3 : 1),
		};
	});
	/** All that a trigger may tell, and when it happened. */
	const events = [
		...made.flatMap(({ at, id, marks }) => {
			const kind = id.startsWith('speech') ? 'completed' : 'generated';
			return marks.map((mark) => ({ at, id, event: `${kind} ${mark}` }));
		}),
		...failed.map(({ at, id }) => ({ at, id, event: `failed ${id}` })),
		...of('heard').map(({ at, id, percentage }) => {
			return { at, id, event: `progress ${id} ${percentage}` };
		}),
	];
	const byTrigger = Map.groupBy([...of('published'), ...of('started')], (line) => line.trigger);
	const triggers = [...byTrigger.keys()].map((name) => {
		const isOwn = ({ trigger }: { trigger: string }) => trigger === name;
		const published = of('published').filter(isOwn);
		const { at: from = 0, wanted } = published[0] ?? {};
		const started = of('started').filter((line) => isOwn(line) && line.isNew);
		const turns = lines.filter((line) => {
			return 'trigger' in line && isOwn(line) && /published/.test(line.what);
		});
		const endOf = (line: Line) => turns[turns.indexOf(line) + 1]?.at ?? Infinity;
		/** From when to when n8n listened for it without a break. */
		const lives = published.map((line) => ({ ...line, to: line.refused ? line.at : endOf(line) }));
		/** From when to when it was published but for so many ms each time. */
		const spansOf = (mostMs: number) => {
			const spans: typeof lives = [];
			for (const life of lives.filter(({ refused }) => !refused)) {
				const last = spans.at(-1);
				if (last && life.at - last.to <= mostMs) last.to = life.to;
				else spans.push({ ...life });
			}
			return spans;
		};
		const all: Wanted = wanted ?? { events: [], taskIds: [], download: false };
		return {
			name,
			published,
			started,
			emitted: of('emitted').filter(isOwn),
			lives,
			spansOf,
			from,
			...all,
		};
	});
	return {
		...{ lines, of, requests, works, events, faults: of('fault'), isKilled: killed.length > 0 },
		triggers,
		// What a killed process was at can't be asked of it.
		families: families.filter(({ ended, at: begun, process: own }) => {
			return ended.length > 0 || !killed.some(({ at, process }) => at >= begun && process === own);
		}),
		/** When all faults that end had ended. */
		calmFrom: Math.max(0, ...of('fault').map(({ ends }) => (ends < LASTING ? ends : 0))),
	};
}

/** The marks of files and the ids of tasks in a text. */
export const marksIn = (text: string) => text.match(MARK) ?? [];
const MARK = new RegExp(`\\b(?:${Object.keys(KINDS).join('|')})-[\\d-]*\\d`, 'g');

/** What a killed process of n8n has lost, in the words of docs/faults.md, which says where to find it. */
export function* lostBy(lines: Line[]): Iterable<string> {
	const { of, works, requests } = bookOf(lines);
	for (const { at, process } of of('killed')) {
		const given = JSON.stringify([of('ended'), of('started')]);
		const texts = JSON.stringify(of('said')) + given;
		const own = works.filter((work) => work.request?.process === process && work.at <= at);
		const again = requests.flatMap((line) => (line.at > at && line.text) || []);
		if (own.some(({ text }) => again.includes(text))) yield 'what the node remembers';
		if (own.some(({ id }) => !texts.includes(id))) yield 'the ID of what was charged';
		const heard = of('heard').flatMap((line) => (line.at <= at ? line.id : []));
		const isMissed = of('made').some(({ id, at: madeAt }) => {
			return heard.includes(id) && madeAt > at - 1000 && !given.includes(`"task_id":"${id}"`);
		});
		const isWanted = of('published').some(({ wanted }) => wanted.events.includes('completed'));
		if (isWanted && isMissed) yield 'an event';
	}
}
