import { lines, type Contender } from '../contender.mts';
import { atMost, COLUMNS, row, seconds, type Goal, type Table } from '../report.mts';

const SECONDS = 3;
const COUNTS = [1, 10, 50, 200];

/** Measures how long many items of 3 s take in one execution. `blocked` is our node without its WebSocket. */
export async function measureWallTime(
	ourNode: Contender,
	built: Contender,
	blocked: Contender,
): Promise<{ table: Table; goals: Goal[] }> {
	const timed = async (contender: Contender, count: number) =>
		(await contender.race('speech', lines(count, SECONDS)))[0]!.seconds;
	const measured = new Map<number, [number, number]>();
	for (const count of COUNTS) {
		measured.set(count, [await timed(ourNode, count), await timed(built, count)]);
	}
	const withoutSocket = await timed(blocked, 50);
	const [fifty, fiftyBuilt] = measured.get(50)!;
	const goals = [
		atMost('50 items of 3 s, nothing set', 4, fifty, seconds),
		atMost('50 items of 3 s, beside the hand-built workflow', fiftyBuilt, fifty, seconds),
		atMost('200 items of 3 s, nothing set', 8, measured.get(200)![0], seconds),
		atMost('50 items of 3 s, WebSocket blocked, Poll Interval 2 s', 6.5, withoutSocket, seconds),
	];
	const table: Table = {
		title: `Many items of ${SECONDS} s each`,
		about:
			'The time from the call of the workflow to the end of its only execution, with default settings.',
		columns: COLUMNS,
		rows: [...measured].map(([count, cells]) =>
			row(count === 1 ? '1 item' : `${count} items`, cells, seconds),
		),
	};
	return { table, goals };
}
