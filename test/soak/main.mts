/*
 * npm run soak [-- --minutes 60] [-- --seed 7] [-- --only 123]: the node in n8n's engine against a
 * service that does at random whatever can go wrong. Ends with 1 when anything is not as it must be;
 * `--only` repeats the run of that seed.
 */
import '../faults/log.mts';
import { parseArgs } from 'node:util';
import { eventually } from '../../tools/eventually.mts';
import { contentsOf, findAnyCanary } from '../faults/canary.mts';
import { logged, removeLog } from '../faults/log.mts';
import { Hostile } from './hostile.mts';
import { Random } from './random.mts';
import { runSeed } from './run.mts';
import { listenFor } from './trigger.mts';

const LANES = 8;

const { values } = parseArgs({
	options: {
		minutes: { type: 'string', default: '1' },
		seed: { type: 'string', default: String(Date.now() % 1e9) },
		only: { type: 'string' },
	},
});

const problems: string[] = [];
const note = (problem: string) => {
	problems.push(problem);
	console.error(`✗ ${problem}`);
};
process.on('unhandledRejection', (error) =>
	note(`an unhandled rejection: ${(error as Error)?.stack}`),
);
process.on('uncaughtException', (error) => note(`an uncaught exception: ${error.stack}`));
process.on('warning', ({ name, message }) => {
	if (name !== 'ExperimentalWarning') note(`a warning: ${name} ${message}`);
});

const hostile = await Hostile.start(note);
const counts: Record<string, number> = {};
const began = Date.now();
const end = began + Number(values.minutes) * 60_000;

async function one(seed: number): Promise<void> {
	const { ended, wrong } = await runSeed(hostile, seed);
	counts[ended] = (counts[ended] ?? 0) + 1;
	for (const problem of wrong) note(`--only ${problem}`);
}

/** Nothing that was said or stored holds a token, or the beginning of one. */
async function searchLog(): Promise<void> {
	const places = { log: await logged(), 'stored files': contentsOf(process.env.N8N_USER_FOLDER!) };
	for (const [place, text] of Object.entries(places)) {
		const found = findAnyCanary(text);
		if (found) note(`a token is in the ${place}: ${found}`);
	}
}

function tell(): void {
	const seconds = Math.round((Date.now() - began) / 1000);
	const ended = Object.entries(counts).map(([how, count]) => `${count} ${how}`);
	const heap = Math.round(process.memoryUsage().heapUsed / 1024 / 1024);
	const { requests, creates } = hostile;
	console.log(
		`${seconds} s: ${ended.join(', ')}; ${requests} requests, ${creates} create calls, ${heap} MiB heap; ${problems.length} problems`,
	);
}

let next = Number(values.seed);
if (values.only !== undefined) {
	await one(Number(values.only));
} else {
	console.log(`Seed ${next}, for ${values.minutes} minutes`);
	const telling = setInterval(tell, 30_000);
	const lane = async () => {
		while (Date.now() < end) await one(next++);
	};
	const listening = async () => {
		while (Date.now() < end) await listenFor(hostile, new Random(next++), note);
	};
	await Promise.all([...Array.from({ length: LANES }, lane), listening()]);
	clearInterval(telling);
}

// Everything that was canceled has to end now.
await eventually('connections', 20_000, () => hostile.connected() === 0).catch(() =>
	note(`${hostile.connected()} connections are left open`),
);
await searchLog();
tell();
await hostile.close();
removeLog();
console.log(
	problems.length === 0 ? 'Nothing was wrong.' : `${problems.length} problems, see above.`,
);
process.exit(problems.length === 0 ? 0 : 1);
