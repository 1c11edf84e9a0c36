import type { Rest } from '../../tools/n8n/rest.mts';

export type Row = Record<string, any>;

/** One of n8n's data tables, used as the editor uses it. */
export class DataTable {
	private readonly rest: Rest;
	private readonly path: string;

	private constructor(rest: Rest, path: string) {
		this.rest = rest;
		this.path = path;
	}

	static async find(rest: Rest, name: string): Promise<DataTable> {
		const { data } = await rest.request('GET', '/rest/data-tables-global?take=100');
		const table = data.find((each: { name: string }) => each.name === name);
		if (!table) throw new Error(`There is no data table ${name}`);
		return new DataTable(rest, `/rest/projects/${table.projectId}/data-tables/${table.id}`);
	}

	static async create(rest: Rest, name: string, columns: string[]): Promise<DataTable> {
		const { id } = await rest.request('GET', '/rest/projects/personal');
		const body = { name, columns: columns.map((column) => ({ name: column, type: 'string' })) };
		await rest.request('POST', `/rest/projects/${id}/data-tables`, body);
		return await DataTable.find(rest, name);
	}

	/** Creates a table of another name with these columns and one row. */
	async createOther(name: string, columns: string[], [column, value]: [string, string]) {
		await (await DataTable.create(this.rest, name, columns)).add({ [column]: value });
	}

	/** All rows, the oldest first. */
	async rows(): Promise<Row[]> {
		const { data } = await this.rest.request('GET', `${this.path}/rows?sortBy=id:asc&take=100`);
		return data;
	}

	/** Adds rows; resolves to their ids. */
	async add(...rows: Row[]): Promise<number[]> {
		const body = { data: rows, returnType: 'id' };
		const added = await this.rest.request('POST', `${this.path}/insert`, body);
		return added.map(({ id }: { id: number }) => id);
	}

	async change(id: number, data: Row): Promise<void> {
		await this.rest.request('PATCH', `${this.path}/rows`, { filter: only(id), data });
	}
}

/** The filter that lets only one row through. */
const only = (id: number) => ({
	type: 'and',
	filters: [{ columnName: 'id', condition: 'eq', value: id }],
});
