import { atMost, below, seconds, type Goal, type Table } from '../figures.mts';
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
	const measured = new Map<number, ByContender>();
	let requestsOfTen: ByContender | undefined;
	for (const count of COUNTS) {
		const own = await timed(ours, count);
		const built = await timed(handBuilt, count);
		const plain = await timed(client, count);
		const of = (key: 'seconds' | 'requests') => ({
			ours: own[key],
			handBuilt: built[key],
			client: plain[key],
		});
		measured.set(count, of('seconds'));
		if (count === 10) requestsOfTen = of('requests');
	}
	const set = new Map<number, number>([
		[50, (await timed(ours50, 50)).seconds],
		[200, (await timed(ours100, 200)).seconds],
	]);

	const blocked = (await timed(oursBlocked, 50)).seconds;
	const fifty = measured.get(50)!;
	const goals: Goal[] = [
		atMost('50 items of 3 s, nothing set', 4, fifty.ours, seconds),
		below(
			'50 items of 3 s, nothing set, beside the hand-built workflow',
			fifty.handBuilt,
			fifty.ours,
			seconds,
		),
		atMost('200 items of 3 s, nothing set', 8, measured.get(200)!.ours, seconds),
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
			rows: COUNTS.map((count) => ({
				name: count === 1 ? '1 item' : `${count} items`,
				cells: [
					measured.get(count)!.ours,
					set.get(count) ?? '–',
					measured.get(count)!.handBuilt,
					vendor.speech[count] ?? 'not run',
					vendor.video[count] ?? 'not run',
					measured.get(count)!.client,
				],
				show: seconds,
			})),
		};
	};
	return { table, goals, requestsOfTen: requestsOfTen! };
}
