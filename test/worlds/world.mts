import { randomFrom } from '../../simulator/media/random.mts';
import { MEDIA, type Operation, paidRow, takesImages } from '../service/operations.mts';
import { MINUTE, SECOND } from './clock.mts';

/** Something that goes wrong with the service, from `at` on for `forMs`. Times in ms since the world began. */
export interface Fault {
	/**
	 * - `outage`: every request fails, as `mode` says: with this status, or with a connection that is reset or refused.
	 * - `rate`: more than `limit` requests within `ms` get 429; with a Retry-After header if `mode` is 'retryAfter'.
	 * - `concurrency`: more than `limit` jobs at once are refused with 429, or (`mode` 'task', 'early') are charged and fail
	 *   late or early.
	 * - `quota`: create calls get the status `mode`, and an error about the quota.
	 * - `lostAnswer`: a create call gets no usable answer.
	 * - `failure`: a job fails. `silentStream`: its stream ends without a result. `heartbeats`: it has only comments.
	 * - `partial`: one of several files is refused; if `mode` is 'id', the client is told which one.
	 * - `disconnect`: all streams, or all sockets, are cut once. `sockets`: they are refused, or get no messages.
	 * - `messages`: they come late, before the answer to the create call ('early'), twice, or never.
	 * - `lag`: a new task is unknown for `ms`. `noUrl`: a completed one has no URL for `ms`.
	 * - `history`: its entries lack the field `mode`.
	 * - `files`: downloads fail for `ms`, or are slow. `expiringUrls`: a URL is valid for `ms`.
	 */
	kind:
		| ('outage' | 'rate' | 'concurrency' | 'quota' | 'lostAnswer' | 'failure' | 'silentStream')
		| ('disconnect' | 'sockets' | 'messages' | 'lag' | 'noUrl' | 'history' | 'files')
		| ('heartbeats' | 'partial' | 'expiringUrls');
	at: number;
	forMs: number;
	mode?: string | number;
	limit?: number;
	ms?: number;
	/** The number of the create call that is hit, from 0; undefined for all calls. */
	create?: number;
	/** True if a create call that gets no answer is charged. */
	isPaid?: boolean;
}

/** All that is decided before a world begins. `kill` is the number, from 1, of the effect at which a process is killed. */
export type World = ReturnType<typeof worldOf> & { kill?: number };
/** One execution of the action node. */
export type Execution = ReturnType<typeof executionOf>;
export type Trigger = ReturnType<typeof triggerOf>;

/**
 * Returns a world without some of its parts: executions, triggers, other clients' jobs, faults, restarts and items of
 * executions, which are numbered in this order. `size` is the number of all parts.
 */
export function without(world: World, dropped: readonly number[]): World & { size: number } {
	let size = 0;
	const keep = <T,>(all: readonly T[]) => all.filter(() => !dropped.includes(size++));
	const all = keep(world.executions);
	const [triggers, others, faults] = [keep(world.triggers), keep(world.others), keep(world.faults)];
	const restarts = keep(world.restarts);
	const withKeptItems = all.map((one) => ({ ...one, items: keep(one.items) }));
	const executions = withKeptItems.filter(({ items }) => items.length > 0);
	return { ...world, executions, triggers, others, restarts, faults, size };
}

/** The random numbers of the world that is being drawn. */
let next = randomFrom(0);
/** Draws a whole number from `min` to `max`. */
const whole = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
const chance = (share: number) => next() < share;
const pick = <const T extends unknown[]>(...choices: T): T[number] =>
	choices[whole(0, choices.length - 1)];
const some = <T,>(length: number, make: (index: number) => T) =>
	Array.from({ length }, (_, index) => make(index));

/** Draws the world of a seed. */
export function worldOf(seed: number) {
	next = randomFrom(seed);
	const isCalm = chance(0.1);
	const executions = some(pick(0, 1, 1, 1, 2, 2, 3), executionOf);
	// Another process runs the same execution.
	const twin = chance(0.15) && executions[0];
	if (twin) executions.push({ ...twin, ...twinOf(twin, executions.length) });
	const paidExecution = executions.find(({ operation }) => operation !== COLLECT);
	const hasTrigger = executions.length === 0 || chance(0.4);
	const hasSeveral = executions.some(({ fileCount }) => fileCount > 1);
	const partial = hasSeveral && chance(0.5) ? [{ ...PARTIAL, mode: pick('id', 'all') }] : [];
	return {
		seed,
		executions,
		triggers: hasTrigger ? [triggerOf()] : [],
		/** The jobs of other clients of the account, some with the same text. */
		others: some(whole(0, hasTrigger ? 4 : 1), (index) => ({
			at: whole(0, 15 * MINUTE),
			kind: pick('speech', 'speech', 'video'),
			failure: chance(0.2) ? 'It failed' : undefined,
			text: pick(`Other text ${index}.`, paidExecution?.items[0] ?? 'Another.'),
			prompt: paidExecution?.prompt,
		})),
		/** When the first process is restarted in an orderly way, in ms. */
		restarts: hasTrigger && chance(0.2) ? [whole(1, 20) * MINUTE] : [],
		faults: isCalm ? [] : [...some(whole(1, 4), faultOf), ...partial],
	};
}

/** Returns the default of the parameter Timeout, in seconds. */
export const usualTimeoutOf = (operation: Operation): number =>
	MEDIA[paidRow(operation)?.kind ?? 'speech'].timeoutSeconds;

const PARTIAL = { kind: 'partial', at: 0, forMs: 24 * 60 * MINUTE } as const;
const [SPEAK, COLLECT, VIDEO] = ['speech:speak', 'speech:wait', 'video:textToVideo'] as const;
const IMAGE = 'image:create';
/** The operations that executions are drawn from. One that is listed several times is drawn as often. */
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

/** The lists of events that triggers are drawn with. */
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
	// A loop takes one row at a time, which is n8n's default, or half of many rows.
	const rounds = batches > 1 && items.length < 10 ? items.length : batches;
	// In some executions, two rows are equal.
	if (items.length > 1 && isPaid && chance(0.15)) items[1] = items[0]!;
	const hasImages = takesImages(operation);
	// In some executions, all images have the same prompt, or all rows the same text.
	const isConstant = isPaid && chance(hasImages ? 0.5 : 0.07);
	if (isConstant && !hasImages && !splits) items.fill(items[0]!);
	const maxPaid = Math.ceil(items.length / pick(1, 1, 2, 9));
	const options = {
		...(isPaid && chance(0.5) && { concurrency: pick(1, 2, 3, 20) }),
		...(chance(0.3) && { timeout: pick(60, 300, 1200) }),
		...(isSpeech && chance(0.3) && { pollInterval: pick(1, 10, 30) }),
		...(isSpeech && chance(0.2) && { subtitles: true }),
		...(splits && { splitLongerThan: 40 }),
		...(isPaid && chance(0.15) && { maxPaidPerExecution: maxPaid }),
	};
	return {
		name: `execution ${index}`,
		...{ operation, items, rounds, at: pick(0, 0, whole(0, 10 * MINUTE)) },
		...(isConstant && hasImages && { prompt: 'Make it move.' }),
		...{ process: chance(0.15) ? 1 : 0, tries: chance(0.25) ? whole(2, 3) : 1 },
		options: options as Record<string, number | boolean>,
		onError: pick('stopWorkflow', 'stopWorkflow', 'continueRegularOutput', 'continueErrorOutput'),
		fileCount: operation === VIDEO && chance(0.4) ? whole(2, 4) : 1,
		stopAfter: chance(0.08) ? whole(1, 200 * SECOND) : undefined,
		/** The id of the workflow that calls this one as a sub-workflow. */
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
	const lacksDedupKeys = chance(0.15);
	return {
		name: 'trigger 0',
		/** The times at which a person publishes it, unpublishes it, and publishes it again, in ms. */
		toggleTimes: chance(0.25) ? [at, offAt, offAt + pick(1, 30, 300) * SECOND] : [at],
		events: pick(...EVENTS).split(' '),
		tasks: chance(0.15) ? ['Named text.', 'Another named text.'] : [],
		download: chance(0.3),
		/** True for an old n8n, which does not drop duplicate events. */
		lacksDedupKeys,
		/** When, and for how long, n8n cannot start executions, in ms. */
		n8nOutage:
			!lacksDedupKeys && chance(0.2)
				? { at: whole(0, 6 * MINUTE), forMs: whole(1, 90) * SECOND }
				: undefined,
		/** Its process is killed `ms` after this emission, counted from 1. */
		crash: chance(0.1) ? { emission: whole(1, 4), ms: pick(0, 10, 500) } : undefined,
		/** The execution of the sub-workflow that it calls for each event. */
		subWorkflow: chance(0.3) ? subWorkflowOf() : undefined,
		/** It is published again `ms` after each of the first `times` jobs has ended. */
		republish: chance(0.2) ? { times: whole(1, 3), ms: whole(0, 1000) } : undefined,
	};
}

function subWorkflowOf(): Execution {
	const { options, ...plan } = executionOf(9, pick(SPEAK, VIDEO, VIDEO, IMAGE));
	const more = { ...options, ...(chance(0.3) && { timeout: 60 }) };
	const stopAfter = chance(0.2) ? whole(1, 100 * SECOND) : undefined;
	const changes = {
		items: plan.items.slice(0, 2),
		rounds: 1,
		at: 0,
		process: 0,
		calledBy: 'trigger 0',
	};
	return { ...plan, ...changes, options: more, stopAfter };
}

function faultOf(): Fault {
	const at = Math.round(whole(0, 10 * MINUTE) * pick(0, 0.02, 0.2, 1));
	const forMs = Math.round(SECOND * 600 ** next());
	const now = { at, forMs };
	const always = { at: 0, forMs: 24 * 60 * MINUTE };
	const create = pick(0, 0, 1, 2, whole(0, 9));
	return pick<Fault[]>(
		{ kind: 'outage', ...now, mode: pick(502, 502, 500, 504, 403, 'reset', 'refused') },
		{ kind: 'outage', ...now, mode: pick(502, 520, 'reset') },
		{
			kind: 'rate',
			...now,
			mode: pick('retryAfter', 'none'),
			limit: pick(10, 30, 120),
			ms: MINUTE,
		},
		{ kind: 'concurrency', ...now, mode: pick(429, 429, 'task'), limit: whole(1, 5) },
		{ kind: 'quota', at, forMs: whole(1, 55) * MINUTE, mode: pick(429, 402) },
		{ kind: 'disconnect', at, forMs: 0, mode: pick('streams', 'sockets') },
		{ kind: 'sockets', ...now, mode: pick('refused', 'deaf') },
		{ kind: 'messages', ...always, mode: pick('late', 'early', 'twice', 'none') },
		{ kind: 'lag', ...always, ms: pick(500, 2000, 5000) },
		{ kind: 'noUrl', ...always, ms: pick(500, 3000, 8000) },
		{ kind: 'history', ...always, mode: pick('id', 'created_at') },
		{ kind: 'files', ...always, mode: pick(503, 404, 'cut', 'slow'), ms: pick(300, 1000, 2500) },
		{ kind: 'lostAnswer', ...always, create, mode: pick(502, 'reset', 'hang'), isPaid: true },
		{ kind: 'lostAnswer', ...always, create, mode: pick(502, 'reset', 'hang') },
		{ kind: 'failure', ...always, create },
		{ kind: 'silentStream', ...always, create },
		{ kind: 'heartbeats', ...always, create },
		{ kind: 'expiringUrls', ...always, ms: pick(5, 60) * MINUTE },
	);
}
