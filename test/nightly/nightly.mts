import type { FaultRule, Simulator } from '../../simulator/simulator.mts';
import { eventually } from '../../tools/eventually.mts';
import type { Cluster } from '../../tools/queue/cluster.mts';
import { startS3, type S3 } from '../../tools/servers/s3.mts';
import { setUp, WorkflowFile, type Setting } from '../queue/setting.mts';
import type { Row } from '../storage/dataTable.mts';
import { Texts } from '../storage/texts.mts';

/**
 * How soon n8n notes that an execution is over whose worker was given up while main was away, in
 * minutes; its own figure is three hours.
 */
const RECOVERY = { N8N_EXECUTIONS_QUEUE_RECOVERY_INTERVAL: '0.5' };
/** As in the example. It has a dot in its name: else n8n looks for it at Amazon. */
const BUCKET = 'voice.nightly';
const WORKFLOW = 'nightly';
/** As long as something may take, on a machine that is busy with other things. */
export const PATIENCE_MS = 1_200_000;
export const LOOK_MS = 500;

const BUSY = { status: 429, headers: { 'Retry-After': '1' }, body: { error: 'rate_limited' } };
const GATEWAY = { status: 502, body: '<html><body>Bad Gateway</body></html>' };
/** A service refuses a few requests in a row; rules alike, which act one after the other, do so, too. */
const IN_A_ROW = 5;
const FAULTS: FaultRule[] = [
	...Array.from({ length: IN_A_ROW }, () => ({ every: 20 * IN_A_ROW, action: { respond: BUSY } })),
	{ every: 100, action: { respond: GATEWAY } },
	{ every: 100, action: { respond: GATEWAY, accepted: true } },
	{ on: 'file', every: 20, action: { respond: BUSY } },
	{ on: 'file', every: 50, action: { respond: GATEWAY } },
];

/** The example in n8n's queue mode, with PostgreSQL, an S3 server, and a service with bad moments. */
export class Nightly {
	readonly cluster: Cluster;
	readonly simulator: Simulator;
	readonly s3: S3;
	private readonly setting: Setting;
	private readonly began = Date.now();

	private constructor(setting: Setting, s3: S3) {
		this.setting = setting;
		this.cluster = setting.cluster;
		this.simulator = setting.simulator;
		this.s3 = s3;
	}

	/** `mostRows` is how many rows one night takes at most. */
	static async start(mostRows: number): Promise<Nightly> {
		const s3 = await startS3(BUCKET);
		const workflow = new WorkflowFile('nightly-postgres', WORKFLOW, 'Every night');
		const { parameters } = workflow.node('Claim rows');
		parameters.query = String(parameters.query).replace('LIMIT 1000', `LIMIT ${mostRows}`);
		const name = 'Any';
		const setting = await setUp([workflow], {
			simulator: { pace: 0.02 },
			environment: RECOVERY,
			credentialsFor: ({ postgres }) => [
				{ id: 'storagePostgres', name, type: 'postgres', data: postgres.credential },
				{ id: 'storageAws', name, type: 'aws', data: s3.credential },
			],
		}).catch(async (error: unknown) => {
			await s3.stop();
			throw error;
		});
		return new Nightly(setting, s3);
	}

	say(what: string): void {
		const seconds = Math.round((Date.now() - this.began) / 1000);
		console.log(`${String(seconds).padStart(4)} s  ${what}`);
	}

	/** Adds rows; the service can't make one in a hundred. */
	async addRows(amount: number): Promise<void> {
		await this.sql(
			`INSERT INTO texts_to_speak (title, text)
			SELECT 'Row ' || n, CASE WHEN n % 100 = 50 THEN '[sim:task-fails] ' ELSE '' END || 'Row ' || n || '.'
			FROM generate_series(1, $1::int) AS n`,
			amount,
		);
	}

	/** From now on 5 % of the answers are 429, and 2 % are 502, of which half were accepted. */
	misbehave(): void {
		for (const rule of FAULTS) this.simulator.fault({ times: Infinity, ...rule });
	}

	/** Begins a night on one of the workers; resolves to its execution. */
	async begin(): Promise<string> {
		return await this.setting.call(WORKFLOW);
	}

	/** Resolves once no night is at work, then lets the claims that are left be a day old. */
	async dayPasses(): Promise<void> {
		const isOver = async () => (await this.atWork()) === 0;
		await eventually('the nights to end', PATIENCE_MS, isOver, LOOK_MS);
		await this.sql("UPDATE texts_to_speak SET claimed_at = claimed_at - interval '1 day'");
	}

	/** How many executions are at work or have yet to begin. */
	async atWork(): Promise<number> {
		return await this.count("execution_entity WHERE status IN ('new', 'running', 'waiting')");
	}

	async sql(query: string, ...values: unknown[]): Promise<Row[]> {
		// PostgreSQL may have been away since the last one.
		const texts = await Texts.connect(this.cluster.postgres);
		try {
			return await texts.query(query, ...values);
		} finally {
			await texts.close();
		}
	}

	async count(from: string): Promise<number> {
		const [row] = await this.sql(`SELECT count(*) FROM ${from}`);
		return Number(row!.count);
	}

	/** The keys of all files in the bucket. */
	async keys(): Promise<string[]> {
		const keys: string[] = [];
		for (;;) {
			// The second version of this call fails in s3rver beyond a thousand keys.
			const query = new URLSearchParams({ marker: keys.at(-1) ?? '' });
			const response = await fetch(`${this.s3.url}/${BUCKET}?${query}`);
			if (!response.ok) throw new Error(`The S3 server answered ${response.status}`);
			const listing = await response.text();
			keys.push(...[...listing.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key!));
			if (!listing.includes('<IsTruncated>true')) return keys;
		}
	}

	async file(key: string): Promise<Buffer> {
		return Buffer.from(await (await fetch(`${this.s3.url}/${BUCKET}/${key}`)).arrayBuffer());
	}

	async close(): Promise<void> {
		await this.setting.close();
		await this.s3.stop();
	}
}
