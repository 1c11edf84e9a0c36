import { lines, race, type Time } from '../run.mts';
import type { Arena, Entrant, Name, Setting } from '../setting.mts';
import { STEPS } from './latency.mts';

const LONG_SECONDS = 150;
const LONG_TASKS = 5;
const BEGIN_MS = 30_000;

export const ABOUT_LONG = `${LONG_TASKS} tasks of ${LONG_SECONDS} s`;

export interface Aside {
	vendor: {
		/** Of videos that take as long as `STEPS` says. */
		latency: Time[];
		/** Seconds, by the number of items of 3 s. */
		speech: Record<number, number>;
		video: Record<number, number>;
		/** Per item. */
		speechRequests: number;
		videoRequests: number;
	};
	/** How often a speech task of some minutes was looked up, per minute. */
	lookups: { ours: number; handBuilt: number };
}

/**
 * What takes minutes and costs next to nothing meanwhile, so that it can go on beside the rest: the
 * MiniMax node, which works one item at a time and looks every 15 s, and tasks of some minutes.
 * Resolves when all of it has begun; await `ends` later.
 */
export async function beginAside(
	setting: Setting,
	{ n8n }: Pick<Arena<Name>, 'n8n'>,
): Promise<{ ends: Promise<Aside> }> {
	const vendor = await setting.enter(n8n, 'vendor', 'vendorAside');
	const ours = await setting.enter(n8n, 'ours', 'oursAside');
	const handBuilt = await setting.enter(n8n, 'handBuilt', 'handBuiltAside');
	const { simulator } = setting;
	// One of each run of the MiniMax node, and all long tasks.
	const begun = simulator.creates + 2 + 2 + STEPS.length + 2 * LONG_TASKS;
	const ends = run(vendor, ours, handBuilt);
	// What goes wrong in it is thrown where it is awaited.
	ends.catch(() => {});
	await Promise.race([ends, simulator.waitFor(() => simulator.creates >= begun, BEGIN_MS)]);
	return { ends };
}

async function run(vendor: Entrant, ours: Entrant, handBuilt: Entrant): Promise<Aside> {
	const steps = STEPS.map((seconds) => lines(1, seconds));
	const [speech, video, oursLookups, handBuiltLookups] = await Promise.all([
		race(vendor, 'speech', lines(1, 3), lines(10, 3)),
		race(vendor, 'video', lines(1, 3), lines(10, 3), ...steps),
		lookups(ours),
		lookups(handBuilt),
	]);
	const byCount = ([one, ten]: Time[]) => ({ 1: one!.seconds, 10: ten!.seconds });
	return {
		vendor: {
			latency: video.times.slice(2),
			speech: byCount(speech.times),
			video: byCount(video.times),
			speechRequests: speech.requests / 11,
			videoRequests: video.requests / (11 + STEPS.length),
		},
		lookups: { ours: oursLookups, handBuilt: handBuiltLookups },
	};
}

async function lookups(entrant: Entrant): Promise<number> {
	const began = Date.now();
	await race(entrant, 'speech', lines(LONG_TASKS, LONG_SECONDS));
	const count = entrant.account.lookups(began, began + LONG_SECONDS * 1000);
	return count / LONG_TASKS / (LONG_SECONDS / 60);
}
