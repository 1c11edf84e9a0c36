import { atMost, below, row, seconds, type Goal, type Table } from '../figures.mts';
import { lines, race } from '../run.mts';
import type { Arena, Entrant, Setting } from '../setting.mts';
import type { Aside } from './aside.mts';

const SECONDS = 3;
const COUNTS = [1, 10, 50, 200];

export type ByContender = Record<'ours' | 'handBuilt' | 'client', number>;

/** How long many items of 3 s take in one execution, and how many requests each costs. */
export async function measureWallTime(
	{ client }: Setting,
	{ entrants }: Arena<'ours' | 'ours50' | 'ours100' | 'oursBlocked' | 'handBuilt'>,
) {
	const { ours, ours50, ours100, oursBlocked, handBuilt } = entrants;
	const timed = async (entrant: Entrant, count: number) => {
		const { times, requests } = await race(entrant, 'speech', lines(count, SECONDS));
		return { seconds: times[0]!.seconds, requests: requests / count };
	};
	const timedAll = async (count: number) => ({
		count,
		ours: await timed(ours, count),
		handBuilt: await timed(handBuilt, count),
		client: await timed(client, count),
	});
	const measured: Array<Awaited<ReturnType<typeof timedAll>>> = [];
	for (const count of COUNTS) measured.push(await timedAll(count));
	const [, ten, fifty, twoHundred] = measured;
	const set = new Map<number, number>([
		[50, (await timed(ours50, 50)).seconds],
		[200, (await timed(ours100, 200)).seconds],
	]);
	const blocked = (await timed(oursBlocked, 50)).seconds;
	const goals: Goal[] = [
		atMost('50 items of 3 s, nothing set', 4, fifty!.ours.seconds, seconds),
		below(
			'50 items of 3 s, nothing set, beside the hand-built workflow',
			fifty!.handBuilt.seconds,
			fifty!.ours.seconds,
			seconds,
		),
		atMost('200 items of 3 s, nothing set', 8, twoHundred!.ours.seconds, seconds),
		atMost('50 items of 3 s, WebSocket blocked, Poll Interval 2 s', 6.5, blocked, seconds),
	];
	const table = ({ vendor }: Aside): Table => {
		return {
			title: `Many items of ${SECONDS} s each`,
			about:
				'From the call of the workflow to the end of its only execution. The MiniMax node works ' +
				'one item at a time: more than 10 were not run. The MiniMax API answers a speech request ' +
				'when the speech is there; its videos are tasks, looked up every 15 s.',
			columns: [
				'Media Generation node, automatic',
				'with concurrency set',
				'Hand-built workflow',
				'MiniMax node, speech',
				'MiniMax node, video',
				'Plain client, no n8n',
			],
			rows: measured.map(({ count, ...of }) =>
				row(
					count === 1 ? '1 item' : `${count} items`,
					[
						of.ours.seconds,
						set.get(count) ?? '–',
						of.handBuilt.seconds,
						vendor.speech[count] ?? 'not run',
						vendor.video[count] ?? 'not run',
						of.client.seconds,
					],
					seconds,
				),
			),
		};
	};
	const requestsOfTen: ByContender = {
		ours: ten!.ours.requests,
		handBuilt: ten!.handBuilt.requests,
		client: ten!.client.requests,
	};
	return { table, goals, requestsOfTen };
}
