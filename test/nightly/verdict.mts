import type { Row } from '../storage/dataTable.mts';
import { atWork, fromBucket, keysOfFiles, say, simulator, sql } from './nightly.mts';

/** What is not as it must be. */
export async function judge(): Promise<string[]> {
	const problems: string[] = [];
	const rows = await sql('SELECT * FROM texts_to_speak ORDER BY id');
	const keys = Map.groupBy(await keysOfFiles(), (key) => /^speech\/(\d+)-/.exec(key)?.[1]);
	const tasks = Map.groupBy(simulator.tasks.values(), ({ input }) => input);
	for (const row of rows) {
		// A task that failed may be followed by another one.
		const paid = (tasks.get(row.text) ?? []).filter(({ status }) => status !== 'failed').length;
		if (paid > 1) problems.push(`paid ${paid} times: ${reported(row)}`);
		const wrong = await wrongWith(row, keys.get(row.id) ?? []);
		if (wrong) problems.push(`${wrong}: ${reported(row)}`);
		keys.delete(row.id);
	}
	for (const key of [...keys.values()].flat()) problems.push(`no row is of the file ${key}`);

	// The worker was killed between marking a row and noting its task.
	const begun = rows.filter(({ file }) => file === 'begun').length;
	if (begun > 1) problems.push(`${begun} rows are left as begun`);
	const unclear = rows.filter(({ file }) => file === 'unclear').length;
	const posts = simulator.requests.filter(({ method }) => method === 'POST');
	const gateway = posts.filter(({ status }) => status === 502).length;
	if (unclear > gateway) problems.push(`${unclear} rows are unclear after ${gateway} times 502`);
	if (simulator.leaks.length > 0) problems.push('the token went to the file server');

	const left = await atWork();
	if (left > 0) problems.push(`${left} executions are still at work`);
	const connections = simulator.countOpenConnections() + simulator.countOpenSockets();
	if (connections > 0) problems.push(`${connections} connections are left open`);

	const stored = rows.filter(({ file }) => file?.startsWith('s3://')).length;
	const failed = rows.length - stored - unclear - begun;
	say(
		`${rows.length} rows: ${stored} stored, ${failed} failed, ${unclear} unclear, ${begun} begun; ${simulator.chargedCalls} create calls were paid, ${simulator.requests.length} requests`,
	);
	return problems;
}

const reported = ({ id, text, task_id: task, file, error, claimed_at: claimed }: Row) =>
	JSON.stringify({ id, text, task, file, error, claimed });

async function wrongWith(
	{ text, task_id: taskId, file, error }: Row,
	keys: string[],
): Promise<string | undefined> {
	if (!file?.startsWith('s3://')) {
		if (keys.length > 0) return 'a file that it knows nothing of';
		return error || file === 'begun' ? undefined : 'neither a file nor a reason';
	}
	const [key, ...others] = keys;
	if (!key || others.length > 0 || !file.endsWith(`/${key}`)) return `not its file: ${keys.join()}`;
	const task = simulator.tasks.get(taskId)!;
	const served = simulator.fileBytes(task.audioUrl!)!;
	const isRight = task.input === text && served.equals(await fromBucket(`/${key}`));
	return isRight ? undefined : 'a wrong file';
}
