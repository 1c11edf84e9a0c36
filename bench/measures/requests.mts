import { below, COLUMNS, row, times, type Goal, type Table } from '../figures.mts';
import { ABOUT_LONG, type Aside } from './aside.mts';
import type { ByContender } from './wallTime.mts';

const LOOKUPS = 'lookups per waiting speech task and minute';

/** Less than half of what a Poll Interval of 5 s comes to: each message restarts the pause. */
export const lookupGoal = (about: string, lookups: number): Goal =>
	below(`${LOOKUPS}, while the socket tells of it now and then: ${about}`, 6, lookups, times);

/** Requests, as other measures have counted them. */
export function requestFigures(
	speech: ByContender,
	video: ByContender,
	{ vendor, lookups }: Aside,
): { table: Table; goal: Goal } {
	const table: Table = {
		title: 'Requests',
		about:
			'Everything that reaches the service, downloads and the opening of the WebSocket included. ' +
			`Lookups are counted while ${ABOUT_LONG} run. For speech the MiniMax node holds one request ` +
			'open until it is there; its videos are tasks that it looks up.',
		columns: COLUMNS,
		rows: [
			row(
				'per speech item, 10 items of 3 s',
				[speech.ours, speech.handBuilt, vendor.speechRequests, speech.client],
				times,
			),
			row(
				'per video of less than 15 s',
				[video.ours, video.handBuilt, vendor.videoRequests, video.client],
				times,
			),
			row(LOOKUPS, [lookups.ours, lookups.handBuilt, '–', '–'], times),
		],
	};
	return { table, goal: lookupGoal(ABOUT_LONG, lookups.ours) };
}
