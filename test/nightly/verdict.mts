import { readdirSync, readlinkSync } from 'node:fs';
import type { Row } from '../storage/dataTable.mts';
import type { Nightly } from './nightly.mts';

/** What is not as it must be. */
export async function judge(nightly: Nightly): Promise<string[]> {
	const { simulator } = nightly;
	const problems: string[] = [];
	const rows = await nightly.sql('SELECT * FROM texts_to_speak ORDER BY id');
	const keys = Map.groupBy(await nightly.keys(), (key) => /^speech\/(\d+)-/.exec(key)?.[1]);
	const tasks = Map.groupBy(simulator.tasks.values(), ({ input }) => input);
	for (const row of rows) {
		// A task that failed may be followed by another one.
		const paid = (tasks.get(row.text) ?? []).filter(({ status }) => status !== 'failed').length;
		if (paid > 1) problems.push(`paid ${paid} times: ${told(row)}`);
		const wrong = await wrongWith(nightly, row, keys.get(row.id) ?? []);
		if (wrong) problems.push(`${wrong}: ${told(row)}`);
		keys.delete(row.id);
	}
	for (const key of [...keys.values()].flat()) problems.push(`no row is of the file ${key}`);

	// The worker was killed between marking a row and noting its task.
	const begun = rows.filter(({ file }) => file === 'begun').length;
	if (begun > 1) problems.push(`${begun} rows are left as begun`);
	const refused = (status: number) => (request: { method: string; status: number }) =>
		request.method === 'POST' && request.status === status;
	const unclear = rows.filter(({ file }) => file === 'unclear').length;
	const gateway = simulator.requests.filter(refused(502)).length;
	if (unclear > gateway) problems.push(`${unclear} rows are unclear after ${gateway} times 502`);
	if (simulator.leaks.length > 0) problems.push('the token went to the file server');

	const atWork = await nightly.atWork();
	if (atWork > 0) problems.push(`${atWork} executions are still at work`);
	const connections = simulator.openConnections() + simulator.sockets();
	if (connections > 0) problems.push(`${connections} connections are left open`);

	const stored = rows.filter(({ file }) => file?.startsWith('s3://')).length;
	const failed = rows.length - stored - unclear - begun;
	nightly.say(
		`${rows.length} rows: ${stored} stored, ${failed} failed, ${unclear} unclear, ${begun} begun; ${simulator.creates} create calls were paid, ${simulator.requests.length} requests`,
	);
	return problems;
}

const told = ({ id, text, task_id: task, file, error, claimed_at: claimed }: Row) =>
	JSON.stringify({ id, text, task, file, error, claimed });

async function wrongWith(
	nightly: Nightly,
	{ text, task_id: taskId, file, error }: Row,
	keys: string[],
): Promise<string | undefined> {
	if (!file?.startsWith('s3://')) {
		if (keys.length > 0) return 'a file that it knows nothing of';
		return error || file === 'begun' ? undefined : 'neither a file nor a reason';
	}
	const [key, ...others] = keys;
	if (!key || others.length > 0 || !file.endsWith(`/${key}`)) return `not its file: ${keys.join()}`;
	const task = nightly.simulator.tasks.get(taskId)!;
	const served = nightly.simulator.fileBytes(task.audioUrl!)!;
	const isRight = task.input === text && served.equals(await nightly.file(key));
	return isRight ? undefined : 'a wrong file';
}

/** Processes that work in one of the folders below this one (Linux). */
export function processesIn(folder: string): string[] {
	return readdirSync('/proc').filter((id) => {
		try {
			return /^\d+$/.test(id) && readlinkSync(`/proc/${id}/cwd`).startsWith(folder);
		} catch {
			// It has just ended.
			return false;
		}
	});
}
