import { randomFrom } from '../../simulator/media/random.mts';
import { MEDIA, type Operation, paidRow, takesImages } from '../service/operations.mts';
import { MINUTE, SECOND } from './clock.mts';

/** What goes wrong with the service, from `at` on for `forMs`. Times in ms. */
export interface Fault {
	/** First of all requests, then of create calls, then of connections, messages, tasks and files. */
	kind:
		| ('outage' | 'rate' | 'atOnce' | 'quota' | 'lost' | 'fails' | 'silent')
		| ('cut' | 'sockets' | 'messages' | 'lag' | 'bare' | 'history' | 'files')
		| ('beats' | 'partly' | 'signed');
	at: number;
	forMs: number;
	/** How it shows: a status, or a word. */
	as?: string | number;
	/** So many at once, or within `ms`. */
	most?: number;
	/** How long what is new is unknown, or has no address or no file; how long an address is signed. */
	ms?: number;
	/** It hits the create call with this number, counted from 0, once it was accepted or before. */
	create?: number;
	isPaid?: boolean;
}

/** All that is decided before a world begins. With `kill` a process is killed at this effect, counted from 1. */
export type World = ReturnType<typeof worldOf> & { kill?: number };
/** One execution of the action node. */
export type Execution = ReturnType<typeof executionOf>;
export type Trigger = ReturnType<typeof triggerOf>;

/** What a world is without some of its parts and the items of its executions, which are counted through. */
export function without(world: World, dropped: readonly number[]): World & { size: number } {
	let size = 0;
	const kept = <T,>(all: readonly T[]) => all.filter(() => !dropped.includes(size++));
	const all = kept(world.executions);
	const [triggers, others, faults] = [kept(world.triggers), kept(world.others), kept(world.faults)];
	const restarts = kept(world.restarts);
	const executions = all.map((one) => ({ ...one, items: kept(one.items) }));
	const left = executions.filter(({ items }) => items.length > 0);
	return { ...world, executions: left, triggers, others, restarts, faults, size };
}

/** The chances of the world that is being made. */
let next = randomFrom(0);
/** A whole number from `least` to `most`. */
const whole = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
const chance = (share: number) => next() < share;
const pick = <const T extends unknown[]>(...choices: T): T[number] =>
	choices[whole(0, choices.length - 1)];
const some = <T,>(amount: number, make: (index: number) => T) =>
	Array.from({ length: amount }, (_, index) => make(index));

/** The world of a seed. */
export function worldOf(seed: number) {
	next = randomFrom(seed);
	const isCalm = chance(0.1);
	const executions = some(pick(0, 1, 1, 1, 2, 2, 3), executionOf);
	// Another process makes the same.
	const twin = chance(0.15) && executions[0];
	if (twin) executions.push({ ...twin, ...twinOf(twin, executions.length) });
	const own = executions.find(({ operation }) => operation !== COLLECT);
	const hasTrigger = executions.length === 0 || chance(0.4);
	const hasSeveral = executions.some(({ amount }) => amount > 1);
	const partly = hasSeveral && chance(0.5) ? [{ ...PARTLY, as: pick('id', 'all') }] : [];
	return {
		seed,
		executions,
		triggers: hasTrigger ? [triggerOf()] : [],
		// What somebody else makes in the same account, of the same words at times.
		others: some(whole(0, hasTrigger ? 4 : 1), (index) => ({
			at: whole(0, 15 * MINUTE),
			kind: pick('speech', 'speech', 'video'),
			failure: chance(0.2) ? 'It failed' : undefined,
			text: pick(`Other text ${index}.`, own?.items[0] ?? 'Another.'),
			prompt: own?.prompt,
		})),
		// The first process, in good order.
		restarts: hasTrigger && chance(0.2) ? [whole(1, 20) * MINUTE] : [],
		faults: isCalm ? [] : [...some(whole(1, 4), faultOf), ...partly],
	};
}

/** How long the node waits for one result if nothing is set, in seconds. */
export const usualTimeoutOf = (operation: Operation): number =>
	MEDIA[paidRow(operation)?.kind ?? 'speech'].timeoutSeconds;

/** One of several videos is refused. */
const PARTLY = { kind: 'partly', at: 0, forMs: 24 * 60 * MINUTE } as const;
const [SPEAK, COLLECT, VIDEO] = ['speech:speak', 'speech:wait', 'video:textToVideo'] as const;
const IMAGE = 'image:create';
/** The operations that executions are drawn from; one that stands here several times is drawn as often. */
export const DRAWN: Operation[] = [
	SPEAK,
	SPEAK,
	SPEAK,
	VIDEO,
	VIDEO,
	'video:ingredientsToVideo',
	'video:framesToVideo',
	IMAGE,
	COLLECT,
];

/** The events that a trigger is drawn with. */
export const EVENTS =
	'completed,completed failed,progress completed failed,generated,completed generated'.split(',');

function executionOf(index: number, operation: Operation = pick(...DRAWN)) {
	const isSpeech = operation.startsWith('speech:');
	const isPaid = operation !== COLLECT;
	const batches = isPaid && chance(0.15) ? 2 : 1;
	const splits = operation === SPEAK && chance(0.25);
	const items = some(pick(1, 1, 2, 3, 5, isPaid && !splits ? 22 : 12) * batches, (item) => {
		const name = `${operation.split(':')[1]} ${index}-${item}`;
		return `${splits ? `First part of ${name}. Second part of ${name}. Third` : 'Text'} of ${name}.`;
	});
	// A loop takes one row at a time, as n8n's does by itself, or half of many.
	const rounds = batches > 1 && items.length < 10 ? items.length : batches;
	// Some rows are the same twice.
	if (items.length > 1 && isPaid && chance(0.15)) items[1] = items[0]!;
	const hasPictures = takesImages(operation);
	// The same words for every picture, or every row.
	const isConstant = isPaid && chance(hasPictures ? 0.5 : 0.07);
	if (isConstant && !hasPictures && !splits) items.fill(items[0]!);
	const most = Math.ceil(items.length / pick(1, 1, 2, 9));
	const options = {
		...(isPaid && chance(0.5) && { concurrency: pick(1, 2, 3, 20) }),
		...(chance(0.3) && { timeout: pick(60, 300, 1200) }),
		...(isSpeech && chance(0.3) && { pollInterval: pick(1, 10, 30) }),
		...(isSpeech && chance(0.2) && { subtitles: true }),
		...(splits && { splitLongerThan: 40 }),
		...(isPaid && chance(0.15) && { maxPaidPerExecution: most }),
	};
	return {
		name: `execution ${index}`,
		...{ operation, items, rounds, at: pick(0, 0, whole(0, 10 * MINUTE)) },
		...(isConstant && hasPictures && { prompt: 'Make it move.' }),
		...{ process: chance(0.15) ? 1 : 0, tries: chance(0.25) ? whole(2, 3) : 1 },
		options: options as Record<string, number | boolean>,
		onError: pick('stopWorkflow', 'stopWorkflow', 'continueRegularOutput', 'continueErrorOutput'),
		amount: operation === VIDEO && chance(0.4) ? whole(2, 4) : 1,
		stopAfter: chance(0.08) ? whole(1, 200 * SECOND) : undefined,
		/** The workflow that calls it, if one does. */
		...({} as { calledBy?: string }),
	};
}

const twinOf = ({ at, process }: Execution, index: number) => ({
	...{ name: `execution ${index}`, process: 1 - process },
	at: at + pick(0, whole(0, 5 * MINUTE)),
});

function triggerOf() {
	const at = pick(0, 0, whole(0, 2 * MINUTE));
	const offAt = at + whole(1, 10) * MINUTE;
	const isOld = chance(0.15);
	return {
		name: 'trigger 0',
		turns: chance(0.25) ? [at, offAt, offAt + pick(1, 30, 300) * SECOND] : [at],
		events: pick(...EVENTS).split(' '),
		tasks: chance(0.15) ? ['Named text.', 'Another named text.'] : [],
		download: chance(0.3),
		/** Its n8n drops no duplicates. */
		isOld,
		/** n8n can't start executions for some time. */
		refusal:
			!isOld && chance(0.2)
				? { at: whole(0, 6 * MINUTE), forMs: whole(1, 90) * SECOND }
				: undefined,
		/** Its process is killed so long after this emission, counted from 1. */
		death: chance(0.1) ? { emission: whole(1, 4), ms: pick(0, 10, 500) } : undefined,
		/** It is published again so long after the first works have ended. */
		/** It calls a sub-workflow for each event, which creates this. */
		called: chance(0.3) ? calledOf() : undefined,
		again: chance(0.2) ? { times: whole(1, 3), ms: whole(0, 1000) } : undefined,
	};
}

function calledOf(): Execution {
	const { options, ...plan } = executionOf(9, pick(SPEAK, VIDEO, VIDEO, IMAGE));
	const more = { ...options, ...(chance(0.3) && { timeout: 60 }) };
	const stopAfter = chance(0.2) ? whole(1, 100 * SECOND) : undefined;
	const own = {
		items: plan.items.slice(0, 2),
		rounds: 1,
		at: 0,
		process: 0,
		calledBy: 'trigger 0',
	};
	return { ...plan, ...own, options: more, stopAfter };
}

function faultOf(): Fault {
	const at = Math.round(whole(0, 10 * MINUTE) * pick(0, 0.02, 0.2, 1));
	const forMs = Math.round(SECOND * 600 ** next());
	const now = { at, forMs };
	const always = { at: 0, forMs: 24 * 60 * MINUTE };
	const create = pick(0, 0, 1, 2, whole(0, 9));
	return pick<Fault[]>(
		{ kind: 'outage', ...now, as: pick(502, 502, 500, 504, 403, 'reset', 'refused') },
		{ kind: 'outage', ...now, as: pick(502, 520, 'reset') },
		{ kind: 'rate', ...now, as: pick('told', 'silent'), most: pick(10, 30, 120), ms: MINUTE },
		{ kind: 'atOnce', ...now, as: pick(429, 429, 'task'), most: whole(1, 5) },
		{ kind: 'quota', at, forMs: whole(1, 55) * MINUTE, as: pick(429, 402) },
		{ kind: 'cut', at, forMs: 0, as: pick('streams', 'sockets') },
		{ kind: 'sockets', ...now, as: pick('refused', 'deaf') },
		{ kind: 'messages', ...always, as: pick('late', 'early', 'twice', 'none') },
		{ kind: 'lag', ...always, ms: pick(500, 2000, 5000) },
		{ kind: 'bare', ...always, ms: pick(500, 3000, 8000) },
		{ kind: 'history', ...always, as: pick('id', 'created_at') },
		{ kind: 'files', ...always, as: pick(503, 404, 'cut', 'slow'), ms: pick(300, 1000, 2500) },
		{ kind: 'lost', ...always, create, as: pick(502, 'reset', 'hang'), isPaid: true },
		{ kind: 'lost', ...always, create, as: pick(502, 'reset', 'hang') },
		{ kind: 'fails', ...always, create },
		{ kind: 'silent', ...always, create },
		{ kind: 'beats', ...always, create },
		{ kind: 'signed', ...always, ms: pick(5, 60) * MINUTE },
	);
}
