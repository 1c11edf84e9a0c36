import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../tools/eventually.mts';
import { LOOK_MS, PATIENCE_MS, type Nightly } from './nightly.mts';

/** How long a server is away: shorter than the example goes on asking PostgreSQL. */
const AWAY_MS = 3000;

/** Resolves once so many more create calls were accepted. */
async function paid({ simulator }: Nightly, more: number): Promise<void> {
	const enough = simulator.creates + more;
	await simulator.waitFor(() => simulator.creates >= enough, PATIENCE_MS);
}

export async function killMain(nightly: Nightly, rows: number): Promise<void> {
	const { main } = nightly.cluster;
	await paid(nightly, rows * 0.05);
	await main.crash();
	nightly.say('main is killed');
	await main.start();
	nightly.say('main is back');
}

/** Kills the worker that runs a night. */
export async function killWorker(nightly: Nightly, rows: number, execution: string) {
	const { cluster } = nightly;
	await paid(nightly, rows * 0.2);
	const [worker] = await cluster.workersOf(execution);
	await worker!.crash();
	nightly.say('a worker is killed');
	await cluster.addWorker();
	nightly.say('another worker is there');
}

export async function killPostgres(nightly: Nightly, rows: number): Promise<void> {
	await paid(nightly, rows * 0.05);
	nightly.say('PostgreSQL is killed');
	await nightly.cluster.postgres.outage(() => pause(AWAY_MS));
	nightly.say('PostgreSQL is back');
}

export async function killS3(nightly: Nightly, rows: number): Promise<void> {
	const enough = (await nightly.keys()).length + rows * 0.2;
	const isEnough = async () => (await nightly.keys()).length >= enough;
	await eventually('files', PATIENCE_MS, isEnough, LOOK_MS);
	nightly.say('the S3 server is killed');
	await nightly.s3.outage(() => pause(AWAY_MS));
	nightly.say('the S3 server is back');
}
