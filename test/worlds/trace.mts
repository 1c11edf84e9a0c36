import type { IDataObject } from 'n8n-workflow';
import { clock } from './clock.mts';
import { KINDS } from './jobs.mts';
import { type Execution, usualTimeoutOf } from './world.mts';

/** An output item: the text of its input item, the ids of its files, and the binary fields that have files. */
export type OutputItem = { text: string; json: IDataObject; fileIds: string[]; fields: string[] };

/** What an execution of the action node has to do. Options as the node has them, times in seconds. */
type Plan = Pick<
	Execution,
	'operation' | 'items' | 'options' | 'onError' | 'tries' | 'calledBy' | 'fileCount'
>;

/** The settings of a trigger. `lacksDedupKeys` is true in an n8n that does not drop duplicate events. */
type Settings = {
	events: string[];
	taskIds: string[];
	download: boolean;
	lacksDedupKeys?: boolean;
};

/** Who sent a request, and the text of it. */
type Sender = { process: string; attempt?: number; text?: string; bearsToken: boolean };

/** What can happen, by the name of the fact. */
interface Facts {
	/** A request has left n8n. `n` numbers the requests. */
	request: Sender & { n: number; method: string; host: string; path: string; query: string };
	/** Request `n` was answered. Status 0: the connection was reset; -1: it was refused. */
	answer: { n: number; status: number };
	/** A job was accepted and charged. `n` is its request; undefined if another client has sent it. */
	charge: { n?: number; id: string; text: string; prompt?: string };
	/** The client of a job was told the job's id or its files. */
	announced: { id: string };
	/** A job has succeeded: its files are ready. */
	finished: { id: string; fileIds: string[] };
	/** A job has failed. It is recorded again, with `isAnnounced`, each time that its client is told so. */
	failed: { id: string; isAnnounced: boolean };
	/** A file was downloaded as a whole. */
	served: { file: string };
	/** A process was sent the progress of a job over its WebSocket. */
	message: { id: string; percentage: number; process: string };
	/** A fault has begun. It lasts until `ends`. */
	fault: { kind: string; mode?: string | number; ends: number };
	/** An execution has begun. `attempt`: its action node has begun to run. The number counts these runs. */
	launched: { execution: string; process: string; plan: Plan };
	attempt: { attempt: number; execution: string; texts: string[] };
	ended: { execution: string; status: string; outputs: OutputItem[]; error?: string };
	/** A text was shown to the user, or logged if it has no execution. */
	shown: { execution?: string; process: string; text: string };
	/** A person has stopped an execution. */
	stopped: { execution: string };
	/** n8n has activated a trigger, or could not. */
	published: { trigger: string; process: string; settings: Settings; refused?: string };
	unpublished: { trigger: string };
	/** A trigger has emitted an event, and n8n has saved its static data. */
	emitted: { trigger: string; process: string; key: string; event: string };
	/** n8n has started an execution for an event, or (`isNew` false) has dropped the event as a duplicate. */
	started: { trigger: string; key: string; isNew: boolean; output: OutputItem };
	/** n8n has saved a trigger's static data. */
	saved: { trigger: string; text: string };
	killed: { process: string };
	/** What was still open at the end of the world. */
	leftOpen: { timers: number; requests: number; sockets: number };
}

type FactName = keyof Facts;
export type Fact = { [What in FactName]: { what: What } & Facts[What] }[FactName];
/** A fact, and when it happened, in ms since the world began. */
export type Line = Fact & { at: number };
/** The lines of one kind. */
type Of<What extends FactName> = { what: What; at: number } & Facts[What];

/** All that has happened in the world that is played, in order. */
export const recordedLines: Line[] = [];
export const record = (fact: Fact): void =>
	void recordedLines.push({ at: Math.round(clock.now), ...fact });

export type Trace = ReturnType<typeof traceOf>;
/** An execution and all its retries. */
export type Lineage = Trace['lineages'][number];
/** All that is known of one trigger. */
export type TriggerTrace = Trace['triggers'][number];

/** A fault that lasts longer than this, in ms, is a property of the service, and never ends. */
const MAX_FAULT_MS = 3_600_000;

export const count = <T,>(all: T[], holds: (one: T) => boolean) => all.filter(holds).length;
/** Returns a complaint for each name that more than `max` of `all` have. */
export const moreThan = <T,>(max: number, all: T[], nameOf: (one: T) => string) =>
	[...Map.groupBy(all, nameOf)].flatMap(([name, { length }]) => {
		return length > max ? `${length} times ${name}` : [];
	});
const firstAttemptOf = (execution: string) => execution.replace(/( again)+$/, '');

/** Links the lines of a world: requests with their answers, jobs with what became of them, and so on. */
export function traceOf(lines: Line[]) {
	const of = <What extends Line['what']>(what: What) =>
		lines.filter((line): line is Of<What> & Line => line.what === what);
	const [finished, failed, killed] = [of('finished'), of('failed'), of('killed')];
	const answers = new Map(of('answer').map((line) => [line.n, line]));
	const executions = new Map(of('attempt').map((line) => [line.attempt, line.execution]));
	const charged = new Set(of('charge').map(({ n }) => n));
	const requests = of('request').map((line) => {
		const { n, method, attempt = 0 } = line;
		const { status = 0, at: answeredAt = Infinity } = answers.get(n) ?? {};
		// It was not charged, but the node cannot know that.
		const isIndeterminate = method === 'POST' && (status === 0 || status >= 500) && !charged.has(n);
		const execution = executions.get(attempt) ?? '';
		return { ...line, status, answeredAt, isIndeterminate, execution };
	});
	/** Each job, and what became of it. It has no request if another client has sent it. */
	const jobs = of('charge').map((charge) => {
		const { id, n, text } = charge;
		const isOwn = (line: { id: string }) => line.id === id;
		const by = requests.find((line) => line.n === n) ?? requests.find((line) => line.text === text);
		const failureAnnounced = failed.find((line) => isOwn(line) && line.isAnnounced);
		const ends = { finished: finished.find(isOwn), isFailed: failed.some(isOwn), failureAnnounced };
		const isAnnounced = of('announced').some(isOwn);
		return { ...charge, ...ends, request: n === undefined ? n : by, isAnnounced };
	});
	const launches = Map.groupBy(of('launched'), (line) => firstAttemptOf(line.execution));
	const lineages = [...launches].map(([name, launched]) => {
		const isOwn = ({ execution }: { execution: string }) => firstAttemptOf(execution) === name;
		const { plan, at, process } = launched[0]!;
		const { operation, items, options } = plan;
		const ownJobs = jobs.filter(({ request }) => request && isOwn(request));
		const sent = requests.filter(isOwn);
		return {
			...{ name, launched, plan, at, process, requests: sent, jobs: ownJobs },
			/** The create calls that were charged, or may have been for all that the node knows. */
			paid: [
				...ownJobs.map(({ request }) => request!),
				...sent.filter(({ isIndeterminate }) => isIndeterminate),
			],
			...{ attempts: of('attempt').filter(isOwn), ended: of('ended').filter(isOwn) },
			stopped: of('stopped').find(isOwn),
			/** How long the node waits for one generation, in ms. */
			timeoutMs: Number(options.timeout ?? usualTimeoutOf(operation)) * 1000,
			/** How many create calls all items take at most. */
			maxCreateCalls: items.length * (options.splitLongerThan ? 3 : 1),
		};
	});
	/** Each event that a trigger may report, and when it happened. */
	const events = [
		...finished.flatMap(({ at, id, fileIds }) => {
			const kind = id.startsWith('speech') ? 'completed' : 'generated';
			return fileIds.map((fileId) => ({ at, id, event: `${kind} ${fileId}` }));
		}),
		...failed.map(({ at, id }) => ({ at, id, event: `failed ${id}` })),
		...of('message').map(({ at, id, percentage }) => {
			return { at, id, event: `progress ${id} ${percentage}` };
		}),
	];
	const byTrigger = Map.groupBy([...of('published'), ...of('started')], (line) => line.trigger);
	const triggers = [...byTrigger.keys()].map((name) => {
		const isOwn = ({ trigger }: { trigger: string }) => trigger === name;
		const published = of('published').filter(isOwn);
		const { at: from = 0, settings } = published[0] ?? {};
		const started = of('started').filter((line) => isOwn(line) && line.isNew);
		const changes = lines.filter((line) => {
			return 'trigger' in line && isOwn(line) && /published/.test(line.what);
		});
		const endOf = (line: Line) => changes[changes.indexOf(line) + 1]?.at ?? Infinity;
		/** Each activation, from `at` until `to`. One that was refused ends at once. */
		const activations = published.map((line) => ({
			...line,
			to: line.refused ? line.at : endOf(line),
		}));
		/** Returns the times from `at` until `to` in which it was active, except for gaps of at most `maxGapMs`. */
		const activeSpans = (maxGapMs: number) => {
			const spans: typeof activations = [];
			for (const activation of activations.filter(({ refused }) => !refused)) {
				const last = spans.at(-1);
				if (last && activation.at - last.to <= maxGapMs) last.to = activation.to;
				else spans.push({ ...activation });
			}
			return spans;
		};
		const known: Settings = settings ?? { events: [], taskIds: [], download: false };
		return {
			...{ name, published, started, emitted: of('emitted').filter(isOwn) },
			...{ activations, activeSpans, from, ...known },
		};
	});
	return {
		...{ lines, of, requests, jobs, events, faults: of('fault'), isKilled: killed.length > 0 },
		triggers,
		// A killed process cannot be asked about the executions that it has begun.
		lineages: lineages.filter(({ ended, at: launchedAt, process: first }) => {
			return (
				ended.length > 0 || !killed.some(({ at, process }) => at >= launchedAt && process === first)
			);
		}),
		/** When the last of the faults that end has ended. */
		faultsEndAt: Math.max(0, ...of('fault').map(({ ends }) => (ends < MAX_FAULT_MS ? ends : 0))),
	};
}

/** Returns the ids of files and tasks in a text. */
export const idsIn = (text: string) => text.match(ID_PATTERN) ?? [];
const ID_PATTERN = new RegExp(`\\b(?:${Object.keys(KINDS).join('|')})-[\\d-]*\\d`, 'g');

/** Yields what killed processes have lost, in the words of docs/faults.md, which says where to find it. */
export function* lostBy(lines: Line[]): Iterable<string> {
	const { of, jobs, requests } = traceOf(lines);
	for (const { at, process } of of('killed')) {
		const outputs = JSON.stringify([of('ended'), of('started')]);
		const texts = JSON.stringify(of('shown')) + outputs;
		const itsJobs = jobs.filter((job) => job.request?.process === process && job.at <= at);
		const laterTexts = requests.flatMap((line) => (line.at > at && line.text) || []);
		if (itsJobs.some(({ text }) => laterTexts.includes(text))) yield 'what the node remembers';
		if (itsJobs.some(({ id }) => !texts.includes(id))) yield 'the ID of what was charged';
		const knownIds = of('message').flatMap((line) => (line.at <= at ? line.id : []));
		const isMissed = of('finished').some(({ id, at: finishedAt }) => {
			return (
				knownIds.includes(id) && finishedAt > at - 1000 && !outputs.includes(`"task_id":"${id}"`)
			);
		});
		const isSelected = of('published').some(({ settings }) =>
			settings.events.includes('completed'),
		);
		if (isSelected && isMissed) yield 'an event';
	}
}
