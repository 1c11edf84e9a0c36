import { lines, type Contender } from '../contender.mts';
import { COLUMNS, median, row, seconds, type Table } from '../report.mts';

/** How long the tasks take, in seconds. They differ, so that a poll every 5 s has neither good luck nor bad. */
const STEPS = [1.25, 3.75, 6.25, 8.75, 11.25, 13.75];

/** Runs six tasks of each kind at once, each in its own execution. Measures from "ready at the service" to its end. */
async function latencyOf(contender: Contender) {
	const [speech, video] = await Promise.all([
		contender.race('speech', ...STEPS.map((step) => lines(1, step))),
		contender.race('video', ...STEPS.map((step) => lines(1, step + 0.6))),
	]);
	return { speech: speech.map(({ late }) => late), video: video.map(({ late }) => late) };
}

/** Measures how soon a finished result is output. */
export async function measureLatency(ourNode: Contender, built: Contender): Promise<Table> {
	const all = [await latencyOf(ourNode), await latencyOf(built)];
	const rows = (['speech', 'video'] as const).flatMap((kind) => [
		row(
			`${kind}, median`,
			all.map((late) => median(late[kind])),
			seconds,
		),
		row(
			`${kind}, worst`,
			all.map((late) => Math.max(...late[kind])),
			seconds,
		),
	]);
	return {
		title: 'From result to delivered file',
		about:
			'The time from when the service has the result until the execution has ended and the file is ' +
			`stored. ${STEPS.length} tasks take ${STEPS[0]} to ${STEPS.at(-1)} s, each in a separate ` +
			'execution. The hand-built workflow checks for speech every 5 s, and reads the whole stream ' +
			'of a video as one text.',
		columns: COLUMNS,
		rows,
	};
}
