import type { Rest } from '../../tools/n8n/rest.mts';

export type Row = Record<string, any>;

/** One of n8n's data tables, used as the editor uses it. Throws if there is none of that name. */
export async function openDataTable(rest: Rest, name: string) {
	const { data: tables } = await rest.request('GET', '/rest/data-tables-global?take=100');
	const table = tables.find((each: { name: string }) => each.name === name);
	if (!table) throw new Error(`There is no data table ${name}`);
	const path = `/rest/projects/${table.projectId}/data-tables/${table.id}`;
	return {
		/** All rows, the oldest first. */
		async rows(): Promise<Row[]> {
			return (await rest.request('GET', `${path}/rows?sortBy=id:asc&take=100`)).data;
		},
		/** Adds rows; resolves to their ids. */
		async add(...data: Row[]): Promise<unknown[]> {
			const body = { data, returnType: 'id' };
			const added: Row[] = await rest.request('POST', `${path}/insert`, body);
			return added.map(({ id }) => id);
		},
		async change(id: unknown, data: Row): Promise<void> {
			const filters = [{ columnName: 'id', condition: 'eq', value: id }];
			await rest.request('PATCH', `${path}/rows`, { filter: { type: 'and', filters }, data });
		},
		async rename(from: string, to: string): Promise<void> {
			const columns: Row[] = await rest.request('GET', `${path}/columns`);
			const { id } = columns.find(({ name }) => name === from)!;
			await rest.request('PATCH', `${path}/columns/${id}/rename`, { name: to });
		},
	};
}

/** The same, made with these columns for texts. */
export async function createDataTable(rest: Rest, name: string, columns: string[]) {
	const { id } = await rest.request('GET', '/rest/projects/personal');
	const body = { name, columns: columns.map((column) => ({ name: column, type: 'string' })) };
	await rest.request('POST', `/rest/projects/${id}/data-tables`, body);
	return await openDataTable(rest, name);
}
