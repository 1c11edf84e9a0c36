/*
 * node test/check/record.mts: makes the recordings in test/recordings anew, of services that speak unlike
 * the simulator's usual self. `wrong.json` says of one what is not so.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check } from '../../check/check.mts';
import { toJson } from '../../check/recording.mts';
import { type Dialect, startSimulator } from '../../simulator/simulator.mts';
import { PAGE } from '../service/bodies.mts';
import { FakeService } from '../service/fakeService.mts';

const token = 'recorded-token-0123456789';

/** What an edge makes of an answer. */
type Change = (path: string, text: string, type: string) => string;

async function record(name: string, pay: string[], dialect: Partial<Dialect>, change?: Change) {
	const simulator = await startSimulator({ token, pace: 0.05, dialect });
	const edge = change && (await edgeOf(simulator.baseUrl, change));
	const baseUrl = edge?.url ?? simulator.baseUrl;
	const webSocketUrl = baseUrl.replace('http', 'ws');
	const { recording } = await check({ baseUrl, webSocketUrl, apiToken: token }, pay, console.log);
	const save = (file: string, text: string) =>
		writeFileSync(join(import.meta.dirname, '../recordings', `${file}.json`), text);
	save(name, toJson(recording, token));
	if (name === 'edge') save('wrong', toJson(recording, token).replaceAll('items: 1', 'items: 2'));
	await simulator.close();
	await edge?.stop();
}

/** No WebSocket, pages in place of errors, and answers as `change` makes them. */
const edgeOf = async (baseUrl: string, change: Change) =>
	await FakeService.start(async (request, response) => {
		const { method, url } = request;
		const body = method === 'POST' ? Buffer.concat(await request.toArray()) : undefined;
		const authorization = request.headers.authorization!;
		const headers = { authorization, 'content-type': 'application/json' };
		const answer = await fetch(baseUrl + url, { method, headers, body });
		const type = answer.headers.get('content-type') ?? '';
		const text = change(url!, await answer.text(), type);
		response.setHeader('content-type', answer.ok ? 'application/json' : 'text/html');
		response.writeHead(answer.status).end(answer.ok ? text : PAGE);
	});

await record('result-and-uuids', ['speech', 'image'], {
	...{ audioField: 'result', taskId: 'uuid', createIdField: 'id', statusCase: 'UPPER' },
	...{ voices: 'paged', voiceTraits: 'labels', history: 'paged', historyFiles: 'file_urls' },
	...{ historyNumbersAsStrings: true, itemStatus: 'MEDIA_GENERATION_STATUS_SUCCESSFUL' },
});
await record('bare-words', ['speech', 'video', 'dropped'], {
	...{ audioField: 'nested', account: 'balance', sseStatus: 'bare', sseSpace: false },
	...{ imageEndEvent: 'all_set', completion: 'object', sseStatusWords: 'more', sseNewline: '\r\n' },
});
/** JSON in place of streams. */
await record('edge', ['speech', 'image'], {}, (_, text, type) =>
	type.includes('stream') ? text.split('data: ').at(-1)!.trim() : text,
);
await record('lists-elsewhere', [], {}, (path, text) => {
	if (path.includes('/voices')) return `{"results":${text}}`;
	return path.includes('/histories') ? `{"data":{"items":${text}}}` : text;
});
process.exit();
