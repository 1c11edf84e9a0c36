import { COLUMNS, seconds, type Cell, type Row, type Table } from '../figures.mts';
import { compare, lines } from '../run.mts';
import type { Arena, Entrant, Setting } from '../setting.mts';

const COUNT = 50;
const SECONDS = 3;
const AT_ONCE = 8;

interface Outcome {
	seconds: number;
	/** Items paid for, and items that came out. */
	paid: number;
	delivered: number;
	refused: number;
	error: string | undefined;
}

async function outcomeOf({ simulator }: Setting, entrant: Entrant): Promise<Outcome> {
	const { contender, account } = entrant;
	const requestsBefore = simulator.requests.length;
	const paidBefore = account.tasks();
	const texts = lines(COUNT, SECONDS);
	const began = Date.now();
	simulator.mostAtOnce = AT_ONCE;
	const ended = await contender.make('speech', texts).finally(() => {
		simulator.mostAtOnce = undefined;
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
export async function measureRefusals(setting: Setting, { entrants }: Arena<'ours' | 'handBuilt'>) {
	const all = [
		await outcomeOf(setting, entrants.ours),
		await outcomeOf(setting, entrants.handBuilt),
	] as const;
	const [ours] = all;
	const least = Math.ceil(COUNT / AT_ONCE) * SECONDS;
	const row = (name: string, of: (outcome: Outcome) => Cell, show: Row['show'] = String): Row => ({
		name,
		cells: [...all.map(of), 'not run', 'not run'],
		show,
	});
	const table: Table = {
		title: `${COUNT} items where the service allows ${AT_ONCE} at once`,
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
	const name = `items lost of ${COUNT} where the service allows ${AT_ONCE} at once`;
	const lost = COUNT - ours.delivered;
	return { table, goal: { name, goal: '0', measured: String(lost), met: lost === 0 } };
}
