import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HOST } from '../../tools/servers/serve.mts';

/** Stands in front of a server and lets requests through, or not. */
export interface Gate {
	url: string;
	/** Answers the next `count` requests with 503 instead. */
	refuse(count: number): void;
	/** How many it has answered so since then. */
	refused(): number;
	close(): void;
}

export async function startGate(target: string): Promise<Gate> {
	let most = 0;
	let refused = 0;
	const gate = createServer((incoming, outgoing) => {
		if (refused < most) {
			refused++;
			incoming.resume();
			outgoing.writeHead(503).end();
			return;
		}
		// The host stays as it was: the request's signature is made with it.
		const { method, headers, url } = incoming;
		const onward = request(new URL(url!, target), { method, headers }, (answer) => {
			outgoing.writeHead(answer.statusCode!, answer.headers);
			answer.pipe(outgoing);
		});
		onward.on('error', () => outgoing.destroy());
		incoming.pipe(onward);
	});
	await once(gate.listen(0, HOST), 'listening');
	return {
		url: `http://${HOST}:${(gate.address() as AddressInfo).port}`,
		refuse(count) {
			most = count;
			refused = 0;
		},
		refused: () => refused,
		close() {
			gate.close();
			gate.closeAllConnections();
		},
	};
}
