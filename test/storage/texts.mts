import { createRequire } from 'node:module';
import { join } from 'node:path';
import { project } from '../../tools/n8n/package.mts';
import type { Postgres } from '../../tools/servers/postgres.mts';
import type { Row } from './dataTable.mts';

/** The client that n8n brings along. */
const { Client } = createRequire(join(project, 'tools/n8n/package.json'))('pg');

/** The table `texts_to_speak` in PostgreSQL, seen from outside of n8n. */
export async function openTexts({ credential }: Pick<Postgres, 'credential'>) {
	const client = new Client(credential);
	// Called when the server ends; the query under way fails as well.
	client.on('error', () => {});
	await client.connect();
	const query = async (sql: string, ...values: unknown[]): Promise<Row[]> =>
		(await client.query(sql, values)).rows;
	return {
		query,
		/** All rows, the oldest first. */
		rows: () => query('SELECT * FROM texts_to_speak ORDER BY id'),
		/** Adds rows; resolves to their ids. */
		async add(...rows: Row[]): Promise<unknown[]> {
			const sql = 'INSERT INTO texts_to_speak (title, text) VALUES ($1, $2) RETURNING id';
			const added = [];
			for (const { title, text } of rows) added.push(...(await query(sql, title, text)));
			return added.map(({ id }) => id);
		},
		async change(id: unknown, data: Row): Promise<void> {
			for (const [column, value] of Object.entries(data)) {
				await query(`UPDATE texts_to_speak SET ${column} = $2 WHERE id = $1`, id, value);
			}
		},
		async rename(from: string, to: string): Promise<void> {
			await query(`ALTER TABLE texts_to_speak RENAME COLUMN ${from} TO ${to}`);
		},
		/** Makes the claims of all nights so far a day older. */
		async dayPasses(): Promise<void> {
			await query("UPDATE texts_to_speak SET claimed_at = claimed_at - interval '1 day'");
		},
		close: async (): Promise<void> => await client.end(),
	};
}
