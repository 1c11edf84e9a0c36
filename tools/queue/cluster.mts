import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '../cleanup.mts';
import { Instance } from '../n8n/instance.mts';
import { installPackage } from '../n8n/package.mts';
import { freePorts } from '../n8n/ports.mts';
import { startPostgres, type Postgres } from '../servers/postgres.mts';
import { startRedis } from '../servers/redis.mts';
import type { Server } from '../servers/serve.mts';

const WORKER_READY = 'n8n worker is now ready';

/**
 * n8n's own distributed engine: a main process and two workers, which take their jobs from Redis
 * and share nothing but a PostgreSQL database and the key to its credentials. Each has the packed
 * package in a user folder of its own, as in containers.
 */
export class Cluster {
	readonly main: Instance;
	readonly workers: Instance[] = [];
	readonly postgres: Postgres;
	private readonly folder: TemporaryFolder;
	private readonly redis: Server;
	private readonly environment: NodeJS.ProcessEnv;
	private processes = 0;

	private constructor(
		folder: TemporaryFolder,
		redis: Server,
		postgres: Postgres,
		environment: NodeJS.ProcessEnv,
		ports: [number, number],
	) {
		this.folder = folder;
		this.redis = redis;
		this.postgres = postgres;
		this.environment = environment;
		this.main = this.newProcess('main', ports);
	}

	/** Starts the servers and prepares main; `extra` are environment variables for all processes. */
	static async create(extra: NodeJS.ProcessEnv = {}): Promise<Cluster> {
		const ports = (await freePorts(2)) as [number, number];
		const redis = await startRedis();
		const postgres = await startPostgres().catch(async (error: unknown) => {
			await redis.stop();
			throw error;
		});
		const environment = {
			...redis.environment,
			...postgres.environment,
			EXECUTIONS_MODE: 'queue',
			N8N_ENCRYPTION_KEY: randomBytes(24).toString('hex'),
			// Workers hand out addresses that only main answers.
			WEBHOOK_URL: `http://127.0.0.1:${ports[0]}/`,
			...extra,
		};
		return new Cluster(temporaryFolder('queue'), redis, postgres, environment, ports);
	}

	/** Starts main, which makes the database, and then two workers. */
	async start(): Promise<void> {
		await this.main.start();
		await Promise.all([this.addWorker(), this.addWorker()]);
	}

	/** Starts a new worker. It takes one job at a time: others go to another worker, or wait. */
	async addWorker(): Promise<Instance> {
		const worker = this.newProcess('worker', (await freePorts(2)) as [number, number]);
		this.workers.push(worker);
		await worker.serve(['worker', '--concurrency=1'], WORKER_READY);
		return worker;
	}

	/** Which workers have run an execution, or a part of it. */
	workersOf(executionId: string): Instance[] {
		const line = `Worker started execution ${executionId} `;
		return this.workers.filter(({ logFile }) => readFileSync(logFile, 'utf8').includes(line));
	}

	async close(): Promise<void> {
		await Promise.all([this.main, ...this.workers].map((instance) => instance.stop()));
		await Promise.all([this.redis.stop(), this.postgres.stop()]);
		this.folder.remove();
	}

	private newProcess(kind: string, [editor, broker]: [number, number]): Instance {
		const folder = join(this.folder.path, `${kind}-${this.processes++}`);
		mkdirSync(folder);
		installPackage(folder);
		return new Instance(folder, { editor, broker }, this.environment);
	}
}
