/*
 * npm run test:nightly [-- --rows 2000]:
 * examples/nightly-postgres.json in queue mode with two workers, nights that overlap and a service
 * with bad moments, while main, a worker, PostgreSQL and the S3 server are each killed in the middle
 * of it. Ends with 1 when anything is not as it must be.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../tools/eventually.mts';
import * as nightly from './nightly.mts';
import { judge } from './verdict.mts';

const { amount, begin, cluster, LOOK_MS, PATIENCE_MS, s3, say, simulator } = nightly;
const MOST_DAYS = 8;
const SETTLED = "file IS NOT NULL OR (error IS NOT NULL AND text LIKE '%[sim:task-fails]%')";
/** How long a server is away: shorter than the example goes on asking PostgreSQL. */
const AWAY_MS = 3000;

/** Resolves once this share of the rows was paid for since now. */
async function paid(share: number): Promise<void> {
	const enough = simulator.chargedCalls + share * amount;
	await simulator.waitFor(() => simulator.chargedCalls >= enough, PATIENCE_MS);
}

/** Resolves once this share of the rows was stored since now, or the nights are over because PostgreSQL was away. */
async function stored(share: number): Promise<void> {
	const enough = (await nightly.keysOfFiles()).length + share * amount;
	// While PostgreSQL is away, nobody can tell whether the nights are over.
	const areOver = async () => (await nightly.atWork().catch(() => undefined)) === 0;
	const isEnough = async () => (await nightly.keysOfFiles()).length >= enough || (await areOver());
	await eventually('files', PATIENCE_MS, isEnough, LOOK_MS);
}

async function kill(name: string, when: Promise<void>, how: () => Promise<unknown>) {
	await when;
	say(`${name} is killed`);
	await how();
	say(`${name} is back`);
}

/** Two nights at a time, until each row has come to something. */
async function nights(): Promise<void> {
	for (let day = 1; day <= MOST_DAYS; day++) {
		const [execution] = [await begin(), await begin()];
		if (day === 1) {
			const main = kill('main', paid(0.05), async () => {
				await cluster.main.crash();
				await cluster.main.start();
			});
			const worker = kill('a worker', paid(0.2), async () => {
				await (await cluster.workersOf(execution))[0]!.crash();
				await cluster.addWorker();
			});
			await Promise.all([main, worker]);
		}
		if (day === 2) {
			const waitOut = () => pause(AWAY_MS);
			const postgres = kill('PostgreSQL', paid(0.05), () =>
				cluster.postgres.simulateOutage(waitOut),
			);
			await Promise.all([postgres, kill('S3', stored(0.2), () => s3.simulateOutage(waitOut))]);
		}
		await nightly.dayPasses();
		const left = await nightly.count(`texts_to_speak WHERE NOT (${SETTLED})`);
		say(`day ${day}: ${simulator.chargedCalls} create calls, ${left} rows are left`);
		if (left === 0) break;
	}
}

await nightly.prepare();
await nights();
const problems = await judge();
await nightly.close();
for (const problem of problems) console.error(`✗ ${problem}`);
say(problems.length === 0 ? 'Nothing was wrong.' : `${problems.length} problems, see above.`);
process.exit(problems.length === 0 ? 0 : 1);
