import { buffer, json as jsonOf } from 'node:stream/consumers';
import type { Handler } from '../service/fakeService.mts';
import { startSites } from '../service/sites.mts';

/** A spreadsheet and a Drive, as far as n8n's nodes ask for them; `folder` is for their certificates. */
export async function startGoogle(folder: string, columns: string[]) {
	/** The cells of the tab `Sheet1`: its first row has the names of the columns. */
	const cells: string[][] = [columns];
	const files: Array<{ name: string; bytes?: Buffer }> = [];
	/** Called before each request for the sheet. */
	const google = { cells, files, onRequest: () => {} };
	const sheets: Handler = async (request, response) => {
		google.onRequest();
		if (request.method === 'POST') {
			const { data, valueInputOption } = (await jsonOf(request)) as any;
			// Anything else would make a number of an ID.
			if (valueInputOption !== 'RAW') return response.writeHead(400).end();
			for (const { range, values } of data) {
				const [, column, row] = /^Sheet1!([A-Z])(\d+)$/.exec(range)!;
				cells[Number(row) - 1]!['ABCDEFGHIJ'.indexOf(column!)] = values[0][0];
			}
		}
		const properties = { sheetId: 0, title: 'Sheet1' };
		response.setHeader('Content-Type', 'application/json');
		response.end(JSON.stringify({ values: cells, sheets: [{ properties }] }));
	};
	const drive: Handler = async (request, response) => {
		const { method, url } = request;
		if (method === 'POST') files.push((await jsonOf(request)) as { name: string });
		const at = Number(/file-(\d+)/.exec(url!)?.[1] ?? files.length - 1);
		// The simulator's files are small: n8n sends each in one piece.
		if (method === 'PUT') files[at]!.bytes = await buffer(request);
		response.setHeader('Location', `https://www.googleapis.com/upload/file-${at}`);
		response.setHeader('Content-Type', 'application/json');
		response.end(JSON.stringify({ id: `file-${at}` }));
	};
	const hosts = { 'sheets.googleapis.com': sheets, 'www.googleapis.com': drive };
	return Object.assign(google, await startSites(folder, hosts));
}
