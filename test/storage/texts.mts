import { createRequire } from 'node:module';
import { join } from 'node:path';
import { project } from '../../tools/n8n/package.mts';
import type { Postgres } from '../../tools/servers/postgres.mts';
import type { Row } from './dataTable.mts';

/** The client that n8n brings along. */
const { Client } = createRequire(join(project, 'tools/n8n/package.json'))('pg');

/** The table `texts_to_speak` in PostgreSQL, seen from outside of n8n. */
export class Texts {
	private readonly client: {
		query(sql: string, values?: unknown[]): Promise<{ rows: Row[] }>;
		end(): Promise<void>;
		on(event: 'error', listener: () => void): void;
	};

	private constructor(client: Texts['client']) {
		this.client = client;
		// Called when the server ends; the query under way fails as well.
		client.on('error', () => {});
	}

	static async connect({ credential }: Pick<Postgres, 'credential'>): Promise<Texts> {
		const client = new Client(credential);
		await client.connect();
		return new Texts(client);
	}

	async query(sql: string, ...values: unknown[]): Promise<Row[]> {
		return (await this.client.query(sql, values)).rows;
	}

	/** All rows, the oldest first. */
	async rows(): Promise<Row[]> {
		return await this.query('SELECT * FROM texts_to_speak ORDER BY id');
	}

	/** Adds a row for each text; resolves to their ids. */
	async add(...rows: Row[]): Promise<string[]> {
		const ids: string[] = [];
		for (const { title, text } of rows) {
			const sql = 'INSERT INTO texts_to_speak (title, text) VALUES ($1, $2) RETURNING id';
			ids.push((await this.query(sql, title, text))[0]!.id);
		}
		return ids;
	}

	async change(id: string, data: Row): Promise<void> {
		for (const [column, value] of Object.entries(data)) {
			await this.query(`UPDATE texts_to_speak SET ${column} = $2 WHERE id = $1`, id, value);
		}
	}

	/** Creates a table of another name with these columns and one row. */
	async createOther(name: string, columns: string[], [column, value]: [string, string]) {
		const texts = columns.map((each) => `${each} text`).join();
		const claims = 'claimed_by text, claimed_at timestamptz';
		await this.query(`CREATE TABLE ${name} (id bigserial, ${texts}, ${claims})`);
		await this.query(`INSERT INTO ${name} (${column}) VALUES ($1)`, value);
	}

	/** Makes the claims of all nights so far a day older. */
	async dayPasses(): Promise<void> {
		await this.query("UPDATE texts_to_speak SET claimed_at = claimed_at - interval '1 day'");
	}

	async close(): Promise<void> {
		await this.client.end();
	}
}
