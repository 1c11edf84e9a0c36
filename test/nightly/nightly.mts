import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import type { FaultRule } from '../../simulator/simulator.mts';
import { eventually } from '../../tools/eventually.mts';
import { importInto } from '../../tools/n8n/examples.mts';
import { startS3 } from '../../tools/servers/s3.mts';
import { setUp } from '../queue/setting.mts';
import type { Row } from '../storage/dataTable.mts';
import { openTexts } from '../storage/texts.mts';

/* The example in n8n's queue mode, with PostgreSQL, an S3 server, and a service with bad moments. */

/** As in the example. It has a dot in its name: else n8n looks for it at Amazon. */
const BUCKET = 'voice.nightly';
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

const { values } = parseArgs({ options: { rows: { type: 'string', default: '240' } } });
export const amount = Number(values.rows);

export const s3 = await startS3(BUCKET);
const setting = await setUp(
	{ pace: 0.02 },
	// How soon n8n notes that an execution is over whose worker was given up while main was away, in
	// minutes; its own figure is three hours.
	{ N8N_EXECUTIONS_QUEUE_RECOVERY_INTERVAL: '0.5' },
);
export const { cluster, simulator } = setting;
await importInto(cluster.main, 'credentials', [
	{ id: 'storagePostgres', name: 'Any', type: 'postgres', data: cluster.postgres.credential },
	{ id: 'storageAws', name: 'Any', type: 'aws', data: s3.credential },
]);
await setting.start();

/** Begins a night on one of the workers, for half of the rows; resolves to its execution. */
export const begin = await setting.addOnCall(
	'nightly-postgres',
	(node) => {
		const { parameters } = node('Claim rows');
		const half = `LIMIT ${Math.ceil(amount / 2)}`;
		parameters.query = String(parameters.query).replace('LIMIT 1000', half);
	},
	'Every night',
);

const began = Date.now();
export function say(what: string): void {
	const seconds = Math.round((Date.now() - began) / 1000);
	console.log(`${String(seconds).padStart(4)} s  ${what}`);
}

export async function sql(query: string, ...values: unknown[]): Promise<Row[]> {
	// PostgreSQL may have been away since the last one.
	const texts = await openTexts(cluster.postgres);
	return await texts.query(query, ...values).finally(() => texts.close());
}

export const count = async (from: string) =>
	Number((await sql(`SELECT count(*) FROM ${from}`))[0]!.count);

/** How many executions are at work or have yet to begin. */
export const atWork = async () =>
	await count("execution_entity WHERE status IN ('new', 'running', 'waiting')");

/** Resolves once no night is at work, then lets the claims that are left be a day old. */
export async function dayPasses(): Promise<void> {
	await eventually('the nights to end', PATIENCE_MS, async () => (await atWork()) === 0, LOOK_MS);
	await sql("UPDATE texts_to_speak SET claimed_at = claimed_at - interval '1 day'");
}

/** The table, made by a first night, gets its rows; the service can't make one in a hundred. */
export async function prepare(): Promise<void> {
	await begin();
	await dayPasses();
	await sql(
		`INSERT INTO texts_to_speak (title, text)
		SELECT 'Row ' || n, CASE WHEN n % 100 = 50 THEN '[sim:task-fails] ' ELSE '' END || 'Row ' || n || '.'
		FROM generate_series(1, $1::int) AS n`,
		amount,
	);
	// From now on 5 % of the answers are 429, and 2 % are 502, of which half were accepted.
	for (const rule of FAULTS) simulator.fault({ times: Infinity, ...rule });
	say(`${amount} rows are there`);
}

export async function fromBucket(path: string): Promise<Buffer> {
	const response = await fetch(`${s3.url}/${BUCKET}${path}`);
	assert.ok(response.ok, `The S3 server answered ${response.status}`);
	return Buffer.from(await response.arrayBuffer());
}

/** The keys of all files in the bucket. */
export async function keysOfFiles(): Promise<string[]> {
	const keys: string[] = [];
	for (;;) {
		// The second version of this call fails in s3rver beyond a thousand keys.
		const query = new URLSearchParams({ marker: keys.at(-1) ?? '' });
		const listing = String(await fromBucket(`?${query}`));
		keys.push(...[...listing.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key!));
		if (!listing.includes('<IsTruncated>true')) return keys;
	}
}

export async function close(): Promise<void> {
	await setting.close();
	await s3.stop();
}
