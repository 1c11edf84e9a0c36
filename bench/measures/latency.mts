import { COLUMNS, median, seconds, type Row, type Table } from '../figures.mts';
import { lines, race, type Time } from '../run.mts';
import type { Arena, Entrant, Setting } from '../setting.mts';

/**
 * How long the tasks take, in seconds: every 2.5 s over 15 s, so that neither who looks every 5 s
 * nor who looks every 15 s is lucky or unlucky.
 */
export const STEPS = [1.25, 3.75, 6.25, 8.75, 11.25, 13.75];

interface Latency {
	speech: Time[];
	video: Time[];
}

/** Six tasks of each kind, each an execution of its own, all at once. */
async function latencyOf(entrant: Entrant): Promise<Latency & { videoRequests: number }> {
	const [speech, video] = await Promise.all([
		race(entrant, 'speech', ...STEPS.map((step) => lines(1, step))),
		race(entrant, 'video', ...STEPS.map((step) => lines(1, step + 0.6))),
	]);
	return { speech: speech.times, video: video.times, videoRequests: video.requests / STEPS.length };
}

/** From "ready at the service" to the end of the execution. */
export async function measureLatency(
	setting: Setting,
	{ entrants }: Arena<'ours' | 'handBuilt' | 'vendor'>,
) {
	const ours = await latencyOf(entrants.ours);
	const handBuilt = await latencyOf(entrants.handBuilt);
	const client = await latencyOf(setting.client);
	const vendor = await race(entrants.vendor, 'speech', ...STEPS.map((step) => lines(1, step)));

	const table = (vendorVideo: Time[]): Table => {
		const all = [ours, handBuilt, { speech: vendor.times, video: vendorVideo }, client];
		const row = (name: string, kind: keyof Latency, of: (late: number[]) => number): Row => ({
			name,
			cells: all.map((latency) => of(latency[kind].map(({ late }) => late))),
			show: seconds,
		});
		const worst = (late: number[]) => Math.max(...late);
		return {
			title: 'From ready to delivered',
			about:
				'From the moment when the service has the result to the end of the execution, its file ' +
				`stored. ${STEPS.length} tasks of ${STEPS[0]} to ${STEPS.at(-1)} s, each an execution of ` +
				'its own. The MiniMax node holds one request open for speech and looks every 15 s for a ' +
				'video; the hand-built workflow looks every 5 s for speech and reads the whole stream of ' +
				'a video as one text.',
			columns: COLUMNS,
			rows: [
				row('speech, median', 'speech', median),
				row('speech, worst', 'speech', worst),
				row('video, median', 'video', median),
				row('video, worst', 'video', worst),
			],
		};
	};
	const videoRequests = {
		ours: ours.videoRequests,
		handBuilt: handBuilt.videoRequests,
		client: client.videoRequests,
	};
	return { table, videoRequests };
}
