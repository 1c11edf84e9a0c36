import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../cleanup.mts';
import { eventually } from '../eventually.mts';
import { Instance } from '../n8n/instance.mts';
import { installPackage } from '../n8n/package.mts';
import { freePorts } from '../ports.mts';
import { startPostgres } from '../servers/postgres.mts';
import { startRedis } from '../servers/redis.mts';

const WORKER_READY = 'n8n worker is now ready';
/** How long the output of a process takes at most until it is in the log file, on a busy machine, in ms. */
const LOG_TIMEOUT_MS = 30_000;

export type Cluster = Awaited<ReturnType<typeof prepareCluster>>;

/**
 * Starts Redis and PostgreSQL, and prepares n8n's queue mode: a main process and two workers. The workers take their
 * jobs from Redis. The processes share only the database and the key of its credentials; each has its own user folder
 * with the packed package, as in containers. `extra` are environment variables for all processes. Call `start` of the
 * result next, and `close` at the end.
 */
export async function prepareCluster(extra: NodeJS.ProcessEnv = {}) {
	const ports = (await freePorts(2)) as [number, number];
	const redis = await startRedis();
	const postgres = await startPostgres().catch(async (error: unknown) => {
		await redis.stop();
		throw error;
	});
	const temporary = temporaryFolder('queue');
	const environment = {
		...redis.environment,
		...postgres.environment,
		EXECUTIONS_MODE: 'queue',
		N8N_ENCRYPTION_KEY: randomBytes(24).toString('hex'),
		// The workers output URLs of webhooks, and only the main process answers these.
		WEBHOOK_URL: `http://127.0.0.1:${ports[0]}/`,
		...extra,
	};
	const newProcess = (name: string, [editor, broker]: [number, number]): Instance => {
		const folder = join(temporary.path, name);
		mkdirSync(folder);
		installPackage(folder);
		return new Instance(folder, { editor, broker }, environment);
	};
	const main = newProcess('main', ports);
	const workers: Instance[] = [];
	/** Starts a new worker, which runs one job at a time. */
	const addWorker = async () => {
		const workerPorts = (await freePorts(2)) as [number, number];
		const worker = newProcess(`worker-${workers.length}`, workerPorts);
		workers.push(worker);
		await worker.serve(['worker', '--concurrency=1'], WORKER_READY);
		return worker;
	};
	return {
		main,
		workers,
		postgres,
		/** Starts the main process, which creates the tables of the database, and then two workers. */
		async start() {
			await main.start();
			await Promise.all([addWorker(), addWorker()]);
		},
		addWorker,
		/**
		 * Resolves with the workers that have run an execution or a part of it, once at least `minCount` workers have
		 * logged that. Throws an Error after LOG_TIMEOUT_MS.
		 */
		async workersOf(executionId: string, minCount = 1) {
			const line = `Worker started execution ${executionId} `;
			return await eventually(`${minCount} workers to log ${executionId}`, LOG_TIMEOUT_MS, () => {
				const found = workers.filter(({ logFile }) => readFileSync(logFile, 'utf8').includes(line));
				return found.length < minCount ? undefined : found;
			});
		},
		async close() {
			await Promise.all([main, ...workers].map((instance) => instance.stop()));
			await Promise.all([redis.stop(), postgres.stop()]);
			temporary.remove();
		},
	};
}
