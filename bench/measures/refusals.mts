import { setTimeout as pause } from 'node:timers/promises';
import type { Simulator } from '../../simulator/simulator.mts';
import {
	atMost,
	COLUMNS,
	seconds,
	type Cell,
	type Goal,
	type Row,
	type Table,
} from '../figures.mts';
import { compare, lines } from '../run.mts';
import type { Arena, Entrant, Setting } from '../setting.mts';

const COUNT = 50;
const SECONDS = 3;
const AT_ONCE = 8;
const A_MINUTE = 60;
/** How much longer it may take than the limit makes necessary. */
const SLACK = 1.3;

interface Outcome {
	seconds: number;
	/** Items paid for, and items that came out. */
	paid: number;
	delivered: number;
	refused: number;
	error: string | undefined;
}

type Limit = Pick<Simulator, 'mostAtOnce' | 'requestLimit'>;

const NO_LIMIT: Limit = { mostAtOnce: undefined, requestLimit: undefined };
const FEW_AT_ONCE: Limit = { ...NO_LIMIT, mostAtOnce: AT_ONCE };
const FEW_A_MINUTE: Limit = { ...NO_LIMIT, requestLimit: { requests: A_MINUTE, seconds: 60 } };

async function outcomeOf({ simulator }: Setting, entrant: Entrant, limit: Limit): Promise<Outcome> {
	const { contender, account } = entrant;
	const requestsBefore = simulator.requests.length;
	const paidBefore = account.tasks();
	const texts = lines(COUNT, SECONDS);
	const began = Date.now();
	Object.assign(simulator, limit);
	const ended = await contender.make('speech', texts).finally(() => {
		Object.assign(simulator, NO_LIMIT);
	});
	const requests = simulator.requests.slice(requestsBefore);
	const { files, errors } = await contender.made('speech');
	if (errors.length === 0) {
		await compare(contender.name, files, account.results('speech', texts));
	}
	await contender.clear('speech');
	return {
		seconds: (ended - began) / 1000,
		paid: account.tasks() - paidBefore,
		delivered: files.length,
		refused: requests.filter(({ status }) => status === 429).length,
		error: errors[0],
	};
}

/** What becomes of many items where the service allows few at once and answers 429 beyond. */
export async function measureRefusals(
	setting: Setting,
	{ entrants }: Arena<'ours' | 'oursBlocked' | 'oursRated' | 'handBuilt'>,
) {
	const all = [
		await outcomeOf(setting, entrants.ours, FEW_AT_ONCE),
		await outcomeOf(setting, entrants.handBuilt, FEW_AT_ONCE),
	] as const;
	const [ours] = all;
	const least = Math.ceil(COUNT / AT_ONCE) * SECONDS;
	const row = (name: string, of: (outcome: Outcome) => Cell, show: Row['show'] = String): Row => ({
		name,
		cells: [...all.map(of), 'not run', 'not run'],
		show,
	});
	const about = `${COUNT} items where the service allows ${AT_ONCE} at once`;
	const table: Table = {
		title: about,
		about:
			`Items of ${SECONDS} s, automatic concurrency; a request beyond ${AT_ONCE} running tasks is ` +
			`answered 429 with Retry-After 1. It can't be done in less than ${least} s. The MiniMax ` +
			'node works one item at a time and is never refused; the plain client does not repeat.',
		columns: COLUMNS,
		rows: [
			row('time', (outcome) => (outcome.error ? 'fails' : outcome.seconds), seconds),
			row('items paid for', ({ paid }) => paid),
			row('items delivered', ({ delivered }) => delivered),
			row('requests refused', ({ refused }) => refused),
		],
	};
	const blocked = await outcomeOf(setting, entrants.oursBlocked, FEW_AT_ONCE);
	// A create call and a lookup each; the first minute's requests may all be sent at once.
	const leastByRate = 60 * (Math.ceil((2 * COUNT) / A_MINUTE) - 1);
	// A window of the simulator's is a minute by the clock: this one must be whole.
	await pause(60_000 - (Date.now() % 60_000));
	const rated = await outcomeOf(setting, entrants.oursRated, FEW_A_MINUTE);
	const goals = [
		...goalsOf(about, ours, least),
		...goalsOf(`${about}, WebSocket blocked`, blocked, least),
		...goalsOf(
			`${COUNT} items where the service allows ${A_MINUTE} requests a minute, WebSocket blocked`,
			rated,
			leastByRate,
		),
	];
	return { table, goals };
}

function goalsOf(about: string, outcome: Outcome, leastSeconds: number): Goal[] {
	const lost = COUNT - outcome.delivered;
	return [
		{ name: `lost of ${about}`, goal: '0', measured: String(lost), met: lost === 0 },
		atMost(about, SLACK * leastSeconds, outcome.seconds, seconds),
	];
}
