import { MINUTE } from '../worlds/clock.mts';
import type { Fault } from '../worlds/world.mts';

/** A limit that nobody tells the node of, and what the node has to reach beside one who knows it. */
export interface Row {
	faults: Fault[];
	operation?: 'speech:speak' | 'video:textToVideo';
	/** Another client takes a part of it, or it is another one from some minute on. */
	changes?: true;
	/** What is possible is what so many rows take under these faults, and so many ms more. */
	beside?: { faults: Fault[]; items: number; later: number };
	/** The row's Timeout in seconds. */
	timeout?: number;
	/** The greatest share of rows that may be lost, by the number of processes; none unless given. */
	lost?: Partial<Record<number, number>>;
	/** A second batch of as many rows begins in the first process alone, so many ms later. */
	againAt?: number;
	items?: number;
	share?: Partial<Record<number, number>>;
	refused?: Partial<Record<number, number>>;
	spread?: Partial<Record<number, number>>;
}

/** Limits from one minute to another. */
const from = (first: number, last: number, more: Omit<Fault, 'at' | 'forMs'>): Fault => {
	return { at: first * MINUTE, forMs: (last - first) * MINUTE, ...more };
};
const always = (more: Omit<Fault, 'at' | 'forMs'>) => from(0, 6000, more);
const second = (limit: number) => ({ kind: 'rate', ms: 1000, mode: 'retryAfter', limit }) as const;
const minute = (limit: number, mode = 'retryAfter') =>
	({ kind: 'rate', ms: MINUTE, mode, limit }) as const;
const atOnce = (limit: number, mode: number | string = 429) =>
	({ kind: 'concurrency', mode, limit }) as const;
/** What another client of the account leaves: by turns all, and a part. */
const shared = (limitOf: typeof second | typeof atOnce, all: number, part: number) =>
	Array.from({ length: 240 }, (_, turn) => from(turn, turn + 1, limitOf(turn % 2 ? part : all)));
const MESSAGES = { none: 'none', early: 'early' } as const;
const messages = (mode: keyof typeof MESSAGES) => always({ kind: 'messages', mode });

export const LIMITS: Record<string, Row> = {
	'2 a second': { faults: [always(second(2))] },
	'5 a second': { faults: [always(second(5))] },
	'2 a second, then 5': {
		faults: [from(0, 1, second(2)), from(1, 6000, second(5))],
		changes: true,
	},
	'30 a minute': { faults: [always(minute(30))], timeout: 900 },
	'100 a minute': { faults: [always(minute(100))] },
	'60 a minute, unannounced': { faults: [always(minute(60, ''))] },
	// Each task is read, too, which counts; 'early': messages come before the answer to the create call.
	'30 a minute, speech': { faults: [always(minute(30))], operation: 'speech:speak' },
	'30 a minute, speech without messages': {
		...{ faults: [always(minute(30)), messages('none')], operation: 'speech:speak' },
	},
	'60 a minute, speech, late': {
		...{ faults: [always(minute(60, '')), messages('early')], operation: 'speech:speak' },
	},
	'4 or 2 a second, in turns': { faults: shared(second, 4, 2), changes: true },
	'4 at once': { faults: [always(atOnce(4))] },
	'15 at once': { faults: [always(atOnce(15))] },
	'10 at once, then 4': {
		faults: [from(0, 1, atOnce(10)), from(1, 6000, atOnce(4))],
		changes: true,
	},
	'4 at once, then 40': {
		faults: [from(0, 5, atOnce(4)), from(5, 6000, atOnce(40))],
		changes: true,
	},
	'10 or 6 at once, in turns': { faults: shared(atOnce, 10, 6), changes: true },
	'4 at once, taken for eleven minutes, Timeout an hour': {
		...{ faults: [from(0, 11, atOnce(0)), from(11, 6000, atOnce(4))], changes: true },
		...{ timeout: 3600, items: 200 },
	},
	'4 at once, Timeout an hour': { faults: [always(atOnce(4))], timeout: 3600, items: 300 },
	'30 a minute, a second batch later': {
		...{ faults: [always(minute(30))], againAt: 12 * MINUTE, items: 240 },
	},
	// The usual Timeout of an image. The first rows of ten processes wait for each other until it is over.
	'6 a minute, Timeout 15 minutes': {
		...{ faults: [always(minute(6))], timeout: 900, items: 200, lost: { 10: 0.35 } },
	},
	'6 a minute, then free': {
		...{ faults: [from(0, 5, minute(6))], beside: { faults: [], items: 970, later: 5 * MINUTE } },
		...{ changes: true },
	},
	'15 at once, charged, failing early': {
		...{ faults: [always(atOnce(15, 'early'))], lost: { 1: 0.05, 3: 0.05, 10: 0.15 } },
	},
	'15 at once, charged, failing late': {
		...{ faults: [always(atOnce(15, 'task'))], lost: { 1: 0.12, 3: 0.12, 10: 0.3 } },
	},
	// With ten processes, each at one at a time is too much, so it has to pause.
	'8 at once, charged, failing early': {
		...{ faults: [always(atOnce(8, 'early'))], lost: { 1: 0.05, 3: 0.05, 10: 0.2 } },
	},
	'15 texts at once, charged, failing early': {
		...{ faults: [always(atOnce(15, 'early'))], lost: { 1: 0.05, 3: 0.05, 10: 0.22 } },
		operation: 'speech:speak',
	},
	'15 videos at once, charged, failing early': {
		...{ faults: [always(atOnce(15, 'early'))], lost: { 1: 0.05, 3: 0.05, 10: 0.22 } },
		operation: 'video:textToVideo',
	},
	'replicas that lag': {
		...{
			faults: [always({ kind: 'lag', ms: 5000 })],
			beside: { faults: [], items: 60, later: 0 },
			operation: 'speech:speak',
			items: 60,
		},
	},
};

/**
 * Where a figure is out of reach, what is held instead, by the number of processes. Requests of processes that know
 * nothing of each other come at random, and Erlang's loss formula tells the share that is refused: of 2 a second, three
 * quarters are used only where more than half are refused.
 */
export const HELD: Record<string, Pick<Row, 'share' | 'refused' | 'spread'>> = {
	'2 a second': {
		share: { 1: 0.88, 3: 0.65, 10: 0.48 },
		refused: { 3: 0.14, 10: 0.4 },
		spread: { 3: 1.8, 10: 2.2 },
	},
	'5 a second': {
		share: { 1: 0.88, 3: 0.71, 10: 0.58 },
		refused: { 10: 0.28 },
		spread: { 3: 1.8, 10: 2.3 },
	},
	'2 a second, then 5': {
		...{ share: { 1: 0.82, 10: 0.6 }, refused: { 3: 0.11, 10: 0.29 }, spread: { 3: 1.8, 10: 2.3 } },
	},
	'30 a minute': { refused: { 1: 0.1, 3: 0.17, 10: 0.36 }, spread: { 10: 1.8 } },
	'100 a minute': { refused: { 3: 0.12, 10: 0.24 }, spread: { 10: 1.7 } },
	'60 a minute, unannounced': { refused: { 1: 0.11, 3: 0.23, 10: 0.42 }, spread: { 10: 1.8 } },
	'30 a minute, speech': { refused: { 1: 0.07, 10: 0.3 } },
	'30 a minute, speech without messages': { refused: { 1: 0.07, 10: 0.3 } },
	'60 a minute, speech, late': { refused: { 3: 0.13, 10: 0.32 } },
	'4 or 2 a second, in turns': {
		share: { 1: 0.73, 3: 0.55, 10: 0.47 },
		refused: { 3: 0.14, 10: 0.36 },
		spread: { 3: 1.8, 10: 2.7 },
	},
	'4 at once': { refused: { 3: 0.14, 10: 0.38 }, spread: { 10: 3.5 } },
	'15 at once': { refused: { 10: 0.15 }, spread: { 3: 1.7, 10: 3 } },
	'10 at once, then 4': { refused: { 1: 0.07, 3: 0.14, 10: 0.39 }, spread: { 10: 3.5 } },
	'4 at once, then 40': {
		share: { 1: 0.58, 3: 0.6 },
		refused: { 10: 0.13 },
		spread: { 10: 1.9 },
	},
	'10 or 6 at once, in turns': {
		share: { 1: 0.68 },
		refused: { 10: 0.31 },
		spread: { 10: 2.2 },
	},
	'4 at once, taken for eleven minutes, Timeout an hour': {
		refused: { 1: 0.13, 3: 0.3, 10: 0.6 },
		spread: { 10: 2.1 },
	},
	'4 at once, Timeout an hour': {
		refused: { 1: 0.07, 3: 0.16, 10: 0.39 },
		spread: { 3: 1.7, 10: 4 },
	},
	'6 a minute, Timeout 15 minutes': { refused: { 1: 0.25, 3: 0.4, 10: 0.7 } },
	'30 a minute, a second batch later': {
		refused: { 1: 0.16, 3: 0.2, 10: 0.32 },
		spread: { 10: 2.4 },
	},
};
