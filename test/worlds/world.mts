import { Random } from './random.mts';

/** What goes wrong with the service, from `at` on for `forMs` (ms), or with one create call. */
export interface Fault {
	kind:
		| (
				| 'outage'
				| 'rate'
				| 'atOnce'
				| 'quota'
				| 'cut'
				| 'sockets'
				| 'messages'
				| 'lag'
				| 'bare'
				| 'files'
		  )
		| ('lost' | 'fails' | 'silent');
	at?: number;
	forMs?: number;
	/** How it shows: a status, or a word. */
	as?: string | number;
	/** What is cut. */
	what?: 'streams' | 'sockets';
	/** So many within so many ms, and whether the service says when to come again. */
	most?: number;
	windowMs?: number;
	says?: boolean;
	/** For how long what is new is unknown, has no address, or has no file. */
	lagMs?: number;
	bareMs?: number;
	youngMs?: number;
	/** The create call with this number is lost, fails, or its stream ends without a word. */
	create?: number;
	isAccepted?: boolean;
}

export type Operation =
	'speak' | 'textToVideo' | 'ingredientsToVideo' | 'framesToVideo' | 'create' | 'wait';

/** One execution of the action node. Times in ms, options as the node has them. */
export interface Execution {
	at: number;
	process: number;
	operation: Operation;
	/** Texts, or the tasks to wait for. */
	items: string[];
	options: Record<string, number>;
	onError: 'stopWorkflow' | 'continueRegularOutput';
	tries: number;
	rounds: number;
	amount: number;
	stopAfter?: number;
}

export interface Trigger {
	process: number;
	at: number;
	events: string[];
	unpublishedAt?: number;
	publishedAgainAt?: number;
}

/** All that is decided before a world begins. */
export interface World {
	seed: number;
	executions: Execution[];
	triggers: Trigger[];
	/** Tasks (and videos) that somebody else makes in the same account. */
	others: Array<{ at: number; operation: 'speak' | 'textToVideo'; text: string }>;
	/** When the first process is restarted in good order. */
	restarts: number[];
	faults: Fault[];
	/** The process is killed at this effect, counted from 1. */
	kill?: number;
}

/** The parts that shrinking may drop, each by its number. */
const PARTS = ['executions', 'triggers', 'others', 'restarts', 'faults'] as const;

/** What a world is without some of its parts and items, which are counted through. */
export function without(world: World, dropped: ReadonlySet<number>): World {
	let number = 0;
	const keep = () => !dropped.has(number++);
	const lists = PARTS.map((part) => [part, (world[part] as unknown[]).filter(keep)]);
	const lesser: World = { ...world, ...Object.fromEntries(lists) };
	const executions = world.executions.map((execution) => {
		const items = execution.items.filter(keep);
		return { execution, kept: { ...execution, items } };
	});
	return {
		...lesser,
		executions: executions
			.filter(
				({ execution, kept }) => lesser.executions.includes(execution) && kept.items.length > 0,
			)
			.map(({ kept }) => kept),
	};
}

/** How many parts and items `without` counts. */
export const sizeOf = (world: World): number =>
	PARTS.reduce((sum, part) => sum + world[part].length, 0) +
	world.executions.reduce((sum, { items }) => sum + items.length, 0);

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** As much of a world as it takes to try each of its effects. */
export const lesser = (world: World): World => ({
	...world,
	executions: world.executions
		.slice(0, 1)
		.map((one) => ({ ...one, items: one.items.slice(0, 2), rounds: 1 })),
	others: world.others.slice(0, 2),
	restarts: [],
	faults: world.faults.slice(0, 1),
});

/** The world of a seed. */
export function worldOf(seed: number): World {
	const random = new Random(seed);
	const isCalm = random.chance(0.1);
	const executions = Array.from({ length: random.pick([0, 1, 1, 1, 2, 2, 3]) }, (_, index) =>
		executionOf(random, index),
	);
	const hasTrigger = executions.length === 0 || random.chance(0.4);
	const others = Array.from(
		{ length: hasTrigger ? random.whole(0, 4) : random.whole(0, 1) },
		(_, index) => ({
			at: random.whole(0, 15 * MINUTE),
			operation: random.pick(['speak', 'speak', 'textToVideo'] as const),
			text: `other ${index} of seed ${seed}.`,
		}),
	);
	const world: World = {
		seed,
		executions,
		triggers: hasTrigger ? [triggerOf(random)] : [],
		others,
		restarts: hasTrigger && random.chance(0.2) ? [random.whole(1, 20) * MINUTE] : [],
		faults: isCalm ? [] : Array.from({ length: random.whole(1, 4) }, () => faultOf(random)),
	};
	return world;
}

function executionOf(random: Random, index: number): Execution {
	const operation = random.pick([
		...(['speak', 'speak', 'speak', 'textToVideo', 'textToVideo'] as const),
		...(['ingredientsToVideo', 'framesToVideo'] as const),
		...(['create', 'wait'] as const),
	]);
	const isSpeech = operation === 'speak' || operation === 'wait';
	const rounds = operation !== 'wait' && random.chance(0.15) ? 2 : 1;
	const splits = operation === 'speak' && random.chance(0.25);
	const items = Array.from({ length: random.pick([1, 1, 2, 3, 5, 12]) * rounds }, (_, item) => {
		const name = `${operation} ${index}-${item}`;
		return splits
			? `First part of ${name}. Second part of ${name}. Third of ${name}.`
			: `Text of ${name}.`;
	});
	// Some rows are the same twice.
	if (items.length > 1 && operation !== 'wait' && random.chance(0.15)) items[1] = items[0]!;
	return {
		at: random.pick([0, 0, random.whole(0, 10 * MINUTE)]),
		process: random.chance(0.15) ? 1 : 0,
		operation,
		items,
		options: {
			...(random.chance(0.5) && operation !== 'wait'
				? { concurrency: random.pick([1, 2, 3, 20]) }
				: {}),
			...(random.chance(0.3) ? { timeout: random.pick([60, 300, 1200]) } : {}),
			...(isSpeech && random.chance(0.3) ? { pollInterval: random.pick([1, 10, 30]) } : {}),
			...(splits ? { splitLongerThan: 40 } : {}),
		},
		onError: random.pick(['stopWorkflow', 'continueRegularOutput'] as const),
		tries: random.chance(0.25) ? random.whole(2, 3) : 1,
		rounds,
		amount: operation === 'textToVideo' && random.chance(0.2) ? random.whole(2, 4) : 1,
		...(random.chance(0.08) ? { stopAfter: random.whole(1, 200 * SECOND) } : {}),
	};
}

function triggerOf(random: Random): Trigger {
	const unpublishedAt = random.chance(0.25) ? random.whole(1, 10) * MINUTE : undefined;
	return {
		process: 0,
		at: random.pick([0, 0, random.whole(0, 2 * MINUTE)]),
		events: random.pick([
			['completed'],
			['completed', 'failed'],
			['progress', 'completed', 'failed'],
			['generated'],
			['completed', 'generated'],
		]),
		unpublishedAt,
		publishedAgainAt: unpublishedAt && unpublishedAt + random.pick([1, 30, 300]) * SECOND,
	};
}

function faultOf(random: Random): Fault {
	const at = random.whole(0, 10 * MINUTE) * random.pick([0, 0.02, 0.2, 1]);
	const forMs = Math.round(SECOND * 600 ** random.next());
	const during = { at: Math.round(at), forMs };
	const create = random.pick([0, 0, 1, 2, random.whole(0, 9)]);
	const always = { at: 0, forMs: 60 * MINUTE };
	const any = <const T extends unknown[]>(...choices: T): T[number] => random.pick(choices);
	return random.pick<() => Fault>([
		() => ({ kind: 'outage', ...during, as: any(502, 502, 500, 504, 'html', 'reset', 'refused') }),
		() => ({ kind: 'outage', ...during, as: any(502, 520, 'reset') }),
		() => {
			const limit = { most: any(10, 30, 120), windowMs: MINUTE, says: random.chance(0.5) };
			return { kind: 'rate', ...during, ...limit };
		},
		() => ({ kind: 'atOnce', ...during, most: random.whole(1, 5), as: any(429, 429, 'task') }),
		() => {
			const longMs = Math.min(55 * MINUTE, any(1, 12, 55) * forMs);
			return { kind: 'quota', ...during, forMs: longMs, as: any(429, 402) };
		},
		() => ({ kind: 'cut', at: during.at, what: any('streams', 'sockets') }),
		() => ({ kind: 'sockets', ...during, as: any('refused', 'deaf') }),
		() => ({ kind: 'messages', ...always, as: any('late', 'early', 'twice', 'none') }),
		() => ({ kind: 'lag', ...always, lagMs: any(500, 2000, 5000) }),
		() => ({ kind: 'bare', ...always, bareMs: any(500, 3000, 8000) }),
		() => ({ kind: 'files', ...always, as: any(503, 404, 'cut'), youngMs: any(300, 1000, 2500) }),
		() => ({
			...({ kind: 'lost', create } as const),
			as: any(502, 'reset', 'hang'),
			isAccepted: random.chance(0.7),
		}),
		() => ({ kind: 'fails', create }),
		() => ({ kind: 'silent', create }),
	])();
}
