/*
 * node test/check/record.mts: makes the recordings in test/recordings anew, of services that speak unlike
 * the simulator's usual self. `wrong.json` says of one what is not so.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check } from '../../check/check.mts';
import { written } from '../../check/recording.mts';
import { type Dialect, startSimulator } from '../../simulator/simulator.mts';
import { PAGE } from '../service/bodies.mts';
import { FakeService } from '../service/fakeService.mts';

const token = 'recorded-token-0123456789';

async function record(name: string, pay: string[], dialect: Partial<Dialect>, hasEdge = false) {
	const simulator = await startSimulator({ token, pace: 0.05, dialect });
	const edge = hasEdge ? await edgeOf(simulator.baseUrl) : undefined;
	const baseUrl = edge?.url ?? simulator.baseUrl;
	const webSocketUrl = baseUrl.replace('http', 'ws');
	const { recording } = await check({ baseUrl, webSocketUrl, token }, pay, console.log);
	const save = (file: string, text: string) =>
		writeFileSync(join(import.meta.dirname, '../recordings', `${file}.json`), text);
	save(name, written(recording, token));
	if (hasEdge) save('wrong', written(recording, token).replaceAll('items: 1', 'items: 2'));
	await simulator.close();
	await edge?.stop();
}

/** No WebSocket, pages in place of errors, and JSON in place of streams. */
const edgeOf = async (baseUrl: string) =>
	await FakeService.start(async (request, response) => {
		const parts = await request.toArray();
		const body = parts.length > 0 ? Buffer.concat(parts as Buffer[]) : undefined;
		const headers = {
			authorization: request.headers.authorization!,
			'content-type': 'application/json',
		};
		const answer = await fetch(baseUrl + request.url!, { method: request.method, headers, body });
		const text = await answer.text();
		const isStream = answer.headers.get('content-type')?.includes('stream');
		const plain = isStream ? text.split('data: ').at(-1)!.trim() : text;
		const type = answer.ok ? 'application/json' : 'text/html';
		response.writeHead(answer.status, { 'content-type': type }).end(answer.ok ? plain : PAGE);
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
await record('edge', ['speech', 'image'], {}, true);
process.exit();
