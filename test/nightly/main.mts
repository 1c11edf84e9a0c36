/*
 * npm run test:nightly [-- --rows 2000]:
 * examples/nightly-postgres.json in queue mode with two workers, nights that overlap and a service
 * with bad moments, while main, a worker, PostgreSQL and the S3 server are each killed in the middle
 * of it. Ends with 1 when anything is not as it must be.
 */
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { eventually } from '../../tools/eventually.mts';
import { Nightly } from './nightly.mts';
import { killMain, killPostgres, killS3, killWorker } from './outages.mts';
import { judge, processesIn } from './verdict.mts';

const MOST_DAYS = 8;
const SETTLED = "file IS NOT NULL OR (error IS NOT NULL AND text LIKE '%[sim:task-fails]%')";

const { values } = parseArgs({
	options: { rows: { type: 'string', default: '400' } },
});
const rows = Number(values.rows);
const nightly = await Nightly.start(Math.ceil(rows / 2));

/** Two nights at a time, until each row has come to something. */
async function nights(): Promise<string[]> {
	for (let day = 1; day <= MOST_DAYS; day++) {
		const executions = [await nightly.begin(), await nightly.begin()];
		if (day === 1) {
			await Promise.all([killMain(nightly, rows), killWorker(nightly, rows, executions[0]!)]);
		}
		if (day === 2) await Promise.all([killPostgres(nightly, rows), killS3(nightly, rows)]);
		await nightly.dayPasses();
		const left = await nightly.count(`texts_to_speak WHERE NOT (${SETTLED})`);
		nightly.say(`day ${day}: ${nightly.simulator.creates} create calls, ${left} rows are left`);
		if (left === 0) break;
	}
	return await judge(nightly);
}

let problems: string[];
try {
	// The first night makes the table.
	await nightly.begin();
	await nightly.dayPasses();
	await nightly.addRows(rows);
	nightly.misbehave();
	nightly.say(`${rows} rows are there`);
	problems = await nights();
} finally {
	await nightly.close();
}
// Those that n8n has started may end a little later than n8n.
const left = () => processesIn(dirname(nightly.cluster.main.folder));
await eventually('every process to end', 30_000, () => left().length === 0).catch(() =>
	problems.push(`processes are left: ${left().join(', ')}`),
);
for (const problem of problems) console.error(`✗ ${problem}`);
nightly.say(
	problems.length === 0 ? 'Nothing was wrong.' : `${problems.length} problems, see above.`,
);
process.exit(problems.length === 0 ? 0 : 1);
